# SPDX-License-Identifier: BSD-3-Clause
"""Gang scheduling: what two jobs do that share the cores of two hosts, each of which has a core of the machine for
itself, and how soon a job answers that came behind another."""
from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator

from .command import Lab, pinned, program
from .eth import Sides
from .figure import Contestant, Failed, Figure
from .launch import over_pm
from .sched import in_host, scheduled, scrun, seconds

START_S = 1.5       # until all ranks of two jobs spin
WINDOW_S = 1.6      # whole rounds of both slices
END_S = 20
Start = Callable[[list[str]], list[str]]


def spin(starts: list[Start]) -> float:
    """Barriers and allreduces per second of the jobs together."""
    begin = time.time() + START_S
    words = [program("bench/mpi_spin"), f"{begin:.3f}", f"{begin + WINDOW_S:.3f}"]
    jobs = [subprocess.Popen(start(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for start in starts]
    total = 0.0
    try:
        for job in jobs:
            out, err = job.communicate(timeout=START_S + WINDOW_S + END_S)
            if job.returncode or '"per_s": ' not in out:
                raise Failed(f"mpi_spin: exit status {job.returncode}: {err[-1000:]}")
            total += float(out.split('"per_s": ')[1].split("}")[0])
    except subprocess.TimeoutExpired:
        raise Failed("mpi_spin did not end") from None
    finally:
        for job in jobs:
            job.kill()
    return total


@contextlib.contextmanager
def two_hosts(quantum: str) -> Iterator[Lab]:
    with scheduled("gang", 2, "--nics", "2", "--cores", "own", "--quantum", quantum) as cluster:
        yield cluster


def pair(quantum: str) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_hosts(quantum) as cluster:
            def job(words: list[str]) -> list[str]:
                return scrun(cluster, ["-nodes=2x1", *words], over_pm())

            yield Contestant("two jobs", lambda: spin([job, job])), [Contestant("one alone", lambda: spin([job]))]
    return setup


@contextlib.contextmanager
def uncoordinated() -> Sides:
    """The kernel alone decides who runs when."""
    with two_hosts("200ms") as cluster:
        def job(words: list[str]) -> list[str]:
            env = over_pm()
            exports = [word for name in env for word in ("-x", name)]
            command = cluster.mpirun(2, [*exports, *pinned(words)])
            at = command.index("--") + 1
            return in_host(cluster, command[at:], env)

        yield Contestant("two jobs", lambda: spin([job, job])), [Contestant("one alone", lambda: spin([job]))]


@contextlib.contextmanager
def response() -> Sides:
    """The answer of a short job, less the time it takes on an empty cluster, in slices."""
    slice_s = 0.2
    with two_hosts("200ms") as cluster:
        short = [program("bin/scrun"), "-nodes=2x1", "/bin/echo", "here"]

        def behind() -> float:
            alone = min(seconds(cluster, short) for _ in range(2))
            begin = time.time() + START_S
            words = [program("bench/mpi_spin"), f"{begin:.3f}", f"{begin + 60:.3f}"]
            long = subprocess.Popen(scrun(cluster, ["-nodes=2x1", *words], over_pm()), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(START_S)
                times = [seconds(cluster, short) for _ in range(3)]
                if long.poll() is not None:
                    raise Failed("the long job ended early")
            finally:
                long.terminate()
                long.wait()
            return max(0.0, max(times) - alone) / slice_s

        yield Contestant("behind a job that spins", behind), [Contestant("one slice", lambda: 1.0)]


FIGURES = [
    Figure("gang-200ms", 0.99, False, "1/s",
           "barriers and allreduces of two spinning jobs on the same cores of 2 hosts, slices of 200 ms, against one "
           "job alone", pair("200ms"), rounds=12),
    Figure("gang-20ms", 0.97, False, "1/s", "the same with slices of 20 ms", pair("20ms"), rounds=12),
    Figure("gang-none", None, False, "1/s",
           "the same by two mpirun, nobody coordinates the hosts; stated, no goal", uncoordinated, rounds=5),
    Figure("gang-response", 2.0, True, "slice",
           "how much longer scrun /bin/echo on 2 hosts takes behind a job that spins on both than on an empty cluster, "
           "worst of three", response, rounds=3),
]
