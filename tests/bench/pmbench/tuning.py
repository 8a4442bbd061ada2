# SPDX-License-Identifier: BSD-3-Clause
"""Rules for Open MPI's coll/tuned: which algorithm a collective operation takes, by ranks and bytes.

Open MPI chooses by tables that were measured on other networks. Here such tables are computed from measurements, and
written in the format that coll_tuned_dynamic_rules_filename names: that of Open MPI 4, which Open MPI 5 reads as well.

Open MPI applies a rule to reductions whose operation is not commutative as well, so an algorithm that needs a
commutative one, and does not look, is no candidate.

No wire limits the bytes of a lab, and all its hosts share the cores of one machine: the sum of the work counts there,
not what one host has to carry while others wait. So rules that are measured in labs do not name algorithms that move
more bytes through a host than others do, or let all ranks wait for one.
"""
from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Sequence

KIB = 1 << 10
GAIN = 0.95  # only what takes less than this part of the time of Open MPI's own choice counts as faster
LOSS = 1.03  # a rule takes no more than this of it, in any layout and at any size
CHANGE = -math.log(0.88)  # from one algorithm to another must pay for itself: rules stay few, and do not follow noise

ELEMENT = 8  # bytes of the numbers that are added

FIXED = 0  # as the number of an algorithm: Open MPI's own choice


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """One of coll/tuned's, by its number; segment: bytes of a message that go together, 0: all."""

    number: int
    segment: int = 0

    @property
    def label(self) -> str:
        return f"{self.number}/{self.segment}"


OWN = Algorithm(FIXED)


@dataclasses.dataclass(frozen=True)
class Operation:
    """One that rules can be made for."""

    name: str        # of mpi_collective's option -c
    identifier: int  # in a file of rules
    parameter: str   # in coll_tuned_NAME_algorithm
    names: tuple[str, ...]  # of algorithms 1, 2, ...
    candidates: tuple[Algorithm, ...]
    unjudged: frozenset[int] = frozenset()  # algorithms that a lab says nothing of
    splits: frozenset[int] = frozenset()  # those that need an element for each rank, and else are others
    counts_all: bool = False  # a rule counts the bytes of the blocks of all ranks

    def may_take(self, algorithm: Algorithm, ranks: int, size: int, is_lab: bool) -> bool:
        """Whether a rule may name it. Two ranks have no third one to wait for; a single segment is none."""
        if is_lab and algorithm.number in self.unjudged and ranks > 2:
            return False
        if algorithm.segment >= size:
            return False
        return algorithm.number not in self.splits or size >= ELEMENT * ranks

    def rule_bytes(self, size: int, ranks: int) -> int:
        """The bytes that a rule counts where mpi_collective says size."""
        return size * ranks if self.counts_all else size

    def name_of(self, algorithm: Algorithm) -> str:
        if algorithm.number == FIXED:
            return "Open MPI's own choice"
        return self.names[algorithm.number - 1] + (f", {algorithm.segment} B together" if algorithm.segment else "")

    def arguments(self, algorithm: Algorithm) -> list[str]:
        """Of mpirun: this algorithm at all sizes."""
        if algorithm.number == FIXED:
            return []
        name = f"coll_tuned_{self.parameter}_algorithm"
        return ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", name, str(algorithm.number),
                *(["--mca", f"{name}_segmentsize", str(algorithm.segment)] if algorithm.segment else [])]


def plain(*numbers: int) -> tuple[Algorithm, ...]:
    return tuple(map(Algorithm, numbers))


def cut(*numbers: int) -> tuple[Algorithm, ...]:
    """In several segments, too."""
    return tuple(Algorithm(number, segment) for number in numbers for segment in (0, 32 * KIB, 128 * KIB))


OPERATIONS = {each.name: each for each in (
    Operation("barrier", 6, "barrier", ("linear", "double ring", "recursive doubling", "bruck", "two processes",
                                        "tree"), plain(1, 2, 3, 4, 6), frozenset({1})),
    Operation("bcast", 7, "bcast",
              ("linear", "chain", "pipeline", "split binary tree", "binary tree", "binomial", "knomial",
               "scatter and allgather", "scatter and ring of allgather"), plain(1, 7, 8, 9) + cut(3, 5, 6),
              frozenset({1, 7}), frozenset({8, 9})),
    Operation("reduce", 11, "reduce", ("linear", "chain", "pipeline", "binary", "binomial", "binary in order",
                                       "Rabenseifner"), plain(1, 7) + cut(6), frozenset({1}), frozenset({7})),
    Operation("allreduce", 2, "allreduce", ("linear", "reduce and bcast", "recursive doubling", "ring",
                                            "segmented ring", "Rabenseifner"), plain(1, 2, 3, 6), frozenset({1, 2, 3}),
              frozenset({6})),
    Operation("alltoall", 3, "alltoall", ("linear", "pairwise", "modified bruck", "linear with few at once",
                                          "two processes"), plain(1, 2, 3, 4), frozenset({3}), counts_all=True),
    Operation("allgather", 0, "allgather", ("linear", "bruck", "recursive doubling", "ring", "neighbour exchange",
                                            "two processes"), plain(1, 2, 3, 4, 5), frozenset({1}), counts_all=True),
    Operation("reduce_scatter", 13, "reduce_scatter_block",
              ("linear", "recursive doubling", "recursive halving", "butterfly"), plain(1, 2, 3, 4),
              frozenset({1, 2}), counts_all=True),
)}


@dataclasses.dataclass(frozen=True)
class Rule:
    """From so many bytes on, as Open MPI counts them."""

    from_bytes: int
    algorithm: Algorithm


# Times of each round, by size and algorithm: of one operation, in one layout.
Times = dict[int, dict[Algorithm, list[float]]]
# By operation and ranks: rules with rising sizes.
Rules = dict[str, dict[int, list[Rule]]]


def is_gain(ours: Sequence[float], own: Sequence[float]) -> bool:
    """In the median and in every round."""
    return statistics.median(ours) < GAIN * statistics.median(own) and all(a < b for a, b in zip(ours, own))


def ratio(times: Times, size: int, algorithm: Algorithm) -> float:
    """To the time of Open MPI's own choice. A gain that not every round shows counts as none."""
    ours, own = times[size][algorithm], times[size][OWN]
    found = statistics.median(ours) / statistics.median(own)
    return found if is_gain(ours, own) else max(found, 1.0)


def cost(layouts: Sequence[Times], size: int, algorithm: Algorithm) -> float:
    """Logarithm of the ratio that most layouts reach; infinite where any layout loses."""
    ratios = [ratio(times, size, algorithm) for times in layouts]
    return math.inf if max(ratios) > LOSS else math.log(statistics.median_high(ratios))


def cheapest(operation: Operation, ranks: int, layouts: Sequence[Times], is_lab: bool) -> list[Algorithm]:
    """An algorithm for each size: the sequence that costs least, where each change costs something as well."""
    paths: dict[Algorithm, tuple[float, list[Algorithm]]] = {OWN: (0.0, [])}
    for size in sorted(layouts[0]):
        paths = {algorithm: min(((spent + (CHANGE if algorithm != before else 0.0) + cost(layouts, size, algorithm),
                                  [*path, algorithm]) for before, (spent, path) in paths.items()),
                                key=lambda each: each[0])
                 for algorithm in layouts[0][size] if operation.may_take(algorithm, ranks, size, is_lab)}
    return min(paths.values(), key=lambda each: each[0])[1]


def beginning(operation: Operation, ranks: int, smaller: int, size: int) -> int:
    """Where the rule of a size begins, as Open MPI counts: between it and the next smaller one, or at its beginning.

    Where a rank gets blocks of all, it counts nothing when the blocks are in place already (MPI_IN_PLACE): then it
    chooses by itself.
    """
    if not smaller:
        return operation.rule_bytes(size, ranks) if operation.counts_all else 0
    return operation.rule_bytes(math.isqrt(smaller * size), ranks)


def choose(operation: Operation, ranks: int, layouts: Sequence[Times], is_lab: bool = True) -> list[Rule]:
    """The rules of one number of ranks, from its times in several layouts of hosts; none: nothing is gained.

    Open MPI chooses beyond the largest size that was measured. A barrier has one size, which it counts as 0.
    """
    sizes = sorted(layouts[0])
    rules = [Rule(0, OWN)]
    for smaller, size, found in zip([0, *sizes], sizes, cheapest(operation, ranks, layouts, is_lab)):
        if found != rules[-1].algorithm:
            rule = Rule(beginning(operation, ranks, smaller, size), found)
            rules = [*rules, rule] if rule.from_bytes else [rule]
    if rules[-1].algorithm != OWN and operation.name != "barrier":
        rules.append(Rule(2 * operation.rule_bytes(sizes[-1], ranks), OWN))
    return rules if rules != [Rule(0, OWN)] else []


def with_gaps(by_ranks: dict[int, list[Rule]]) -> dict[int, list[Rule]]:
    """Open MPI applies the rules of a number of ranks to all larger ones up to the next, and those
    of the first number to smaller ones as well. Here Open MPI chooses for every number that was not
    measured."""
    found = {1: [Rule(0, OWN)]}
    for ranks, rules in sorted(by_ranks.items()):
        found[ranks] = rules
        found[ranks + 1] = by_ranks.get(ranks + 1) or [Rule(0, OWN)]
    return found


def lines_of(operation: Operation, by_ranks: dict[int, list[Rule]]) -> list[str]:
    """The part of the file that one operation has."""
    filled = with_gaps(by_ranks)
    lines = [f"{operation.identifier}  # {operation.name}", f"{len(filled)}  # numbers of ranks"]
    for ranks, rules in sorted(filled.items()):
        lines += [f"{ranks}  # ranks", f"{len(rules)}  # sizes"]
        lines += [f"{rule.from_bytes} {rule.algorithm.number} 0 {rule.algorithm.segment}  "
                  f"# {operation.name_of(rule.algorithm)}" for rule in rules]
    return lines


def text_of(rules: Rules, heading: Iterable[str]) -> str:
    """The file. Open MPI 4 takes comments that begin with # behind a number, and at the beginning of a line."""
    kept = {name: by_ranks for name, by_ranks in rules.items() if any(by_ranks.values())}
    lines = [*(f"# {line}".rstrip() for line in heading), f"{len(kept)}  # operations"]
    for name, by_ranks in kept.items():
        lines += ["", *lines_of(OPERATIONS[name], {ranks: found for ranks, found in by_ranks.items() if found})]
    return "\n".join(lines) + "\n"
