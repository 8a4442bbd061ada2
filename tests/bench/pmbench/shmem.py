# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory against Open MPI's vader, both on this host without a lab."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .command import HERE, over_pm, program
from .figure import Contestant, Figure
from .mpisizes import latency
from .watched import side_of

VADER = ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
NO_CMA = ["--mca", "btl_vader_single_copy_mechanism", "none"]
PINNED = ["--bind-to", "core"]
NS_PER_US = 1000
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


FIGURES = [
    Figure("shmem-pm-latency-vs-vader", 0.75, True, "ns",
           "half RTT of 8 B: PM over shmem against Open MPI over vader", pm_against_vader, rounds=7),
    Figure("shmem-mpi-latency-vs-vader", 0.90, True, "ns",
           "half RTT of 8 B: Open MPI over mtl pm against over vader", mpi_against_vader, rounds=7),
    bandwidth("8k", 8192),
    bandwidth("64k", 65536),
    bandwidth("1m", 1048576),
]
