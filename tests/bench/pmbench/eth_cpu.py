# SPDX-License-Identifier: BSD-3-Clause
"""The processor cost of a message over pm-ethernet, in system calls and in instructions of user space.

Two runs of different length are compared, so that the start of the program does not count.
"""
from __future__ import annotations

import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterator

from .command import BUILD, Lab, program, run_json
from .eth import Sides, eth_lab, options_of
from .figure import CannotRun, Contestant, Failed, Figure

# Budgets of the hot path: instructions of sender and receiver together, progress included.
BUDGET_8 = 2000
BUDGET_8K = 10000
SHORT, LONG = 2000, 10000
SEND = ["pmPost"]
RECEIVE = ["pmReceive", "pmReleaseReceiveBuffer"]


def need(tool: str, package: str) -> None:
    if not shutil.which(tool):
        raise CannotRun(f"{tool} is not installed (Debian package {package})")


@contextlib.contextmanager
def scratch() -> Iterator[pathlib.Path]:
    """A directory that hosts of a lab see as well."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="bench.") as name:
        yield pathlib.Path(name)


def pmtest_under(cluster: Lab, tool: list[str], rank: int, test: str, size: str, iterations: int,
                 lane: str = "auto") -> None:
    """pmtest between two hosts, one of its ranks run by a tool that watches it."""
    words = [program("bin/pmtest"), "--test", test, "--size", size, "--iterations", str(iterations), "--warmup", "100",
             "--no-check", "--limit", "50", "--json"]
    script = f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then exec {" ".join(tool)} "$@"; fi; exec "$@"'
    options = {"PM_OPTIONS": f"{options_of('direct')['PM_OPTIONS']},ethernet.lane={lane}"}
    result = run_json(cluster.mpirun(2, ["sh", "-c", script, "sh", *words], options))
    if result["device"] != "ethernet":
        raise Failed(f"pmtest went over {result['device']}, not over ethernet")


def per_message(count: Callable[[int], int]) -> float:
    return (count(LONG) - count(SHORT)) / (LONG - SHORT)


def system_calls(cluster: Lab) -> float:
    """Per message sent, in a ping-pong of 8 B. sched_yield does not count: it fills the wait for an answer, and how
    often depends on what else the machine does."""
    def count(iterations: int) -> int:
        with scratch() as directory:
            out = directory / "perf"
            tool = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter,syscalls:sys_enter_sched_yield", "-o",
                    str(out), "--"]
            pmtest_under(cluster, tool, 0, "latency", "8", iterations)
            counts = [line.split(",")[0] for line in out.read_text().splitlines() if "sys_enter" in line]
        if len(counts) != 2 or not all(count.isdecimal() for count in counts):
            raise CannotRun("perf can't count system calls here (tracefs, or permission)")
        return int(counts[0]) - int(counts[1])
    return per_message(count)


def instructions(cluster: Lab, rank: int, functions: list[str], test: str, size: str, lane: str) -> float:
    """Per message, within the named calls of libpm."""
    def count(iterations: int) -> int:
        with scratch() as directory:
            out = directory / "callgrind"
            tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                    *(f"--toggle-collect={name}" for name in functions)]
            pmtest_under(cluster, tool, rank, test, size, iterations, lane)
            totals = [line.split()[1] for line in out.read_text().splitlines() if line.startswith("totals:")]
        if not totals:
            raise Failed(f"{out}: callgrind wrote no totals")
        return int(totals[0])
    return per_message(count)


@contextlib.contextmanager
def calls_per_message() -> Sides:
    need("perf", "linux-perf")
    with eth_lab("cpu", 2, "--direct") as cluster:
        yield (Contestant("8 B ping-pong", lambda: system_calls(cluster)),
               [Contestant("one per message", lambda: 1.0)])


def instructions_of(size: str, send_test: str, budget: int, lane: str) -> Callable[
        [], contextlib.AbstractContextManager]:
    """The side under callgrind is by far the slower one, so that neither waits in the counted calls.

    lane: "always" is what is chosen outside of callgrind for messages of several packets; there time decides, and under
    callgrind chance.
    """
    @contextlib.contextmanager
    def setup() -> Sides:
        need("valgrind", "valgrind")
        with eth_lab("cpu", 2, "--direct") as cluster:
            def both() -> float:
                return (instructions(cluster, 0, SEND, send_test, size, lane)
                        + instructions(cluster, 1, RECEIVE, "bandwidth", size, lane))

            yield Contestant("sender and receiver", both), [Contestant("budget", lambda: float(budget))]
    return setup


FIGURES = [
    Figure("eth-syscalls-per-message", 1.05, True, "1",
           "system calls of a PM process, but for sched_yield, per message of 8 B that it sends and answer it gets",
           calls_per_message, rounds=3),
    Figure("eth-instructions-8", 1.0, True, "1",
           "user-space instructions in libpm per message of 8 B, sender and receiver, by callgrind, against the budget "
           "of the hot path", instructions_of("8", "latency", BUDGET_8, "auto"), rounds=1),
    Figure("eth-instructions-8k", 1.0, True, "1",
           "the same per 8 KiB by datagrams", instructions_of("8K", "bandwidth", BUDGET_8K, "always"), rounds=1),
    Figure("eth-instructions-8k-frames", 1.0, True, "1",
           "the same per 8 KiB by frames", instructions_of("8K", "bandwidth", BUDGET_8K, "never"), rounds=1),
]
