#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strangers against a job over pm-verbs. Users without any privilege send RoCE packets by UDP: from a host that has no
part in the job, from the host of one process to itself, and from the other one's host. The last of these the device
takes for the peer's. Three guests with soft-RoCE; two nodes that look at every byte. TAP."""
import json
import sys

from vmtest import BUILD, ROOT, Timed, need_guests, need_rdma, wait_until
import vmlab
import vmlab.rdma

NAMES = "abc"                   # the job is on a and b
NIC, DEVICE = "eth1", "rxe0"
A, B, C = (f"10.7.1.{n + 1}" for n in range(3))
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
FORGER = f"{NOBODY} /usr/bin/python3 {ROOT}/tests/vm/forger.py"
STEADY = f"ulimit -l unlimited; exec env PM_BUILD={BUILD} /usr/bin/python3 {ROOT}/tests/vm/steady.py"
CONFIG = "devices=self+verbs"
OLD_QKEY = "0x504d5631"         # of all jobs before each had its own
DATAGRAMS = 200                 # several times the receives of a queue pair
SWEEP = 2000
LIMIT_S = 200
GUARD = """
modprobe nf_tables 2>/dev/null
nft add table inet roce && nft add chain inet roce out '{ type filter hook output priority 0; }' &&
nft add rule inet roce out udp dport 4791 meta skuid 1-4294967294 drop
"""
tap = Timed()


def nets():
    return [vmlab.Net(tuple(vmlab.Nic(name, NIC, f"52:54:00:01:00:{n + 1:02x}", f"10.7.1.{n + 1}/24")
                            for n, name in enumerate(NAMES)))]


class Job:
    """The two nodes, and what is seen of them from outside."""

    def __init__(self, guests):
        self.guests = guests
        self.tasks = [guest.start(f"{STEADY} {number} {CONFIG} {B}", LIMIT_S) for number, guest in enumerate(guests)]

    def is_over(self):
        return any(task.is_over() for task in self.tasks)

    def counters(self, number=0):
        contexts = json.loads(self.guests[number].must(f"{BUILD}/bin/pmstat --json"))["contexts"]
        return next((link for context in contexts for link in context["links"] if link["name"] == "verbs"),
                    {"forged": 0, "rx_messages": 0})

    def queue_pairs(self):
        """Numbers in a, of datagrams and of connections."""
        found = json.loads(self.guests[0].must(f"rdma -j resource show qp link {DEVICE}"))
        return [[qp["lqpn"] for qp in found if qp["type"] == kind and "pid" in qp and qp["state"] == "RTS"]
                for kind in ("UD", "RC")]

    def goes_on(self):
        """Both ends receive."""
        before = [self.counters(n)["rx_messages"] for n in range(2)]
        return wait_until(lambda: self.is_over() or all(self.counters(n)["rx_messages"] > then + 2
                                                        for n, then in enumerate(before))) and not self.is_over()

    def end(self):
        for guest in self.guests:
            guest.must("touch /tmp/over")
        return [json.loads(text.strip().splitlines()[-1]) if not status else {"error": text}
                for status, text in (task.wait() for task in self.tasks)]


def test_dropped(job, guests):
    """Packets that no queue pair of the job takes, though those from c have the right numbers."""
    a, b, c = guests
    forged, before = job.counters()["forged"], job.queue_pairs()
    pairs = " ".join(str(pair) for kind in before for pair in kind)
    told = b.must(f"{FORGER} numbers {DEVICE}").strip()
    tasks = [guest.start(f"{FORGER} {command}") for guest, command in (
        (c, f"strike send {C} {A} {told}"), (a, f"strike send {A} {A} {told}"),
        (c, f"datagrams {C} {A} {OLD_QKEY} {DATAGRAMS} {pairs}"), (b, f"sweep {SWEEP} {B} {A} {DEVICE}"))]
    ends = [task.wait() for task in tasks]
    tap.ok(not any(status for status, _ in ends) and job.goes_on() and job.counters()["forged"] == forged and
           job.queue_pairs() == before,
           "sends from another host and from this one, datagrams, other packet numbers: the device drops each",
           f"{ends} {before} {job.queue_pairs()} {job.counters()}")


def test_strike(job, guest, what, is_counted):
    """The device takes it for the peer's: the connection ends, and the job goes on by the next one."""
    forged, (_, before) = job.counters()["forged"], job.queue_pairs()
    guest.must(f"{FORGER} strike {what} {B} {A} {DEVICE}")
    is_new = wait_until(lambda: job.is_over() or (job.queue_pairs()[1] not in ([], before)))
    more = job.counters()["forged"] - forged
    tap.ok(is_new and (more > 0) == is_counted and not job.is_over(),
           f"a user of the peer's host forges a {what}: the job goes on by a new connection",
           f"{before} {job.queue_pairs()} {more}")


def test_guard(job, guest):
    """The rule of docs/verbs.md keeps users' packets in, and lets the device's through."""
    name = "with a rule of nftables users send nothing to that port, and the job goes on"
    if guest.run("command -v nft")[0]:
        tap.skip(name, "no nft here (install nftables)")
        return
    status, text = guest.run(GUARD)
    forged = job.counters()["forged"]
    refused, _ = guest.run(f"{FORGER} strike send {B} {A} {DEVICE}")
    tap.ok(not status and refused and job.goes_on() and job.counters()["forged"] == forged, name, text)


def main():
    with vmlab.Lab(BUILD, len(NAMES), nets=nets()) as lab:
        a, b, _ = lab.guests
        why = vmlab.rdma.set_up(lab, [NIC])
        tap.ok(not why, f"Linux {lab.kernel.release}: three guests are up, with rxe", why)
        if why:
            return tap.end()
        job = Job([a, b])
        tap.ok(wait_until(lambda: job.queue_pairs()[1]) and job.goes_on(), "a job over pm-verbs is under way")
        test_dropped(job, lab.guests)
        for what, is_counted in (("send", True), ("control", True), ("last", False), ("write", False)):
            test_strike(job, b, what, is_counted)
        test_guard(job, b)
        ends = job.end()
        tap.ok(all(not end["error"] and not end["wrong"] and not end["late"] and end["came"] == end["awaited"] > 0
                   for end in ends), "every message came once, in order and as it was sent", f"{ends}")
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
