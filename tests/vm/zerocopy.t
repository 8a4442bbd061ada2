#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet in true zero copy: two guests with a kernel whose virtio_net gives packets to a process without
copying them. The kernel is asked whether it does, of the very sockets that carry the messages. A
hundred thousand of them have to arrive in bounded time, so none may be stuck in a ring that nobody
looks after. TAP."""
import json
import re
import sys
import time

from vmtest import BUILD, ROOT, Timed, need_guests, skip_all, wait_until
import vmlab

CTL = f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl"
NICS = "eth1,eth2"
FIRST_KERNEL = 7, 0
MESSAGES = 100_000
BOUND_S = 200
# Prints, per AF_XDP socket of a process, what getsockopt(XDP_OPTIONS) says: 1 is zero copy.
ASK = """
import ctypes, os, socket, sys
PIDFD_GETFD, SO_DOMAIN, AF_XDP, SOL_XDP, XDP_OPTIONS = 438, 39, 44, 283, 8
syscall = ctypes.CDLL(None).syscall
pid = int(sys.argv[1])
process = os.pidfd_open(pid)
for name in os.listdir(f"/proc/{pid}/fd"):
    if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
        continue
    mine = socket.socket(AF_XDP, socket.SOCK_RAW, 0, syscall(PIDFD_GETFD, process, int(name), 0))
    if mine.getsockopt(socket.SOL_SOCKET, SO_DOMAIN) == AF_XDP:
        print(int.from_bytes(mine.getsockopt(SOL_XDP, XDP_OPTIONS, 4), sys.byteorder))
"""
tap = Timed()


def report(guest, topic):
    return json.loads(guest.must(f"{CTL} {topic} --json"))


def start_daemons(lab):
    tasks = [guest.start(f"exec {BUILD}/bin/pm-ethernetd --mode auto --nics {NICS}", 600) for guest in lab.guests]
    for task in tasks:
        wait_until(lambda task=task: "ready" in task.text() or task.is_over())
        tap.ok("native mode" in task.text(), f"pm-ethernetd of {task.guest.name}: native mode", task.text())

    def heard():
        return [rail["is_alive"] for peer in report(lab.guests[0], "peers")["peers"] for rail in peer["rails"]]
    tap.ok(wait_until(lambda: heard() == [True, True]), "both rails hear the other side")
    return tasks


class Traffic:
    """pmtest from a to b."""

    def __init__(self, lab, words, limit_s):
        self.a, self.b = lab.guests
        # nice: what looks on would else wait for the only processor until it is over
        env = "PM_OPTIONS=devices=self+ethernet,ethernet.attach=direct nice"
        self.server = self.b.start(f"exec env {env} {BUILD}/bin/pmtest --limit 30 --listen --once", limit_s)
        wait_until(lambda: "listening" in self.server.text() or self.server.is_over())
        self.client = self.a.start(f"exec env {env} {BUILD}/bin/pmtest --limit 30 {words} b", limit_s)

    def frames(self):
        """Sent by the client until now, by rail; {} before it is there and when it has ended."""
        lines = self.a.must(f"{BUILD}/bin/pmstat --json").splitlines()
        return {rail["name"]: rail["tx_packets"] for line in lines for context in json.loads(line)["contexts"]
                for rail in context["rails"]}

    def end(self):
        return self.client.wait(), self.server.wait()


def options_of(guest):
    """The XDP_OPTIONS of each AF_XDP socket of the guest's pmtest; (exit status, output) if they cannot be read."""
    code, text = guest.run(f"exec /usr/bin/python3 -IS - $(pidof pmtest) <<'END'\n{ASK}\nEND")
    return (code, text) if code else text.split()


def test_messages(lab):
    """So many messages, and while they run, what is said of those who carry them."""
    start = time.monotonic()
    # one at a time, to and fro: a frame each
    traffic = Traffic(lab, f"--test latency --size 64 --iterations {MESSAGES // 2} --warmup 0 --json", BOUND_S)
    wait_until(lambda: sum(traffic.frames().values()) > 100 or traffic.client.is_over())
    said = [options_of(guest) for guest in lab.guests]
    # of each rail one socket; those of the daemon that they are bound to are not the process's own
    tap.ok(all(isinstance(options, list) and len(options) >= 2 and set(options) == {"1"} for options in said),
           "getsockopt(XDP_OPTIONS) of both processes' sockets: zero copy", f"{said}")
    contexts = report(lab.guests[0], "status")["contexts"]
    tap.equal([(context["attachment"], context["is_zero_copy"]) for context in contexts], [("direct", True)],
              "pm-ethernetctl status: direct, zero copy")
    ends = traffic.end()
    seconds = time.monotonic() - start
    # a part of them is looked at byte by byte, which pmtest does in a pass of its own
    counted = re.search(r'"messages": (\d+).*"checked": true', ends[0][1])
    tap.ok([code for code, _ in ends] == [0, 0] and counted and int(counted[1]) >= MESSAGES // 2,
           f"{MESSAGES} messages in {seconds:.0f} s, those that were looked at as sent", f"{ends}")


def test_sizes(lab):
    words = "--test latency,bandwidth,bidirectional --size 8,1k,64k --iterations 150 --warmup 10"
    ends = Traffic(lab, words, 120).end()
    tap.equal([code for code, _ in ends], [0, 0], "small and large messages, one way and both, as sent")
    tap.equal({rail["zero_copy"] for guest in lab.guests for rail in report(guest, "rails")["rails"]}, {"yes"},
              "pm-ethernetctl rails: zero copy on every rail of both")


def main(kernel):
    print(f"# guests run Linux {kernel.release}", flush=True)
    links = [vmlab.Link("a", "b", options=vmlab.MAPPED)] * 2
    with vmlab.Lab(BUILD, 2, links, kernel=kernel) as lab:
        tap.ok(True, f"Linux {kernel.release}: two guests are up")
        tasks = start_daemons(lab)
        test_messages(lab)
        test_sizes(lab)
        for task in tasks:
            task.guest.must("kill $(pidof pm-ethernetd)")
        tap.equal([task.wait()[0] for task in tasks], [0, 0], "the daemons end")
        if tap.failed:
            lab.keep()
    return tap.end()


def check_start():
    need_guests()
    kernel = vmlab.find_kernels(BUILD)[-1]
    if kernel.version < FIRST_KERNEL:
        skip_all(f"virtio_net of Linux {kernel.release} has no zero copy (run ./bootstrap.sh check-vm-zerocopy)")
    return kernel


if __name__ == "__main__":
    sys.exit(main(check_start()))
