# SPDX-License-Identifier: BSD-3-Clause
"""Cases that can be measured: ways, patterns, interfaces and sizes, and the command lines for them: pure."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from .. import state as states
from ..command import program
from ..devices import DIRECT, PORT, UDP
from ..mpisizes import watch_words

SHMEM = "shmem"
DEVICES = (DIRECT, PORT, UDP, SHMEM)
LATENCY, ONE_WAY, BOTH_WAYS = "latency", "window", "bothways"
PATTERNS = (LATENCY, ONE_WAY, BOTH_WAYS)
MPI, PM = "mpi", "pm"
INTERFACES = (MPI, PM)
SIZES = (2 << 10, 8 << 10, 64 << 10, 1 << 20)
WINDOW = 64

MPI_WORDS = {LATENCY: ["mpi_trip"], ONE_WAY: ["mpi_window", "-w", str(WINDOW)],
             BOTH_WAYS: ["mpi_window", "-b", "-w", str(WINDOW)]}
PM_TESTS = {LATENCY: "latency", ONE_WAY: "bandwidth", BOTH_WAYS: "bidirectional"}
TRIP = 2  # messages of a round trip


@dataclasses.dataclass(frozen=True)
class Case:
    device: str
    interface: str
    pattern: str
    size: int

    @property
    def program(self) -> str:
        """The name of the measured process."""
        return MPI_WORDS[self.pattern][0] if self.interface == MPI else "pmtest"

    @property
    def messages_per_operation(self) -> int:
        """In both directions at once a message is one each way."""
        return TRIP if self.pattern == LATENCY else WINDOW

    @property
    def bytes_per_operation(self) -> int:
        ways = 2 if self.pattern == BOTH_WAYS else 1
        return self.size * self.messages_per_operation * ways

    def timed(self, seconds: float, line: str, state: str) -> list[str]:
        """Command of a rank, to be measured for so long; line: the file for the cache line time."""
        if self.interface == MPI:
            name, *options = MPI_WORDS[self.pattern]
            return [program(f"bench/{name}"), *options, "-t", f"{1000 * seconds:.0f}", *watch_words(line, state),
                    str(self.size)]
        return [*linewatch_words(line, state), *self._pmtest("--seconds", str(seconds))]

    def counted(self, operations: int) -> list[str]:
        """Command of a rank, for so many operations and no measurement."""
        if self.interface == MPI:
            name, *options = MPI_WORDS[self.pattern]
            return [program(f"bench/{name}"), *options, "-o", str(operations), str(self.size)]
        messages = operations * (1 if self.pattern == LATENCY else WINDOW)
        return self._pmtest("--iterations", str(messages), "--warmup", "20")

    def _pmtest(self, *options: str) -> list[str]:
        return [program("bin/pmtest"), "--test", PM_TESTS[self.pattern], "--size", str(self.size), *options,
                "--no-check", "--wait", "poll", "--limit", "30", "--json"]

    def message_us(self, told: Mapping) -> float | None:
        """Typical time per message, of what the program says; both ways: of one each way. None: it says a mean only."""
        if self.pattern == LATENCY:
            half = told["half_rtt_us"]
            return float(half["median"] if self.interface == PM else half)
        if self.interface == PM:
            return None
        return self.size * (2 if self.pattern == BOTH_WAYS else 1) / float(told["mb_per_s"])

    def mean_us(self, told: Mapping, stopped_s: float) -> float:
        """The same on average over the run, less the time that the ranks were stopped."""
        if self.interface == PM:
            messages = told["messages"] * (TRIP if self.pattern == LATENCY else 1)
            return (told["seconds"] - stopped_s) * 1e6 / messages
        messages = told["batches"] * told["operations"] * self.messages_per_operation
        return (told["to_ns"] - told["from_ns"] - stopped_s * 1e9) / 1e3 / messages


def linewatch_words(line: str, state: str) -> list[str]:
    if state == states.INDIFFERENT:
        return []
    side = "above" if state == states.FAR else "below"
    return [program("bench/linewatch"), line, side, str(states.FAR_NS)]


def lengths(case: Case, bytes_max: int, most: int) -> tuple[int, int]:
    """Operations of a short run and of a long one, whose difference is counted."""
    long = max(3, min(most, bytes_max // case.bytes_per_operation))
    return long // 3, long
