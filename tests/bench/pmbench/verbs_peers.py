# SPDX-License-Identifier: BSD-3-Clause
"""The memory and the queue pairs that a verbs link holds for its peers; a part of the memory is registered.

tests/tools/verbs_peers counts them over the fake provider of the unit tests, with the defaults of all options. Memory
that a driver and a device themselves keep for a queue pair does not count. The goals are our own.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable

from .command import program, run_json
from .eth import Sides
from .figure import Contestant, Figure

MANY = 1000
FEW = 100  # fewer than a link has connections by default
CONNECTIONS = 512  # verbs.connections by default, where receives are shared
PER_CONNECTION, PER_KNOWN, ALL_MIB = 32768, 1024, 32
Counts = dict[str, dict[str, int]]


def grown(counts: Counts, step: str, since: str, what: str) -> int:
    return counts[step][what] - counts[since][what]


def per_connection(what: str) -> float:
    return grown(run_json([program("tests/tools/verbs_peers"), str(FEW), str(FEW)]), "connected", "known", what) / FEW


def per_known() -> float:
    return grown(run_json([program("tests/tools/verbs_peers"), str(MANY), "1"]), "known", "alone", "memory") / MANY


def of_all(what: str) -> float:
    return run_json([program("tests/tools/verbs_peers"), str(MANY), str(MANY)])["connected"][what]


def sides(ours: str, measure: Callable[[], float], rival: str, against: Callable[[], float],
          ) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        program("tests/tools/verbs_peers")
        yield Contestant(ours, measure), [Contestant(rival, against)]
    return setup


FIGURES = [
    Figure("verbs-memory-per-peer", 1.0, True, "B",
           f"memory of a verbs link for each of {FEW} connected peers, registered buffers included, against 32 KiB",
           sides("connected", lambda: per_connection("memory"), "allowed", lambda: float(PER_CONNECTION)), rounds=1),
    Figure("verbs-registered-per-peer", None, True, "B",
           "the part of it that is registered. Stated, no goal",
           sides("registered", lambda: per_connection("registered"), "all of it", lambda: per_connection("memory")),
           rounds=1),
    Figure("verbs-memory-per-known-peer", 1.0, True, "B",
           f"the same for each of {MANY} peers that nothing was said to, against 1 KiB",
           sides("known", per_known, "allowed", lambda: float(PER_KNOWN)), rounds=1),
    Figure("verbs-memory-1000-peers", 1.0, True, "MiB",
           f"memory of a verbs link that has talked to {MANY} peers, against 32 MiB",
           sides("link", lambda: of_all("memory") / 2**20, "allowed", lambda: float(ALL_MIB)), rounds=1),
    Figure("verbs-qps-1000-peers", 1.0, True, "1",
           f"queue pairs of the same link, against the {CONNECTIONS} that verbs.connections allows by default",
           sides("link", lambda: of_all("queue_pairs"), "allowed", lambda: float(CONNECTIONS)), rounds=1),
]
