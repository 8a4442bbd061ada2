# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory against Open MPI's vader, both on this host without a lab."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .command import HERE, over_pm, program, run_json
from .figure import Contestant, Figure

VADER = ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
NO_CMA = ["--mca", "btl_vader_single_copy_mechanism", "none"]
PINNED = ["--bind-to", "core"]
Setup = Callable[[], contextlib.AbstractContextManager]


def pingpong(extra: list[str], env: dict[str, str] | None = None) -> float:
    """Half RTT of 8 B in ns between two pinned ranks."""
    command = HERE.mpirun(2, [*PINNED, *extra, program("bench/mpi_pingpong"), "8", "100000", "5"], env)
    return run_json(command)["half_rtt_us"] * 1000


def stream(size: int, extra: list[str], env: dict[str, str] | None = None) -> float:
    """One-way MB/s with windows of 64 messages between two pinned ranks."""
    windows = max(4, min(400, (1 << 28) // (size * 64)))
    command = HERE.mpirun(2, [*PINNED, *extra, program("bench/mpi_stream"), str(size), "64", str(windows), "5"], env)
    return run_json(command)["mb_per_s"]


def pm_latency() -> float:
    command = HERE.mpirun(2, [*PINNED, program("bin/pmtest"), "--test", "latency", "--size", "8",
                              "--iterations", "200000", "--json"])
    return run_json(command)["half_rtt_us"]["median"] * 1000


@contextlib.contextmanager
def pm_against_vader() -> Iterator[tuple[Contestant, list[Contestant]]]:
    yield Contestant("PM over shmem", pm_latency), [Contestant("btl vader", lambda: pingpong(VADER))]


@contextlib.contextmanager
def mpi_against_vader() -> Iterator[tuple[Contestant, list[Contestant]]]:
    args, env = over_pm()
    yield Contestant("mtl pm", lambda: pingpong(args, env)), [Contestant("btl vader", lambda: pingpong(VADER))]


def bandwidth_against_vader(size: int) -> Setup:
    @contextlib.contextmanager
    def setup() -> Iterator[tuple[Contestant, list[Contestant]]]:
        args, env = over_pm()
        yield (Contestant("mtl pm", lambda: stream(size, args, env)),
               [Contestant("btl vader with CMA", lambda: stream(size, VADER)),
                Contestant("btl vader without CMA", lambda: stream(size, VADER + NO_CMA))])
    return setup


def bandwidth(label: str, size: int) -> Figure:
    return Figure(f"shmem-mpi-bandwidth-{label}-vs-vader", 1.0, False, "MB/s",
                  f"MPI one-way bandwidth of {size} B messages against the best of vader with and without CMA",
                  bandwidth_against_vader(size))


FIGURES = [
    Figure("shmem-pm-latency-vs-vader", 0.75, True, "ns",
           "half RTT of 8 B: PM over shmem against Open MPI over vader", pm_against_vader, rounds=7),
    Figure("shmem-mpi-latency-vs-vader", 0.90, True, "ns",
           "half RTT of 8 B: Open MPI over mtl pm against over vader", mpi_against_vader, rounds=7),
    bandwidth("8k", 8192),
    bandwidth("64k", 65536),
    bandwidth("1m", 1048576),
]
