# SPDX-License-Identifier: BSD-3-Clause
"""How long scout takes to run a command on all hosts of a lab, against pdsh, which only starts it there."""
from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

from .command import BUILD, ROOT, TIMEOUT_S, Lab, program, run_json
from .eth import Sides
from .figure import CannotRun, Contestant, Failed, Figure
from .sched import TIMER, in_host, scheduled, seconds

SCOUT = str(ROOT / "scout" / "scout")


def pdsh(cluster: Lab, hosts: int) -> float:
    """pdsh starts the command in the network of each host, from the machine: it needs no daemon there."""
    words = ["pdsh", "-R", "exec", "-w", f"h[0-{hosts - 1}]", "ip", "netns", "exec", f"{cluster.name}-%h", "true"]
    return run_json([sys.executable, "-c", TIMER, *words])["seconds"]


@contextlib.contextmanager
def many(hosts: int) -> Iterator[Lab]:
    if not shutil.which("pdsh"):
        raise CannotRun("pdsh is not installed (Debian package pdsh)")
    program("bin/scremote")
    with scheduled(f"scout{hosts}", hosts) as cluster:
        yield cluster


def against(hosts: int) -> Callable[[], contextlib.AbstractContextManager]:
    """scout from its command line on, agents from the hosts' scnodeds, with its lock at scored."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with many(hosts) as cluster:
            words = [SCOUT, "-g", f"h[0-{hosts - 1}]", "true"]
            yield (Contestant("scout", lambda: 1000 * seconds(cluster, words)),
                   [Contestant("pdsh", lambda: 1000 * pdsh(cluster, hosts))])
    return setup


class Session:
    """A session of all hosts, whose shell does what it is told."""

    def __init__(self, cluster: Lab, hosts: int) -> None:
        self._child = subprocess.Popen(in_host(cluster, [SCOUT, "-g", f"h[0-{hosts - 1}]"]), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def measure(self) -> float:
        """Milliseconds of a command in it."""
        timer = BUILD / "scout-timer.py"
        timer.write_text(TIMER)
        self._child.stdin.write(f"{sys.executable} {timer} $SCOUT_PROGRAM true </dev/null\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line.startswith("{"):
            raise Failed("scout: the session has ended")
        return 1000 * json.loads(line)["seconds"]

    def end(self) -> None:
        self._child.stdin.close()
        self._child.wait(TIMEOUT_S)


@contextlib.contextmanager
def in_session() -> Sides:
    with many(64) as cluster:
        session = Session(cluster, 64)
        try:
            yield (Contestant("scout in a session", session.measure),
                   [Contestant("pdsh", lambda: 1000 * pdsh(cluster, 64))])
        finally:
            session.end()


def _text(hosts: int) -> str:
    return (f"wall time of \"scout true\" on {hosts} hosts of a lab, lock and agents by the daemons included, against "
            "pdsh -R exec with ip netns exec")


FIGURES = [
    *(Figure(f"scout-{hosts}-vs-pdsh", 1.2, True, "ms", _text(hosts), against(hosts), rounds=11, is_paired=True)
      for hosts in (8, 16, 32, 64)),
    Figure("scout-64-session-vs-pdsh", 1.2, True, "ms", "the same on 64 hosts in a session, whose agents are there "
           "already", in_session, rounds=11, is_paired=True),
]
