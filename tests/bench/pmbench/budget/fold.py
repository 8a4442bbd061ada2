# SPDX-License-Identifier: BSD-3-Clause
"""Samples into microseconds per stage of a message, and what of it is waiting: pure.

A rank that waits polls, and looks into the same functions as one that works. So its partner is stopped for a moment,
and what the rank does then is a pattern of waiting. The pattern, as often as it fits into the samples of the
measurement, is waiting there.
"""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping

from .samples import Sample
from .stages import OTHERS, STAGES, WAITING, Frame, call_of, of_chain

PATTERN_MIN = 100  # samples that make a pattern
FITTING = 0.5      # of the pattern's samples may lie in places where it fits less often

Place = tuple[str, str, str]  # stage, innermost function, system call
POLLING: Place = (WAITING, "", "")
Files = Mapping[Frame, tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of CLOCK_MONOTONIC."""

    from_ns: float
    to_ns: float

    def __contains__(self, at_ns: float) -> bool:
        return self.from_ns <= at_ns < self.to_ns

    @property
    def seconds(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def place_of(sample: Sample, files: Files) -> Place:
    frames = sample.frames
    return of_chain(frames, files), frames[0].symbol if frames else "", call_of(frames)


def counted(samples: Iterable[Sample], core: int, span: Span, program: str, files: Files) -> dict[Place, float]:
    """How many samples of a core lie where. Whatever runs there beside the program is others'; a core that sleeps
    waits."""
    found: dict[Place, float] = collections.Counter()
    for sample in samples:
        if sample.core != core or sample.at_ns not in span:
            continue
        if sample.program == program:
            found[place_of(sample, files)] += 1
        else:
            found[WAITING if sample.pid == 0 else OTHERS, sample.program, ""] += 1
    return found


def times_fitting(found: Mapping[Place, float], pattern: Mapping[Place, float]) -> float:
    """How many of the found samples are of the pattern: the ratio that is typical of its places.

    Where a rank also works, there are more samples than that. Of a short wait there are fewer in what only a long one
    comes to: a rank that expects an answer soon polls in a loop of mtl/pm's, and leaves Open MPI's for later.
    """
    total = sum(pattern.values())
    ratios = sorted((found.get(place, 0) / count, count) for place, count in pattern.items())
    seen = 0.0
    for ratio, count in ratios:
        seen += count
        if seen >= FITTING * total:
            return ratio * total
    return 0.0


def without_waiting(found: Mapping[Place, float], pattern: Mapping[Place, float]) -> dict[Place, float]:
    """Samples by place, where those that are waiting are in a place of their own."""
    usable = {place: count for place, count in pattern.items() if place[0] not in (WAITING, OTHERS)}
    total = sum(usable.values())
    fitting = times_fitting(found, usable) if total >= PATTERN_MIN else 0.0
    left: dict[Place, float] = collections.Counter()
    for place, count in found.items():
        waits = min(count, fitting * usable.get(place, 0.0) / total) if total else 0.0
        left[place] += count - waits
        left[POLLING] += waits
    return left


def per_stage(places: Mapping[Place, float], factor: float) -> dict[str, float]:
    """The factor makes microseconds per message of a sample."""
    stages = dict.fromkeys(STAGES, 0.0)
    for place, count in places.items():
        stages[place[0]] += count * factor
    return stages


def per_function(places: Mapping[Place, float], factor: float) -> dict[str, float]:
    """By stage and innermost function; waiting is told by its stage alone."""
    functions: dict[str, float] = collections.Counter()
    for (stage, function, _), count in places.items():
        if stage != WAITING:
            functions[f"{stage}: {function}"] += count * factor
    return functions
