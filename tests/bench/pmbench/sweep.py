# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over message size, and the figures that are computed from them.

One sweep serves many figures. It is measured once in a call, over the devices and sizes that the figures of the call
ask for: all of them in a full report, one size for a figure that is run alone.
"""
from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence

from .devices import TCP, Way, open_ways
from .errors import CannotRun, Failed
from .figure import Bench, Goal, NotSeen, Outcome, judged, states_of
from .figure import verdict as verdict_of
from .mpisizes import run_sizes
from .rounds import Aim, Reading, Samples, Take, collect


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What is measured over sizes: a program with its options, on cables of one MTU."""

    name: str
    words: tuple[str, ...]
    unit: str
    lower_is_better: bool
    title: str
    mtu: int = 1500

    @property
    def label(self) -> str:
        """Unique; a part of file names."""
        return f"{self.name}-{self.mtu}"

    def on(self, way: Way) -> Take:
        def take(sizes: Sequence[int], state: str) -> list[Reading]:
            return run_sizes(way.cluster, self.words, sizes, state, way.args, way.env)
        return take


@dataclasses.dataclass(frozen=True)
class SweepFigure(Goal):
    """The worst ratio to TCP over some devices and sizes of a sweep."""

    sweep: Sweep
    devices: tuple[str, ...]
    sizes: tuple[int, ...]
    rounds: int = 5

    def outcomes(self, bench: SweepBench) -> list[Outcome]:
        samples = bench.samples(self.sweep)
        wanted = bench.rounds or self.rounds
        return judged(states_of(False), lambda state: judge(self, samples, state, wanted))


@dataclasses.dataclass
class Demand:
    """What the figures of a call want of one sweep."""

    devices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    rounds: int = 0

    def add(self, figure: SweepFigure) -> None:
        self.devices = tuple(dict.fromkeys([*self.devices, *figure.devices]))
        self.sizes = tuple(sorted({*self.sizes, *figure.sizes}))
        self.rounds = max(self.rounds, figure.rounds)


def demands(figures: Iterable[Goal]) -> dict[Sweep, Demand]:
    """What each sweep has to give for these figures."""
    wanted: dict[Sweep, Demand] = {}
    for figure in figures:
        if isinstance(figure, SweepFigure):
            wanted.setdefault(figure.sweep, Demand()).add(figure)
    return wanted


@dataclasses.dataclass(frozen=True)
class Measured:
    """A sweep, what was wanted of it, and what it gave."""

    sweep: Sweep
    demand: Demand
    samples: Samples
    rounds: int  # that a cell needs

    def cell(self, state: str, device: str, size: int) -> Cell | None:
        """None: there are too few rounds."""
        sides = (device, TCP)
        if self.samples.rounds(state, sides, size) < self.rounds:
            return None
        values = self.samples.paired(state, sides, size)
        return Cell(statistics.median(values[device]), statistics.median(values[TCP]), len(values[TCP]))


@dataclasses.dataclass(frozen=True)
class Cell:
    """One device at one size in one state: medians over the rounds."""

    ours: float
    tcp: float
    rounds: int

    @property
    def ratio(self) -> float:
        return self.ours / self.tcp


@dataclasses.dataclass
class SweepBench(Bench):
    """A bench that keeps its sweeps. A sweep that failed fails for all of its figures."""

    demands: dict[Sweep, Demand] = dataclasses.field(default_factory=dict)
    done: dict[Sweep, Samples | CannotRun | Failed] = dataclasses.field(default_factory=dict)
    measure: Callable[[Sweep, Demand, Bench], Samples] | None = None

    def samples(self, sweep: Sweep) -> Samples:
        if sweep not in self.done:
            try:
                self.done[sweep] = (self.measure or measure_sweep)(sweep, self.demands[sweep], self)
            except (CannotRun, Failed) as why:
                self.done[sweep] = why
        found = self.done[sweep]
        if isinstance(found, Exception):
            raise found
        return found

    def measured(self) -> list[Measured]:
        """The sweeps that could be measured."""
        return [Measured(sweep, self.demands[sweep], found, self.rounds or self.demands[sweep].rounds)
                for sweep, found in self.done.items() if isinstance(found, Samples)]


def measure_sweep(sweep: Sweep, demand: Demand, bench: Bench) -> Samples:
    """All devices and TCP take turns."""
    aim = Aim(demand.sizes, states_of(False), bench.rounds or demand.rounds, bench.limit_s)
    with open_ways([*demand.devices, TCP], sweep.mtu) as ways:
        return collect({name: sweep.on(way) for name, way in ways.items()}, aim,
                       lambda text: bench.progress(f"sweep {sweep.label}: {text}"))


def judge(figure: SweepFigure, samples: Samples, state: str, wanted: int) -> Outcome:
    """The worst device and size; if one of them was not seen in this state, so is the figure."""
    places = [(device, size) for device in figure.devices for size in figure.sizes]
    rounds = min(samples.rounds(state, (device, TCP), size) for device, size in places)
    if rounds < wanted:
        return NotSeen(figure.name, state, rounds, wanted, round(samples.spent_s, 1))
    worst = (max if figure.lower_is_better else min)(places, key=lambda place: ratio_at(samples, state, *place))
    device, size = worst
    found = verdict_of(figure, device, samples.paired(state, (device, TCP), size), samples.spent_s, state)
    return dataclasses.replace(found, at=f"{size_text(size)}, {device}")


def ratio_at(samples: Samples, state: str, device: str, size: int) -> float:
    """Of the medians, ours to TCP's."""
    values = samples.paired(state, (device, TCP), size)
    return statistics.median(values[device]) / statistics.median(values[TCP])


def size_text(size: int) -> str:
    """Such as 8 KiB."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"
