# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet in a hypercrossbar of 2x2x2 hosts: what further dimensions cost, and how long a dead relay stops
traffic. PM/Ethernet-HXB on PACS-CS, 2 GbE per dimension: each further dimension added 0.84 of the half RTT of the
first, 2-D and 3-D gave 0.99 and 1.00 of the bandwidth of 1-D."""
from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
import types
from collections.abc import Callable, Iterator

from .command import BUILD, ROOT, SCLAB, Lab, lab, program
from .eth import Sides, pm_latency
from .eth_trunk import limited, pm_goodput
from .figure import Contestant, Failed, Figure
from .rounds import Reading

Setup = Callable[[], contextlib.AbstractContextManager]
NEAR = ("h0", "h4")                                 # differ in x
FAR = {2: ("h0", "h6"), 3: ("h0", "h7")}            # in x and y; in x, y and z
RELAY = "h4"                                        # of the way from h0 to h6 and h7
MESSAGES, GAP_US = 4000, 500
KEY = 0x5ca1ab1e


@contextlib.contextmanager
def cube(name: str, lanes: int, *options: str) -> Iterator[Lab]:
    program("bin/pm-ethernetd")
    with lab(f"hxb_{name}", 8, "--nics", str(lanes), "--ethernet", *options, grid="2x2x2") as cluster:
        yield cluster


def hop(attach: str, *options: str) -> Setup:
    """Each measurement has its own 1-D beside it: the machine changes speed meanwhile."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with cube("hop", 1, *options) as cluster:
            def near(state: str) -> Reading:
                return pm_latency(cluster.among(*NEAR), attach, state)

            def added(state: str) -> Reading:
                far = pm_latency(cluster.among(*FAR[3]), attach, state)
                return far.with_other(near(state), lambda far_us, near_us: (far_us - near_us) / 2)

            yield Contestant("per further dimension", read=added), [Contestant("1-D", read=near)]
    return setup


def bandwidth(dimensions: int) -> Setup:
    @contextlib.contextmanager
    def setup() -> Sides:
        with cube("bw", 2, *limited(200)) as cluster:
            def goodput(*ends: str) -> float:
                return pm_goodput(cluster.among(*ends), "64K")[0]["mb_per_s"]

            yield (Contestant(f"{dimensions}-D", lambda: goodput(*FAR[dimensions])),
                   [Contestant("1-D", lambda: goodput(*NEAR))])
    return setup


def ethlab() -> types.ModuleType:
    """Of the system tests."""
    os.environ["PM_BUILD"] = str(BUILD)
    sys.path.insert(0, str(ROOT / "tests" / "system"))
    return importlib.import_module("ethlab")


def guest_in(cluster: Lab, host: str):
    """A process in a host that does with PM what it is told."""
    return ethlab().Guest([str(SCLAB), "--name", cluster.name, "exec", host, "--"])


@contextlib.contextmanager
def failover() -> Sides:
    """A steady stream of small messages through a relay whose interfaces go down; nobody else loses carrier."""
    with cube("fail", 1) as cluster:
        def relay(state: str) -> None:
            for nic in ("eth1", "eth2", "eth3"):
                cluster.sclab("link", f"{RELAY}:{nic}", state)

        def pause() -> float:
            pair = [guest_in(cluster, name) for name in FAR[3]]
            try:
                opened = [guest.do("pm_open", number=n, key=KEY, config="devices=ethernet,ethernet.attach=port")
                          for n, guest in enumerate(pair)]
                for n, guest in enumerate(pair):
                    guest.do("pm_add", node=1 - n, address=opened[1 - n]["address"])
                pair[1].tell("pm_take", count=MESSAGES, first=0, limit_s=10)
                pair[0].tell("pm_send", node=1, count=MESSAGES, first=0, gap_us=GAP_US, limit_s=20)
                time.sleep(0.3)  # the stream runs; nothing tells of its middle
                relay("down")
                said = ethlab().results(*pair)
            finally:
                for guest in pair:
                    guest.close()
                relay("up")
            if said[0]["error"] or said[1]["error"] or said[1]["came"] != MESSAGES or said[1]["wrong"]:
                raise Failed(f"messages were lost: {said}")
            time.sleep(0.5)  # neighbours hear the relay again
            return said[1]["gap_ms"]

        yield Contestant("longest pause", pause), [Contestant("allowed", lambda: 100.0)]


FIGURES = [
    Figure("hxb-hop", 0.28, True, "us",
           "half RTT of 8 B, direct: what each further dimension adds, against 1-D (historic 0.84); the two hosts of a "
           "line are joined by a cable", hop("direct", "--direct"), rounds=15, is_paired=True),
    Figure("hxb-hop-native", 0.30, True, "us",
           "the same with the programs in the driver, where those of hardware run; veth has generic ones by default",
           hop("direct", "--direct", "--mode", "native"), rounds=15, is_paired=True),
    Figure("hxb-hop-port", None, True, "us",
           "the same by port attachment. Stated, no goal", hop("port", "--direct"), rounds=5),
    Figure("hxb-hop-switch", None, True, "us",
           "hxb-hop with a switch, a Linux bridge, in each line. Stated, no goal", hop("direct"), rounds=5),
    Figure("hxb-bandwidth-2d", 0.99, False, "MB/s",
           "bandwidth of 64 KiB messages over 2 rails of 200 Mbit/s per dimension through one relay, against 1-D "
           "(historic 0.99)", bandwidth(2), rounds=3, is_indifferent=True),
    Figure("hxb-bandwidth-3d", 0.99, False, "MB/s", "the same through two relays (historic 1.00)", bandwidth(3),
           rounds=3, is_indifferent=True),
    Figure("hxb-failover", 1.0, True, "ms",
           "longest pause of a stream through a relay whose interfaces go down, against 100 ms", failover, rounds=5,
           is_indifferent=True),
]
