# SPDX-License-Identifier: BSD-3-Clause
"""Says where the time of a message goes: microseconds per stage, of both ranks, with what is left unexplained."""
from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
import time
from collections.abc import Callable

from .. import state as states
from ..devices import DIRECT, Way
from ..errors import Failed
from ..eth_cpu import need
from ..tool import positive, progress, status_of
from . import cases, runs, samples, table
from .cases import Case

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
TRIES = 4  # of one measurement, while the machine changes its state
ROUNDS, LIMIT_S = 3, 120.0
KINDS = {"plain": runs.plain, "sampled": runs.sampled, "called": runs.called}

EPILOG = """Two ranks, each on a core of its own, are two hosts of a lab on this machine (shmem: one host). perf samples
both cores by the software clock; then system calls are timed; then packets are recorded, in two runs of different
length. Needs root and perf. docs/bench/budget.md says how to read the table. exit status: 0 measured, 1 a run failed,
2 wrong arguments, 77 cannot run here, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/bench/budget", description=__doc__, epilog=EPILOG)
    some = {"action": "append", "metavar": "NAME"}
    parser.add_argument("--device", choices=cases.DEVICES, help=f"{', '.join(cases.DEVICES)}; again for more "
                        f"(default: {DIRECT})", **some)
    parser.add_argument("--interface", choices=cases.INTERFACES, help="mpi or pm, which is pm.h by pmtest (default: "
                        "mpi)", **some)
    parser.add_argument("--pattern", choices=cases.PATTERNS, help="latency, window (64 messages in flight; by pm.h a "
                        "stream) or bothways (default: latency)", **some)
    parser.add_argument("--size", action="append", type=size_of, metavar="BYTES",
                        help="such as 8K (default: 2K, 8K, 64K, 1M)")
    parser.add_argument("--every", action="store_true",
                        help="all devices but shmem, all interfaces, patterns and sizes, unless they are named")
    parser.add_argument("--mtu", type=int, default=1500, metavar="BYTES", help="of the cable (default: %(default)d)")
    parser.add_argument("--state", choices=(*states.STATES, "any"), default=states.NEAR,
                        help="of the machine, to wait for (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, metavar="N", help="default: %(default)d")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS",
                        help="of one case, to see that state (default: %(default)g)")
    parser.add_argument("--no-calls", action="store_true", help="without the table of system calls")
    parser.add_argument("--no-wire", action="store_true", help="without the packets on the wire")
    parser.add_argument("--instructions", action="store_true", help="also count instructions, by callgrind (slow)")
    parser.add_argument("--functions", type=positive, default=0, metavar="N",
                        help=f"also name the N functions that take most, at most {table.FUNCTIONS}")
    parser.add_argument("--json", action="store_true", help="one JSON line per case and state")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE",
                        help="measure nothing: such JSON lines as tables for a page")
    return parser


def size_of(word: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20}.get(word[-1:].upper(), 1)
    digits = word if factor == 1 else word[:-1]
    if not digits.isdecimal() or not 0 < int(digits) * factor <= 4 << 20:
        raise argparse.ArgumentTypeError(f"{word}: give bytes from 1 to 4M, such as 8K")
    return int(digits) * factor


def cases_of(args: argparse.Namespace) -> list[Case]:
    if args.every:
        args.device = args.device or [name for name in cases.DEVICES if name != cases.SHMEM]
        args.interface, args.pattern = args.interface or cases.INTERFACES, args.pattern or cases.PATTERNS
    return [Case(device, interface, pattern, size) for pattern in args.pattern or [cases.LATENCY]
            for interface in args.interface or [cases.MPI] for size in args.size or cases.SIZES
            for device in args.device or [DIRECT]]


def steady(measure: Callable[[], runs.Watched], progress: Callable[[str], None]) -> runs.Watched | None:
    """Repeats what says nothing; None: it never did."""
    for _ in range(TRIES):
        try:
            return measure()
        except runs.Unsteady as why:
            progress(f"thrown away: {why}")
    return None


def measure(case: Case, way: Way, args: argparse.Namespace, progress: Callable[[str], None]) -> list[dict]:
    """The records of a case, one for each state that was seen. All kinds of runs take turns."""
    wanted = states.INDIFFERENT if args.state == "any" or not states.can_tell() else args.state
    kinds = [name for name in KINDS if not (name == "called" and args.no_calls)]
    found: dict[str, dict[str, list]] = collections.defaultdict(lambda: collections.defaultdict(list))
    end = time.monotonic() + args.limit
    while min(len(found[wanted][kind]) for kind in kinds) < args.rounds and time.monotonic() < end:
        for kind in kinds:
            progress(f"{case.interface} {case.pattern} {case.size} over {case.device}: {kind}, round "
                     f"{len(found[wanted][kind]) + 1} of {args.rounds}")
            got = steady(lambda: KINDS[kind](case, way, wanted), progress)
            if got:
                found[got.state][kind].append(got)
    is_recorded = not args.no_wire and case.device != cases.SHMEM
    wire = runs.on_the_wire(case, way) if is_recorded else {}
    counts = [runs.instructed(case, way, rank) for rank in runs.RANKS] if args.instructions else []
    return [table.record(case, args.mtu, state, of["plain"], of["sampled"], of["called"], wire, counts)
            for state, of in found.items() if of["sampled"]]


def show(records: list[dict], args: argparse.Namespace) -> None:
    for told in records:
        print(json.dumps(told) if args.json else table.text(told, args.functions) + "\n", flush=True)


def run(args: argparse.Namespace) -> int:
    wanted = cases_of(args)
    samples.need_perf()
    if args.instructions:
        need("valgrind", "valgrind")
    status = EXIT_OK
    with runs.open_ways(dict.fromkeys(case.device for case in wanted), args.mtu) as ways:
        for case in wanted:
            try:
                records = measure(case, ways[case.device], args, progress)
            except Failed as why:
                progress("")
                print(f"tests/bench/budget: {case}: {why}", file=sys.stderr, flush=True)
                status = EXIT_FAILED
                continue
            progress("")
            show(records, args)
            if not records:
                print(f"tests/bench/budget: {case}: the machine changed its state in each run of {args.limit:g} s; "
                      "give --state any or a longer --limit", file=sys.stderr, flush=True)
                status = EXIT_FAILED
    return status


def show_tables(path: pathlib.Path) -> int:
    try:
        print(table.markdown(json.loads(line) for line in path.read_text().splitlines() if line))
    except (OSError, ValueError, KeyError) as why:
        print(f"tests/bench/budget: {path}: {why!r}; give a file that --json has written", file=sys.stderr)
        return EXIT_USAGE
    return EXIT_OK


def main(argv: list[str]) -> int:
    args = build_parser().parse_args(argv)
    if args.tables:
        return show_tables(args.tables)
    return status_of("tests/bench/budget", lambda: run(args), EXIT_FAILED)
