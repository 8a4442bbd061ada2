# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over message size, and the figures that are computed from them.

One sweep serves many figures. It is measured once in a call, over the devices and sizes that the
figures of the call ask for. Those are all of them in a full report, and one size for a figure that
is run alone.
"""
from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence

from .devices import HERE_MTU, TCP, Way, Ways
from .errors import CannotRun, Failed
from .figure import Bench, Goal, NotSeen, Outcome, judged, states_of
from .figure import verdict as verdict_of
from .mpisizes import run_sizes
from .rounds import Aim, Reading, Samples, Take, collect


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A measurement over sizes: a program with its options, on cables of one MTU or inside this host."""

    name: str
    words: tuple[str, ...]
    unit: str
    lower_is_better: bool
    title: str
    mtu: int = 1500  # HERE_MTU: no cable, all ranks are on this host
    rivals: tuple[str, ...] = (TCP,)  # at each size the better one counts
    ranks: int = 2
    hosts: int = 2  # of a lab; says nothing of a pair inside this host
    only: tuple[int, ...] = ()  # the sizes that mean something to it; none: all

    @property
    def label(self) -> str:
        """Unique; a part of file names."""
        name = self.name if self.is_pair else f"{self.name}-{self.ranks}x{self.hosts}"
        return f"shmem-{name}" if self.mtu == HERE_MTU else f"{name}-{self.mtu}"

    @property
    def is_pair(self) -> bool:
        """Two ranks and no more, which is what most sweeps have."""
        return (self.ranks, self.hosts) == (2, 2)

    @property
    def place(self) -> str:
        """Where its ranks are, for people."""
        if self.mtu == HERE_MTU:
            return "one host" if self.is_pair else self.layout
        return f"MTU {self.mtu}" if self.is_pair else f"{self.layout}, MTU {self.mtu}"

    @property
    def layout(self) -> str:
        """How many ranks on how many hosts, for people."""
        return f"{self.ranks} ranks on {self.hosts} host{'s' if self.hosts > 1 else ''}"

    def sizes_of(self, asked: Sequence[int]) -> tuple[int, ...]:
        """Those that it can give of the sizes that are asked for."""
        return self.only or tuple(asked)

    def on(self, way: Way) -> Take:
        def take(sizes: Sequence[int], state: str) -> list[Reading]:
            return run_sizes(way.cluster, self.words, sizes, state, way.args, way.env, self.ranks)
        return take


@dataclasses.dataclass(frozen=True)
class SweepFigure(Goal):
    """The worst ratio to the better rival over some devices and sizes of one or more sweeps."""

    sweeps: tuple[Sweep, ...]
    devices: tuple[str, ...]
    sizes: tuple[int, ...]
    rounds: int = 5

    def outcomes(self, bench: SweepBench) -> list[Outcome]:
        samples = {sweep: bench.samples(sweep) for sweep in self.sweeps}
        wanted = bench.rounds or self.rounds
        return judged(states_of(False), lambda state: judge(self, samples, state, wanted))


@dataclasses.dataclass
class Demand:
    """The devices, sizes and rounds that the figures of a call want of one sweep."""

    devices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    rounds: int = 0

    def add(self, figure: SweepFigure, sweep: Sweep) -> None:
        self.devices = tuple(dict.fromkeys([*self.devices, *figure.devices]))
        self.sizes = tuple(sorted({*self.sizes, *sweep.sizes_of(figure.sizes)}))
        self.rounds = max(self.rounds, figure.rounds)


def demands(figures: Iterable[Goal]) -> dict[Sweep, Demand]:
    """The Demand of these figures on each sweep."""
    wanted: dict[Sweep, Demand] = {}
    for figure in figures:
        for sweep in figure.sweeps if isinstance(figure, SweepFigure) else ():
            wanted.setdefault(sweep, Demand()).add(figure, sweep)
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
        sides = (device, *self.sweep.rivals)
        if self.samples.rounds(state, sides, size) < self.rounds:
            return None
        return cell_of(self.sweep, device, self.samples.paired(state, sides, size))


@dataclasses.dataclass(frozen=True)
class Cell:
    """One device at one size in one state: medians over the rounds, and the better rival."""

    ours: float
    rival: float
    against: str
    rounds: int

    @property
    def ratio(self) -> float:
        return self.ours / self.rival


def cell_of(sweep: Sweep, device: str, values: dict[str, list[float]]) -> Cell:
    """Of paired samples of the device and of all rivals."""
    medians = {side: statistics.median(found) for side, found in values.items()}
    best = (min if sweep.lower_is_better else max)(sweep.rivals, key=lambda rival: medians[rival])
    return Cell(medians[device], medians[best], best, len(values[device]))


@dataclasses.dataclass
class SweepBench(Bench):
    """A bench that keeps its sweeps. A sweep that failed fails for all of its figures."""

    demands: dict[Sweep, Demand] = dataclasses.field(default_factory=dict)
    done: dict[Sweep, Samples | CannotRun | Failed] = dataclasses.field(default_factory=dict)
    measure: Callable[[Sweep, Demand, SweepBench], Samples] | None = None
    ways: Ways = dataclasses.field(default_factory=Ways)

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


def measure_sweep(sweep: Sweep, demand: Demand, bench: SweepBench) -> Samples:
    """All devices and their rivals take turns."""
    aim = Aim(demand.sizes, states_of(False), bench.rounds or demand.rounds, bench.limit_s)
    ways = bench.ways.of([*demand.devices, *sweep.rivals], sweep.mtu, sweep.hosts)
    return collect({name: sweep.on(way) for name, way in ways.items()}, aim,
                   lambda text: bench.progress(f"sweep {sweep.label}: {text}"))


@dataclasses.dataclass(frozen=True)
class Spot:
    """One device at one size of one sweep, in one state."""

    sweep: Sweep
    device: str
    size: int
    samples: Samples
    state: str

    @property
    def sides(self) -> tuple[str, ...]:
        return (self.device, *self.sweep.rivals)

    @property
    def rounds(self) -> int:
        return self.samples.rounds(self.state, self.sides, self.size)

    @property
    def values(self) -> dict[str, list[float]]:
        return self.samples.paired(self.state, self.sides, self.size)

    def text(self, with_sweep: bool) -> str:
        words = [size_text(self.size), self.device, *([self.sweep.name] if with_sweep else [])]
        return ", ".join(words if self.sweep.is_pair else [*words, self.sweep.layout])


def judge(figure: SweepFigure, samples: dict[Sweep, Samples], state: str, wanted: int) -> Outcome:
    """The worst spot; if one of them was not seen in this state, so is the figure."""
    spots = [Spot(sweep, device, size, found, state) for sweep, found in samples.items()
             for device in figure.devices for size in sweep.sizes_of(figure.sizes)]
    rounds = min(spot.rounds for spot in spots)
    spent_s = sum(found.spent_s for found in samples.values())
    if rounds < wanted:
        return NotSeen(figure.name, state, rounds, wanted, round(spent_s, 1))
    worst = (max if figure.lower_is_better else min)(
        spots, key=lambda spot: cell_of(spot.sweep, spot.device, spot.values).ratio)
    found = verdict_of(figure, worst.device, worst.values, spent_s, state)
    return dataclasses.replace(found, at=worst.text(len(figure.sweeps) > 1))


def size_text(size: int) -> str:
    """Such as 8 KiB."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"
