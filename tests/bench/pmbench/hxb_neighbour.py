# SPDX-License-Identifier: BSD-3-Clause
"""A 3-D neighbour exchange: every host of 2x2x2 sends to its neighbours along all dimensions at
once and gets as much. So both directions of a dimension lead to the same host, and every rail is
full both ways. The payload limit is that of the three rails of each host. They are slow enough that
two cores carry the traffic of 8 hosts, and fast enough that many frames come within the engine's
ack delay, as on a real link. On the 27 hosts of 3x3x3, with six neighbours each, two cores carry 5
Mbit/s per rail. There every frame comes so late after the last that it is acked alone. Every host
sends each neighbour the same amount. The exchange is over when the last host has everything, and is
judged by that. The data that come from when the last has begun to when the first has everything,
while all are at it, are stated."""
from __future__ import annotations

import contextlib
from collections.abc import Callable

from .command import Lab, lab, pinned, program, run_json
from .eth import Sides, options_of
from .eth_trunk import limited, payload_limit
from .figure import Contestant, Failed, Figure

SHAPE, HOSTS, DIMENSIONS, NEIGHBOURS = "2x2x2", 8, 3, 3
MBIT, SECONDS = 40, 3.0


def payload_per_packet(cluster: Lab) -> int:
    words = [program("bin/pmtest"), "--test", "latency", "--size", "8", "--iterations", "1000", "--json"]
    return run_json(cluster.among("h0", "h1").mpirun(2, words, options_of("direct")))["payload_per_packet"]


def neighbour(part: str, attachment: str = "direct") -> Callable[[], contextlib.AbstractContextManager]:
    """@part: the whole exchange, or the time that all are at it together."""
    @contextlib.contextmanager
    def setup() -> Sides:
        program("bin/pm-ethernetd")
        with lab("hxb_near", HOSTS, "--ethernet", *limited(MBIT), grid=SHAPE) as cluster:
            size = payload_per_packet(cluster)
            wire = payload_limit(DIMENSIONS, MBIT, size, size) * HOSTS
            messages = round(wire * 1e6 * SECONDS / (HOSTS * NEIGHBOURS * size))
            words = [program("tests/sim/hxblab"), "--dims", SHAPE, "--lanes", "1", "--mtu", "1500", "--pattern",
                     "neighbour", "--bytes", str(size), "--messages", str(messages), "--rounds", "1", "--json"]

            def goodput() -> float:
                told = run_json(cluster.mpirun(HOSTS, pinned(words), options_of(attachment)))
                amount, seconds = {"whole": (told["bytes_in_all"], told["seconds"]),
                                   "together": (told["together_bytes"], told["together_seconds"])}[part]
                if not seconds:
                    raise Failed(f"no time when all hosts were at it: {told}")
                return amount / seconds / 1e6

            yield (Contestant("all directions at once", goodput),
                   [Contestant("payload limit of the wire", lambda: wire)])
    return setup


FIGURES = [
    Figure("hxb-neighbour-3d", 0.97, False, "MB/s",
           f"goodput of {HOSTS} hosts, {SHAPE}, over rails of {MBIT} Mbit/s, until the last has everything, against "
           "the payload limit of the wire (historic 0.934). Each host sends messages of a whole frame along all three "
           "dimensions at once and gets as much", neighbour("whole"), rounds=5),
    Figure("hxb-neighbour-3d-port", 0.90, False, "MB/s",
           "the same by ports: one socket for all rails of a process; the goal is our own",
           neighbour("whole", "port"), rounds=5),
    Figure("hxb-neighbour-3d-together", None, False, "MB/s",
           "hxb-neighbour-3d while all hosts are at it, until the first has everything. Stated, no goal",
           neighbour("together"), rounds=7),
]
