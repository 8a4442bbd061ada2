# SPDX-License-Identifier: BSD-3-Clause
"""Measures the algorithms of Open MPI's collective operations over PM, and writes rules that choose the fastest.

On labs of several hosts by default; on real hosts with --mpirun. The times are kept in a file (--times), from which
rules can be written again without measuring.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import textwrap
from collections.abc import Iterator, Sequence

from . import state as states
from .command import TIMEOUT_S, program, run_json_lines
from .devices import DIRECT, HERE_MTU, SHMEM, Way, open_ways
from .mpisizes import reading, run_sizes
from .report import environment
from .rounds import Aim, Reading, Samples, Take, collect
from .tool import progress, status_of
from .tuning import OPERATIONS, OWN, Algorithm, Operation, Rules, Times, choose, text_of

EXIT_OK, EXIT_FAILED = 0, 2
LAYOUTS = ((2, 1), (4, 1), (8, 1), (2, 2), (4, 2), (8, 2), (4, 4), (8, 4))  # ranks and hosts; one: this one
GIVEN_HOSTS = 0  # of a layout that --mpirun decides on
SIZES = tuple(1 << i for i in range(0, 21, 2))
ROUNDS = 3
MTU = 1500


@dataclasses.dataclass(frozen=True)
class Measured:
    """The times of one operation in one layout."""

    operation: Operation
    ranks: int
    hosts: int
    times: Times

    def records(self) -> Iterator[dict[str, object]]:
        for size, by_algorithm in self.times.items():
            for algorithm, us in by_algorithm.items():
                yield {"operation": self.operation.name, "ranks": self.ranks, "hosts": self.hosts, "bytes": size,
                       "algorithm": algorithm.number, "segment": algorithm.segment, "us": us}


def read(path: pathlib.Path) -> list[Measured]:
    """Times that were kept, in any order of lines."""
    found: dict[tuple[str, int, int], Times] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        times = found.setdefault((told["operation"], told["ranks"], told["hosts"]), {})
        algorithm = Algorithm(told["algorithm"], told["segment"])
        times.setdefault(told["bytes"], {}).setdefault(algorithm, []).extend(told["us"])
    return [Measured(OPERATIONS[name], ranks, hosts, times) for (name, ranks, hosts), times in found.items()]


def write(path: pathlib.Path, measured: Sequence[Measured]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for each in measured:
            for record in each.records():
                out.write(json.dumps(record) + "\n")


# --- measuring -----------------------------------------------------------------------------------

def warmed(sizes: Sequence[int]) -> list[int]:
    """With one more in front: what a program measures first varies most."""
    return [sizes[0], *sizes]


def side(way: Way, operation: Operation, algorithm: Algorithm, ranks: int) -> Take:
    """In a lab, where all ranks run on this machine."""
    def take(sizes: Sequence[int], state: str) -> list[Reading]:
        args = [*way.args, *operation.arguments(algorithm)]
        words = ("mpi_collective", "-c", operation.name)
        return run_sizes(way.cluster, words, warmed(sizes), state, args, way.env, ranks)[1:]
    return take


def given_side(mpirun: Sequence[str], operation: Operation, algorithm: Algorithm, ranks: int) -> Take:
    """On real hosts, where mpirun says which cores the ranks have."""
    def take(sizes: Sequence[int], state: str) -> list[Reading]:
        words = [program("bench/mpi_collective"), "-c", operation.name, *map(str, warmed(sizes))]
        found = run_json_lines([*mpirun, "-np", str(ranks), *operation.arguments(algorithm), *words])
        return [reading(told) for told in found[1:]]
    return take


def candidates(operation: Operation) -> tuple[Algorithm, ...]:
    return (OWN, *operation.candidates)


def sizes_of(operation: Operation, sizes: Sequence[int]) -> tuple[int, ...]:
    """A barrier has none."""
    return (1,) if operation.name == "barrier" else tuple(sizes)


def times_of(samples: Samples, aim: Aim, operation: Operation) -> Times:
    """Of all rounds."""
    labels = {each.label: each for each in candidates(operation)}
    return {size: {labels[label]: us
                   for label, us in samples.paired(states.INDIFFERENT, list(labels), size).items()}
            for size in aim.points}


def measure(operation: Operation, ranks: int, hosts: int, sides: dict[str, Take],
            given: argparse.Namespace) -> Measured:
    aim = Aim(sizes_of(operation, given.sizes), (states.INDIFFERENT,), given.rounds, 0)
    samples = collect(sides, aim, lambda text: progress(f"{operation.name}, {layout_text(ranks, hosts)}: {text}"))
    return Measured(operation, ranks, hosts, times_of(samples, aim, operation))


def measure_labs(given: argparse.Namespace) -> Iterator[Measured]:
    layouts = [(ranks, hosts) for ranks, hosts in LAYOUTS if ranks in given.ranks and hosts in given.hosts]
    for hosts in sorted({hosts for _, hosts in layouts}):
        device, mtu = (SHMEM, HERE_MTU) if hosts == 1 else (DIRECT, MTU)
        with open_ways([device], mtu, hosts) as ways:
            for ranks in (ranks for ranks, on in layouts if on == hosts):
                for operation in map(OPERATIONS.__getitem__, given.operation):
                    sides = {each.label: side(ways[device], operation, each, ranks) for each in candidates(operation)}
                    yield measure(operation, ranks, hosts, sides, given)


def measure_given(given: argparse.Namespace) -> Iterator[Measured]:
    mpirun = given.mpirun.split()
    for ranks in given.ranks:
        for operation in map(OPERATIONS.__getitem__, given.operation):
            sides = {each.label: given_side(mpirun, operation, each, ranks) for each in candidates(operation)}
            yield measure(operation, ranks, GIVEN_HOSTS, sides, given)


# --- rules ---------------------------------------------------------------------------------------

def rules_of(measured: Sequence[Measured]) -> Rules:
    """For each operation and number of ranks, over the layouts that were measured."""
    rules: Rules = {}
    for name, operation in OPERATIONS.items():
        for ranks in sorted({each.ranks for each in measured if each.operation == operation}):
            layouts = [each for each in measured if (each.operation, each.ranks) == (operation, ranks)]
            is_lab = any(each.hosts != GIVEN_HOSTS for each in layouts)
            rules.setdefault(name, {})[ranks] = choose(operation, ranks, [each.times for each in layouts], is_lab)
    return rules


def layout_text(ranks: int, hosts: int) -> str:
    return f"{ranks} ranks" + (f" on {hosts} host{'s' if hosts > 1 else ''}" if hosts != GIVEN_HOSTS else "")


def heading(measured: Sequence[Measured]) -> list[str]:
    about = environment()
    layouts = sorted({(each.ranks, each.hosts) for each in measured})
    where = ", ".join(layout_text(*each) for each in layouts)
    return ["SPDX-License-Identifier: BSD-3-Clause",
            "Algorithms of collective operations over PM, for coll_tuned_dynamic_rules_filename of Open MPI.",
            "Written by tests/bench/tune: what is not named here, or named 0, is chosen by Open MPI.",
            f"Measured with {about['open_mpi']}:", *textwrap.wrap(f"{where}.", 100),
            "A line of a size: bytes from which on it counts, algorithm, unused, bytes of a segment.", ""]


# --- command line --------------------------------------------------------------------------------

def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in OPERATIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no operation {', '.join(unknown)}: there are {', '.join(OPERATIONS)}")
    return text.split(",")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/bench/tune", description=__doc__,
                                     epilog="exit status: 0 done, 2 a run failed, 77 cannot run here")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", help="the rules; default: standard output")
    parser.add_argument("--times", type=pathlib.Path, metavar="FILE",
                        help="JSON lines of what was measured: those of the layouts and operations that are measured "
                             "now are replaced, all others stay")
    parser.add_argument("--no-measure", action="store_true", help="only write the rules of --times")
    parser.add_argument("--operation", type=names, default=list(OPERATIONS), metavar="NAMES",
                        help="by default all: " + ",".join(OPERATIONS))
    parser.add_argument("--ranks", type=numbers, default=[2, 4, 8], metavar="N,...", help="default: 2,4,8")
    parser.add_argument("--hosts", type=numbers, default=[1, 2, 4], metavar="N,...",
                        help="of labs, 1: this host; default: 1,2,4")
    parser.add_argument("--sizes", type=numbers, default=list(SIZES), metavar="BYTES,...",
                        help="default: powers of four up to 1 MiB")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="default: %(default)s")
    parser.add_argument("--mpirun", metavar="WORDS",
                        help="on real hosts: mpirun with all options but -np, such as 'mpirun --hostfile hosts --mca "
                             "pml cm --mca mtl pm'; the build directory must be at the same place on all of them, and "
                             f"one run may take {TIMEOUT_S} s")
    return parser


def gather(given: argparse.Namespace) -> list[Measured]:
    """Kept times, with those measured now; kept after each operation, so that a run can be cut short."""
    kept = read(given.times) if given.times and given.times.exists() else []
    if given.no_measure:
        return kept
    for each in measure_given(given) if given.mpirun else measure_labs(given):
        key = (each.operation, each.ranks, each.hosts)
        kept = [old for old in kept if (old.operation, old.ranks, old.hosts) != key] + [each]
        if given.times:
            write(given.times, kept)
    progress("")
    return kept


def tuned(given: argparse.Namespace) -> int:
    measured = gather(given)
    text = text_of(rules_of(measured), heading(measured))
    with given.output.open("w", encoding="utf-8") if given.output else contextlib.nullcontext(sys.stdout) as out:
        out.write(text)
    return EXIT_OK


def main(argv: list[str]) -> int:
    given = build_parser().parse_args(argv)
    if given.no_measure and not given.times:
        print("tests/bench/tune: --no-measure needs --times FILE", file=sys.stderr)
        return EXIT_FAILED
    return status_of("tests/bench/tune", lambda: tuned(given), EXIT_FAILED)
