# SPDX-License-Identifier: BSD-3-Clause
"""Messages of MPI by pml/ob1 over btl/pm, between two hosts by raw frames. Against pml/cm over mtl/pm, and against
pml/ob1 over btl/tcp, which has a cable of its own.

Figures against TCP have pml/cm over mtl/pm beside them, so each of them is a row of one table.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable

from .command import over_btl_pm
from .devices import BTL_TCP
from .eth import STATED, Sides, eth_lab, over_eth, two_cables
from .figure import Figure, beside
from .mpisizes import WINDOW, latency, message_rate, single
from .watched import SideOf

POSTED = 1000
OFFLOADS = ("--offloads", "on")
BTL, MTL, TCP = "ob1 over btl pm", "cm over mtl pm", "ob1 over btl tcp"
AGAINST = "ob1 over btl pm (pm-ethernet, direct) against ob1 over btl tcp with offloads"
Setup = Callable[[], contextlib.AbstractContextManager]


def over_btl() -> tuple[list[str], dict[str, str]]:
    return over_btl_pm("self+shmem+ethernet", ethernet_attach="direct")


@contextlib.contextmanager
def against_mtl() -> Sides:
    side = latency(8)
    with eth_lab("btl", 2, "--direct", *OFFLOADS) as cluster:
        yield side(BTL, cluster, *over_btl()), [side(MTL, cluster, *over_eth("direct"))]


def against_tcp(side: SideOf) -> Setup:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_cables("btl", *OFFLOADS) as (cluster, other):
            yield (side(BTL, cluster, *over_btl()),
                   [beside(side(MTL, cluster, *over_eth("direct"))), side(TCP, other, BTL_TCP, None)])
    return setup


def stated(name: str, lower_is_better: bool, unit: str, text: str, side: SideOf) -> Figure:
    return Figure(name, STATED, lower_is_better, unit, f"{text}: {AGAINST}. Stated, no goal", against_tcp(side))


FIGURES = [
    Figure("btl-latency-vs-mtl", 1.35, True, "us",
           "half RTT of 8 B: ob1 over btl pm against cm over mtl pm (pm-ethernet, direct)", against_mtl, rounds=7),
    Figure("btl-latency-vs-tcp", 0.55, True, "us", f"half RTT of 8 B: {AGAINST}", against_tcp(latency(8)), rounds=7),
    stated("btl-rate-8-vs-tcp", False, "1/s", f"messages of 8 B per second, one way, {WINDOW} in flight",
           message_rate(8)),
    stated("btl-bandwidth-1m-vs-tcp", False, "MB/s", f"bandwidth one way of 1 MiB messages, {WINDOW} in flight",
           single(["mpi_window", "-w", str(WINDOW)], 1 << 20, 1)),
    stated("btl-posted-1000-vs-tcp", True, "us",
           f"half RTT of 8 B behind {POSTED} receives that were posted before, for other tags",
           single(["mpi_trip", "-q", str(POSTED)], 8, 1)),
]
