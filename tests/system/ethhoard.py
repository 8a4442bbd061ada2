# SPDX-License-Identifier: BSD-3-Clause
"""A user of pm-ethernetd who keeps what came with his contexts after their leases, and the memory that this takes."""
import signal
import time

import ethlab

QUOTA_MIB = 48
PORT = 2
ESTALE = 116
GRANTS_MAX = 16     # as pm-ethernet/lease.c has it


class Hoard:
    """A daemon that allows a user @QUOTA_MIB, and a user who keeps his contexts beyond their leases. Each has some MiB,
    so a dozen reaches the quota. Of 2 GiB, the default, it is the same part: only the number of contexts is larger."""

    def __init__(self, lab, mode):
        self.lab = lab
        self.user, self.daemon = (ethlab.MemoryGroup(f"{lab.name}-{who}") for who in ("user", "daemon"))
        lab.kill_daemon("h2", signal.SIGTERM)
        self.process = lab.start_daemon("h2", "eth1,eth2", "--mode", mode, "--user-memory", str(QUOTA_MIB))
        self.daemon.add(lab.daemon("h2"))
        self.fresh()

    def fresh(self):
        self.hoarder, self.honest = self.lab.guest("h2", "nobody"), self.lab.guest("h2", "daemon")
        self.user.add(self.hoarder.pid)
        self.user.start()
        self.daemon.start()

    def attach_honestly(self):
        """As libpm does: it asks again where the kernel has not freed yet what was granted."""
        for _ in range(GRANTS_MAX):
            error = self.honest.do("ask", op=1, key=22, attach=PORT)["error"]
            if error != ESTALE:
                break
        return error

    def attack(self, way, attach):
        """The attacker's answers, and the longest that another user waited meanwhile."""
        longest = 0
        self.hoarder.tell("hoard", count=60, way=way, key=21, attach=attach, packets=1024)
        for _ in range(10):
            start = time.monotonic()
            error = self.attach_honestly()
            longest = max(longest, time.monotonic() - start) if not error else 1e9
        return self.hoarder.hear(), longest

    def kept(self):
        return self.user.bytes() + self.daemon.bytes()

    def close(self):
        self.lab.dismiss()
        self.lab.kill_daemon("h2", signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        self.lab.start_daemon("h2", "eth1,eth2", "--mode", "tc")
        self.user.remove()
        self.daemon.remove()
