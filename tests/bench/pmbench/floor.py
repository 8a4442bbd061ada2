# SPDX-License-Identifier: BSD-3-Clause
"""The least that a message takes on this machine, by segmented datagrams and by a TCP connection.

Both against Open MPI's TCP on the same cable. Where both ratios lie above a goal, no library that goes by the kernel's
sockets can reach it here.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from .command import lab
from .devices import BTL_TCP
from .figure import Contestant, Figure
from .mpisizes import WINDOW, latency, single
from .watched import SideOf


MTU = 1500
HALF_RTT = {f"{kib}k": kib << 10 for kib in (8, 16, 32, 64, 128, 256, 512)}
IN_FLIGHT = {"16k": 16 << 10, "32k": 32 << 10, "64k": 64 << 10, "256k": 256 << 10, "1m": 1 << 20}
STREAM_HALF_RTT = {"8k": 8 << 10, "16k": 16 << 10, "64k": 64 << 10, "512k": 512 << 10, "2m": 2 << 20, "4m": 4 << 20}
STREAM_IN_FLIGHT = {"32k": 32 << 10, "256k": 256 << 10, "1m": 1 << 20, "4m": 4 << 20}
DATAGRAMS = ("raw segmented datagrams", "with one copy at each side and nothing else")
CONNECTION = ("a bare TCP connection", "into and out of the program's memory")


def _against_tcp(name: str, lower_is_better: bool, unit: str, what: str, by: tuple[str, str], raw: SideOf, tcp: SideOf,
                 mtu: int = MTU) -> Figure:
    """Stated: there is nothing of ours in it."""
    @contextlib.contextmanager
    def setup() -> Iterator[tuple[Contestant, list[Contestant]]]:
        with lab("floor", 2, "--direct", "--offloads", "on", "--mtu", str(mtu)) as cable:
            yield (raw(by[0], cable, BTL_TCP, None), [tcp("btl tcp", cable, BTL_TCP, None)])
    return Figure(f"floor-{name}-vs-tcp", None, lower_is_better, unit,
                  f"{what} by {by[0]} {by[1]}, against btl tcp with offloads. Stated, no goal", setup)


def half_rtt(label: str, size: int, mtu: int = MTU) -> Figure:
    """One message at a time."""
    at = "" if mtu == MTU else f" at MTU {mtu}"
    return _against_tcp(label, True, "us", f"half RTT of {size} B{at}", DATAGRAMS,
                        single(["mpi_floor", "-m", str(mtu)], size, 1), latency(size), mtu)


def stream_half_rtt(label: str, size: int) -> Figure:
    """One message at a time, by a connection."""
    return _against_tcp(f"stream-{label}", True, "us", f"half RTT of {size} B", CONNECTION,
                        single(["mpi_floor", "-s"], size, 1), latency(size))


def in_flight(name: str, size: int, words: Sequence[str], how: str, by: tuple[str, str] = DATAGRAMS,
              raw_words: Sequence[str] = ()) -> Figure:
    """Many messages at once."""
    options = ["-w", str(WINDOW), *words]
    return _against_tcp(name, False, "MB/s", f"bandwidth {how} of {size} B messages, {WINDOW} in flight,", by,
                        single(["mpi_floor", *raw_words, *options], size, 1), single(["mpi_window", *options], size, 1))


def stream_in_flight(name: str, size: int, words: Sequence[str], how: str) -> Figure:
    """Many messages at once, by a connection."""
    return in_flight(f"stream-{name}", size, words, how, CONNECTION, ["-s"])


FIGURES = [*(half_rtt(label, size) for label, size in HALF_RTT.items()),
           *(in_flight(f"window-{label}", size, [], "one way") for label, size in IN_FLIGHT.items()),
           *(half_rtt(f"{label}-9000", HALF_RTT[label], 9000) for label in ("128k", "256k")),
           in_flight("bibw-1m", 1 << 20, ["-b"], "both ways at once"),
           *(stream_half_rtt(label, size) for label, size in STREAM_HALF_RTT.items()),
           *(stream_in_flight(f"window-{label}", size, [], "one way") for label, size in STREAM_IN_FLIGHT.items()),
           stream_in_flight("bibw-1m", 1 << 20, ["-b"], "both ways at once")]
