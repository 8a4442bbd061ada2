# SPDX-License-Identifier: BSD-3-Clause
"""The ways that MPI can take as a user gets it. Between two hosts of a lab: devices of PM, and Open MPI's TCP. Inside
this host: PM's shared memory, and Open MPI's vader with and without the kernel's copy (CMA).

TCP has a cable of its own without pm-ethernetd, and segmentation offload on, as a NIC has it. UDP uses that cable too.
"""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

from .command import HERE, ROOT, Lab, lab, over_pm, program

COLLECTIVES = ROOT / "mpi-glue" / "collectives" / "collectives.rules"

DIRECT, PORT, UDP, TCP = "direct", "port", "udp", "btl tcp"
TCP_VADER = "btl tcp, vader"  # vader inside each host
SHMEM, VADER_CMA, VADER_COPY = "shmem", "btl vader with CMA", "btl vader without CMA"
DIRECT_THREAD, UDP_THREAD = "direct, thread", "udp, thread"  # with the MTL's progress thread
DIRECT_TUNED, SHMEM_TUNED = "direct, tuned", "shmem, tuned"  # with the rules for collectives that scrun sets
NAMES = {DIRECT: "pm-ethernet, direct", PORT: "pm-ethernet, port", UDP: "udp", SHMEM: "shmem",
         DIRECT_THREAD: "pm-ethernet, direct, with the progress thread", UDP_THREAD: "udp, with the progress thread",
         DIRECT_TUNED: "pm-ethernet, direct, with tuned collectives", SHMEM_TUNED: "shmem, with tuned collectives"}
OVER_ETHERNET = (DIRECT, PORT, DIRECT_TUNED, DIRECT_THREAD)
VADERS = (VADER_CMA, VADER_COPY)
HERE_MTU = 0  # of a sweep inside this host
THREAD = ["--mca", "mtl_pm_progress_thread", "1"]
VADER = ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
NO_CMA = ["--mca", "btl_vader_single_copy_mechanism", "none"]
BTL_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth1"]


BTL_TCP_VADER = [*BTL_TCP[:5], "tcp,vader,self", *BTL_TCP[6:]]


@dataclasses.dataclass(frozen=True)
class Way:
    """Where and how mpirun starts a program."""

    cluster: Lab
    args: list[str]
    env: dict[str, str] | None = None


def tuned(way: Way, name: str) -> Way:
    """With the rules for collective operations, where the name says so."""
    if name not in (DIRECT_TUNED, SHMEM_TUNED):
        return way
    return dataclasses.replace(way, args=[*way.args, "--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
                                          "coll_tuned_dynamic_rules_filename", str(COLLECTIVES)])


def threaded(way: Way, name: str) -> Way:
    """With the progress thread, where the name says so."""
    return dataclasses.replace(way, args=[*way.args, *THREAD]) if name in (DIRECT_THREAD, UDP_THREAD) else way


def here(name: str) -> Way:
    """A way inside this host."""
    if name in (SHMEM, SHMEM_TUNED):
        return tuned(Way(HERE, *over_pm()), name)
    if name == TCP_VADER:
        return Way(HERE, VADER)
    return Way(HERE, VADER + (NO_CMA if name == VADER_COPY else []))


@contextlib.contextmanager
def open_ways(names: Iterable[str], mtu: int, hosts: int = 2) -> Iterator[dict[str, Way]]:
    """The named ways: inside this host, or on labs of their own with cables of that MTU; more than two hosts have a
    switch."""
    if mtu == HERE_MTU:
        yield {name: here(name) for name in names}
        return
    options = [*(["--direct"] if hosts == 2 else []), "--offloads", "on", "--mtu", str(mtu)]
    names, ways = list(names), {}
    with contextlib.ExitStack() as labs:
        plain = labs.enter_context(lab("sizes", hosts, *options))
        if set(names) & set(OVER_ETHERNET):
            program("bin/pm-ethernetd")
            ethernet = labs.enter_context(lab("sizes_eth", hosts, "--ethernet", *options))
        for name in names:
            if name in OVER_ETHERNET:
                attach = PORT if name == PORT else DIRECT
                way = Way(ethernet, *over_pm("self+shmem+ethernet", ethernet_attach=attach))
                ways[name] = threaded(tuned(way, name), name)
            elif name in (UDP, UDP_THREAD):
                ways[name] = threaded(Way(plain, *over_pm("self+shmem+udp", udp_rails="eth1")), name)
            else:
                ways[name] = Way(plain, BTL_TCP_VADER if name == TCP_VADER else BTL_TCP)
        yield ways


class Ways:
    """Opens ways when a sweep needs them. The last ones stay open: sweeps in a row share their labs."""

    def __init__(self) -> None:
        self._labs = contextlib.ExitStack()
        self._asked: tuple[object, ...] = ()
        self._open: dict[str, Way] = {}

    def of(self, names: Iterable[str], mtu: int, hosts: int) -> dict[str, Way]:
        asked = (*names, mtu, hosts)
        if asked != self._asked:
            self.close()
            self._open = self._labs.enter_context(open_ways(asked[:-2], mtu, hosts))
            self._asked = asked
        return self._open

    def close(self) -> None:
        self._asked = ()
        self._labs.close()
