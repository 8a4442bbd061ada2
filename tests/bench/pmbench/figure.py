# SPDX-License-Identifier: BSD-3-Clause
"""Figures, and how the verdict on a figure is reached.

The machine changes speed from minute to minute, so a figure never compares numbers of different runs. Every round
measures all contestants one after the other, and the figure is the ratio of their medians. Where a round ends before
the speed changes much (is_paired), each round gives a ratio, and the median of these ratios counts. The machine also
has two states (state.py): a figure has a verdict for each of them, and its goal must hold in both.
"""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Sequence

from . import state as states
from .errors import CannotRun, Failed
from .rounds import Aim, Reading, Samples, Take, collect

__all__ = ["Bench", "CannotRun", "Contestant", "Failed", "Figure", "Goal", "NotSeen", "Outcome", "Result", "beside",
           "measure", "verdict"]

LIMIT_S = 300.0  # of a figure, to see both states


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One side of a comparison: a name and how one measurement of it is taken.

    read() takes the state to wait for, and probes the machine itself, closer to the measurement than others can.
    """

    name: str
    measure: Callable[[], float] | None = None
    read: Callable[[str], Reading] | None = None
    is_rival: bool = True  # else it is measured with the others, and only stated

    def take(self, points: Sequence[int], state: str) -> list[Reading]:
        """One reading, with probes around it unless the figure is indifferent."""
        if self.read:
            return [dataclasses.replace(self.read(state), point=points[0])]
        assert self.measure
        if state == states.INDIFFERENT:
            return [Reading(self.measure(), points[0])]
        before = states.seek(state)
        value = self.measure()
        return [Reading(value, points[0], before, states.probe())]


def beside(contestant: Contestant) -> Contestant:
    """It is stated beside the figure, and does not decide it."""
    return dataclasses.replace(contestant, is_rival=False)


@dataclasses.dataclass
class Bench:
    """How the figures of one call are measured."""

    rounds: int | None = None  # None: each figure's own
    limit_s: float = LIMIT_S
    progress: Callable[[str], None] = lambda text: None


@dataclasses.dataclass(frozen=True)
class Goal:
    """A named ratio with a goal, or with none: then it is only stated."""

    name: str
    goal: float | None
    lower_is_better: bool
    unit: str
    text: str

    within = None
    is_paired = False

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
class Figure(Goal):
    """setup() prepares (a lab, binaries) and yields our contestant and its rivals; the best rival of the run counts.
    Among the rivals may be contestants that are stated beside the figure."""

    setup: Callable[[], contextlib.AbstractContextManager[tuple[Contestant, list[Contestant]]]]
    rounds: int = 5
    within: float | None = None  # the ratio may be as far from the goal, to both sides
    is_paired: bool = False  # the median of the ratios of the rounds counts, not the ratio of the medians
    is_indifferent: bool = False  # the state of the machine means nothing to it

    def outcomes(self, bench: Bench) -> list[Outcome]:
        return measure(self, bench)


@dataclasses.dataclass(frozen=True)
class Result:
    """The measured figure; min and max are of the ratio over the rounds; goal and met are None if it is only stated.

    state: of the machine, "" if the figure is indifferent to it. at: where the worst of several was found. sides: the
    medians of all that was measured, ours first.
    """

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
    state: str = states.INDIFFERENT
    at: str = ""
    sides: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def further(self) -> dict[str, float]:
        """The sides that the ratio is not made of: other rivals, and what is stated beside the figure."""
        return {name: median for name, median in list(self.sides.items())[1:] if name != self.against_name}

    def as_json(self) -> dict[str, object]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class NotSeen:
    """The machine was not in that state for enough rounds, so nothing is said about it."""

    figure: str
    state: str
    rounds: int  # that were complete
    wanted: int
    seconds: float

    def as_json(self) -> dict[str, object]:
        return {**dataclasses.asdict(self), "not_seen": True}


Outcome = Result | NotSeen


def states_of(is_indifferent: bool) -> tuple[str, ...]:
    """The states that a figure gets a verdict for."""
    return (states.INDIFFERENT,) if is_indifferent or not states.can_tell() else states.STATES


def measure(figure: Figure, bench: Bench) -> list[Outcome]:
    """Runs the rounds and computes the verdict for each state."""
    start = time.monotonic()
    aim = Aim((0,), states_of(figure.is_indifferent), bench.rounds or figure.rounds, bench.limit_s)
    with figure.setup() as (ours, rivals):
        contestants = [ours, *rivals]
        sides: dict[str, Take] = {c.name: c.take for c in contestants}
        samples = collect(sides, aim, lambda text: bench.progress(f"{figure.name}: {text}"))
    return judged(aim.states, lambda state: judge(figure, contestants, samples, aim, state, time.monotonic() - start))


def judged(of: Iterable[str], verdict_in: Callable[[str], Outcome]) -> list[Outcome]:
    """The outcome in each state, of which at least one was seen."""
    outcomes = [verdict_in(state) for state in of]
    if all(isinstance(outcome, NotSeen) for outcome in outcomes):
        raise CannotRun("the machine changed its state too often for " + " and for ".join(
            f"{o.wanted} rounds in state {o.state} (there were {o.rounds})" for o in outcomes
            if isinstance(o, NotSeen)))
    return outcomes


def judge(figure: Figure, contestants: list[Contestant], samples: Samples, aim: Aim, state: str,
          seconds: float) -> Outcome:
    """The first contestant is ours."""
    sides = [each.name for each in contestants]
    rounds = samples.rounds(state, sides, 0)
    if rounds < aim.rounds:
        return NotSeen(figure.name, state, rounds, aim.rounds, round(seconds, 1))
    return verdict(figure, sides[0], samples.paired(state, sides, 0), seconds, state,
                   [each.name for each in contestants if not each.is_rival])


def verdict(figure: Goal, ours: str, samples: dict[str, list[float]], seconds: float,
            state: str = states.INDIFFERENT, stated: Sequence[str] = ()) -> Result:
    """Medians, the best rival, the ratio and its spread. stated: sides that are no rivals."""
    medians = {name: statistics.median(values) for name, values in samples.items()}
    rivals = [name for name in samples if name != ours and name not in stated]
    best = min(rivals, key=lambda n: medians[n]) if figure.lower_is_better else max(rivals, key=lambda n: medians[n])
    each = [a / b for a, b in zip(samples[ours], samples[best])]
    ratio = statistics.median(each) if figure.is_paired else medians[ours] / medians[best]
    return Result(figure=figure.name, value=round(medians[ours], 4), unit=figure.unit,
                  against=round(medians[best], 4), against_name=best, ratio=round(ratio, 4),
                  min=round(min(each), 4), max=round(max(each), 4), rounds=len(each), goal=figure.goal,
                  met=figure.is_met(ratio), seconds=round(seconds, 1), state=state,
                  sides={name: round(medians[name], 4) for name in [ours, *(n for n in medians if n != ours)]})
