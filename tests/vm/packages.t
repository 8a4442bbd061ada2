#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The packages in two virtual machines with systemd: units as they are installed, a job of scrun between the hosts, an
upgrade under a job, removal. The system that they boot is made by packaging/guest-root. TAP."""
import glob
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[1:1] = [HERE]
import vmlab                                                            # noqa: E402
from vmtest import BUILD, Timed, need_guests, skip_all, wait_for         # noqa: E402

SYSTEM = os.environ.get("VM_PACKAGES", f"{BUILD}/vm/packages")
MEMORY_MIB = 900                # what dpkg writes is in memory
LIMIT_S = 180                   # for what takes seconds on a real machine
UNITS = "scored scnoded pm-ethernetd"
LEFT = """
ps -e -o comm= | grep -E '^(scored|scnoded|scstepd|pm-ethernetd)$'
ls -d /run/openscore /run/pm-ethernet /var/lib/openscore /etc/openscore /usr/share/openscore /usr/lib/openscore \\
    /sys/fs/cgroup/openscore 2>/dev/null
find /usr/lib/systemd /etc/systemd -name 'scored*' -o -name 'scnoded*' -o -name 'pm-ethernetd*'
find /usr /lib /etc -xdev -name '*openscore*'
find /usr/lib -name 'mca_*_pm.so'
ip -br link | grep peps
true
"""
tap = Timed()


def check(guest, command, name, wanted="", limit_s=LIMIT_S):
    """A command that succeeds and says something."""
    code, text = guest.run(command, limit_s)
    tap.ok(code == 0 and wanted in text, name, f"status {code}: {text[-1500:]}")
    return text


def fresh(guests):
    for guest in guests:
        check(guest, "systemctl is-system-running --wait", f"{guest.name}: systemd is up", "running")
        tap.equal(guest.run(f"systemctl is-enabled {UNITS}")[1].split(), ["disabled"] * 3,
                  f"{guest.name}: no unit is enabled by itself")


def start(a, b):
    code, text = a.run("systemctl start pm-ethernetd; systemctl show -p ActiveState -p ConditionResult pm-ethernetd")
    tap.ok(code == 0 and "inactive" in text and "ConditionResult=no" in text,
           "pm-ethernetd of which nobody has said the NICs is left out, and does not fail", text)
    check(a, "systemctl start munge scored scnoded && systemctl is-active scored scnoded",
          "scored and scnoded start without a file in /etc/default")
    check(a, "scinfo --wait 1 && scrun -nodes=1x2 --oversubscribe /examples/heat",
          "as a cluster of one host, which runs a job", "2 ranks, ")
    for guest in (a, b):
        guest.must("echo 'PM_ETHERNETD_OPTIONS=\"--nics eth1\"' >/etc/default/pm-ethernetd; "
                   "echo 'SCNODED_OPTIONS=\"--server a\"' >/etc/default/scnoded")
    starts = [(guest, guest.start("systemctl start munge pm-ethernetd && systemctl restart scnoded && "
                                  "systemctl is-active munge pm-ethernetd scnoded", LIMIT_S)) for guest in (a, b)]
    for guest, task in starts:
        code, text = task.wait()
        tap.ok(code == 0, f"{guest.name}: the units start with files in /etc/default", f"status {code}: {text}")
    check(a, "SCORE_SERVER=a scinfo --wait 2", "both hosts register")


def jobs(guest):
    text = check(guest, "scrun -nodes=2x1 --label hostname", "scrun runs a job on both hosts")
    tap.ok("a" in text and "b" in text, "each host has a rank", text)
    check(guest, "scrun -nodes=2x1 /examples/heat", "an MPI job between the hosts", "2 ranks, ")
    check(guest, "scrun -nodes=2x1 pmtest --test latency --size 8", "over raw Ethernet", "ethernet")


def upgrade(a, b):
    """The same packages once more: dpkg does with them what it does with newer ones."""
    job = a.start("scrun -nodes=2x1 /bin/sh -c 'echo begun >>/run/begun; while [ ! -e /run/go ]; do sleep 1; done; "
                  "echo done-$(hostname)'", 2 * LIMIT_S)
    for guest in (a, b):
        tap.ok(wait_for(guest, "test -e /run/begun", LIMIT_S), f"{guest.name}: a job runs")
    before = a.must("systemctl show -p MainPID scnoded")
    check(a, "dpkg -i /packages/*.deb", "a: an upgrade")
    tap.ok(a.must("systemctl show -p MainPID scnoded") != before, "a: the new scnoded has taken over")
    check(a, f"systemctl is-active {UNITS}", "a: the units run")
    check(a, "scinfo --wait 2", "both hosts are there")
    for guest in (a, b):
        guest.must("touch /run/go")
    code, text = job.wait()
    tap.ok(code == 0 and "done-a" in text and "done-b" in text, "the job goes on over the upgrade", f"{code} {text}")
    check(a, "scrun -nodes=2x1 /examples/heat", "and new ones run", "2 ranks, ")


def removal(guest):
    names = " ".join(sorted({os.path.basename(path).split("_")[0] for path in glob.glob(f"{SYSTEM}/packages/*.deb")}))
    check(guest, f"dpkg --purge {names}", "removal", limit_s=2 * LIMIT_S)
    guest.must("rm -f /etc/default/pm-ethernetd")
    tap.equal(guest.must(LEFT).split("\n"), [""], "nothing is left")


def main():
    need_guests()
    if not os.path.exists(f"{SYSTEM}/examples/heat"):
        skip_all(f"no system with the packages; run packaging/build-debs {BUILD}/debs, "
                 f"then packaging/guest-root {SYSTEM} {BUILD}/debs")
    with vmlab.Lab(BUILD, memory_mib=MEMORY_MIB, root=os.path.realpath(SYSTEM)) as lab:
        fresh(lab.guests)
        start(*lab.guests)
        jobs(lab.guests[0])
        upgrade(*lab.guests)
        removal(lab.guests[0])
    return tap.end()


sys.exit(main())
