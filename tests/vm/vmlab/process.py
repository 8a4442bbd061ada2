# SPDX-License-Identifier: BSD-3-Clause
"""Starts a QEMU that ends with the process which started it, however that ends."""
import os
import re
import subprocess
import time

from .trouble import Trouble

QEMU = "qemu-system-x86_64"
# The wish is made after the fork: who ended before it is found out by the shell.
BOUND = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"']


class Process:
    """A QEMU whose errors are reported with the last lines of @logs. A log need not exist yet."""

    def __init__(self, name, words, said, logs=()):
        self.name, self.logs = name, (said, *logs)
        with open(said, "wb") as f:
            self.process = subprocess.Popen([*BOUND, str(os.getpid()), QEMU, *words], stdin=subprocess.DEVNULL,
                                            stdout=f, stderr=f)

    def check(self, is_late=False, what=""):
        if self.process.poll() is not None:
            raise Trouble(f"{self.name}: QEMU has ended{self.how()}: {self.last_words()}")
        if is_late:
            raise Trouble(f"{self.name}: waited for {what} in vain: {self.last_words()}")

    def how(self):
        code = self.process.returncode
        return f" by signal {-code}" if code < 0 else f" with status {code}"

    def last_words(self, lines=40):
        texts = []
        for log in self.logs:
            if os.path.exists(log):
                with open(log, encoding="utf-8", errors="replace") as f:
                    texts += f.read().splitlines()[-lines:]
        return re.sub(r"[^\x20-\x7e\n]", "", "\n".join(texts)).strip() or "it said nothing"

    def await_socket(self, path, limit_s=15):
        """Until it has made it."""
        end = time.monotonic() + limit_s
        while not os.path.exists(path):
            self.check(time.monotonic() > end, f"{os.path.basename(path)} of QEMU")
            time.sleep(0.02)

    def await_end(self, limit_s=5):
        """Whether it has ended by then."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        self.process.kill()
        self.process.wait()
