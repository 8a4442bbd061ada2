# SPDX-License-Identifier: BSD-3-Clause
"""Command line of tests/bench/run."""
from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys

from . import figures, memory, report
from .errors import CannotRun, Failed
from .figure import LIMIT_S, Goal, NotSeen, Outcome
from .sweep import SweepBench, demands
from .tool import EXIT_CANNOT, progress

EXIT_MET, EXIT_MISSED, EXIT_FAILED = 0, 1, 2


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tests/bench/run", description=__doc__,
        epilog="exit status: 0 goal met or none to meet, 1 missed, 2 a contestant failed, 77 cannot run here")
    parser.add_argument("name", nargs="*", help="figures to run (see --list)")
    parser.add_argument("--list", action="store_true", help="names, goals and meanings of all figures")
    parser.add_argument("--all", action="store_true", help="run every figure")
    parser.add_argument("--rounds", type=int, metavar="N", help="interleaved rounds (default: the figure's own)")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS",
                        help="of a figure or sweep, to see both states of the machine; with 0 the state that is seen "
                             "first is enough (default: %(default)g)")
    parser.add_argument("--json", action="store_true", help="one JSON line per figure and state of the machine")
    parser.add_argument("--write", metavar="DIR", type=pathlib.Path,
                        help="also write JSON lines, Markdown report, tables over size and plots to DIR")
    return parser


def show_list() -> None:
    for f in figures.ALL.values():
        print(f"{f.name:34} {f.goal_text():8} {f.text}")


def status_of(outcomes: list[Outcome]) -> int:
    """Missed if it is missed in any state. A state that was not seen says nothing."""
    return EXIT_MISSED if any(not isinstance(o, NotSeen) and o.met is False for o in outcomes) else EXIT_MET


def run_one(figure: Goal, bench: SweepBench, as_json: bool) -> tuple[int, list[Outcome], str]:
    """Runs a figure and prints its outcomes: exit status, outcomes, reason when there are none."""
    try:
        outcomes = figure.outcomes(bench)
    except CannotRun as why:
        progress("")
        print(json.dumps({"figure": figure.name, "cannot_run": str(why)}) if as_json
              else f"{figure.name}: cannot run here: {why}", flush=True)
        return EXIT_CANNOT, [], str(why)
    except Failed as why:
        progress("")
        print(f"{figure.name}: failed: {why}", file=sys.stderr, flush=True)
        return EXIT_FAILED, [], f"failed: {why}"
    progress("")
    for outcome in outcomes:
        print(json.dumps(outcome.as_json()) if as_json else report.line(outcome, figure), flush=True)
    return status_of(outcomes), outcomes, ""


def main(argv: list[str]) -> int:
    args = build_parser().parse_args(argv)
    if args.list:
        show_list()
        return EXIT_MET
    unknown = [n for n in args.name if n not in figures.ALL]
    if unknown or not (args.name or args.all):
        print(f"tests/bench/run: {'no figure named ' + ', '.join(unknown) if unknown else 'name a figure'}: "
              "see --list", file=sys.stderr)
        return EXIT_FAILED
    if memory.is_taken_back():
        print(f"tests/bench/run: {memory.WARNING}", file=sys.stderr)
    chosen = list(figures.ALL.values()) if args.all else [figures.ALL[n] for n in args.name]
    bench = SweepBench(args.rounds, args.limit, progress, demands(chosen))
    with contextlib.closing(bench.ways):
        outcomes = [(f, *run_one(f, bench, args.json)) for f in chosen]
    if args.write:
        report.write(args.write, [(f, found, why) for f, _, found, why in outcomes], bench.measured(),
                     args.all)
    worst = [status for _, status, _, _ in outcomes]
    if args.all and EXIT_FAILED not in worst:
        return EXIT_MET  # a report of all figures states misses; it does not fail by them
    return next((s for s in (EXIT_FAILED, EXIT_MISSED, EXIT_CANNOT) if s in worst), EXIT_MET)
