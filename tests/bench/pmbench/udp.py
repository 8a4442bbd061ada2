# SPDX-License-Identifier: BSD-3-Clause
"""UDP against Open MPI's TCP on the same links, and against what the links can carry."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .command import BUILD, Lab, lab, over_pm, program, run_json
from .devices import BTL_TCP as TCP
from .figure import Contestant, Figure
from .mpisizes import latency
from .watched import SideOf, plain, side_of

TCP_AND_VADER = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self", "--mca", "btl_tcp_if_include", "eth1",
                 "--mca", "mpi_yield_when_idle", "1"]
RAIL_MBIT = 200
MTU = 1500
ETHERNET_HEADER = 14
Sides = Iterator[tuple[Contestant, list[Contestant]]]


def stream() -> SideOf:
    """One-way MB/s of 1 MiB messages."""
    words = [str(BUILD / "bench" / "mpi_stream"), str(1 << 20), "64", "3", "5"]
    return side_of(words, lambda told: told[-1]["mb_per_s"])


def allreduce(cluster: Lab, extra: list[str], env: dict[str, str] | None = None) -> float:
    command = cluster.mpirun(4, [*extra, program("bench/mpi_allreduce"), "8", "2000", "5"], env)
    return run_json(command)["us"]


def pm_goodput(cluster: Lab, rails: list[str], seconds: float) -> dict:
    """One-way PM bandwidth of 64 KiB transfers over the named rails: pmtest's JSON line."""
    env = {"PM_OPTIONS": f"devices=self+udp,udp.rails={'+'.join(rails)}"}
    return run_json(cluster.mpirun(2, [program("bin/pmtest"), "--test", "bandwidth", "--size", "64K",
                                       "--seconds", str(seconds), "--json"], env))


def against_tcp(name: str, side: SideOf, ours: str = "mtl pm over udp", theirs: str = "btl tcp",
                tcp: list[str] = TCP) -> Callable[[], contextlib.AbstractContextManager]:
    """The same MPI program over mtl pm and over Open MPI's own, on one link."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with lab(name, 2, "--nics", "1", "--direct") as cluster:
            args, env = over_pm("self+shmem+udp", udp_rails="eth1")
            yield side(ours, cluster, args, env), [side(theirs, cluster, tcp, None)]
    return setup


@contextlib.contextmanager
def loss_against_lossless() -> Sides:
    with lab("udp_loss", 2, "--nics", "1", "--rate", f"{RAIL_MBIT}mbit") as cluster:
        def with_loss(percent: str) -> float:
            cluster.sclab("loss", "--all", percent)
            return pm_goodput(cluster, ["eth1"], 2)["mb_per_s"]

        yield (Contestant("1 % loss", lambda: with_loss("1%")),
               [Contestant("no loss", lambda: with_loss("0%"))])


@contextlib.contextmanager
def rails_against_limit() -> Sides:
    rails = [f"eth{i}" for i in range(1, 5)]
    with lab("udp_rails", 2, "--nics", "4", "--rate", f"{RAIL_MBIT}mbit") as cluster:
        limit = pm_goodput(cluster, rails, 0.2)["payload_per_packet"] / (MTU + ETHERNET_HEADER)
        limit *= len(rails) * RAIL_MBIT / 8
        yield (Contestant("4 rails", lambda: pm_goodput(cluster, rails, 3)["mb_per_s"]),
               [Contestant("sum of the rails' payload limits", lambda: limit)])


FIGURES = [
    Figure("udp-mpi-latency-vs-tcp", 0.80, True, "us",
           "half RTT of 8 B over one link: Open MPI over mtl pm (udp) against btl tcp",
           against_tcp("udp_lat", latency(8))),
    Figure("udp-mpi-bandwidth-1m-vs-tcp", 1.5, False, "MB/s",
           "MPI one-way bandwidth of 1 MiB messages: mtl pm (udp, segmentation offload) against btl tcp",
           against_tcp("udp_bw", stream())),
    Figure("udp-loss-1pct", 0.96, False, "MB/s",
           "goodput on a rate-limited link at 1 % loss against no loss", loss_against_lossless, is_indifferent=True),
    Figure("udp-rails-4", 0.98, False, "MB/s",
           "payload rate of 4 rails of 200 Mbit/s against the sum of their payload limits", rails_against_limit,
           rounds=3, is_indifferent=True),
    Figure("oversubscribed-mpi-vs-tcp", 0.8, True, "us",
           "allreduce of 8 B by 4 ranks on 2 cores, 2 hosts: mtl pm (udp and shmem) against btl tcp,vader with "
           "yield", against_tcp("udp_over", plain(allreduce), "mtl pm over udp and shmem", "btl tcp,vader with yield",
                                TCP_AND_VADER)),
]
