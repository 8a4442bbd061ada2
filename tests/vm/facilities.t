#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Features of a stock kernel that the suite relies on and this machine's own may lack: delay and loss by netem,
control groups of version 2 alone, BPF with type information. TAP."""
import re
import sys

from vmtest import BUILD, Timed, need_guests
import vmlab

CONTROLLERS = {"cpuset", "cpu", "io", "memory", "pids", "rdma"}
DELAY_MS = 40
LOSS = 50                       # per cent
# Becomes one of a group, then starts more processes than it may.
CROWD = """
echo "+pids" >/sys/fs/cgroup/cgroup.subtree_control && mkdir /sys/fs/cgroup/crowd && cd /sys/fs/cgroup/crowd || exit 1
echo 3 >pids.max
busybox sh -c 'echo $$ >cgroup.procs; for n in 1 2 3 4 5; do sleep 60 & done' >/dev/null 2>&1
sed -n 's/max //p' pids.events
"""
FREEZE = """
cd /sys/fs/cgroup/crowd && echo 1 >cgroup.freeze
until grep -q 'frozen 1' cgroup.events; do sleep 0.05; done
echo 1 >cgroup.kill
while grep -q 'populated 1' cgroup.events; do sleep 0.05; done
cd / && rmdir /sys/fs/cgroup/crowd
"""
tap = Timed()


def ping(guest, words):
    """(per cent lost, shortest time in ms) of pings to the other guest."""
    _, text = guest.run(f"busybox ping -A -q {words} b", 60)
    lost = re.search(r"(\d+)% packet loss", text)
    shortest = re.search(r"min/avg/max = ([\d.]+)/", text)
    return int(lost[1]) if lost else 100, float(shortest[1]) if shortest else 0.0


def test_netem(guest):
    guest.must("modprobe sch_netem")
    before = ping(guest, "-c 20")
    guest.must(f"tc qdisc add dev eth1 root netem delay {DELAY_MS}ms")
    delayed = ping(guest, "-c 10")
    tap.ok(before[0] == 0 and before[1] < DELAY_MS <= delayed[1], "netem: delay is seen", f"{before} {delayed}")
    guest.must(f"tc qdisc change dev eth1 root netem loss {LOSS}%")
    lost = ping(guest, "-c 20 -W 1")[0]
    counted = int(guest.must("tc -s qdisc show dev eth1 | sed -n 's/.*(dropped \\([0-9]*\\),.*/\\1/p'"))
    tap.ok(0 < lost < 100 and counted > 0, "netem: loss is seen, and counted",
           f"{lost} % lost, {counted} counted")
    guest.must("tc qdisc del dev eth1 root")
    tap.equal(ping(guest, "-c 20")[0], 0, "netem: taken away, all arrive")


def test_cgroups(guest):
    kinds = guest.must("awk '$3 ~ /^cgroup/ { print $3 }' /proc/mounts").split()
    tap.equal(kinds, ["cgroup2"], "cgroups: version 2 alone")
    found = set(guest.must("cat /sys/fs/cgroup/cgroup.controllers").split())
    tap.ok(CONTROLLERS <= found, "cgroups: all controllers", f"{CONTROLLERS - found} missing")
    code, text = guest.run(CROWD)
    tap.ok(code == 0 and text.strip().isdigit() and int(text) > 0, "cgroups: no more processes than allowed",
           f"{code} {text}")
    tap.equal(guest.run(FREEZE), (0, ""), "cgroups: frozen, killed, gone")


def test_bpf(guest):
    code, text = guest.run("[ -s /sys/kernel/btf/vmlinux ] && grep -w bpf /proc/mounts")
    tap.ok(code == 0, "BPF: a file system and type information of the kernel", f"{code} {text}")


def main():
    with vmlab.Lab(BUILD, 2) as lab:
        tap.ok(True, f"Linux {lab.kernel.release}: two guests are up")
        for test in (test_netem, test_cgroups, test_bpf):
            test(lab.guests[0])
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    sys.exit(main())
