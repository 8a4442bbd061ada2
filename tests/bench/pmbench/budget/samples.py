# SPDX-License-Identifier: BSD-3-Clause
"""The samples of perf: reading its text, and finding the source files of addresses."""
from __future__ import annotations

import collections
import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator

from ..command import BUILD, ROOT, TIMEOUT_S
from ..errors import CannotRun, Failed
from .stages import Frame

RATE_HZ = 2499  # not in step with the kernel's own ticks; twice as many slow small messages down by a sixth
HEAD = re.compile(r"^\s*(.+?)\s+(-?\d+) \[(\d+)\]\s+(\d+)\.(\d+):")
CALL = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


@dataclasses.dataclass(frozen=True)
class Sample:
    program: str
    pid: int
    core: int
    at_ns: int  # CLOCK_MONOTONIC
    frames: tuple[Frame, ...]


def record_words(path: pathlib.Path) -> list[str]:
    """Before a command: samples of all cores while it runs. The software clock is all that a virtual machine has."""
    return ["perf", "record", "-q", "-a", "-g", "-k", "CLOCK_MONOTONIC", "-F", str(RATE_HZ), "-e", "cpu-clock",
            "-m", "4096", "-o", str(path), "--"]


def need_perf() -> None:
    """Tries it for a moment."""
    command = ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise CannotRun("perf is not installed (Debian package linux-perf)") from None
    if done.returncode:
        raise CannotRun("perf can't sample all cores by the software clock here; as root, with "
                        f"/proc/sys/kernel/perf_event_paranoid at 2 or less, it can: {done.stderr.strip()[-300:]}")


def read(path: pathlib.Path) -> list[Sample]:
    done = subprocess.run(["perf", "script", "-i", str(path), "--ns", "-F", "comm,pid,cpu,time,ip,sym,dso"],
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise Failed(f"perf script: {done.stderr.strip()[-300:]}")
    return list(parse(done.stdout.splitlines()))


def parse(lines: Iterable[str]) -> Iterator[Sample]:
    """The text of perf script: a head, the calls from the innermost outwards, an empty line."""
    head: re.Match[str] | None = None
    frames: list[Frame] = []
    for line in [*lines, ""]:
        if not line.strip():
            if head:
                name, pid, core, seconds, fraction = head.groups()
                at_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
                yield Sample(name, int(pid), int(core), at_ns, tuple(frames))
            head, frames = None, []
        elif head is None:
            head = HEAD.match(line)
        elif call := CALL.match(line):
            frames.append(Frame(int(call[1], 16), call[2], call[3]))


class Files:
    """The source files of addresses in what this tree has built, inlined functions first."""

    def __init__(self) -> None:
        self.known: dict[Frame, tuple[str, ...]] = {}

    def find(self, samples: Iterable[Sample]) -> dict[Frame, tuple[str, ...]]:
        """Those of all frames of the samples."""
        wanted: dict[str, list[Frame]] = collections.defaultdict(list)
        for frame in {frame for sample in samples for frame in sample.frames}:
            if frame not in self.known and frame.object.startswith(f"{BUILD}/"):
                wanted[frame.object].append(frame)
        for object_, frames in wanted.items():
            self.known.update(zip(frames, places(object_, [frame.address for frame in frames])))
        return self.known


def places(object_: str, addresses: list[int]) -> list[tuple[str, ...]]:
    """By addr2line: for each address the files, from the innermost inlined function outwards."""
    done = subprocess.run(["addr2line", "-e", object_, "-a", "-i"], input="\n".join(map(hex, addresses)),
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise Failed(f"addr2line -e {object_}: {done.stderr.strip()[-300:]}")
    return split_places(done.stdout.splitlines())


def split_places(lines: Iterable[str]) -> list[tuple[str, ...]]:
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("0x"):
            found.append([])
        else:
            path = line.rsplit(":", 1)[0]
            found[-1].append(path.removeprefix(f"{ROOT}/"))
    return [tuple(each) for each in found]
