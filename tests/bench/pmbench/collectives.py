# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations of 2, 4 and 8 ranks between hosts, against Open MPI's TCP with vader inside each host.

PM is measured with the rules for Open MPI's choice of algorithms that scrun sets, and without them. More ranks than
cores share them: all ranks give their core away while they wait then (mpi_yield_when_idle).
"""
from __future__ import annotations

from .devices import DIRECT, DIRECT_TUNED, HERE_MTU, NAMES, SHMEM, SHMEM_TUNED, TCP_VADER
from .sweep import Sweep, SweepFigure

OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "alltoall", "allgather", "reduce_scatter")
LAYOUTS = ((2, 2), (4, 2), (8, 2), (4, 4), (8, 4))  # ranks and hosts
INSIDE = (2, 4, 8)  # ranks on one host
EVERY = tuple(1 << i for i in range(0, 21, 2))
ROUNDS = 3


def collective(operation: str, ranks: int, hosts: int) -> Sweep:
    """Bytes are those of the message, or of a block that a rank sends to one other."""
    return Sweep(operation, ("mpi_collective", "-c", operation), "us", True, f"time of {operation}",
                 HERE_MTU if hosts == 1 else 1500, (TCP_VADER,), ranks, hosts, (1,) if operation == "barrier" else ())


BETWEEN = tuple(collective(operation, *layout) for layout in LAYOUTS for operation in OPERATIONS)
WITHIN = tuple(collective(operation, ranks, 1) for ranks in INSIDE for operation in OPERATIONS)
WHERE = f"{', '.join(f'{ranks} ranks on {hosts}' for ranks, hosts in LAYOUTS)} hosts, MTU 1500"
STATED = ". Stated, no goal"
SIZES = "all powers of four from 1 B to 1 MiB"


def between(name: str, goal: float | None, device: str) -> SweepFigure:
    return SweepFigure(name, goal, True, "us",
                       f"time of {', '.join(OPERATIONS)}, worst of {SIZES}. Layouts: {WHERE}. Open MPI over mtl pm "
                       f"({NAMES[device]}) against btl tcp with offloads and vader" + ("" if goal else STATED),
                       BETWEEN, (device,), EVERY, ROUNDS)


def within(name: str, goal: float | None, device: str) -> SweepFigure:
    return SweepFigure(name, goal, True, "us",
                       f"time of the same, worst of {SIZES}, {', '.join(map(str, INSIDE))} ranks on one host: Open MPI "
                       f"over mtl pm ({NAMES[device]}) against vader" + ("" if goal else STATED),
                       WITHIN, (device,), EVERY, ROUNDS)


FIGURES = [
    between("collectives-worst", 1.0, DIRECT_TUNED),
    between("collectives-untuned-worst", None, DIRECT),
    within("collectives-inside-worst", None, SHMEM_TUNED),
    within("collectives-inside-untuned", None, SHMEM),
]
