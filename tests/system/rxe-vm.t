#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The short form of tests/vm: `sclab --vm` boots two machines with a stock kernel, libibverbs talks between them on
each of two rails, and nothing stays. TAP."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[1:1] = [f"{HERE}/../vm"]
from vmtest import ROOT, Timed, need_lab, need_rdma                     # noqa: E402

LAB = f"t{os.getpid()}"
MESSAGES = 100
LISTENS = "until busybox netstat -ltn | grep -q ':18515 '; do sleep 0.05; done"
tap = Timed()


def start(*words):
    return subprocess.Popen([f"{ROOT}/tests/lab/sclab", "--vm", "--name", LAB, *words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def end(process, limit_s=90):
    """(exit status, all it printed)."""
    text, _ = process.communicate(timeout=limit_s)
    return process.returncode, text


def sclab(*words):
    return end(start(*words))


def test_rail(number):
    words = ["ibv_rc_pingpong", "-d", f"rxe{number}", "-g", "1", "-c", "-n", str(MESSAGES)]
    server = start("exec", "h1", "--", *words)
    listens = sclab("exec", "h1", "--", "timeout", "30", "bash", "-c", LISTENS)
    client = sclab("exec", "h0", "--", "timeout", "60", *words, f"h1-eth{number + 1}")
    if client[0]:
        server.kill()
    ends = client, end(server)
    tap.ok(listens[0] == 0 and all(code == 0 and f"{MESSAGES} iters" in text and "invalid" not in text
                                   for code, text in ends), f"rxe{number}: ibv_rc_pingpong", f"{listens} {ends}")


def main():
    try:
        up = sclab("up", "--hosts", "2", "--nics", "2")
        tap.ok(up[0] == 0 and "RDMA: rxe0 on eth1, rxe1 on eth2" in up[1], "two machines are up, with RDMA", f"{up}")
        if not up[0]:
            tap.equal(sclab("exec", "h1", "--", "sh", "-c", "exit 42")[0], 42, "exit status of a command")
            for number in range(2):
                test_rail(number)
    finally:
        code, _ = sclab("down")
    tap.ok(code == 0 and LAB not in sclab("list")[1], "down: nothing stays")
    return tap.end()


if __name__ == "__main__":
    need_lab()
    need_rdma()
    sys.exit(main())
