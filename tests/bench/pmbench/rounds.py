# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved rounds: all sides are measured one after the other, again and again, until there are enough samples.

A sample belongs to one state of the machine. A measurement during which the state changed is thrown away and repeated.
Round k of a state consists of the k-th sample that each side has in that state, so sides are compared within one state
only.
"""
from __future__ import annotations

import collections
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Sequence

from . import state as states

TRIES = 3       # of one side in one pass, while readings are thrown away
PATIENCE = 2.0  # times the limit, until no state is waited for any more,
PATIENCE_S = 120.0  # but at least that


@dataclasses.dataclass(frozen=True)
class Reading:
    """One value at one point of a sweep, and the probes around it; a figure of one value has the point 0.

    Probes of None: the figure is indifferent to the state.
    """

    value: float
    point: int = 0
    before_ns: float | None = None
    after_ns: float | None = None

    @classmethod
    def constant(cls, value: float, state: str) -> Reading:
        """A value that is not measured: the same in every state."""
        ns = {states.NEAR: 0.0, states.FAR: states.FAR_NS}.get(state)
        return cls(value, 0, ns, ns)

    def state(self) -> str | None:
        """None: it changed during the measurement."""
        if self.before_ns is None or self.after_ns is None:
            return states.INDIFFERENT
        return states.of_probes(self.before_ns, self.after_ns)

    def with_other(self, other: Reading, combine: Callable[[float, float], float]) -> Reading:
        """One reading of two that were taken one after the other; of both states, if they differ."""
        value = combine(self.value, other.value)
        probes = [ns for each in (self, other) for ns in (each.before_ns, each.after_ns) if ns is not None]
        return Reading(value, self.point, min(probes), max(probes)) if probes else Reading(value, self.point)


# Measures a side at these points, if possible in this state.
Take = Callable[[Sequence[int], str], list[Reading]]


class Samples:
    """The measured values, by state, side and point."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, int], list[float]] = collections.defaultdict(list)
        self.thrown_away = 0
        self.spent_s = 0.0

    def add(self, side: str, reading: Reading) -> bool:
        """False: the reading is thrown away."""
        state = reading.state()
        if state is None:
            self.thrown_away += 1
            return False
        self._values[state, side, reading.point].append(reading.value)
        return True

    def rounds(self, state: str, sides: Iterable[str], point: int) -> int:
        """How many rounds are complete."""
        return min(len(self._values[state, side, point]) for side in sides)

    def paired(self, state: str, sides: Sequence[str], point: int) -> dict[str, list[float]]:
        """The values of the complete rounds, by side."""
        n = self.rounds(state, sides, point)
        return {side: self._values[state, side, point][:n] for side in sides}


@dataclasses.dataclass(frozen=True)
class Aim:
    """How much is to be measured."""

    points: tuple[int, ...]
    states: tuple[str, ...]
    rounds: int
    limit_s: float  # to see further states once there is enough of one

    def lacking(self, samples: Samples, sides: Iterable[str], state: str) -> list[int]:
        """The points that need more rounds in this state."""
        return [point for point in self.points if samples.rounds(state, sides, point) < self.rounds]

    def missing(self, samples: Samples, sides: Iterable[str], state: str) -> int:
        """Rounds of all points together."""
        return sum(max(0, self.rounds - samples.rounds(state, sides, point)) for point in self.points)

    def is_reached(self, samples: Samples, sides: Iterable[str], spent_s: float) -> bool:
        """All points in all states; in any of the states when the time is over; given up some time later."""
        lacking = [set(self.lacking(samples, sides, state)) for state in self.states]
        if not any(lacking):
            return True
        if len(self.states) == 1 or spent_s < self.limit_s:
            return False
        return not set.intersection(*lacking) or spent_s >= max(PATIENCE_S, PATIENCE * self.limit_s)


def collect(sides: dict[str, Take], aim: Aim, progress: Callable[[str], None],
            clock: Callable[[], float] = time.monotonic) -> Samples:
    """Passes over all sides, each for one state, until the aim is reached. Every second pass for a state goes
    backwards: a machine that gets faster or slower favours nobody."""
    samples, begin = Samples(), clock()
    passes: dict[str, int] = collections.Counter()
    for turn in itertools.count():
        samples.spent_s = clock() - begin
        if aim.is_reached(samples, sides, samples.spent_s):
            return samples
        state = next_state(aim, samples, sides, turn)
        points = aim.lacking(samples, sides, state)
        for name in list(sides)[:: -1 if passes[state] % 2 else 1]:
            progress(f"{text_of(aim, samples, sides)}, {name}")
            take(samples, name, sides[name], points, state)
        passes[state] += 1
    raise AssertionError("not reached")


def take(samples: Samples, name: str, side: Take, points: Sequence[int], state: str) -> None:
    """Measures a side; what is thrown away is repeated a few times, and else left to the next pass."""
    for _ in range(TRIES):
        points = [reading.point for reading in side(points, state) if not samples.add(name, reading)]
        if not points:
            return


def next_state(aim: Aim, samples: Samples, sides: Iterable[str], turn: int) -> str:
    """The states that lack rounds take turns. When the time is over, one of them is enough: that which lacks least."""
    lacking = [state for state in aim.states if aim.lacking(samples, sides, state)]
    if samples.spent_s >= aim.limit_s:
        return min(lacking, key=lambda state: aim.missing(samples, sides, state))
    return lacking[turn % len(lacking)]


def text_of(aim: Aim, samples: Samples, sides: Iterable[str]) -> str:
    """How many rounds are complete at the point that has the fewest."""
    done = (f"{state} {min(samples.rounds(state, sides, point) for point in aim.points)}".strip()
            for state in aim.states)
    return f"{', '.join(done)} of {aim.rounds} rounds, {samples.thrown_away} thrown away"
