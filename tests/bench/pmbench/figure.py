# SPDX-License-Identifier: BSD-3-Clause
"""What a figure is, how its rounds are run, and how the verdict is reached.

The machine changes speed from minute to minute, so a figure never compares numbers of different runs: every round
measures all contestants one after the other, and the ratio is taken of their medians; where a round is over before the
speed changes much, of each round, and the median of these counts.
"""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable


class CannotRun(Exception):
    """The figure can't be measured on this machine; the text is the reason."""


class Failed(Exception):
    """A contestant failed; the text names command and output."""


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One side of a comparison: a name and how one measurement of it is taken."""

    name: str
    measure: Callable[[], float]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A named ratio with a goal, or with none: then it is only stated.

    setup() prepares (a lab, binaries) and yields our contestant and its rivals; the best rival of the run counts.
    """

    name: str
    goal: float | None
    lower_is_better: bool
    unit: str
    text: str
    setup: Callable[[], contextlib.AbstractContextManager[tuple[Contestant, list[Contestant]]]]
    rounds: int = 5
    within: float | None = None  # the ratio may be as far from the goal, to both sides
    is_paired: bool = False  # the median of the ratios of the rounds counts, not the ratio of the medians

    def goal_text(self) -> str:
        if self.goal is None:
            return "stated"
        if self.within is not None:
            return f"{self.goal} +- {self.within:g}"
        return f"{'<=' if self.lower_is_better else '>='} {self.goal}"

    def is_met(self, ratio: float) -> bool | None:
        """None: there is no goal."""
        if self.goal is None:
            return None
        if self.within is not None:
            return abs(ratio - self.goal) <= self.within
        return ratio <= self.goal if self.lower_is_better else ratio >= self.goal


@dataclasses.dataclass(frozen=True)
class Result:
    """The measured figure; min and max are of the ratio over the rounds; goal and met are None if it is only stated."""

    figure: str
    value: float
    unit: str
    against: float
    against_name: str
    ratio: float
    min: float
    max: float
    rounds: int
    goal: float | None
    met: bool | None
    seconds: float

    def as_json(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def measure(figure: Figure, rounds: int, progress: Callable[[str], None]) -> Result:
    """Runs the rounds and computes the verdict. Every second round goes backwards: a machine that gets faster or slower
    favours nobody."""
    start = time.monotonic()
    with figure.setup() as (ours, rivals):
        samples: dict[str, list[float]] = {c.name: [] for c in [ours, *rivals]}
        for done in range(rounds):
            for contestant in [ours, *rivals][:: -1 if done % 2 else 1]:
                progress(f"{figure.name}: round {done + 1} of {rounds}, {contestant.name}")
                samples[contestant.name].append(contestant.measure())
    return verdict(figure, ours.name, samples, time.monotonic() - start)


def verdict(figure: Figure, ours: str, samples: dict[str, list[float]], seconds: float) -> Result:
    """Medians, the best rival, the ratio and its spread."""
    medians = {name: statistics.median(values) for name, values in samples.items()}
    rivals = [name for name in samples if name != ours]
    best = min(rivals, key=lambda n: medians[n]) if figure.lower_is_better else max(rivals, key=lambda n: medians[n])
    each = [a / b for a, b in zip(samples[ours], samples[best])]
    ratio = statistics.median(each) if figure.is_paired else medians[ours] / medians[best]
    return Result(figure=figure.name, value=round(medians[ours], 4), unit=figure.unit,
                  against=round(medians[best], 4), against_name=best, ratio=round(ratio, 4),
                  min=round(min(each), 4), max=round(max(each), 4), rounds=len(each), goal=figure.goal,
                  met=figure.is_met(ratio), seconds=round(seconds, 1))
