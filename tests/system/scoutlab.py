# SPDX-License-Identifier: BSD-3-Clause
"""scout in a lab: called in its first host, or here with pdsh; bytes, time and exit code of each call."""
import os
import signal
import subprocess
import time

import schedlab
from schedlab import SCLAB, TIME_LIMIT, wait_until
from systest import BUILD, ROOT

SCOUT = f"{ROOT}/scout/scout"
AGENT = "scremote"


def missing():
    """Why it can't be tested here; "" = it can."""
    if not os.path.exists(f"{BUILD}/bin/{AGENT}"):
        return f"{AGENT} is not built"
    return schedlab.missing()


class Done:
    """The result of a call; out and err are bytes."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"code {self.code}, {self.seconds:.2f} s, out {self.out[-800:]!r}, err {self.err[-800:]!r}"

    def said(self):
        return self.err.decode(errors="replace")


class Lab(schedlab.Lab):
    """With scout in it."""

    @property
    def all(self):
        """All hosts as an expression."""
        return f"h[0-{len(self.hosts) - 1}]"

    def scout(self, *words, stdin=b"", limit=TIME_LIMIT, **more):
        """In the first host, with its scored."""
        return self.finish(self.popen(*words, **more), stdin, limit)

    def popen(self, *words, env=None, user=None, program=SCOUT):
        # sclab becomes the command: the pid is its own.
        path = f"{BUILD}/bin:{os.environ['PATH']}"
        return subprocess.Popen(self.command("env", f"PATH={path}", *[f"{k}={v}" for k, v in (env or {}).items()],
                                             program, *words, user=user), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    @staticmethod
    def finish(process, stdin=b"", limit=TIME_LIMIT):
        begin = time.monotonic()
        try:
            out, err = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\nscout has not ended in time"
        return Done(process.returncode, out, err, time.monotonic() - begin)

    def outside(self, *words, stdin=b"", limit=TIME_LIMIT, env=None):
        """On the machine itself, without scored; agents by pdsh and ip netns exec."""
        process = subprocess.Popen([SCOUT, "-no-lock", "-rsh", "exec", "-through", f"ip netns exec {self.name}-%h",
                                    "--programs", f"{BUILD}/bin", *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   env={**os.environ, **(env or {})})
        return self.finish(process, stdin, limit)

    def agents(self, host=None):
        """Pids of agents and their keepers."""
        return self.find(AGENT, host)

    def left(self, seconds=5):
        """The processes that scout has left on the hosts."""
        def those():
            return [f"{pid} {name} in {host}" for pid, (host, name) in self.processes().items()
                    if name not in schedlab.DAEMONS]
        wait_until(lambda: not those(), seconds)
        return those()


def has_pending(pid, number):
    """Whether the signal still waits for the process to run."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        sets = [int(line.split()[1], 16) for line in status if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(pending >> (number - 1) & 1 for pending in sets)


def interrupt(process, number=signal.SIGINT):
    """As ^C: to the whole group. Returns when it has been taken: two that come at once are one."""
    os.killpg(process.pid, number)
    wait_until(lambda: not has_pending(process.pid, number), TIME_LIMIT)


__all__ = ["AGENT", "SCLAB", "SCOUT", "Done", "Lab", "interrupt", "missing", "wait_until"]
