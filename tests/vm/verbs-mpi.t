#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs over pm-verbs between two guests, with one rank each and with two. Each program
checks what arrives. The counters of the ranks tell the rest while they run: that long messages were
read out of the sender's memory, that their registrations were kept, and that nothing took another
device. TAP."""
import json
import os
import shlex
import sys

from vmtest import BUILD, ROOT, Timed, need_guests, need_rdma, wait_until
import vmlab
import vmlab.rdma

sys.path.insert(1, f"{ROOT}/tests/mpi")
from runner import ONLY, environment, is_built, mpirun                  # noqa: E402

NICS = ["eth1", "eth2"]
LAB_S = 900
PROGRAM_S = 120
MEMORY_MIB = 400
RALLY_S = 12
LONG_BYTES = 256 << 10          # read out of the sender's memory
FRAMES = 300                    # more than greetings and other talk make of them
# Between them: every size and protocol, order, posted and unexpected, collectives.
PROGRAMS = ("sizes", "order", "truncate", "collectives")
RDMA = ("--mca", "btl", "pm,self", "--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "pm")
PASSED_ON = ("OMPI_", "PM_")
tap = Timed()


class Job:
    """mpirun in the first guest, of a program of tests/mpi on both."""

    def __init__(self, lab, program, ranks, devices, arguments=(), more=()):
        self.lab = lab
        per_guest = ranks // len(lab.guests)
        hosts = ",".join(f"{guest.name}:{per_guest}" for guest in lab.guests)
        settings = [f"{name}={value}" for name, value in environment(devices).items() if name.startswith(PASSED_ON)]
        words = mpirun(ranks, *ONLY, "--mca", "plm_rsh_agent", "/run/lab/rsh", "--mca", "plm_rsh_no_tree_spawn", "1",
                       *(("-x", "PM_OPTIONS") if devices else ()), "-H", hosts, *arguments_of(program), *more,
                       f"{BUILD}/mpi/{program}", *arguments)
        self.task = lab.guests[0].start(f"cd /tmp && exec env {shlex.join(settings + words)}", PROGRAM_S)

    def end(self):
        return self.task.wait()

    def contexts(self):
        """Of the ranks there are at the moment: for each guest a list of their links by name."""
        found = []
        for guest in self.lab.guests:
            said = json.loads(guest.must(f"{BUILD}/bin/pmstat --json"))["contexts"]
            found.append([{link["name"]: link for link in context["links"]} for context in said])
        return found


def arguments_of(program):
    """A program whose rank dies needs an mpirun that lets the others go on."""
    return ("--mca", "orte_enable_recovery", "1") if program == "dead" else ()


def told(ranks, devices):
    return f"{ranks} ranks, {devices or 'no device named'}"


def test_programs(lab, ranks, devices):
    for program in PROGRAMS:
        code, text = Job(lab, program, ranks, devices).end()
        tap.ok(code == 0 and f"OK {program}" in text, f"{told(ranks, devices)}: {program}", f"{code} {text}")


def sum_of(contexts, link, counter):
    return sum(links[link][counter] for guest in contexts for links in guest if link in links)


def test_counters(lab, ranks, devices):
    """Rings of messages up to 256 KiB, looked at while they turn."""
    job = Job(lab, "rally", ranks, devices, [str(RALLY_S)])
    seen = []

    def has_read():
        contexts = job.contexts()
        if [len(guest) for guest in contexts] == [ranks // 2] * 2:
            seen[:] = contexts
        return seen and all(sum_of([guest], "verbs", "pinned_hits") and
                            sum_of([guest], "verbs", "read_bytes") > LONG_BYTES for guest in seen)
    wait_until(lambda: job.task.is_over() or has_read(), PROGRAM_S)
    code, text = job.end()
    tap.ok(code == 0 and "OK rally" in text, f"{told(ranks, devices)}: rings and reductions",
           f"{code} {text}")
    for guest, contexts in zip(lab.guests, seen):
        counted = {name: sum_of([contexts], "verbs", name)
                   for name in ("tx_messages", "tx_bytes", "read_bytes", "pinned_hits", "pinned_misses")}
        # a ring of these sizes moves nearly all of its bytes by the long ones
        tap.ok(counted["tx_messages"] > 0 and counted["read_bytes"] > LONG_BYTES and counted["pinned_hits"] > 0,
               f"{ranks} ranks: {guest.name} reads long messages out of the sender's memory, registered once",
               f"{counted}")
        print(f"#   {guest.name}: {counted}", flush=True)
    used = {name for guest in seen for links in guest for name in links
            if links[name]["tx_messages"] + links[name]["rx_messages"] + links[name]["read_bytes"]}
    tap.equal(used - {"self"}, {"verbs", "shmem"} if ranks > 2 else {"verbs"},
              f"{ranks} ranks: what carried something")


def frames_of(guest, nic):
    return int(guest.must(f"cat /sys/class/net/{nic}/statistics/rx_packets"))


def test_windows(lab):
    """Windows by osc/rdma over btl/pm: all calls, random plans, and puts and gets while their target computes."""
    for program, arguments in (("windows", ["known"]), ("model", ["known", "7", "6"]), ("computing", ["direct"])):
        code, text = Job(lab, program, 2, "self+verbs", arguments, RDMA).end()
        tap.ok(code == 0 and f"OK {program}" in text, f"2 ranks: {program} {' '.join(arguments)} over btl/pm",
               f"{code} {text}")


def test_links(lab):
    """Each link in turn goes down for longer than a queue pair tries: the other one carries on."""
    job = Job(lab, "rally", 4, "", [str(3 * RALLY_S)])
    wait_until(lambda: "under way" in job.task.text() or job.task.is_over(), PROGRAM_S)
    for nic, other in (NICS, NICS[::-1]):
        lab.guests[0].must(f"ip link set {nic} down")
        before = frames_of(lab.guests[1], other)
        is_carried = wait_until(lambda: frames_of(lab.guests[1], other) > before + FRAMES or job.task.is_over())
        tap.ok(is_carried and not job.task.is_over(), f"4 ranks: {nic} is down, {other} carries on", job.task.text())
        lab.guests[0].must(f"ip link set {nic} up")
    code, text = job.end()
    tap.ok(code == 0 and "OK rally" in text, "4 ranks: no message is missing or twice after both links were down",
           f"{code} {text}")


def test_dead(lab):
    code, text = Job(lab, "dead", 2, "self+verbs").end()
    tap.ok("OK dead" in text and "has lost rank 1 on host b" in text,
           "2 ranks: one is killed, and missed by rank and host", f"{code} {text}")


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS), memory_mib=MEMORY_MIB) as lab:
        why = vmlab.rdma.set_up(lab, NICS)
        tap.ok(not why, f"Linux {lab.kernel.release}: two guests are up, with rxe on each NIC", why)
        if not why:
            lab.serve_rsh(LAB_S)
            for ranks, devices in ((2, "self+verbs"), (4, "")):
                test_programs(lab, ranks, devices)
                test_counters(lab, ranks, devices)
            test_windows(lab)
            test_links(lab)
            test_dead(lab)
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    os.environ.setdefault("PM_BUILD", BUILD)
    sys.exit(main() if is_built() else 0)
