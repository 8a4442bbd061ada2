# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet through switches of limited rate: trunks, loss, congestion.

A switch charges a frame with its bytes from the Ethernet header on. Of a message of s bytes that travels in frames
of at most p bytes of payload, each with OVERHEAD bytes of heads, n rails of rate r can carry

    n * r * s / (s + OVERHEAD * ceil(s / p))

bytes per second: the payload limit, which the figures are measured against. The switches let BURST_S of traffic pass
at once: with a timer for every frame, eight limited links take the processor that the traffic wants.
"""
from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator

from .command import Lab, pinned, program, run_json, run_json_lines
from .eth import YIELD, Sides, eth_lab, mpi_bandwidth, options_of, over_eth
from .figure import Contestant, Failed, Figure
from .rounds import Reading
from .watched import run_watched

FRAME_HEAD = 32     # struct eth_frame of pm-ethernet/frame.h, Ethernet header included
CHANNEL_HEAD = 48   # struct wire_header of pmcore/wire/pm_wire.h
MESSAGE_HEAD = 8    # of each message in a packet
OVERHEAD = FRAME_HEAD + CHANNEL_HEAD + MESSAGE_HEAD
SIZES = "2K,8K,64K"
BURST_S = 0.0012
INCAST_SENDERS = 7
INCAST_QUEUE = "64k"
Setup = Callable[[], contextlib.AbstractContextManager]


def payload_limit(rails: int, mbit: int, size: int, per_packet: int) -> float:
    """MB/s; see above."""
    return rails * mbit / 8 * size / (size + OVERHEAD * -(-size // per_packet))


def limited(mbit: int) -> list[str]:
    """sclab's words for links of that rate, held where the receiver hangs, and by the receiver's core: the
    network of a real host takes none of the sender's time."""
    return ["--rate", f"{mbit}mbit", "--burst", str(int(mbit * 1e6 / 8 * BURST_S)), "--fast-uplinks",
            "--limiter", "htb", "--spread"]


def pmtest(sizes: str, test: str = "bandwidth", seconds: float = 1.5) -> list[str]:
    return [program("bin/pmtest"), "--test", test, "--size", sizes, "--seconds", str(seconds), "--json"]


def payload_per_packet(cluster: Lab) -> int:
    """Bytes of a message that a packet carries at most."""
    words = [program("bin/pmtest"), "--test", "latency", "--size", "8", "--iterations", "1000", "--json"]
    return run_json(cluster.mpirun(2, words, options_of("direct")))["payload_per_packet"]


def pm_goodput(cluster: Lab, sizes: str) -> list[dict]:
    """pmtest's results over all rails, one per size."""
    return run_json_lines(cluster.mpirun(2, pinned(pmtest(sizes)), options_of("direct")))


def worst_share(results: list[dict], rails: int, mbit: int, directions: int = 1) -> float:
    """The smallest share of the payload limit over all sizes, in per cent."""
    return min(100 * r["mb_per_s"] / (directions * payload_limit(rails, mbit, r["size"], r["payload_per_packet"]))
               for r in results)


def trunk(rails: int, mbit: int, mtu: int, test: str = "bandwidth") -> Setup:
    @contextlib.contextmanager
    def setup() -> Sides:
        directions = 2 if test == "bidirectional" else 1
        with eth_lab("trunk", 2, "--nics", str(rails), *limited(mbit), "--mtu", str(mtu)) as cluster:
            def share(state: str) -> Reading:
                return run_watched(cluster, pmtest(SIZES, test),
                                   lambda told: worst_share(told, rails, mbit, directions), state, [],
                                   options_of("direct"))

            yield (Contestant(f"worst of {SIZES}", read=share),
                   [Contestant("payload limit", read=lambda state: Reading.constant(100.0, state))])
    return setup


@contextlib.contextmanager
def mpi_against_pm() -> Sides:
    with eth_lab("trunk", 2, "--nics", "4", *limited(200)) as cluster:
        args, env = over_eth("direct")
        yield (mpi_bandwidth(1 << 20)("mtl pm", cluster, args, env),
               [Contestant("PM", lambda: pm_goodput(cluster, "1M")[0]["mb_per_s"])])


def with_loss(percent: int) -> Setup:
    @contextlib.contextmanager
    def setup() -> Sides:
        with eth_lab("loss", 2, *limited(200)) as cluster:
            def goodput(loss: int) -> float:
                cluster.sclab("loss", "--all", f"{loss}%")
                return pm_goodput(cluster, "64K")[0]["mb_per_s"]

            yield (Contestant(f"{percent} % loss", lambda: goodput(percent)),
                   [Contestant(f"{100 - percent} % of no loss", lambda: goodput(0) * (1 - percent / 100))])
    return setup


@contextlib.contextmanager
def one_bad_rail() -> Sides:
    with eth_lab("bad", 2, "--nics", "4", *limited(200)) as cluster:
        def goodput(loss: str) -> float:
            for host in ("h0", "h1"):
                cluster.sclab("loss", f"{host}:eth2", loss)
            return pm_goodput(cluster, "64K")[0]["mb_per_s"]

        yield (Contestant("eth2 loses 5 %", lambda: goodput("5%")),
               [Contestant("no loss, less 5 % of one rail in four", lambda: goodput("0%") * (1 - 0.05 / 4))])


def port_counters(cluster: Lab) -> tuple[int, int]:
    """Frames that the switch passed on to h0, and those that it dropped, since the lab is up."""
    done = subprocess.run(["tc", "-n", f"{cluster.name}-sw1", "-s", "-json", "qdisc", "show", "dev", "h0", "root"],
                          capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise Failed(f"tc: {done.stderr.strip()}")
    counters = json.loads(done.stdout)[0]
    return counters["packets"], counters["drops"]


@contextlib.contextmanager
def incast_lab() -> Iterator[tuple[Lab, Callable[[], float], float]]:
    """The lab, a measurement in MB/s, the payload limit of the receiver's port."""
    mbit = 200
    with eth_lab("incast", INCAST_SENDERS + 1, "--rate", f"{mbit}mbit", "--queue", INCAST_QUEUE) as cluster:
        args, env = over_eth("direct")
        # Eight ranks share the machine's cores, and Open MPI takes each for alone on its host.
        words = [*args, *YIELD, program("bench/mpi_incast"), str(1 << 18), "4"]
        yield (cluster, lambda: run_json(cluster.mpirun(INCAST_SENDERS + 1, words, env))["mb_per_s"],
               payload_limit(1, mbit, 1 << 18, payload_per_packet(cluster)))


@contextlib.contextmanager
def incast_goodput() -> Sides:
    with incast_lab() as (_, measure, limit):
        yield (Contestant("7 senders", measure), [Contestant("payload limit of the port", lambda: limit)])


@contextlib.contextmanager
def incast_loss() -> Sides:
    with incast_lab() as (cluster, measure, _):
        passed = 1

        def lost() -> float:
            nonlocal passed
            before = port_counters(cluster)
            measure()
            after = port_counters(cluster)
            passed = max(1, after[0] - before[0])
            return after[1] - before[1]

        yield (Contestant("frames dropped at the port", lost),
               [Contestant("frames passed on", lambda: float(passed))])


def trunk_figure(name: str, goal: float, text: str, setup: Setup, is_indifferent: bool = True) -> Figure:
    return Figure(name, goal, False, "%", f"payload rate of {text}, against the payload limit; the worst of messages "
                  f"of {SIZES.replace(',', ', ')} counts", setup, rounds=3, is_indifferent=is_indifferent)


def limited_figure(name: str, goal: float, lower_is_better: bool, unit: str, text: str, setup: Setup,
                   rounds: int = 5) -> Figure:
    """Of links so slow that the state of the machine means nothing."""
    return Figure(name, goal, lower_is_better, unit, text, setup, rounds=rounds, is_indifferent=True)


FIGURES = [
    *(trunk_figure(f"eth-trunk-{n}", 0.99, f"{n} rail{'s' * (n > 1)} of 200 Mbit/s, MTU 1500", trunk(n, 200, 1500))
      for n in (1, 2, 4, 6, 8)),
    trunk_figure("eth-trunk-4-both-ways", 0.97, "4 rails of 200 Mbit/s, MTU 1500, both directions at once",
                 trunk(4, 200, 1500, "bidirectional")),
    # Four times 1 Gbit/s take all that the two cores can do, so these depend on the state.
    trunk_figure("eth-trunk-4-gigabit-9000", 0.98, "4 rails of 1 Gbit/s, MTU 9000", trunk(4, 1000, 9000),
                 is_indifferent=False),
    trunk_figure("eth-trunk-4-gigabit-1500", 0.87, "4 rails of 1 Gbit/s, MTU 1500", trunk(4, 1000, 1500),
                 is_indifferent=False),
    limited_figure("eth-trunk-4-mpi", 0.99, False, "MB/s",
           "bandwidth of 1 MiB messages over 4 rails of 200 Mbit/s: Open MPI over mtl pm against PM", mpi_against_pm),
    limited_figure("eth-loss-1pct", 0.97, False, "MB/s",
           "goodput of one rail of 200 Mbit/s at 1 % loss, both ways, against 99 % of that without loss", with_loss(1)),
    limited_figure("eth-loss-8pct", 0.90, False, "MB/s",
           "goodput of one rail of 200 Mbit/s at 8 % loss, both ways, against 92 % of that without loss", with_loss(8)),
    limited_figure("eth-one-bad-rail", 0.98, False, "MB/s",
           "goodput of 4 rails of 200 Mbit/s of which one loses 5 %, against what is left of that without loss",
           one_bad_rail),
    limited_figure("eth-incast-7", 0.90, False, "MB/s",
           f"goodput of 7 senders to one receiver of 200 Mbit/s, MPI messages of 256 KiB, switch queue {INCAST_QUEUE}, "
           "against the payload limit of its port", incast_goodput, rounds=3),
    limited_figure("eth-incast-7-loss", 0.005, True, "1",
           "frames that the switch dropped in eth-incast-7 against those that it passed on", incast_loss, rounds=3),
]
