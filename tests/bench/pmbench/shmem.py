# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory against Open MPI's vader, both on this host without a lab."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .command import HERE, over_pm, program
from .devices import HERE_MTU, NO_CMA, SHMEM, VADER, VADERS
from .figure import Contestant, Figure
from .mpisizes import WINDOW, latency
from .sweep import Sweep, SweepFigure
from .watched import side_of

PINNED = ["--bind-to", "core"]
NS_PER_US = 1000
EVERY = tuple(1 << i for i in range(23))
WINDOWED = tuple(1 << i for i in range(21))  # 64 messages of up to 1 MiB
BLOCKS = tuple(1 << i for i in range(19))  # of collectives
AGAINST = "Open MPI over mtl pm against the better of vader with and without CMA"
Setup = Callable[[], contextlib.AbstractContextManager]


def pingpong(name: str, args: list[str], env: dict[str, str] | None = None) -> Contestant:
    """Half RTT of 8 B in ns between two pinned ranks."""
    return latency(8, NS_PER_US)(name, HERE, args, env)


def stream(size: int, name: str, args: list[str], env: dict[str, str] | None = None) -> Contestant:
    """One-way MB/s with windows of 64 messages between two pinned ranks."""
    windows = max(4, min(400, (1 << 28) // (size * 64)))
    words = [program("bench/mpi_stream"), str(size), "64", str(windows), "5"]
    return side_of(words, lambda told: told[-1]["mb_per_s"])(name, HERE, args, env)


def pm_latency() -> Contestant:
    """The same of PM alone."""
    words = [program("bin/pmtest"), "--test", "latency", "--size", "8", "--iterations", "200000", "--json"]
    return side_of(words, lambda told: told[-1]["half_rtt_us"]["median"] * NS_PER_US)("PM over shmem", HERE, [], None)


@contextlib.contextmanager
def pm_against_vader() -> Iterator[tuple[Contestant, list[Contestant]]]:
    yield pm_latency(), [pingpong("btl vader", VADER)]


@contextlib.contextmanager
def mpi_against_vader() -> Iterator[tuple[Contestant, list[Contestant]]]:
    args, env = over_pm()
    yield pingpong("mtl pm", args, env), [pingpong("btl vader", VADER)]


def bandwidth_against_vader(size: int) -> Setup:
    @contextlib.contextmanager
    def setup() -> Iterator[tuple[Contestant, list[Contestant]]]:
        args, env = over_pm()
        yield (stream(size, "mtl pm", args, env),
               [stream(size, "btl vader with CMA", VADER), stream(size, "btl vader without CMA", VADER + NO_CMA)])
    return setup


def bandwidth(label: str, size: int) -> Figure:
    return Figure(f"shmem-mpi-bandwidth-{label}-vs-vader", 1.0, False, "MB/s",
                  f"MPI one-way bandwidth of {size} B messages against the best of vader with and without CMA",
                  bandwidth_against_vader(size))


def sweep(name: str, words: tuple[str, ...], unit: str, title: str) -> tuple[Sweep, Sweep]:
    """Data that were written long ago, and data that are written for each message."""
    lower_is_better = unit == "us"
    return (Sweep(name, words, unit, lower_is_better, title, HERE_MTU, VADERS),
            Sweep(f"{name}-written", (*words, "-W"), unit, lower_is_better,
                  f"{title}, data written for each message", HERE_MTU, VADERS))


LATENCY = sweep("latency", ("mpi_trip",), "us", "half RTT")
BANDWIDTH = sweep("window", ("mpi_window", "-w", str(WINDOW)), "MB/s",
                  f"bandwidth one way, {WINDOW} messages in flight")
BOTH_WAYS = sweep("both-ways", ("mpi_window", "-b", "-w", str(WINDOW)), "MB/s",
                  f"bandwidth both ways at once, {WINDOW} messages in flight each way")
COLLECTIVES = [each for operation in ("allreduce", "alltoall")
               for each in sweep(operation, ("mpi_collective", "-c", operation), "us", f"time of {operation}, 2 ranks")]

FIGURES = [
    Figure("shmem-pm-latency-vs-vader", 0.75, True, "ns",
           "half RTT of 8 B: PM over shmem against Open MPI over vader", pm_against_vader, rounds=7),
    Figure("shmem-mpi-latency-vs-vader", 0.75, True, "ns",
           "half RTT of 8 B: Open MPI over mtl pm against over vader", mpi_against_vader, rounds=7),
    bandwidth("8k", 8192),
    bandwidth("64k", 65536),
    bandwidth("1m", 1048576),
    SweepFigure("shmem-every-size", 1.0, True, "us",
                f"half RTT, worst of all powers of two from 1 B to 4 MiB: {AGAINST}", LATENCY, (SHMEM,), EVERY),
    SweepFigure("shmem-window-every-size", 1.0, False, "MB/s",
                f"bandwidth with {WINDOW} messages in flight, one way and both ways, worst of all powers of two from "
                f"1 B to 1 MiB. {AGAINST}", BANDWIDTH + BOTH_WAYS, (SHMEM,), WINDOWED),
    SweepFigure("shmem-collectives-worst", 1.0, True, "us",
                f"time of allreduce and alltoall of 2 ranks, worst of all powers of two from 1 B to 256 KiB: {AGAINST}",
                tuple(COLLECTIVES), (SHMEM,), BLOCKS),
]
