#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-verbs by datagrams between two guests on two rails of soft-RoCE: pmtest, which looks at every byte, plain, with
lost frames, and with a cable that is pulled and plugged in again. TAP."""
import json
import re
import sys

from vmtest import BUILD, ROOT, Timed, need_guests, need_rdma, wait_for, wait_until
import vmlab
import vmlab.rdma

NICS = ["eth1", "eth2"]
OPTIONS = "devices=self+verbs,verbs.path=datagram"
PORT = 17333
LOSS = 2                        # per cent
SOME = 50                       # packets: more than hellos and probes make of them
CABLE_S = 40
PMTEST = f"cd {ROOT} && ulimit -l unlimited && PM_OPTIONS={OPTIONS} exec {BUILD}/bin/pmtest"
tap = Timed()


def frames(guest, number):
    return int(guest.must(f"cat /sys/class/infiniband/rxe{number}/ports/1/hw_counters/sent_pkts"))


class Pmtest:
    """One run of it between the two guests, started."""

    def __init__(self, lab, words):
        server, client = lab.guests[1], lab.guests[0]
        address = next(nic for nic in lab.nics(server) if nic.name == NICS[1]).address.partition("/")[0]
        self.server = server.start(f"{PMTEST} --listen={PORT} --once", 120)
        self.listens = wait_for(server, f"busybox netstat -ltn | grep -q ':{PORT} '")
        self.client = client.start(f"{PMTEST} {words} {address}:{PORT}", 110)

    def judge(self, name):
        ends = self.client.wait(), self.server.wait()
        tap.ok(self.listens and all(code == 0 for code, _ in ends), name, f"{ends}")


def test_plain(lab):
    before = [frames(guest, rail) for guest in lab.guests for rail in range(len(NICS))]
    Pmtest(lab, "--size 8,1K,64K --seconds 0.1").judge("pmtest, all of its tests")
    sent = [frames(guest, rail) for guest in lab.guests for rail in range(len(NICS))]
    tap.ok(all(now - then > 100 for then, now in zip(before, sent)), "both rails carried it", f"{before} {sent}")


def test_loss(lab):
    for guest in lab.guests:
        guest.must("modprobe sch_netem")
        for nic in NICS:
            guest.must(f"tc qdisc add dev {nic} root netem loss {LOSS}%")
    Pmtest(lab, "--test bandwidth,read,write --size 8K --seconds 0.3").judge(f"pmtest, {LOSS} % of the frames lost")
    for guest in lab.guests:
        for nic in NICS:
            lost = guest.must(f"tc -s qdisc show dev {nic}")
            tap.ok(int(re.search(r"dropped (\d+)", lost).group(1)) > 0, f"{guest.name} {nic}: some were", lost)
            guest.must(f"tc qdisc del dev {nic} root")


def received(guest, number):
    """Packets that the context there has taken by a rail; 0 if there is no context."""
    contexts = json.loads(guest.must(f"{BUILD}/bin/pmstat --json"))["contexts"]
    return sum(rail["rx_packets"] for context in contexts for rail in context["rails"]
               if rail["name"] == f"rxe{number}:1")


def is_in_use(lab, number):
    """Whether both ends receive by the rail."""
    before = [received(guest, number) for guest in lab.guests]
    return wait_until(lambda: all(received(guest, number) > then + SOME for guest, then in zip(lab.guests, before)))


def test_cable(lab):
    run = Pmtest(lab, f"--test bidirectional --size 8K --seconds {CABLE_S} --no-check")
    wait_until(lambda: received(lab.guests[0], 0) > SOME)
    lab.guests[0].set_carrier(NICS[0], False)
    down = wait_for(lab.guests[0], "rdma link show rxe0/1 | grep -q 'state DOWN'")
    before = [received(guest, 0) for guest in lab.guests]
    tap.ok(down and is_in_use(lab, 1), "one cable pulled: the other rail goes on")
    after = [received(guest, 0) for guest in lab.guests]
    tap.ok(max(map(int.__sub__, after, before)) < SOME, "... alone", f"{before} {after}")
    lab.guests[0].set_carrier(NICS[0], True)
    tap.ok(is_in_use(lab, 0), "plugged in again: both ends receive by this one again")
    run.judge("pmtest, over all of that")


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS)) as lab:
        why = vmlab.rdma.set_up(lab, NICS)
        tap.ok(not why, f"Linux {lab.kernel.release}: two guests are up, with rxe on each NIC", why)
        if why:
            return tap.end()
        test_plain(lab)
        test_loss(lab)
        test_cable(lab)
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
