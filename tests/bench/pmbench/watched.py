# SPDX-License-Identifier: BSD-3-Clause
"""Runs of programs that do not probe the machine themselves, on two ranks below bench/linewatch, which does.

mpirun leaves both cores idle while it starts, so a probe before mpirun says little of the state during the run.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator

from . import state as states
from .command import BUILD, Lab, pinned, program, run_json_lines
from .figure import Contestant
from .rounds import Reading

LINE_BYTES = 4096

# A contestant: its name, its lab, arguments and environment of mpirun.
SideOf = Callable[[str, Lab, list[str], dict[str, str] | None], Contestant]
Value = Callable[[list[dict]], float]  # of the JSON lines that a program prints


@contextlib.contextmanager
def line_file() -> Iterator[pathlib.Path]:
    """A file that holds the cache line; the build directory is what the hosts of a lab share."""
    path = BUILD / f"bench-line.{os.getpid()}"
    path.write_bytes(bytes(LINE_BYTES))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def run_watched(cluster: Lab, words: list[str], value: Value, state: str, args: list[str],
                env: dict[str, str] | None = None) -> Reading:
    """Runs a program on two ranks, each pinned to a core, if possible in this state."""
    if state == states.INDIFFERENT:
        return Reading(value(run_json_lines(cluster.mpirun(2, [*args, *pinned(words)], env))))
    with line_file() as path:
        side = "above" if state == states.FAR else "below"
        watch = [program("bench/linewatch"), str(path), side, str(states.FAR_NS)]
        *lines, watched = run_json_lines(cluster.mpirun(2, [*args, *pinned([*watch, *words])], env))
    before, after = watched["line_ns"]
    return Reading(value(lines), 0, before, after)


def side_of(words: list[str], value: Value) -> SideOf:
    """Of a program that prints one value."""
    return lambda name, cluster, args, env: Contestant(
        name, read=lambda state: run_watched(cluster, words, value, state, args, env))


def plain(measure: Callable[[Lab, list[str], dict[str, str] | None], float]) -> SideOf:
    """Of a measurement that is probed from outside, or not at all."""
    return lambda name, cluster, args, env: Contestant(name, lambda: measure(cluster, args, env))
