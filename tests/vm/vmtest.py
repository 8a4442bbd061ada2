# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests that run in guests: TAP lines that say how long each took, and RDMA between two guests."""
import os
import re
import select
import shutil
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[1:1] = [f"{HERE}/../system"]
import vmlab.rdma                                                       # noqa: E402
from systest import BUILD, ROOT, Tap                                    # noqa: E402

__all__ = ["BUILD", "EVENT_S", "ROOT", "Rail", "Timed", "need_guests", "need_lab", "need_rdma", "pingpong", "skip_all",
           "wait_for", "wait_until", "write_bandwidth"]
PORT = 18515                    # of the programs of libibverbs and perftest
TOOLS = {"ibv_rc_pingpong": "ibverbs-utils", "ib_write_bw": "perftest", "rdma": "iproute2"}
EVENT_S = 30                    # what happens in a second on a real machine


class Timed(Tap):
    """Says with each test what it took since the one before."""

    def __init__(self):
        self.last = time.monotonic()

    def ok(self, is_ok, name, detail=""):
        super().ok(is_ok, f"{name} ({time.monotonic() - self.last:.1f} s)", detail)
        self.last = time.monotonic()


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def need_guests():
    """Skips the whole test where guests can't be started."""
    if reason := vmlab.skip_reason(BUILD):
        skip_all(reason)


def need_lab():
    """... where sclab --vm can't keep one."""
    if os.geteuid() and not os.environ.get("XDG_RUNTIME_DIR"):
        skip_all("needs root, or XDG_RUNTIME_DIR")
    need_guests()


def need_rdma():
    """... where what sets RDMA up in guests, or tries it, is not installed."""
    if missing := missing_tools():
        skip_all(f"no programs of libibverbs here (install {missing})")


def missing_tools():
    """Packages to install, or ''."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool, path=path)}
    if not os.path.isdir("/etc/libibverbs.d"):
        missing.add("ibverbs-providers")
    return " ".join(sorted(missing))


def wait_until(condition, limit_s=EVENT_S):
    """Polls what only a guest can tell; whether it came true."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.1)
    return True


def wait_for(guest, condition, limit_s=EVENT_S):
    """Until a command of bash succeeds in the guest, which can tell by asking only."""
    return guest.run(f"until {condition}; do sleep 0.05; done", limit_s)[0] == 0


class Rail:
    """The device of that number in two guests, on the NIC they have in one net."""

    def __init__(self, lab, number, nic):
        self.device = f"rxe{number}"
        self.client, self.server = lab.guests[:2]
        nics = [next(each for each in lab.nics(guest) if each.name == nic) for guest in lab.guests[:2]]
        self.address = nics[1].address.partition("/")[0]
        self.gids = [vmlab.rdma.gid_index(guest, self.device, each.address)
                     for guest, each in zip(lab.guests, nics)]

    def talk(self, program, gid_option, words, limit_s):
        """Both ends of one of these programs; [(exit status, text)] of client and server."""
        commands = [f"exec {program} -d {self.device} {gid_option} {gid} {words}" for gid in self.gids]
        server = self.server.start(commands[1], limit_s)
        if not wait_for(self.server, f"busybox netstat -ltn | grep -q ':{PORT} '"):
            return [(1, "the server does not listen"), server.wait()]
        client = self.client.start(f"{commands[0]} {self.address}", limit_s)
        return [client.wait(), server.wait()]


def pingpong(rail, iterations, size=4096, limit_s=60, is_lossy=False):
    """ibv_rc_pingpong, which looks at what it gets; (whether all went well, what was said). is_lossy: frames get lost.
    The server's last message may be what is not acknowledged then, for ever, as the client has
    ended with it. The client tells that all have arrived: the server's by receiving them and its
    own by their acknowledgements."""
    ends = rail.talk("ibv_rc_pingpong", "-g", f"-c -n {iterations} -s {size}", limit_s)
    judged = ends[:1] if is_lossy else ends
    return all(code == 0 and f"{iterations} iters in" in text and "invalid data" not in text
               for code, text in judged), f"{ends}"


def write_bandwidth(rail, iterations, size=65536, limit_s=90):
    """ib_write_bw; likewise. It is the client that counts."""
    ends = rail.talk("ib_write_bw", "-x", f"-F -n {iterations} -s {size}", limit_s)
    counted = re.search(rf"^\s*{size}\s+{iterations}\s+[\d.]+\s+[\d.]+", ends[0][1], re.M)
    return bool(counted) and all(code == 0 for code, _ in ends), f"{ends}"
