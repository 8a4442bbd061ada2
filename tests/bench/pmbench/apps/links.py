# SPDX-License-Identifier: BSD-3-Clause
"""Where programs run: hosts of a lab and the links between them, and the two sides that are compared there.

Each side has a lab of its own with the same links: PM with pm-ethernetd in each host, Open MPI's transports without.
scrun starts the ranks of both, on the same cores. Each host has one core of the machine for itself as long as there
are enough; four hosts share the two cores of a small machine by pairs.
"""
from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from ..command import BUILD, Lab, component_dir, program
from ..eth_trunk import limited
from ..sched import scheduled

GIGABIT = 1000
MTUS = (1500, 9000)
PM, TCP = "mtl pm", "btl tcp"
SIDES = (PM, TCP)
HOSTS = (1, 2, 4)


@dataclasses.dataclass(frozen=True)
class Link:
    """rails: network cards of a host; is_limited: each carries 1 Gbit/s."""

    name: str
    mtu: int
    rails: int = 1
    is_limited: bool = False

    def options(self, hosts: int) -> list[str]:
        """sclab's words."""
        words = ["--nics", str(self.rails), "--mtu", str(self.mtu), "--offloads", "on"]
        if self.is_limited:
            return words + limited(GIGABIT)
        return words + (["--direct"] if hosts == 2 else [])


LINKS = {link.name: link for link in [
    *(Link(f"unlimited-{mtu}", mtu) for mtu in MTUS),
    *(Link(f"{rails}x1g-{mtu}", mtu, rails, True) for mtu in MTUS for rails in (1, 2, 4))]}
INSIDE = Link("inside", 1500)  # one host: no data pass a link


@dataclasses.dataclass(frozen=True)
class Place:
    """Hosts and the links between them."""

    hosts: int
    link: Link

    @property
    def name(self) -> str:
        return "1 host" if self.hosts == 1 else f"{self.hosts} hosts, {self.link.name}"

    @property
    def ranks(self) -> int:
        return max(2, self.hosts)

    @property
    def shares_cores(self) -> bool:
        """Ranks of several hosts run on one core of this machine."""
        return self.ranks > (os.cpu_count() or 1)

    def nodes(self) -> str:
        """scrun's word."""
        return f"-nodes={self.hosts}x{self.ranks // self.hosts}"


def places(hosts: list[int], links: list[str]) -> list[Place]:
    """One host has no links, so it is one place."""
    return [place for n in hosts for place in
            ([Place(1, INSIDE)] if n == 1 else [Place(n, LINKS[name]) for name in links])]


@dataclasses.dataclass(frozen=True)
class Side:
    """A lab, and the environment that puts a program on its transport."""

    name: str
    cluster: Lab
    env: dict[str, str]


def environment(side: str, place: Place) -> dict[str, str]:
    """Open MPI's parameters, as a user writes them. Waits give the core away where ranks share one."""
    shared = {"OMPI_MCA_mpi_yield_when_idle": "1"} if place.shares_cores else {}
    if side == TCP:
        rails = ",".join(f"eth{i + 1}" for i in range(place.link.rails))
        return {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,vader,self", "OMPI_MCA_btl_tcp_if_include": rails, **shared}
    program("mca/mca_mtl_pm.so")
    return {"OMPI_MCA_mca_base_component_path": f"{BUILD / 'mca'}:{component_dir()}", "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "pm", "PM_OPTIONS": "devices=self+shmem+ethernet", **shared}


@contextlib.contextmanager
def open_sides(place: Place, name: str = "apps") -> Iterator[dict[str, Side]]:
    """Both sides, each on a lab of its own, whose names begin with @name."""
    program("bin/pm-ethernetd")
    cores = str(place.ranks) if place.hosts == 1 else "own"
    options = [*place.link.options(place.hosts), "--cores", cores]
    with (scheduled(f"{name}_pm", place.hosts, "--ethernet", *options) as with_pm,
          scheduled(f"{name}_tcp", place.hosts, *options) as without):
        yield {PM: Side(PM, with_pm, environment(PM, place)), TCP: Side(TCP, without, environment(TCP, place))}
