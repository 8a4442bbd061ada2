# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet on a cable without a switch: latency and message rate against TCP, bandwidth as it is.

Every figure against TCP has two rivals of which the better one counts. One is TCP on the same link,
where each of its packets passes pm-ethernet's program too. The other is TCP on a link of a second
lab without it.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .command import BUILD, Lab, lab, on_one_core, over_pm, program, run_json
from .devices import BTL_TCP as TCP
from .figure import Contestant, Failed, Figure
from .mpisizes import latency, message_rate
from .rounds import Reading
from .watched import SideOf, plain, run_watched, side_of

YIELD = ["--mca", "mpi_yield_when_idle", "1"]
STATED = None  # goal of a figure that is stated as it is
Sides = Iterator[tuple[Contestant, list[Contestant]]]


@contextlib.contextmanager
def eth_lab(name: str, hosts: int, *options: str) -> Iterator[Lab]:
    """A lab with pm-ethernetd in every host."""
    program("bin/pm-ethernetd")
    with lab(f"eth_{name}", hosts, "--ethernet", *options) as cluster:
        yield cluster


@contextlib.contextmanager
def two_cables(name: str, *options: str) -> Iterator[tuple[Lab, Lab]]:
    """Two hosts joined directly, with pm-ethernetd, and two others without."""
    with eth_lab(name, 2, "--direct", *options) as cluster, lab(f"eth_{name}_p", 2, "--direct", *options) as plain:
        yield cluster, plain


def options_of(attach: str) -> dict[str, str]:
    """PM over pm-ethernet or not at all."""
    return {"PM_OPTIONS": f"devices=self+ethernet,ethernet.attach={attach}"}


def over_eth(attach: str) -> tuple[list[str], dict[str, str]]:
    """The same for MPI."""
    return over_pm("self+shmem+ethernet", ethernet_attach=attach)


def half_rtt(told: list[dict]) -> float:
    """The median half round trip that pmtest reports, in us."""
    if told[-1]["device"] != "ethernet":
        raise Failed(f"pmtest went over {told[-1]['device']}, not over ethernet")
    return told[-1]["half_rtt_us"]["median"]


def pm_latency(cluster: Lab, attach: str, state: str) -> Reading:
    """Half RTT of 8 B in us."""
    words = [program("bin/pmtest"), "--test", "latency", "--size", "8", "--iterations", "50000", "--json"]
    return run_watched(cluster, words, half_rtt, state, [], options_of(attach))


def tcp_latency(cluster: Lab) -> float:
    """The same of a raw TCP connection on eth1."""
    ends = [f"/run/netns/{cluster.name}-{host}" for host in ("h0", "h1")]
    return run_json([program("bench/tcp_pingpong"), *ends, "10.1.0.2", "8", "10000", "5"])["half_rtt_us"]


def one_core_latency(cluster: Lab, extra: list[str], env: dict[str, str] | None = None) -> float:
    words = [program("bench/mpi_pingpong"), "8", "4000", "5"]
    return run_json(cluster.mpirun(2, [*extra, *on_one_core(words)], env))["half_rtt_us"]


def mpi_bandwidth(size: int) -> SideOf:
    """MB/s, one way."""
    words = [str(BUILD / "bench" / "mpi_stream"), str(size), "64", str(max(1, (1 << 26) // (size * 64))), "3"]
    return side_of(words, lambda told: told[-1]["mb_per_s"])


def pm_against_tcp(attach: str) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_cables("lat") as (cluster, plain):
            yield (Contestant(f"PM, {attach}", read=lambda state: pm_latency(cluster, attach, state)),
                   [Contestant("TCP on the same link", lambda: tcp_latency(cluster)),
                    Contestant("TCP without pm-ethernet", lambda: tcp_latency(plain))])
    return setup


def mpi_against_tcp(side: SideOf, attach: str, tcp: list[str], *options: str,
                    ) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_cables("mpi", *options) as (cluster, other):
            args, env = over_eth(attach)
            yield (side(f"mtl pm, {attach}", cluster, args, env),
                   [side("btl tcp on the same link", cluster, tcp, None),
                    side("btl tcp without pm-ethernet", other, tcp, None)])
    return setup


def bandwidth(label: str, size: int, mtu: int) -> Figure:
    """No goal: what an unlimited link gives is decided by frame size and copies."""
    side = mpi_bandwidth(size)

    @contextlib.contextmanager
    def setup() -> Sides:
        with (two_cables("bw", "--mtu", str(mtu), "--offloads", "on") as (cluster, other),
              lab("eth_bw_q", 2, "--direct", "--mtu", str(mtu), "--offloads", "off") as cut):
            args, env = over_eth("direct")
            yield (side("mtl pm, direct", cluster, args, env),
                   [side("btl tcp with GSO", other, TCP, None), side("btl tcp without GSO", cut, TCP, None)])
    return Figure(f"eth-bandwidth-{label}-mtu-{mtu}", STATED, False, "MB/s",
                  f"MPI one-way bandwidth of {size} B messages, no rate limit, MTU {mtu}, against btl tcp with and "
                  "without segmentation offload. Stated, no goal", setup, rounds=3)


FIGURES = [
    Figure("eth-direct-latency-vs-tcp", 0.38, True, "us",
           "half RTT of 8 B: PM over pm-ethernet (direct) against a spinning raw TCP socket", pm_against_tcp("direct"),
           rounds=7),
    Figure("eth-port-latency-vs-tcp", 0.62, True, "us",
           "half RTT of 8 B: PM over pm-ethernet (port) against a spinning raw TCP socket", pm_against_tcp("port"),
           rounds=7),
    Figure("eth-direct-mpi-latency-vs-tcp", 0.45, True, "us",
           "half RTT of 8 B: Open MPI over mtl pm (pm-ethernet, direct) against btl tcp",
           mpi_against_tcp(latency(8), "direct", TCP), rounds=7),
    Figure("eth-port-mpi-latency-vs-tcp", 0.70, True, "us",
           "half RTT of 8 B: Open MPI over mtl pm (pm-ethernet, port) against btl tcp",
           mpi_against_tcp(latency(8), "port", TCP), rounds=7),
    Figure("eth-onecore-mpi-vs-tcp", 0.36, True, "us",
           "half RTT of 8 B, both ranks on one core: Open MPI over mtl pm (pm-ethernet, direct) against btl tcp with "
           "yield", mpi_against_tcp(plain(one_core_latency), "direct", [*TCP, *YIELD]), is_indifferent=True),
    Figure("eth-rate-8-vs-tcp", 4.0, False, "1/s",
           "messages of 8 B per second, one way: Open MPI over mtl pm (pm-ethernet, direct) against btl tcp",
           mpi_against_tcp(message_rate(8), "direct", TCP)),
    Figure("eth-rate-1k-vs-tcp", 4.0, False, "1/s",
           "messages of 1 KiB per second, one way: Open MPI over mtl pm (pm-ethernet, direct) against btl tcp",
           mpi_against_tcp(message_rate(1024), "direct", TCP)),
    Figure("eth-rate-1k-9000-vs-tcp", 4.0, False, "1/s",
           "messages of 1 KiB per second at MTU 9000, one way: Open MPI over mtl pm (pm-ethernet, direct) against "
           "btl tcp", mpi_against_tcp(message_rate(1024), "direct", TCP, "--mtu", "9000")),
    *(bandwidth(label, size, mtu) for mtu in (1500, 3498, 9000) for label, size in (("64k", 65536), ("1m", 1 << 20))),
]
