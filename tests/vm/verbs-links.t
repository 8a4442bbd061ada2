#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The conformance suite on pm-verbs in a guest, while links of a member go down and up. In each
test it is its only rail, both in turn, or one of two for good. A last run has both in turn from the
first test to the last. Both in turn also where each connection has its own receives, and where
those that are shared are too few. TAP."""
import sys

from vmtest import ROOT, Timed, need_guests, need_rdma
import verbslab
from verbslab import MEMBERS, PROGRAM_S, RAILS, judge

FLAP = f"{ROOT}/tests/vm/guest/flap"
# In each test: those that open nothing in mid-test, which takes a link that is up.
PROGRAMS = {"message": "", "rma": "", "atomic": "", "state": "pmQuiesce"}
VARIANTS = {"own receives": "verbs_own", "few shared receives": "verbs_few"}
OFTEN = 3                       # times that links went down, at least
tap = Timed()


def downs(guest):
    return sum(map(int, guest.must("cat /sys/class/infiniband/*/ports/1/hw_counters/link_downed").split()))


def test_turns(guest, what, rails, programs=None, variant="verbs"):
    before = downs(guest)
    devices = " ".join(f"rxe{rail * MEMBERS}" for rail in range(rails))
    judge(tap, guest, what, rails, programs or PROGRAMS, f"{FLAP} turns {devices}", variant)
    times = downs(guest) - before
    tap.ok(times >= OFTEN, f"{what}: many times", f"{times}")
    print(f"#   {times} times", flush=True)


def test_gone(guest):
    before = verbslab.frames(guest, 1)
    judge(tap, guest, "one of two rails down for good", RAILS, PROGRAMS, f"{FLAP} gone rxe0")
    sent = verbslab.frames(guest, 1) - before
    tap.ok(sent > 1000, "one of two rails down for good: the other one carried messages", f"{sent} frames")


def test_throughout(guest):
    """Contexts are opened, closed, saved and restored at any time, so some lack a rail."""
    what, before = "two rails down and up all the time", downs(guest)
    guest.must("mkfifo /tmp/end")
    flap = guest.start(f"exec {FLAP} turns rxe0 rxe{MEMBERS} </tmp/end", PROGRAM_S)
    end = guest.start(f"echo $$ >/tmp/ender; exec sleep {PROGRAM_S} >/tmp/end", PROGRAM_S)
    judge(tap, guest, what, RAILS, {"message": "", "rma": "", "state": ""}, ":")
    guest.must("kill $(</tmp/ender)")
    tap.ok(flap.wait()[0] == 0 and end.wait(), f"{what}: in the end they are up", flap.text())
    tap.ok(downs(guest) - before >= OFTEN, f"{what}: many times", f"{downs(guest) - before}")


def main():
    with verbslab.guest(tap) as guest:
        if guest:
            test_turns(guest, "the only rail down and up", 1)
            test_turns(guest, "two rails down and up in turn", RAILS)
            for what, variant in VARIANTS.items():
                test_turns(guest, f"{what}, two rails down and up in turn", RAILS, {"message": "", "rma": ""}, variant)
            test_throughout(guest)
            test_gone(guest)
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
