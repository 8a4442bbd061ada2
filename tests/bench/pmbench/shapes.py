# SPDX-License-Identifier: BSD-3-Clause
"""Things that programs do besides sending contiguous ones one by one: derived datatypes, probes, exchanges,
computation meanwhile, fresh buffers, halos. Against Open MPI's TCP, on a cable of MTU 1500; the worst device counts."""
from __future__ import annotations

from .devices import DIRECT, PORT, UDP
from .sweep import Sweep, SweepFigure

ALL = (DIRECT, PORT, UDP)
KIB, MIB = 1 << 10, 1 << 20
COMPUTE_US = 1000
STATED_ROUNDS = 3
AGAINST = "Open MPI over mtl pm against btl tcp with offloads, worst of direct, port and udp"
SIDES = {"sender": "at the sender", "receiver": "at the receiver", "both": "at both sides"}
LAYOUTS = {
    "blocks": "a vector of 32-byte blocks with stride 2",
    "doubles": "a vector of doubles with stride 2",
    "struct": "an array of structs of int, 3 doubles, float and 2 chars",
    "face": "a face of a cube of doubles, across its fastest dimension",
}


def typed(layout: str, side: str = "both") -> Sweep:
    return Sweep(f"{layout}-{side}", ("mpi_trip", "-d", layout, "-w", side), "us", True,
                 f"half RTT of {LAYOUTS[layout]} {SIDES[side]}")


def halo(neighbours: int) -> Sweep:
    return Sweep(f"halo-{neighbours}", ("mpi_halo", "-d", str(neighbours)), "us", True,
                 f"time of a halo exchange with {neighbours} neighbours, by bytes of a face")


VECTOR = typed("blocks")
PROBE = Sweep("probe", ("mpi_pattern", "-c", "probe"), "us", True,
              "time to ask for a message, to probe for it before it has come, and to receive it")
EXCHANGE = Sweep("exchange", ("mpi_exchange",), "us", True, "time of one exchange")
OVERLAP = Sweep("overlap", ("mpi_exchange", "-c", str(COMPUTE_US)), "us", True,
                f"time of one exchange with {COMPUTE_US} us of computation between start and wait")
FRESH = Sweep("fresh", ("mpi_trip", "-d", "fresh"), "us", True, "half RTT from and into never-used buffers")


def stated(name: str, sweep: Sweep, *sizes: int) -> SweepFigure:
    return SweepFigure(name, None, True, "us", f"{sweep.title}: {AGAINST}. Stated, no goal", (sweep,), ALL, sizes,
                       rounds=STATED_ROUNDS)


FIGURES = [
    SweepFigure("vector-512k-vs-tcp", 0.95, True, "us", f"half RTT of 512 KiB as {LAYOUTS['blocks']}: {AGAINST}",
                (VECTOR,), ALL, (512 * KIB,)),
    SweepFigure("exchange-1m-vs-tcp", 0.95, True, "us",
                f"time in which two ranks exchange 1 MiB, both ways at once: {AGAINST}", (EXCHANGE,), ALL, (MIB,)),
    stated("exchange-64k-vs-tcp", EXCHANGE, 64 * KIB),
    stated("exchange-1m-overlap-vs-tcp", OVERLAP, MIB),
    stated("fresh-vs-tcp", FRESH, 4 * KIB, 64 * KIB, MIB, 4 * MIB),
    stated("vector-8k-vs-tcp", VECTOR, 8 * KIB),
    stated("vector-16m-vs-tcp", VECTOR, 4 * MIB, 16 * MIB),
    stated("probe-vs-tcp", PROBE, 64, 4 * KIB, 64 * KIB, MIB),
    stated("vector-512k-sender-vs-tcp", typed("blocks", "sender"), 512 * KIB),
    stated("vector-512k-receiver-vs-tcp", typed("blocks", "receiver"), 512 * KIB),
    *(stated(f"{layout}-vs-tcp", typed(layout), 8 * KIB, 128 * KIB, 512 * KIB)
      for layout in ("doubles", "struct", "face")),
    *(stated(f"halo-{n}-vs-tcp", halo(n), 512, 8 * KIB, 128 * KIB) for n in (2, 6, 26)),
]
