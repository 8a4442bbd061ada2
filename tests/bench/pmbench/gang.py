# SPDX-License-Identifier: BSD-3-Clause
"""Gang scheduling: what two jobs do that share the cores of two hosts, each of which has a core of the machine for
itself, and how soon a job answers that came behind another."""
from __future__ import annotations

import contextlib
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from .command import BUILD, Lab, pinned, program
from .eth import Sides
from .figure import Contestant, Failed, Figure
from .launch import over_pm
from .sched import in_host, scheduled, scrun, seconds

START_S = 30        # until all ranks of a job spin
SETTLE_S = 0.25     # from the order that a job stand or go on until all hosts have long obeyed
WINDOW_S = 0.4      # whole rounds of both slices
END_S = 20


class Spinner:
    """A job that spins until it is ended, and the file in which it counts."""

    def __init__(self, command: list[str], count: pathlib.Path) -> None:
        self.count = count
        self.errors = tempfile.TemporaryFile()
        # a process group of its own: the kernel stops nothing by SIGTSTP in a group that nobody looks after
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.errors, process_group=0)

    def done(self) -> int:
        """Barriers and allreduces so far."""
        if self.process.poll() is not None:
            self.errors.seek(0)
            said = self.errors.read().decode(errors="replace")
            raise Failed(f"mpi_spin: exit status {self.process.returncode}: {said[-1000:]}")
        try:
            return int.from_bytes(self.count.read_bytes(), "little")
        except FileNotFoundError:
            return 0

    def wait_until_it_spins(self) -> None:
        end = time.monotonic() + START_S
        while not self.done():
            if time.monotonic() > end:
                raise Failed(f"mpi_spin does not spin after {START_S} s")
            time.sleep(0.05)

    def suspend(self) -> None:
        self.process.send_signal(signal.SIGTSTP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.resume()
        self.process.terminate()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("mpi_spin did not end") from None
        finally:
            self.errors.close()


def per_second(jobs: list[Spinner], window_s: float) -> float:
    """Operations per second of all jobs together, from now on for window_s."""
    begin, before = time.monotonic(), [job.done() for job in jobs]
    time.sleep(window_s)
    took, after = time.monotonic() - begin, [job.done() for job in jobs]
    return sum(b - a for a, b in zip(before, after)) / took


def together(jobs: list[Spinner]) -> float:
    time.sleep(SETTLE_S)
    return per_second(jobs, WINDOW_S)


def alone(job: Spinner, other: Spinner) -> float:
    """Operations per second of the job while the other one is suspended."""
    other.suspend()
    try:
        time.sleep(SETTLE_S)
        stood_at = other.done()
        value = per_second([job], WINDOW_S / 2)
        if other.done() != stood_at:
            raise Failed("a suspended job went on")
    finally:
        other.resume()
    return value


@contextlib.contextmanager
def compared(start: Callable[[list[str]], list[str]]) -> Sides:
    """The same two jobs do both sides: where the processes of a job lie in memory makes it some per cent faster or
    slower than the next of its kind."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="spin.") as here, contextlib.ExitStack() as running:
        jobs = []
        for i in range(2):
            count = pathlib.Path(here) / str(i)
            jobs.append(Spinner(start([program("bench/mpi_spin"), str(count)]), count))
            running.callback(jobs[-1].end)
        for job in jobs:
            job.wait_until_it_spins()
        a, b = jobs
        yield (Contestant("two jobs", lambda: together(jobs)),
               [Contestant("one alone", lambda: (alone(a, b) + alone(b, a)) / 2)])


@contextlib.contextmanager
def two_hosts(quantum: str) -> Iterator[Lab]:
    with scheduled("gang", 2, "--nics", "2", "--cores", "own", "--quantum", quantum) as cluster:
        yield cluster


def pair(quantum: str) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with (two_hosts(quantum) as cluster,
              compared(lambda words: scrun(cluster, ["-nodes=2x1", *words], over_pm())) as sides):
            yield sides
    return setup


@contextlib.contextmanager
def uncoordinated() -> Sides:
    """The kernel alone decides who runs when."""
    with two_hosts("200ms") as cluster:
        def job(words: list[str]) -> list[str]:
            env = over_pm()
            exports = [word for name in env for word in ("-x", name)]
            # without the parameter, a suspended mpirun leaves its ranks running
            command = cluster.mpirun(2, ["--mca", "orte_forward_job_control", "1", *exports, *pinned(words)])
            at = command.index("--") + 1
            return in_host(cluster, command[at:], env)

        with compared(job) as sides:
            yield sides


@contextlib.contextmanager
def response() -> Sides:
    """The answer of a short job, less the time it takes on an empty cluster, in slices."""
    slice_s = 0.2
    with two_hosts("200ms") as cluster:
        short = [program("bin/scrun"), "-nodes=2x1", "/bin/echo", "here"]

        def behind() -> float:
            empty = min(seconds(cluster, short) for _ in range(2))
            with tempfile.TemporaryDirectory(dir=BUILD, prefix="spin.") as here:
                count = pathlib.Path(here) / "long"
                words = ["-nodes=2x1", program("bench/mpi_spin"), str(count)]
                long = Spinner(scrun(cluster, words, over_pm()), count)
                try:
                    long.wait_until_it_spins()
                    times = [seconds(cluster, short) for _ in range(3)]
                    long.done()
                finally:
                    long.end()
            return max(0.0, max(times) - empty) / slice_s

        yield Contestant("behind a job that spins", behind), [Contestant("one slice", lambda: 1.0)]


FIGURES = [
    Figure("gang-200ms", 0.99, False, "1/s",
           "barriers and allreduces of two spinning jobs on the same cores of 2 hosts, slices of 200 ms, against one "
           "of them while the other is suspended", pair("200ms"), rounds=100,
           is_paired=True),
    Figure("gang-20ms", 0.97, False, "1/s", "the same with slices of 20 ms", pair("20ms"), rounds=100,
           is_paired=True),
    Figure("gang-none", None, False, "1/s",
           "the same by two mpirun, nobody coordinates the hosts. Stated, no goal", uncoordinated, rounds=50,
           is_paired=True),
    Figure("gang-response", 2.0, True, "slice",
           "how much longer scrun /bin/echo on 2 hosts takes behind a job that spins on both than on an empty cluster, "
           "worst of three", response, rounds=3),
]
