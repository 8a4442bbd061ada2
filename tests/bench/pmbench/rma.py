# SPDX-License-Identifier: BSD-3-Clause
"""One-sided MPI over PM, against the same over Open MPI's own transports.

Ours is what a plain "--mca mtl pm" leads to: osc/pt2pt over mtl/pm. Beside it stands osc/rdma over btl/pm, in a program
whose messages go by mtl/pm. Rivals name osc/pt2pt, which Debian's settings leave out.

Windows between hosts are allocated by MPI. Where it allocates one for the ranks of one host, an operation is a store of
the caller into shared memory, and no transport has a part in it. So the window inside a host is the program's own
memory.

TCP goes by the same link, and by one without pm-ethernet; osc/rdma of Open MPI 4.1 makes no window over it.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable

from . import state as states
from .command import HERE, Lab, over_pm, program
from .devices import BTL_TCP, VADER
from .errors import Failed
from .eth import Sides, eth_lab, over_eth, two_cables
from .eth_trunk import limited, payload_limit, payload_per_packet
from .figure import Contestant, Figure, beside
from .mpisizes import run_sizes, single
from .watched import SideOf

PUTS = 100  # of a burst of short puts
LONG_PUTS = 16  # of a burst of long ones
RAILS, RAIL_MBIT = 4, 200
MIB = 1 << 20
PT2PT = ["--mca", "osc", "pt2pt"]
MTL, BTL = "osc pt2pt over mtl pm", "osc rdma over btl pm, beside mtl pm"
AGAINST = "osc pt2pt over mtl pm (pm-ethernet, direct) against the best of osc pt2pt and osc rdma over btl tcp"
Setup = Callable[[], contextlib.AbstractContextManager]


def osc_rdma(btl: str) -> list[str]:
    """Words of mpirun for osc/rdma over that BTL."""
    return ["--mca", "osc", "rdma", "--mca", "osc_rdma_btls", btl]


def by_btl(args: list[str]) -> list[str]:
    """Words of mpirun for osc/rdma over btl/pm, in a program over mtl/pm."""
    program("mca/mca_btl_pm.so")
    return [*args, "--mca", "btl", "pm,self", *osc_rdma("pm")]


def can(cluster: Lab, args: list[str]) -> bool:
    """Whether Open MPI makes a window so. osc/rdma of 4.1 cannot over btl/tcp, which has no atomic operations."""
    try:
        run_sizes(cluster, ["mpi_rma", "-c", "put", "-o", "1"], [8], states.INDIFFERENT, args)
    except Failed:
        return False
    return True


def over_tcp(side: SideOf, link: str, cluster: Lab) -> list[Contestant]:
    """The ways by which one-sided communication goes over btl/tcp."""
    pt2pt, rdma = [*BTL_TCP, *PT2PT], [*BTL_TCP, *osc_rdma("tcp")]
    return [side(f"osc pt2pt over btl tcp {link}", cluster, pt2pt, None),
            *([side(f"osc rdma over btl tcp {link}", cluster, rdma, None)] if can(cluster, rdma) else [])]


def between_hosts(side: SideOf) -> Setup:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_cables("rma", "--offloads", "on") as (cluster, other):
            args, env = over_eth("direct")
            yield (side(MTL, cluster, args, env),
                   [beside(side(BTL, cluster, by_btl(args), env)), *over_tcp(side, "on the same link", cluster),
                    *over_tcp(side, "without pm-ethernet", other)])
    return setup


@contextlib.contextmanager
def inside_host() -> Sides:
    side, (args, env) = single(["mpi_rma", "-c", "put", "-p"], 8, 1), over_pm()
    yield (side(BTL, HERE, by_btl(args), env),
           [beside(side(MTL, HERE, args, env)),
            side("osc rdma over btl vader", HERE, [*VADER, *osc_rdma("vader")], None),
            side("osc pt2pt over btl vader", HERE, [*VADER, *PT2PT], None)])


@contextlib.contextmanager
def long_puts() -> Sides:
    side = single(["mpi_rma", "-c", "burst", "-w", str(LONG_PUTS)], MIB, 1)
    with eth_lab("rma_trunk", 2, "--nics", str(RAILS), *limited(RAIL_MBIT)) as cluster:
        args, env = over_eth("direct")
        limit = payload_limit(RAILS, RAIL_MBIT, MIB, payload_per_packet(cluster))
        yield (side(MTL, cluster, args, env),
               [beside(side(BTL, cluster, by_btl(args), env)), Contestant("payload limit", lambda: limit)])


def latency(name: str, operation: str, text: str) -> Figure:
    return Figure(f"rma-{name}-latency", 0.45, True, "us", f"time of {text} of 8 B and its flush: {AGAINST}",
                  between_hosts(single(["mpi_rma", "-c", operation], 8, 1)), rounds=7)


FIGURES = [
    latency("put", "put", "MPI_Put"),
    latency("get", "get", "MPI_Get"),
    latency("fetch-op", "fetch", "MPI_Fetch_and_op"),
    Figure("rma-put-bandwidth-1m", 0.98, False, "MB/s",
           f"bandwidth of puts of 1 MiB, {LONG_PUTS} and one flush, over {RAILS} rails of {RAIL_MBIT} Mbit/s, MTU "
           "1500: osc pt2pt over mtl pm (pm-ethernet, direct) against the payload limit", long_puts, rounds=3,
           is_indifferent=True),
    Figure("rma-put-rate-8", 3.0, False, "1/s", f"puts of 8 B per second, {PUTS} and one flush: {AGAINST}",
           between_hosts(single(["mpi_rma", "-c", "burst", "-w", str(PUTS)], 8, 1e6 / 8))),
    Figure("rma-shmem-put-latency", 1.0, True, "us",
           "time of MPI_Put of 8 B and its flush inside one host, to memory of the program's: osc rdma over btl pm "
           "against the better of osc rdma and osc pt2pt over btl vader", inside_host, rounds=7),
]
