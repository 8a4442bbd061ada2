# SPDX-License-Identifier: BSD-3-Clause
"""How long scored takes to answer a user while another one, and strangers, want as much of it as they can get."""
from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator

from .command import ROOT, SCLAB, TIMEOUT_S, Lab
from .eth import Sides
from .figure import CannotRun, Contestant, Failed, Figure
from .sched import scheduled

SERVER = "h0:7710"
FOLLOWERS, GARBAGE_HZ, QUESTIONS = 400, 2456, 25


def hostile(cluster: Lab, host: str, user: str, what: str, number: int) -> list[str]:
    """An attack of the tests of the scheduler's security, by a user in a host."""
    return [str(SCLAB), "--name", cluster.name, "exec", "-u", user, host, "--", sys.executable,
            str(ROOT / "tests" / "system" / "schedhostile.py"), SERVER, "", what, str(number)]


@contextlib.contextmanager
def attack(cluster: Lab, host: str, what: str, number: int) -> Iterator[None]:
    """From when it is under way, to the end of the block."""
    words = hostile(cluster, host, "nobody", what, number)
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if "held" not in iter(lambda: child.stdout.readline().strip() or "held", "") or child.poll() is not None:
            raise CannotRun(f"the attack \"{what}\" has not begun")
        yield
    finally:
        child.communicate(timeout=TIMEOUT_S)


def answer_ms(cluster: Lab) -> float:
    """Median of a few questions for the jobs, each over a connection of its own."""
    done = subprocess.run(hostile(cluster, "h1", "daemon", "ask", QUESTIONS), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode:
        raise Failed(f"no answer of scored: {done.stderr.strip()}")
    return statistics.median(map(float, done.stdout.split()))


@contextlib.contextmanager
def flooded() -> Sides:
    """Two clusters: the machine is as busy for the one that is left in peace. Strangers have another host."""
    with (scheduled("flood", 3) as flood, scheduled("calm", 3) as calm, attack(flood, "h1", "follow", FOLLOWERS),
          attack(flood, "h2", "garbage", GARBAGE_HZ)):
        yield (Contestant("attacked", lambda: answer_ms(flood)),
               [Contestant("undisturbed", lambda: answer_ms(calm))])


FIGURES = [
    Figure("scored-flood", 5.0, True, "ms", "median answer to a user's question for all jobs, under attack, against a "
           "cluster without attacks on the same machine. Another user has 100 waiting jobs with 100 kB of arguments "
           f"each, and {FOLLOWERS} connections that want to follow the activity. Strangers send {GARBAGE_HZ} bad "
           "credentials per second", flooded, rounds=5),
]
