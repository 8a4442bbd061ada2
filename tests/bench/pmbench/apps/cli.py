# SPDX-License-Identifier: BSD-3-Clause
"""Runs whole programs of Debian over PM and over Open MPI's TCP and vader, and compares run time, time inside MPI
calls, and results."""
from __future__ import annotations

import argparse
import json
import pathlib
import sys

from ..figure import LIMIT_S
from ..tool import EXIT_CANNOT, positive, progress, status_of
from . import table
from .links import HOSTS, LINKS, PM, TCP
from .rows import Row, rows_of
from .runs import Found
from .selection import DEFAULT_LINKS, PROGRAMS, ROUNDS, Choice, Missing, measure_all

EXIT_OK, EXIT_FAILED = 0, 2
EPILOG = """needs root, for the hosts of a lab. A program that is not installed is skipped, with the name of its
package; nothing is installed. exit status: 0 measured, 2 a run failed, results differ, or wrong arguments, 77 nothing
can run, 130 interrupted"""


def chosen(known: list[str], what: str):
    """A parser of names between commas."""
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} named '{unknown[0]}': choose from {', '.join(known)}")
        return names
    return parse


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/bench/apps", description=__doc__, epilog=EPILOG)
    parser.add_argument("--list", action="store_true", help="programs and links")
    parser.add_argument("--programs", type=chosen(list(PROGRAMS), "program"), default=tuple(PROGRAMS),
                        metavar="NAME,...", help="default: all")
    parser.add_argument("--hosts", type=chosen([str(n) for n in HOSTS], "number of hosts"),
                        default=tuple(str(n) for n in HOSTS), metavar="N,...", help="default: 1,2,4")
    parser.add_argument("--links", type=chosen(list(LINKS), "link"), default=DEFAULT_LINKS, metavar="NAME,...",
                        help=f"between hosts (default: {','.join(DEFAULT_LINKS)})")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, metavar="N", help="default: %(default)d")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS",
                        help="of a program at a place, to see both states of the machine; with 0 the state that "
                             "is seen first is enough (default: %(default)g)")
    parser.add_argument("--json", action="store_true", help="one JSON line per program, place and state")
    parser.add_argument("--write", metavar="DIR", type=pathlib.Path,
                        help="also write JSON lines, page and plot to DIR")
    parser.add_argument("--add", action="store_true", help="keep the rows in DIR that are not measured now")
    return parser


def show_list() -> None:
    for each in PROGRAMS.values():
        print(f"{each.name:18} {each.package:18} {each.text}")
    print(f"links: {' '.join(LINKS)}")


def text_of(row: Row) -> str:
    run, mpi = row.run, row.mpi
    return (f"{row.program:18} {row.place:24} {row.state:4} run {table.span(run[PM])} against "
            f"{table.span(run[TCP])} s, ratio {row.run_ratio:.3f}; in MPI {mpi[PM].median:.3g} against "
            f"{mpi[TCP].median:.3g} s, ratio {row.mpi_ratio:.3f}")


class Report:
    """Prints each result as soon as it is there, and writes the page anew: a long measurement that is interrupted
    keeps what it has."""

    def __init__(self, as_json: bool, directory: pathlib.Path | None, older: list[Row]) -> None:
        self.as_json = as_json
        self.directory = directory
        self.rows = older
        self.missing: list[Missing] = []
        self.count = 0  # of new rows

    def show(self, each: Found | Missing) -> None:
        progress("")
        if isinstance(each, Missing):
            self.missing.append(each)
            print(f"{each.program or 'all programs'}, {each.place}: {'failed: ' if each.has_failed else ''}{each.why}",
                  file=sys.stderr, flush=True)
        else:
            self.show_rows(each.case.name, rows_of(each))
        if self.directory and self.rows:
            table.write(self.directory, self.rows, self.missing)

    def show_rows(self, name: str, rows: list[Row]) -> None:
        if not rows:
            print(f"{name}: the machine changed its state too often", file=sys.stderr, flush=True)
        for row in rows:
            print(json.dumps(row.as_json()) if self.as_json else text_of(row), flush=True)
        self.count += len(rows)
        self.rows = table.merged(self.rows, rows)

    def status(self) -> int:
        if any(each.has_failed for each in self.missing):
            return EXIT_FAILED
        return EXIT_OK if self.count else EXIT_CANNOT


def measured(args: argparse.Namespace) -> int:
    choice = Choice(args.programs, tuple(int(n) for n in args.hosts), args.links)
    report = Report(args.json, args.write, table.read(args.write) if args.add else [])
    measure_all(choice, args.rounds, args.limit, progress, report.show)
    return report.status()


def main(argv: list[str]) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.list:
        show_list()
        return EXIT_OK
    if args.add and not args.write:
        parser.error("--add keeps rows of a report: name its directory by --write")
    return status_of("tests/bench/apps", lambda: measured(args), EXIT_FAILED)
