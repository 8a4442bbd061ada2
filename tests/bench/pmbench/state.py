# SPDX-License-Identifier: BSD-3-Clause
"""The state of the machine: how long a cache line takes between the two cores that ranks are pinned to.

A virtual machine's cores may be neighbours (two threads of one core, or two cores with one cache) or far from each
other, and the host moves them every few seconds or minutes. Nearly every figure depends on it, so samples of the two
states are kept apart. The state changes mostly while the cores are idle, such as while mpirun starts.
"""
from __future__ import annotations

import os
import time

from .command import program, run_json

NEAR, FAR = "near", "far"
STATES = (NEAR, FAR)
INDIFFERENT = ""  # of a figure that the state means nothing to, and of a machine with one core

# Seen on one machine: 25 to 65 ns in the one state, 145 to 300 ns in the other. 110 ns is well outside of both.
FAR_NS = 110.0

SEEK_S = 3.0  # to wait for a state before one measurement
NAP_S = 0.05  # idle cores are what lets the state change


def classify(ns: float) -> str:
    return FAR if ns >= FAR_NS else NEAR


def of_probes(before_ns: float, after_ns: float) -> str | None:
    """The state that a measurement between two probes was taken in; None: it changed meanwhile."""
    before, after = classify(before_ns), classify(after_ns)
    return before if before == after else None


def can_tell() -> bool:
    """False: there are no two cores to tell apart."""
    return (os.cpu_count() or 1) > 1


def probe() -> float:
    """Nanoseconds that a cache line takes now from core 0 to core 1; takes about 20 ms."""
    return float(run_json([program("bench/cacheline"), "0", "1"])["one_way_ns"])


def seek(wanted: str) -> float:
    """Waits a while for the wanted state; the last probe, whatever it says."""
    end = time.monotonic() + SEEK_S
    while classify(ns := probe()) != wanted and time.monotonic() < end:
        time.sleep(NAP_S)
    return ns
