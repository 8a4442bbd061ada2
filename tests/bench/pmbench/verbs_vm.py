# SPDX-License-Identifier: BSD-3-Clause
"""pm-verbs against the programs of libibverbs and perftest, side by side in two virtual machines with RDMA by the
kernel's own software (rdma_rxe).

Guests are emulated, so the times say nothing by themselves. Both sides have the same guests, device
and path MTU in turn, and wait in the same way. A side that polls keeps the guest's only processor
busy, and with it one of this machine's. A side that sleeps pays for waking up.
"""
from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator

from .command import BUILD, ROOT, program
from .eth import Sides
from .figure import CannotRun, Contestant, Failed, Figure

sys.path[1:1] = [str(ROOT / "tests" / directory) for directory in ("vm", "system")]
import vmlab  # noqa: E402
import vmlab.rdma  # noqa: E402
from vmtest import Rail, missing_tools, wait_for  # noqa: E402

NIC = "eth1"
PORT = 17333  # of pmtest
LIMIT_S = 60
ROUND_TRIPS = 500
BLOCK, BLOCKS = 65536, 400
UNDER_WAY = 16  # blocks at once, of both
BANDWIDTH_ROUNDS = 9
OVER_VERBS = "PM_OPTIONS=devices=self+verbs"


@contextlib.contextmanager
def two_guests(mtu: int, **more: int) -> Iterator[vmlab.Lab]:
    """Two guests that rxe0 of each joins."""
    program("bin/pmtest")
    if reason := vmlab.skip_reason(BUILD):
        raise CannotRun(reason)
    if missing := missing_tools():
        raise CannotRun(f"no programs of libibverbs here (install {missing})")
    try:
        with vmlab.Lab(BUILD, 2, [vmlab.Link("a", "b", mtu)], **more) as lab:
            if why := vmlab.rdma.set_up(lab, [NIC]):
                raise CannotRun(why)
            yield lab
    except (vmlab.Trouble, vmlab.Failed) as why:
        raise Failed(str(why)) from None


def pmtest(rail: Rail, words: str, how: str, how_there: str) -> dict:
    """The result of pmtest, which listens in one guest and measures in the other. how, how_there: how the two wait."""
    command = f"{OVER_VERBS} exec {BUILD}/bin/pmtest --wait"
    server = rail.server.start(f"{command} {how_there} --listen {PORT} --once", LIMIT_S)
    if not wait_for(rail.server, f"busybox netstat -ltn | grep -q ':{PORT} '"):
        raise Failed(f"pmtest does not listen: {server.text()}")
    status, text = rail.client.run(f"{command} {how} {words} --no-check --json {rail.address}", LIMIT_S)
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if status or server.wait()[0] or not lines:
        raise Failed(f"pmtest {words}: {text}")
    result = json.loads(lines[-1])
    if result["device"] != "verbs":
        raise Failed(f"pmtest went over {result['device']}, not over verbs")
    return result


def told(rail: Rail, words: str, gid_option: str, pattern: str) -> float:
    """The number that a program of libibverbs or perftest says in the client."""
    name, _, options = words.partition(" ")
    ends = rail.talk(name, gid_option, options, LIMIT_S)
    found = re.search(pattern, ends[0][1], re.M)
    if not found or any(status for status, _ in ends):
        raise Failed(f"{words}: {ends}")
    return float(found.group(1))


def pm_latency(rail: Rail, size: int, how: str) -> float:
    """Half RTT in us; the mean, as the others tell no other."""
    words = f"--test latency --size {size} --iterations {ROUND_TRIPS} --warmup 50"
    return pmtest(rail, words, how, how)["half_rtt_us"]["mean"]


def ibv_latency(rail: Rail, size: int, mtu: int, how: str) -> float:
    words = f"ibv_rc_pingpong -m {mtu} -n {ROUND_TRIPS} -s {size} {'-e' if how == 'sleep' else ''}"
    return told(rail, words, "-g", r"= ([\d.]+) usec/iter") / 2


def pm_bandwidth(rail: Rail, test: str) -> float:
    """The owner of the memory has nothing to do; so ib_write_bw's waits for the end, asleep."""
    words = f"--test {test} --size {BLOCK} --iterations {BLOCKS} --warmup {UNDER_WAY}"
    words += f" --depth {UNDER_WAY}" if test == "write" else ""
    return pmtest(rail, words, "poll", "sleep" if test == "write" else "poll")["mb_per_s"]


def perftest_bandwidth(rail: Rail, words: str, mtu: int) -> float:
    """MB/s on average, which perftest tells behind the peak and in MiB/s."""
    words = f"{words} -t {UNDER_WAY} -F -m {mtu} -n {BLOCKS} -s {BLOCK}"
    return told(rail, words, "-x", rf"^\s*{BLOCK}\s+{BLOCKS}\s+[\d.]+\s+([\d.]+)") * 1.048576


def path_mtu(mtu: int) -> int:
    """The most bytes that a frame of RDMA carries on a link of this MTU."""
    return 1024 if mtu < 2200 else 2048 if mtu < 4200 else 4096


def latency(size: int, mtu: int, how: str) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_guests(mtu) as lab:
            rail = Rail(lab, 0, NIC)
            yield (Contestant("pmtest", lambda: pm_latency(rail, size, how)),
                   [Contestant("ibv_rc_pingpong", lambda: ibv_latency(rail, size, path_mtu(mtu), how))])
    return setup


def bandwidth(test: str, tool: str, mtu: int) -> Callable[[], contextlib.AbstractContextManager]:
    """One rival: of several the luckiest would count, and on a machine whose speed changes that is no fair one."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with two_guests(mtu) as lab:
            rail = Rail(lab, 0, NIC)
            yield (Contestant("pmtest", lambda: pm_bandwidth(rail, test)),
                   [Contestant(tool, lambda: perftest_bandwidth(rail, tool, path_mtu(mtu)))])
    return setup


FIGURES = [
    Figure("verbs-latency-vs-ibv", 1.15, True, "us",
           "half RTT of 8 B between two emulated guests with rdma_rxe, MTU 1500: pmtest over verbs against "
           "ibv_rc_pingpong, both polling", latency(8, 1500, "poll"), rounds=9, is_paired=True),
    Figure("verbs-latency-asleep-vs-ibv", 1.15, True, "us",
           "the same, both sleeping until the completion queue has something", latency(8, 1500, "sleep"), rounds=9,
           is_paired=True),
    Figure("verbs-latency-4000-vs-ibv", 1.15, True, "us",
           "the same of 4000 B at MTU 9000, where they are one frame, both polling", latency(4000, 9000, "poll"),
           rounds=9, is_paired=True),
    Figure("verbs-bandwidth-vs-ibv", 0.95, False, "MB/s",
           "pmWrite of 64 KiB between the same guests, 16 at once, MTU 1500: pmtest against ib_write_bw, both polling",
           bandwidth("write", "ib_write_bw", 1500), rounds=BANDWIDTH_ROUNDS, is_paired=True),
    Figure("verbs-bandwidth-9000-vs-ibv", 0.95, False, "MB/s", "the same at MTU 9000",
           bandwidth("write", "ib_write_bw", 9000), rounds=BANDWIDTH_ROUNDS, is_paired=True),
    Figure("verbs-message-bandwidth-vs-ibv", None, False, "MB/s",
           "messages of 64 KiB, which PM sends in parts of 4 KiB and copies on both sides, MTU 1500: pmtest against "
           "ib_send_bw, which copies nothing. Stated, no goal", bandwidth("bandwidth", "ib_send_bw", 1500),
           rounds=BANDWIDTH_ROUNDS, is_paired=True),
]
