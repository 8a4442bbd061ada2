# SPDX-License-Identifier: BSD-3-Clause
"""The processor cost of a message over pm-verbs: instructions of user space, counted by callgrind.

Two contexts of one process (tests/tools/verbs_cost) talk by the fake provider of the unit tests. The instructions of
libpm's calls are counted, with the copy of the data and all functions that they call. The provider's own functions do
not count: a real system has in their place a driver that writes to its device. Two runs of different length are
compared, so that the start does not count.
"""
from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable

from .command import TIMEOUT_S, program
from .eth import Sides
from .eth_cpu import BUDGET_8, BUDGET_8K, need, scratch
from .figure import Contestant, Failed, Figure

SHORT, LONG = 500, 2500
CALLS = ["pmPost", "pmReceive", "pmReleaseReceiveBuffer", "pmWrite", "pmRead", "pmIsWriteDone", "pmIsReadDone",
         "bare_message"]
PROVIDER = ["fake_post_send", "fake_post_recv", "fake_post_srq_recv", "fake_poll_cq", "fake_req_notify_cq"]
# The goals are our own. A device that resends and puts in order leaves less to do: pm-ethernet may take 2000 and 10000.
SHARE_8, SHARE_8K = 0.75, 0.48
# A whole operation, asked and answered without the other side's processor.
BUDGET_ONE_SIDED = 1500


def total(case: str, size: int, count: int) -> int:
    """Instructions within CALLS, where entering a function of the provider ends counting and leaving resumes it."""
    with scratch() as directory:
        out = directory / "callgrind"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                   *(f"--toggle-collect={name}" for name in CALLS + PROVIDER),
                   program("tests/tools/verbs_cost"), case, str(size), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        totals = [line.split()[1] for line in out.read_text().splitlines()
                  if line.startswith("totals:")] if out.exists() else []
    if done.returncode or not totals:
        raise Failed(f"verbs_cost {case} {size} {count}: {done.stderr[-2000:]}")
    return int(totals[0])


def instructions(case: str, size: int) -> float:
    return (total(case, size, LONG) - total(case, size, SHORT)) / (LONG - SHORT)


def against(case: str, size: int, budget: float) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        need("valgrind", "valgrind")
        program("tests/tools/verbs_cost")
        yield (Contestant(case, lambda: instructions(case, size)), [Contestant("budget", lambda: budget)])
    return setup


def against_bare(size: int) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        need("valgrind", "valgrind")
        program("tests/tools/verbs_cost")
        yield (Contestant("message", lambda: instructions("message", size)),
               [Contestant("verbs alone", lambda: instructions("bare", size))])
    return setup


FIGURES = [
    Figure("verbs-instructions-message", 1.0, True, "1",
           "user-space instructions in libpm per message of 8 B, sender and receiver, by callgrind with a fake device "
           "whose own functions do not count, against three quarters of what pm-ethernet may take",
           against("message", 8, SHARE_8 * BUDGET_8), rounds=1),
    Figure("verbs-instructions-8k", 1.0, True, "1",
           "the same per 8 KiB, which are three datagrams, the copies included, against 0.48 of what pm-ethernet may "
           "take", against("message", 8192, SHARE_8K * BUDGET_8K), rounds=1),
    Figure("verbs-instructions-write-8k", 1.0, True, "1",
           "the same for a pmWrite of 8 KiB from memory that is registered, until it is done; the goal is our own",
           against("write", 8192, BUDGET_ONE_SIDED), rounds=1),
    Figure("verbs-instructions-read-8k", 1.0, True, "1", "the same for a pmRead",
           against("read", 8192, BUDGET_ONE_SIDED), rounds=1),
    Figure("verbs-instructions-vs-bare", None, True, "1",
           "verbs-instructions-message against the same message by ibv_post_send, ibv_poll_cq and ibv_post_recv with "
           "nothing else: no order, credits, death of peers or choice of devices. Stated, no goal", against_bare(8),
           rounds=1),
]
