# SPDX-License-Identifier: BSD-3-Clause
"""Half round-trip time and bandwidth of MPI at every size from 1 B to 4 MiB, against Open MPI's TCP, on a cable."""
from __future__ import annotations

from .devices import DIRECT, NAMES, PORT, UDP
from .sweep import Sweep, SweepFigure

EVERY = tuple(1 << i for i in range(23))
WINDOW = 64
KIB, MIB = 1 << 10, 1 << 20
MTUS = ((1500, ""), (9000, "-9000"))

LATENCY = {mtu: Sweep("latency", ("mpi_trip",), "us", True, "half RTT", mtu) for mtu, _ in MTUS}
BANDWIDTH = {mtu: Sweep("window", ("mpi_window", "-w", str(WINDOW)), "MB/s", False,
                        f"bandwidth one way, {WINDOW} messages in flight", mtu) for mtu, _ in MTUS}
ONE_BY_ONE = Sweep("one-by-one", ("mpi_window", "-e", "-w", str(WINDOW)), "MB/s", False,
                   f"bandwidth one way, {WINDOW} messages sent at once and received one after the other")
BOTH_WAYS = Sweep("both-ways", ("mpi_window", "-b", "-w", str(WINDOW)), "MB/s", False,
                  f"bandwidth both ways at once, {WINDOW} messages in flight each way")


def latency(name: str, goal: float, device: str, mtu: int) -> SweepFigure:
    return SweepFigure(name, goal, True, "us",
                       f"half RTT, worst of all powers of two from 1 B to 4 MiB, MTU {mtu}: Open MPI over mtl pm "
                       f"({NAMES[device]}) against btl tcp with offloads", (LATENCY[mtu],), (device,), EVERY)


def latency_at(label: str, goal: float, size: int) -> SweepFigure:
    return SweepFigure(f"eth-{label}-vs-tcp", goal, True, "us",
                       f"half RTT of {size} B, MTU 1500: Open MPI over mtl pm ({NAMES[DIRECT]}) against btl tcp with "
                       "offloads", (LATENCY[1500],), (DIRECT,), (size,))


def window(name: str, goal: float | None, device: str, mtu: int) -> SweepFigure:
    return SweepFigure(name, goal, False, "MB/s",
                       f"bandwidth one way with {WINDOW} messages in flight, worst of all powers of two from 1 B to "
                       f"4 MiB, MTU {mtu}. Open MPI over mtl pm ({NAMES[device]}) against btl tcp with offloads"
                       + ("" if goal else ". Stated, no goal"), (BANDWIDTH[mtu],), (device,), EVERY)


def window_1m(name: str, goal: float, device: str) -> SweepFigure:
    return SweepFigure(name, goal, False, "MB/s",
                       f"bandwidth one way of 1 MiB messages, {WINDOW} in flight, MTU 1500: Open MPI over mtl pm "
                       f"({NAMES[device]}) against btl tcp with offloads", (BANDWIDTH[1500],), (device,), (MIB,))


FIGURES = [
    *(latency(name + suffix, goal, device, mtu) for mtu, suffix in MTUS
      for name, goal, device in (("eth-every-size", 0.95, DIRECT), ("eth-every-size-port", 1.0, PORT),
                                 ("udp-every-size", 1.0, UDP))),
    latency_at("8k", 0.65, 8 * KIB),
    latency_at("64k", 0.75, 64 * KIB),
    window("eth-window-every-size", 1.05, DIRECT, 1500),
    *(window(name + suffix, None, device, mtu) for mtu, suffix in MTUS
      for name, device in (("eth-window-every-size", DIRECT), ("eth-window-every-size-port", PORT),
                           ("udp-window-every-size", UDP)) if name + suffix != "eth-window-every-size"),
    SweepFigure("eth-one-by-one-every-size", 1.0, False, "MB/s",
                f"bandwidth one way, {WINDOW} messages sent at once and received one after the other, worst of all "
                f"powers of two from 1 B to 4 MiB, MTU 1500. Open MPI over mtl pm ({NAMES[DIRECT]}) against btl tcp "
                "with offloads", (ONE_BY_ONE,), (DIRECT,), EVERY),
    window_1m("eth-window-1m", 1.5, DIRECT),
    window_1m("udp-window-1m", 1.5, UDP),
    SweepFigure("eth-bibw-1m", 1.3, False, "MB/s",
                f"bandwidth both ways at once of 1 MiB messages, {WINDOW} in flight each way, MTU 1500: Open MPI over "
                f"mtl pm ({NAMES[DIRECT]}) against btl tcp with offloads", (BOTH_WAYS,), (DIRECT,), (MIB,)),
]
