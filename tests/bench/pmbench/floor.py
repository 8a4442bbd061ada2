# SPDX-License-Identifier: BSD-3-Clause
"""The least that a message takes by segmented datagrams on this machine, against Open MPI's TCP on the same cable.

Where this ratio lies above a goal, no library that sends datagrams can reach it here.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .command import lab
from .devices import BTL_TCP
from .figure import Contestant, Figure
from .mpisizes import latency, single

SIZES = {"8k": 8 << 10, "32k": 32 << 10, "64k": 64 << 10, "256k": 256 << 10, "512k": 512 << 10}


def floor(label: str, size: int) -> Figure:
    """Stated: there is nothing of ours in it."""
    @contextlib.contextmanager
    def setup() -> Iterator[tuple[Contestant, list[Contestant]]]:
        with lab("floor", 2, "--direct", "--offloads", "on") as cable:
            yield (single(["mpi_floor"], size, 1)("raw segmented datagrams", cable, BTL_TCP, None),
                   [latency(size)("btl tcp", cable, BTL_TCP, None)])
    return Figure(f"floor-{label}-vs-tcp", None, True, "us",
                  f"half RTT of {size} B by raw segmented datagrams with one copy at each side and nothing else, "
                  "against btl tcp with offloads; stated, no goal", setup)


FIGURES = [floor(label, size) for label, size in SIZES.items()]
