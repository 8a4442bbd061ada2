# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a program at a place: both sides in turn, in rounds, results compared after each run."""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence

from .. import state as states
from ..command import BUILD, program as built
from ..errors import Failed
from ..figure import states_of
from ..rounds import Aim, Reading, Samples, Take, collect
from ..sched import TIMER, in_host
from . import profile
from .links import Place, Side
from .program import Program, Results
from .profile import Profile

RUN_S = 150        # until a run is given up
RUN, MPI = 0, 1    # points: seconds of the whole command, and inside MPI calls; parts of the program follow
ENV = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A program at a place."""

    program: Program
    place: Place

    @property
    def name(self) -> str:
        return f"{self.program.name}, {self.place.name}"


@dataclasses.dataclass
class Found:
    """Results of the rounds of a case. profiles: by side and state of the machine."""

    case: Case
    samples: Samples
    profiles: dict[tuple[str, str], list[Profile]]
    rounds: int


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of one side."""

    seconds: float
    profile: Profile
    results: Results
    parts: list[float]


@contextlib.contextmanager
def prepared(case: Case) -> Iterator[pathlib.Path]:
    """A directory with the input, which all hosts of a lab see."""
    case.program.path()
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="apps.") as here:
        given = pathlib.Path(here) / "input"
        given.mkdir()
        case.program.prepare(given, case.place.ranks)
        yield pathlib.Path(here)


def command(case: Case, side: Side, directory: pathlib.Path) -> list[str]:
    """Timed in the first host; each rank is preceded by the profile."""
    settings = {**ENV, **side.env, **dict(case.program.env),
                "LD_PRELOAD": built("bench/mpiprofile.so"), "MPIPROFILE": str(directory / "rank")}
    rank = ["env", "-C", str(directory), *(f"{key}={value}" for key, value in settings.items()),
            case.program.path(), *case.program.words]
    return in_host(side.cluster, ["python3", "-c", TIMER, built("bin/scrun"), case.place.nodes(), *rank])


def run_once(case: Case, side: Side, here: pathlib.Path) -> Run:
    """In a fresh copy of the input."""
    directory = here / "run"
    shutil.copytree(here / "input", directory)
    words = command(case, side, directory)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_S, check=False,
                              stdin=subprocess.DEVNULL, errors="replace")
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            raise Failed(f"{case.name}, {side.name}: exit status {done.returncode}: {' '.join(words)}\n"
                         f"{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
        told = json.loads(lines[-1])
        return Run(told["seconds"], profile.read(directory / "rank", case.place.ranks),
                   case.program.results(directory, told["said"]), case.program.parts(directory))
    except subprocess.TimeoutExpired:
        raise Failed(f"{case.name}, {side.name}: no end within {RUN_S} s: {' '.join(words)}") from None
    finally:
        shutil.rmtree(directory)


class Runner:
    """Takes the readings of both sides, and keeps what a reading cannot hold."""

    def __init__(self, case: Case, here: pathlib.Path, waits: bool) -> None:
        self.case = case
        self.here = here
        self.waits = waits  # for the state of the machine that still lacks rounds
        self.results: Results | None = None  # of the first run
        self.profiles: dict[tuple[str, str], list[Profile]] = collections.defaultdict(list)

    def side(self, side: Side) -> Take:
        def take(points: Sequence[int], state: str) -> list[Reading]:
            before = states.seek(state) if self.waits and state else states.probe() if state else None
            run = run_once(self.case, side, self.here)
            after = states.probe() if state else None
            self.results = self.results or run.results
            self.case.program.compare(run.results, self.results)
            values = [run.seconds, run.profile.mpi_s, *run.parts]
            readings = [Reading(values[point], point, before, after) for point in points]
            if (seen := readings[0].state()) is not None:
                self.profiles[side.name, seen].append(run.profile)
            return readings
        return take


def measure(case: Case, sides: dict[str, Side], rounds: int, limit_s: float,
            progress: Callable[[str], None]) -> Found:
    """Both sides take turns until there are enough rounds."""
    with prepared(case) as here:
        runner = Runner(case, here, limit_s > 0)
        points = tuple(range(MPI + 1 + len(case.program.part_names)))
        aim = Aim(points, states_of(False), rounds, limit_s)
        samples = collect({name: runner.side(side) for name, side in sides.items()}, aim,
                          lambda text: progress(f"{case.name}: {text}"))
        return Found(case, samples, runner.profiles, rounds)
