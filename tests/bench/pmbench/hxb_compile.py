# SPDX-License-Identifier: BSD-3-Clause
"""The processor time and the memory that scconf needs to compile the largest hypercrossbar, against limits.

It has 65536 hosts with two rails along each of three dimensions, and the addresses of all their interfaces."""
from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

from .command import ROOT
from .eth import Sides
from .figure import Contestant, Failed, Figure

SECONDS, MIB = 10.0, 1024.0


def description() -> str:
    """A cluster.toml(5)."""
    rails = range(1, 7)
    return "\n".join([
        "[topology]", 'kind = "hypercrossbar"', "dims = [64, 32, 32]",
        "[[hosts]]", 'range = "n[00000-65535]"', 'address = "10.1.[0-255].[0-255]"',
        *(f'macs.eth{n} = "02:5c:0{n}:00:[00-ff]:[00-ff]"' for n in rails),
        "[networks.local]", 'type = "shmem"',
        "[networks.raw]", 'type = "ethernet"', "rails = [",
        *(f'{{ device = "eth{n}", dim = "{"xyz"[(n - 1) // 2]}" }},' for n in rails), "]", ""])


def compile_once(folder: str) -> tuple[float, float]:
    """Seconds of processor time, which other work on the machine does not add to, and MiB at the most."""
    words = [str(ROOT / "configs" / "scconf"), "compile", f"{folder}/cluster.toml"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"{' '.join(words)}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def against(part: int, allowed: float) -> Callable[[], contextlib.AbstractContextManager]:
    """That part of what compile_once gives."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "cluster.toml").write_text(description(), encoding="ascii")
            yield (Contestant("scconf compile", lambda: compile_once(folder)[part]),
                   [Contestant("allowed", lambda: allowed)])
    return setup


FIGURES = [
    Figure("hxb-compile-65536", 1.0, True, "s",
           "processor time of scconf compile for 65536 hosts, 64x32x32 with 6 rails: against 10 s", against(0, SECONDS),
           rounds=3),
    Figure("hxb-compile-65536-memory", 1.0, True, "MiB",
           "the most memory of the same: against 1 GiB", against(1, MIB), rounds=1),
]
