#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node goes on by another device when RDMA does not reach it any more. Two guests talk by
pm-verbs on rxe. The NIC is taken down under traffic, or its cable is pulled, or what lies between
the two drops everything, then or from the first. All messages come, once and in order, by udp on
the other NIC; the next job goes by verbs when that is possible again. TAP."""
import json
import shutil
import sys

from vmtest import BUILD, ROOT, Timed, need_guests, need_rdma, skip_all, wait_for
import vmlab
import vmlab.rdma

NICS = ["eth1", "eth2"]
CONFIG = "devices=self+verbs+udp,verbs.devices=rxe0,udp.rails=eth2"
TALKER = f"exec env PM_BUILD={BUILD} {ROOT}/tests/vm/talker.py"
# Ending a queue pair, rdma_rxe waits up to 51 s for frames of it that the NIC holds. virtio_net may
# hold some for as long as one end is down: without interrupts of sending it keeps nothing of their
# owner.
LET_GO = f"ip link set {NICS[0]} down && ethtool -C {NICS[0]} tx-frames 0 && ip link set {NICS[0]} up"
LIMIT_S = 100                   # the talkers give up themselves
tap = Timed()


def told(task):
    status, text = task.wait()
    try:
        return json.loads(text.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"sent": 0, "came": 0, "awaited": None, "wrong": 0, "late": 0, "error": f"status {status}: {text}",
                "gap_s": 0, "note": "", "devices": []}


def is_whole(ends):
    return all(not end["error"] and not end["wrong"] and not end["late"] and end["came"] == other["sent"] > 0
               for end, other in (ends, ends[::-1]))


def test(lab, name, change, undo, is_from_start=False):
    """Traffic under which @change is made, or before which."""
    address = next(nic for nic in lab.nics(lab.guests[1]) if nic.name == NICS[1]).address.partition("/")[0]
    for guest in lab.guests:
        guest.must("rm -f /tmp/under-way")
    if is_from_start:
        change()
    tasks = [guest.start(f"{TALKER} {number} {CONFIG} {address}", LIMIT_S) for number, guest in enumerate(lab.guests)]
    is_under_way = all(wait_for(guest, "[ -e /tmp/under-way ]") for guest in lab.guests)
    if is_under_way and not is_from_start:
        change()
    ends = [told(task) for task in tasks]
    undo()
    tap.ok(is_whole(ends), f"{name}: every message comes once and in order", f"{ends}")
    tap.ok(all(end["devices"] == ["verbs", "udp"] for end in ends), f"{name}: first by verbs, then by udp", f"{ends}")
    tap.ok(all("goes by udp: verbs: " in end["note"] for end in ends), f"{name}: both say so", f"{ends}")
    print(f"# {name}: {ends[0]['came']} and {ends[1]['came']} messages, longest pause {ends[0]['gap_s']} and "
          f"{ends[1]['gap_s']} s; {ends[0]['note']!r}, {ends[1]['note']!r}", flush=True)


def drop_all(lab):
    for guest in lab.guests:
        guest.must(f"modprobe sch_netem && tc qdisc add dev {NICS[0]} root netem loss 100%")


def drop_nothing(lab):
    for guest in lab.guests:
        guest.run(f"tc qdisc del dev {NICS[0]} root")


def is_active(guest):
    return wait_for(guest, "rdma link show rxe0/1 | grep -q 'state ACTIVE'")


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS)) as lab:
        for guest in lab.guests:
            guest.must(LET_GO)
        why = vmlab.rdma.set_up(lab, NICS[:1])
        tap.ok(not why, f"Linux {lab.kernel.release}: two guests are up, with rxe on {NICS[0]}", why)
        if why:
            return tap.end()
        first = lab.guests[0]
        test(lab, "NIC taken down", lambda: first.must(f"ip link set {NICS[0]} down"),
             lambda: first.must(f"ip link set {NICS[0]} up"))
        is_active(first)
        test(lab, "cable pulled", lambda: first.set_carrier(NICS[0], False), lambda: first.set_carrier(NICS[0], True))
        is_active(first)
        test(lab, "all frames dropped", lambda: drop_all(lab), lambda: drop_nothing(lab))
        test(lab, "all frames dropped from the first", lambda: drop_all(lab), lambda: drop_nothing(lab), True)
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    if not shutil.which("ethtool"):
        skip_all("needs ethtool")
    sys.exit(main())
