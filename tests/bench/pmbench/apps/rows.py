# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the table of programs: medians and ranges of both sides in one state of the machine, and their ratios."""
from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable

from .. import state as states
from .links import PM, SIDES, TCP
from .profile import dearest
from .runs import MPI, RUN, Found

DEAREST = 8  # calls that a record names


@dataclasses.dataclass(frozen=True)
class Span:
    """Seconds over the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Span:
        return cls(*(round(value, 9) for value in (statistics.median(values), min(values), max(values))))


@dataclasses.dataclass(frozen=True)
class Row:
    """A program at a place in one state. run: the whole command; wall: from MPI_Init's end to MPI_Finalize's begin,
    of the slowest rank; mpi: inside MPI calls meanwhile, the mean of the ranks; parts: what the program times itself.
    By side. calls: of each side the dearest: name, bytes, seconds, number."""

    program: str
    hosts: int
    link: str
    state: str
    rounds: int
    run: dict[str, Span]
    wall: dict[str, Span]
    mpi: dict[str, Span]
    parts: dict[str, dict[str, Span]]
    calls: dict[str, list[tuple[str, int, float, float]]]

    @property
    def place(self) -> str:
        return "1 host" if self.hosts == 1 else f"{self.hosts} hosts, {self.link}"

    def start_s(self, side: str) -> float:
        """Time of the launcher, MPI_Init and MPI_Finalize, and of the program outside of them."""
        return self.run[side].median - self.wall[side].median

    @property
    def run_ratio(self) -> float:
        return ratio(self.run)

    @property
    def mpi_ratio(self) -> float:
        return ratio(self.mpi)

    def as_json(self) -> dict[str, object]:
        return {**dataclasses.asdict(self), "run_ratio": round(self.run_ratio, 4),
                "mpi_ratio": round(self.mpi_ratio, 4)}

    @classmethod
    def from_json(cls, told: dict) -> Row:
        """From the result of as_json()."""
        def spans(of: dict) -> dict[str, Span]:
            return {side: Span(**span) for side, span in of.items()}
        return cls(told["program"], told["hosts"], told["link"], told["state"], told["rounds"], spans(told["run"]),
                   spans(told["wall"]), spans(told["mpi"]),
                   {part: spans(of) for part, of in told["parts"].items()}, told["calls"])


def ratio(spans: dict[str, Span]) -> float:
    """Ours against the rival's."""
    return spans[PM].median / spans[TCP].median


def rows_of(found: Found) -> list[Row]:
    """One row for each state that was seen in enough rounds."""
    samples, rows = found.samples, []
    for state in (*states.STATES, states.INDIFFERENT):
        count = samples.rounds(state, SIDES, RUN)
        if count < found.rounds:
            continue

        def spans(point: int) -> dict[str, Span]:
            return {side: Span.of(values) for side, values in samples.paired(state, SIDES, point).items()}
        rows.append(Row(found.case.program.name, found.case.place.hosts, found.case.place.link.name, state, count,
                        spans(RUN), walls(found, state), spans(MPI),
                        {part: spans(MPI + 1 + at) for at, part in enumerate(found.case.program.part_names)},
                        {side: [(name, size, round(seconds, 6), number) for name, size, seconds, number
                                in dearest(found.profiles[side, state], DEAREST)] for side in SIDES}))
    return rows


def walls(found: Found, state: str) -> dict[str, Span]:
    return {side: Span.of([profile.wall_s for profile in found.profiles[side, state]]) for side in SIDES}


def worst(rows: Iterable[Row]) -> Row:
    """The row whose program loses most time of its run."""
    return max(rows, key=lambda row: row.run_ratio)


def mean_of_mpi(rows: Iterable[Row]) -> float:
    """The geometric mean of the ratios of the time inside MPI calls."""
    return statistics.geometric_mean(row.mpi_ratio for row in rows)
