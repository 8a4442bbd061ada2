# SPDX-License-Identifier: BSD-3-Clause
"""The figures of whole programs, on the selection that `make bench-apps` takes by itself."""
from __future__ import annotations

import dataclasses
import statistics
import time

from ..figure import Bench, CannotRun, Failed, Goal, NotSeen, Outcome, Result, judged, states_of, verdict
from .links import PM, SIDES, TCP
from .runs import MPI, RUN, Found
from .selection import ROUNDS, Choice, Table, measure_all

_measured: dict[tuple[int, float], tuple[Table, float]] = {}  # of this process; serves both figures


def measured(bench: Bench) -> tuple[Table, float]:
    """Everything, once, and the seconds that it took. Programs that are missing count for nothing."""
    key = (bench.rounds or ROUNDS, bench.limit_s)
    if key not in _measured:
        begin = time.monotonic()
        table = measure_all(Choice(), *key, lambda text: bench.progress(f"apps: {text}"), lambda each: None)
        _measured[key] = table, time.monotonic() - begin
    table, seconds = _measured[key]
    failed = [each for each in table.missing if each.has_failed]
    if failed:
        raise Failed("; ".join(f"{each.program}, {each.place}: {each.why}" for each in failed))
    if not table.found:
        raise CannotRun("; ".join(each.why for each in table.missing))
    return table, seconds


@dataclasses.dataclass(frozen=True)
class AppsFigure(Goal):
    """Of all programs at all places. In a state that one of them was not seen in, nothing is said."""

    point: int  # what is compared of a run
    rounds: int = ROUNDS

    def outcomes(self, bench: Bench) -> list[Outcome]:
        table, seconds = measured(bench)
        wanted = bench.rounds or self.rounds
        return judged(states_of(False), lambda state: self.judge(table.found, state, wanted, seconds))

    def judge(self, found: list[Found], state: str, wanted: int, seconds: float) -> Outcome:
        rounds = min(each.samples.rounds(state, SIDES, self.point) for each in found)
        if rounds < wanted:
            return NotSeen(self.name, state, rounds, wanted, round(seconds, 1))
        of_all = [(each, each.samples.paired(state, SIDES, self.point)) for each in found]
        if self.point == RUN:
            return self.worst(of_all, state, seconds)
        return verdict(self, PM, means([values for _, values in of_all]), seconds, state)

    def worst(self, of_all: list[tuple[Found, dict[str, list[float]]]], state: str, seconds: float) -> Result:
        each, values = max(of_all, key=lambda one: statistics.median(one[1][PM]) / statistics.median(one[1][TCP]))
        return dataclasses.replace(verdict(self, PM, values, seconds, state), at=each.case.name)


def means(of_all: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """The geometric mean over all programs and places: of the medians, as one value for each side."""
    return {side: [statistics.geometric_mean(statistics.median(values[side]) for values in of_all)] for side in SIDES}


FIGURES = [
    AppsFigure("apps-worst", 1.0, True, "s",
               "run time of whole programs started by scrun, over mtl pm against btl tcp and vader with the same ranks "
               "and cores, on 1, 2 and 4 hosts; the worst program and link counts", RUN),
    AppsFigure("apps-mean", 0.75, True, "s",
               "the same of the time inside MPI calls; the geometric mean over all programs and links counts", MPI),
]
