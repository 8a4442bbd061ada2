#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Large pmRead and pmWrite between two guests with two rails of soft-RoCE, each of a limited rate.
Both rails together carry more than one. Data that were under way on a rail whose cable is pulled
arrive by the other. TAP."""
import json
import sys

from vmtest import BUILD, ROOT, Timed, need_guests, need_rdma, wait_for
import vmlab
import vmlab.rdma

NICS = ["eth1", "eth2"]
PORT = 17333
RATE = "12mbit"                 # of a NIC: below what emulated guests can do
SIZE = "1M"
MORE = 1.3                      # by two rails, than by one
tap = Timed()


def sent(guest, number):
    return int(guest.must(f"cat /sys/class/infiniband/rxe{number}/ports/1/hw_counters/sent_pkts"))


class Pmtest:
    """One run of it between the two guests by these devices, started."""

    def __init__(self, lab, devices, words):
        server, client = lab.guests[1], lab.guests[0]
        command = (f"cd {ROOT} && ulimit -l unlimited && PM_OPTIONS=devices=self+verbs,verbs.devices={devices} "
                   f"exec {BUILD}/bin/pmtest")
        address = next(nic for nic in lab.nics(server) if nic.name == NICS[1]).address.partition("/")[0]
        self.server = server.start(f"{command} --listen={PORT} --once", 100)
        self.listens = wait_for(server, f"busybox netstat -ltn | grep -q ':{PORT} '")
        self.client = client.start(f"{command} --json {words} {address}:{PORT}", 90)

    def wait(self):
        """(whether all went well, the JSON objects by test, all that was said)."""
        ends = self.client.wait(), self.server.wait()
        lines = [json.loads(line) for line in ends[0][1].splitlines() if line.startswith("{")]
        return (self.listens and all(code == 0 for code, _ in ends), {each["test"]: each for each in lines}, f"{ends}")


def carried(lab):
    return [sent(guest, rail) for guest in lab.guests for rail in range(len(NICS))]


def test_rate(lab, test):
    words = f"--test {test} --size {SIZE} --seconds 3 --depth 2 --no-check"
    one = Pmtest(lab, "rxe0", words).wait()
    before = carried(lab)
    two = Pmtest(lab, "rxe0+rxe1", words).wait()
    tap.ok(one[0] and two[0], f"{test}: by one rail and by two", f"{one[2]} {two[2]}")
    frames = [now - then for then, now in zip(before, carried(lab))]
    carrier = max(frames[:len(NICS)], frames[len(NICS):], key=sum)  # the other side acknowledges
    tap.ok(min(carrier) > 500, f"{test}: both rails carried it", f"{frames} frames")
    rates = [run[1].get(test, {}).get("mb_per_s", 0) for run in (one, two)]
    tap.ok(rates[1] > MORE * rates[0] > 0, f"{test}: more by two rails than by one", f"{rates} MB/s, {frames} frames")
    print(f"# {test}: {rates} MB/s, {frames} frames")


def test_cable(lab):
    run = Pmtest(lab, "rxe0+rxe1", f"--test write --size {SIZE} --seconds 12 --depth 2 --limit 30")
    for rail in range(len(NICS)):
        counter = f"/sys/class/infiniband/rxe{rail}/ports/1/hw_counters/sent_pkts"
        tap.ok(wait_for(lab.guests[0], f"[ $(cat {counter}) -gt {sent(lab.guests[0], rail) + 500} ]"),
               f"rail {rail} is used")
    lab.guests[0].set_carrier(NICS[0], False)
    is_well, _, text = run.wait()
    tap.ok(is_well, "one cable pulled: all arrives by the other, with the right bytes", text)


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS)) as lab:
        why = vmlab.rdma.set_up(lab, NICS)
        tap.ok(not why, f"Linux {lab.kernel.release}: two guests are up, with rxe on each NIC", why)
        if why:
            return tap.end()
        for guest in lab.guests:
            guest.must("modprobe sch_tbf")
            for nic in NICS:
                guest.must(f"tc qdisc add dev {nic} root tbf rate {RATE} burst 32k limit 4m")
        for test in ("read", "write"):
            test_rate(lab, test)
        test_cable(lab)
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
