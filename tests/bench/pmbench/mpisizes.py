# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the MPI programs that measure many sizes (tests/bench/src/sweep.h), and what they say.

These programs probe the machine themselves, before and after each size, while both ranks are busy.
"""
from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from . import state as states
from .command import Lab, pinned, program, run_json_lines
from .errors import Failed
from .figure import Contestant
from .rounds import Reading
from .watched import SideOf, line_file

LONG_MS = 200  # for a single size: longer than one of many gets
WINDOW = 64
VALUES = ("half_rtt_us", "mb_per_s", "messages_per_s", "us")  # what a program measures is called one of them


def run_sizes(cluster: Lab, words: Sequence[str], sizes: Sequence[int], state: str, args: list[str],
              env: dict[str, str] | None = None, ranks: int = 2) -> list[Reading]:
    """Runs such a program on ranks that are pinned to cores; one reading per size.

    words: its name and options. state: which to wait for. args, env: for mpirun.
    """
    name, *options = words
    with line_file() as line:
        command = [program(f"bench/{name}"), *options, *watch_words(str(line), state), *map(str, sizes)]
        started = pinned(command, max(cluster.hosts, 1))
        lines = run_json_lines(cluster.mpirun(ranks, [*args, *sharing(ranks), *started], env))
    if [told["bytes"] for told in lines] != list(sizes):
        raise Failed(f"{name} measured {len(lines)} of {len(sizes)} sizes: {' '.join(command)}")
    return [reading(told) for told in lines]


def sharing(ranks: int) -> list[str]:
    """Words of mpirun to ranks that share cores. The hosts of a lab do not know that they share this machine's."""
    return ["--mca", "mpi_yield_when_idle", "1"] if ranks > (os.cpu_count() or 1) else []


def watch_words(line: str, state: str) -> list[str]:
    """Options that say in which file to measure the cache line time, and which state to wait for."""
    if state == states.INDIFFERENT:
        return []
    return ["-l", line, "-f" if state == states.FAR else "-n", str(states.FAR_NS)]


def reading(told: dict) -> Reading:
    """One line of output."""
    value = next(float(told[key]) for key in VALUES if key in told)
    before, after = told.get("line_ns", (None, None))
    return Reading(value, told["bytes"], before, after)


def single(words: Sequence[str], size: int, factor: float) -> SideOf:
    """One size; what the program says is multiplied by the factor."""
    def side(name: str, cluster: Lab, args: list[str], env: dict[str, str] | None) -> Contestant:
        def read(state: str) -> Reading:
            found = run_sizes(cluster, [*words, "-t", str(LONG_MS)], [size], state, args, env)[0]
            return dataclasses.replace(found, value=found.value * factor)
        return Contestant(name, read=read)
    return side


def latency(size: int, factor: float = 1) -> SideOf:
    """Half RTT; in us with a factor of 1."""
    return single(["mpi_trip"], size, factor)


def message_rate(size: int) -> SideOf:
    """Messages per second, one way."""
    return single(["mpi_window", "-w", str(WINDOW)], size, 1e6 / size)
