# SPDX-License-Identifier: BSD-3-Clause
"""How fast what a rank writes comes out of the command that has started it, on another host."""
from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

from .command import SCLAB, TIMEOUT_S, Lab, need_mpirun, program
from .eth import Sides
from .figure import Contestant, Failed, Figure
from .sched import scheduled, seconds

MIB = 1 << 20
GIGABIT = ("tbf", "rate", "1gbit", "burst", "128kb", "latency", "10ms")
CONNECTION = """
import socket, sys
what, port, n = sys.argv[1], 5000, int(sys.argv[2])
data = bytearray(1 << 18)
if what == "serve":
    with socket.create_server(("", port)) as listener:
        print("ready", flush=True)
        other = listener.accept()[0]
        while n > 0:
            n -= other.send(memoryview(data)[:n])
        other.shutdown(socket.SHUT_WR)
else:
    with socket.create_connection((sys.argv[3], port)) as other:
        while got := other.recv_into(data):
            sys.stdout.buffer.write(memoryview(data)[:got])
"""


def writer(mib: int) -> list[str]:
    return ["dd", "if=/dev/zero", "bs=64k", f"count={mib * 16}", "status=none"]


def to_a_pipe(words: list[str]) -> list[str]:
    """The command, whose output somebody reads."""
    return ["sh", "-c", '"$@" | cat > /dev/null', "sh", *words]


def rate(cluster: Lab, mib: int, words: list[str]) -> float:
    return mib * MIB / 1e6 / seconds(cluster, to_a_pipe(words))


def by_scrun(cluster: Lab, mib: int) -> Contestant:
    words = [program("bin/scrun"), "--hosts", "h1", "-n", "1", *writer(mib)]
    return Contestant("scrun", lambda: rate(cluster, mib, words))


def by_mpirun(cluster: Lab, mib: int) -> Contestant:
    need_mpirun()
    agent = f"{SCLAB} --name {cluster.name} rsh-agent"
    words = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "eth0",
             "-H", "h1:1", "-np", "1", *writer(mib)]
    return Contestant("mpirun", lambda: rate(cluster, mib, words))


@contextlib.contextmanager
def serving(cluster: Lab, size: str) -> Iterator[None]:
    connection = [sys.executable, "-c", CONNECTION, "serve", size]
    words = [str(SCLAB), "--name", cluster.name, "exec", "h1", "--", *connection]
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        if child.stdout.readline() != "ready\n":
            raise Failed("the end of a bare connection has not begun to listen")
        yield
        child.wait(TIMEOUT_S)
    finally:
        child.kill()
        child.communicate()


def by_connection(cluster: Lab, mib: int) -> Contestant:
    """A bare TCP connection, which nobody starts and nobody seals: it is what the line carries."""
    size = str(mib * MIB)

    def measure() -> float:
        with serving(cluster, size):
            return rate(cluster, mib, [sys.executable, "-c", CONNECTION, "take", size, "h1"])
    return Contestant("a bare connection", measure)


def against(mib: int, other: Callable[[Lab, int], Contestant],
            line: tuple[str, ...] = ()) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        with scheduled("output", 2) as cluster:
            if line:
                cluster.sclab("exec", "h1", "--", "tc", "qdisc", "add", "dev", "eth0", "root", *line)
            yield by_scrun(cluster, mib), [other(cluster, mib)]
    return setup


FIGURES = [
    Figure("output-vs-mpirun", 1.0, False, "MB/s", "rate at which 1 GiB that a rank on another host writes comes out "
           "of the command that has started it: scrun, whose connections are encrypted, against mpirun, whose are not",
           against(1024, by_mpirun), rounds=5),
    Figure("output-gigabit", 0.95, False, "MB/s", "the same of 256 MiB through scrun over a line of 1 Gbit/s, against "
           "a bare TCP connection over it", against(256, by_connection, GIGABIT), rounds=5),
]
