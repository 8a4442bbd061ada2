# SPDX-License-Identifier: BSD-3-Clause
"""Messages and waiting while a program does something else: messages that move while their ranks compute, how long a
rank that computes delays the other one, and threads that call MPI at the same time. Against Open MPI's TCP on a cable
of MTU 1500, and against vader inside this host."""
from __future__ import annotations

from .devices import DIRECT, DIRECT_THREAD, HERE_MTU, SHMEM, UDP, UDP_THREAD, VADERS
from .sweep import Sweep, SweepFigure, size_text

KIB, MIB = 1 << 10, 1 << 20
STATED_ROUNDS = 3
THREADS = (2, 4, 8)
# About what the slower one of TCP and vader takes for the message alone.
BETWEEN_HOSTS_US = {64 * KIB: 40, MIB: 650}
ONE_HOST_US = {64 * KIB: 8, MIB: 65}
DELAY_US = 3000  # much longer than any of the messages
TCP_TEXT = "Open MPI over mtl pm against btl tcp with offloads"
VADER_TEXT = "Open MPI over mtl pm against the better of vader with and without CMA"


def overlap(size: int, compute_us: int, *options: str, here: bool = False) -> Sweep:
    way = "both ways" if "-b" in options else "one way"
    text = f"time of start, {compute_us} us of computation at both sides, and wait for {size_text(size)} {way}"
    name = f"overlap-{size_text(size).replace(' ', '')}-{way.replace(' ', '-')}"
    words = ("mpi_overlap", "-c", str(compute_us), *options)
    return Sweep(name, words, "us", True, text, *((HERE_MTU, VADERS) if here else ()))


def delay(side: str, here: bool = False) -> Sweep:
    words = ("mpi_overlap", "-w", side, "-c", str(DELAY_US))
    text = f"time from start to the end of the wait while the {side} computes for {DELAY_US} us after its start"
    return Sweep(f"delay-{side}", words, "us", True, text, *((HERE_MTU, VADERS) if here else ()))


def rate(threads: int, *options: str, here: bool = False) -> Sweep:
    how = "threads that test in a loop" if "-s" in options else "threads that wait"
    words = ("mpi_threads", "-T", str(threads), *options)
    name = f"threads-rate-{threads}{'' if '-s' in options else '-wait'}"
    return Sweep(name, words, "1/s", False, f"message rate of {threads} {how}, 64 in flight each",
                 *((HERE_MTU, VADERS) if here else ()))


def half_rtt(threads: int) -> Sweep:
    return Sweep(f"threads-latency-{threads}", ("mpi_threads", "-T", str(threads), "-p", "-s"), "us", True,
                 f"half RTT of {threads} pairs of threads at the same time, which test in a loop")


def stated(name: str, sweeps: tuple[Sweep, ...], device: str, *sizes: int) -> SweepFigure:
    against = VADER_TEXT if device == SHMEM else f"{TCP_TEXT} ({device})"
    text = sweeps[0].title + (f"; worst of {', '.join(map(str, THREADS))} threads" if len(sweeps) > 1 else "")
    return SweepFigure(name, None, sweeps[0].lower_is_better, sweeps[0].unit, f"{text}: {against}. Stated, no goal",
                       sweeps, (device,), sizes, rounds=STATED_ROUNDS)


def threaded(name: str, sweep: Sweep, device: str, *sizes: int) -> SweepFigure:
    """The same with the progress thread."""
    return stated(f"{name}-thread", (sweep,), device, *sizes)


def rates(*options: str, here: bool = False) -> tuple[Sweep, ...]:
    return tuple(rate(n, *options, here=here) for n in THREADS)


FIGURES = [
    SweepFigure("overlap-1m", 1.0, True, "us", f"{overlap(MIB, BETWEEN_HOSTS_US[MIB]).title}: {TCP_TEXT}, direct",
                (overlap(MIB, BETWEEN_HOSTS_US[MIB]),), (DIRECT,), (MIB,)),
    stated("overlap-64k", (overlap(64 * KIB, BETWEEN_HOSTS_US[64 * KIB]),), DIRECT, 64 * KIB),
    *(stated(f"overlap-{label}-udp", (overlap(size, BETWEEN_HOSTS_US[size]),), UDP, size)
      for label, size in (("64k", 64 * KIB), ("1m", MIB))),
    *(stated(f"overlap-{label}-both-ways", (overlap(size, BETWEEN_HOSTS_US[size], "-b"),), DIRECT, size)
      for label, size in (("64k", 64 * KIB), ("1m", MIB))),
    *(stated(f"overlap-{label}-shmem", (overlap(size, ONE_HOST_US[size], here=True),), SHMEM, size)
      for label, size in (("64k", 64 * KIB), ("1m", MIB))),
    *(stated(f"delay-by-{side}", (delay(side),), DIRECT, 64 * KIB, MIB) for side in ("sender", "receiver")),
    *(threaded(f"overlap-{label}", overlap(size, BETWEEN_HOSTS_US[size]), DIRECT_THREAD, size)
      for label, size in (("64k", 64 * KIB), ("1m", MIB))),
    *(threaded(f"overlap-{label}-udp", overlap(size, BETWEEN_HOSTS_US[size]), UDP_THREAD, size)
      for label, size in (("64k", 64 * KIB), ("1m", MIB))),
    *(threaded(f"delay-by-{side}", delay(side), DIRECT_THREAD, 64 * KIB, MIB) for side in ("sender", "receiver")),
    *(stated(f"delay-by-{side}-shmem", (delay(side, here=True),), SHMEM, 64 * KIB, MIB)
      for side in ("sender", "receiver")),
    SweepFigure("threads-rate-vs-tcp", 2.0, False, "1/s",
                "messages of 8 B per second with MPI_THREAD_MULTIPLE, 64 in flight of each thread, which tests in a "
                f"loop; worst of 2, 4 and 8 threads of each rank: {TCP_TEXT}, direct", rates("-s"), (DIRECT,), (8,)),
    stated("threads-rate-udp-vs-tcp", rates("-s"), UDP, 8),
    stated("threads-rate-vs-vader", rates("-s", here=True), SHMEM, 8),
    stated("threads-rate-wait-vs-tcp", rates(), DIRECT, 8),
    stated("threads-latency-vs-tcp", tuple(map(half_rtt, THREADS)), DIRECT, 8),
]
