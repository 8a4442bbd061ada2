# SPDX-License-Identifier: BSD-3-Clause
"""The run time of the kernel program of a NIC for a frame, by the kernel's own test run (BPF_PROG_TEST_RUN): the
program alone, without the driver, the redirect itself and the copy of the frame."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from .command import program, run_json
from .eth import Sides
from .figure import CannotRun, Contestant, Figure


def against(ours: str, rival: str) -> Callable[[], contextlib.AbstractContextManager]:
    """Two cases of tests/tools/relay_time; a round is one run of it, which measures all cases in turn."""
    @contextlib.contextmanager
    def setup() -> Sides:
        if os.geteuid():
            raise CannotRun("needs root to load BPF programs: run it with sudo")
        tool = program("tests/tools/relay_time")
        told: dict[str, dict[str, int]] = {}

        def measure() -> float:
            told.update(run_json([tool]))
            return float(told[ours]["median"])

        yield Contestant(ours, measure), [Contestant(rival, lambda: float(told[rival]["median"]))]
    return setup


FIGURES = [
    Figure("hxb-relay-ns", None, True, "ns",
           "run time of the kernel program for a packet that it relays in a grid of three dimensions, one rail along "
           "each, against one that it delivers to its own host. Stated, no goal", against("relayed", "own"), rounds=3),
    Figure("hxb-relay-ns-trunk", 1.15, True, "ns",
           "the same with two rails along each dimension, against one", against("relayed_trunk", "relayed"), rounds=3),
    Figure("hxb-relay-ns-dropped", None, True, "ns",
           "the same for a packet dropped at the hop limit, against one relayed. Stated, no goal",
           against("dropped", "relayed"), rounds=3),
]
