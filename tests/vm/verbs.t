#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The conformance suite on pm-verbs in a guest, over wires of its own: plain, and with lost frames. Afterwards the
kernel holds no queue pair and no registration of anybody. TAP."""
import sys

from vmtest import Timed, need_guests, need_rdma
import verbslab
from verbslab import MEMBERS, RAILS, judge

LOSS = 2                        # per cent
tap = Timed()


def test_plain(guest):
    before = [verbslab.frames(guest, rail) for rail in range(RAILS)]
    judge(tap, guest, "plain", RAILS)
    sent = [verbslab.frames(guest, rail) - before[rail] for rail in range(RAILS)]
    tap.ok(all(count > 1000 for count in sent), "plain: it went over both wires", f"{sent} frames")


def dropped(guest, nic):
    return int(guest.must(f"tc -s qdisc show dev {nic} | sed -n 's/.*(dropped \\([0-9]*\\),.*/\\1/p'"))


def test_loss(guest):
    nics = [verbslab.nic_of(0, member) for member in range(MEMBERS)]
    for nic in nics:
        guest.must(f"tc qdisc add dev {nic} root netem loss {LOSS}%")
    judge(tap, guest, f"{LOSS} % lost", 1, fault=":")
    lost = [dropped(guest, nic) for nic in nics]
    tap.ok(all(lost), f"{LOSS} % lost: on every NIC some were", f"{lost}")
    for nic in nics:
        guest.must(f"tc qdisc del dev {nic} root")


def main():
    with verbslab.guest(tap) as guest:
        if guest:
            test_plain(guest)
            test_loss(guest)
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
