# SPDX-License-Identifier: BSD-3-Clause
"""Measures designs of sending against the stages of a message: by TCP, UDP, AF_PACKET, AF_XDP and the devices of PM."""
from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib

from ..budget import samples
from ..budget.cli import size_of
from ..command import ROOT
from ..errors import CannotRun, Failed
from ..eth_cpu import need
from ..tool import positive, progress, status_of
from . import plots, runs, survey, tables
from .designs import BY_NAME, DESIGNS, SIZES

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
ROUNDS, LIMIT_S = 5, 0.0
PAGE, RECORDS = "README.md", "designs.jsonl"

EPILOG = """Two ranks, each on a core of its own, are two hosts of a lab on this machine. All designs take turns in
rounds. Then each is run with timed steps, below perf, with counted system calls, and below callgrind. It takes three to
five minutes. Needs root, perf and valgrind. docs/study/README.md says how to read it. exit status: 0 measured, 1 a run
failed, 2 wrong arguments, 77 cannot run here, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/bench/study", description=__doc__, epilog=EPILOG)
    parser.add_argument("--design", choices=BY_NAME, metavar="NAME", action="append",
                        help=f"{', '.join(BY_NAME)}; again for more (default: all)")
    parser.add_argument("--size", action="append", type=size_of, metavar="BYTES",
                        help="such as 8K (default: 8, 1K, 8K, 64K; stages are measured of 8, 8K and 64K)")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, metavar="N", help="default: %(default)d")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS",
                        help="for rounds in both states of the machine; after it one will do (default: %(default)g)")
    parser.add_argument("--no-instructions", action="store_true", help="without callgrind")
    parser.add_argument("--json", action="store_true",
                        help="print one JSON line per design, size and state in place of tables")
    parser.add_argument("--write", type=pathlib.Path, metavar="DIR",
                        help=f"also write {RECORDS}, plots, and the tables into the page {PAGE} of this directory")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="measure nothing, or with --design only those: take what --json or --write has written")
    return parser


def need_plots() -> None:
    if not importlib.util.find_spec("matplotlib"):
        raise CannotRun("matplotlib is not installed (Debian package python3-matplotlib)")


def taken_from(path: pathlib.Path) -> list[dict]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except ValueError as why:
        raise Failed(f"{path}: {why}; give a file that --json has printed") from None


def measured(args: argparse.Namespace) -> list[dict]:
    kept = taken_from(args.source) if args.source else []
    if args.source and not args.design:
        return kept
    samples.need_perf()
    if not args.no_instructions:
        need("valgrind", "valgrind")
    designs = [BY_NAME[name] for name in args.design] if args.design else list(DESIGNS)
    sizes = sorted(set(args.size or SIZES), reverse=True)
    with runs.open_labs(designs) as labs:
        found = survey.measure(labs, designs, sizes, args.rounds, args.limit, not args.no_instructions, progress)
    progress("")
    return [told for told in kept if told["design"] not in args.design] + found if kept else found


def write(directory: pathlib.Path, records: list[dict]) -> None:
    page = directory / PAGE
    text = tables.inserted(page.read_text(encoding="utf-8"), records)
    (directory / RECORDS).write_text(survey.lines_of(records), encoding="utf-8")
    plots.write(directory, records)
    page.write_text(text, encoding="utf-8")


def show(records: list[dict], is_json: bool) -> None:
    if is_json:
        print(survey.lines_of(records), end="")
    else:
        print("\n\n".join(make(records) for make in (tables.half_rtt, tables.cost, tables.stages)))


def run(args: argparse.Namespace) -> int:
    if args.write:
        need_plots()
        if not (args.write / PAGE).is_file():
            raise Failed(f"{args.write / PAGE}: no such page to write tables into; {ROOT / 'docs' / 'study'} has one")
    records = measured(args)
    if args.write:
        write(args.write, records)
    show(records, args.json)
    return EXIT_OK


def main(argv: list[str]) -> int:
    args = build_parser().parse_args(argv)
    return status_of("tests/bench/study", lambda: run(args), EXIT_FAILED)
