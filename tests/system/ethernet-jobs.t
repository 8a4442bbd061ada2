#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs over pm-ethernet while things break: a rank is killed, also in the lock that it shares with another one,
frames get lost, a NIC is deleted, no daemon is there. Nothing is measured here, unlike in ethernet-faults.t. Needs
root. TAP.
"""
import os
import signal
import sys
import time

import ethlab
from ethjob import RALLY, Job, config, run_parts, runner
from systest import BUILD, Tap

KEY = 0x0ff1ce
tap = Tap()


def test_killed_rank(lab):
    for attach in ("direct", "port"):
        job = Job(lab, "h0:1,h1:1", f"{BUILD}/bin/scstest", "--seconds", "20", options=config(attach),
                  flags=("--mca", "orte_enable_recovery", "1"))
        before = lab.report("h1", "counters")["rails"][0]["rx_frames"]
        ethlab.wait_until(lambda before=before:
                          lab.report("h1", "counters")["rails"][0]["rx_frames"] > before + 1000, 10)
        os.kill(lab.contexts("h1")[0]["pid"], signal.SIGKILL)
        _, out = job.end(15)
        tap.ok("node 1 is lost" in out, f"{attach}: scstest says which node was killed", out)
        tap.ok(lab.taken_back("h0") is not None and lab.taken_back("h1") is not None,
               f"{attach}: nothing of it is left")


def test_killed_in_lock(lab):
    """The lock around the rings that ranks of a host share has a dead owner: an end, no hanging."""
    job = Job(lab, "h0:2,h1:2", RALLY, "40", ranks=4,
              options="devices=self+shmem+ethernet,ethernet.attach=direct")
    said = job.await_traffic()
    contexts = lab.contexts("h0")
    tap.ok([c["attachment"] for c in contexts] == ["direct"] * 2, "two ranks share the queues of a host",
           f"{contexts} {said}")
    killer = lab.guest("h0")
    killer.tell("die_locked", pid=contexts[0]["pid"], rail=0)
    try:
        killer.hear()
    except ethlab.Refused as e:
        tap.ok("has ended" in str(e), "one that has their lock is killed", e)
    start = time.monotonic()
    code, out = job.end(25)
    tap.ok(code not in (None, 0), "the job ends, and says that it failed",
           f"{code} after {time.monotonic() - start:.1f} s\n{out[-3000:]}")
    tap.ok("killed while it held a lock" in out, "with the reason", out[-3000:])
    tap.ok(ethlab.wait_until(lambda: not lab.contexts("h0") and not lab.contexts("h1")) is not None,
           "and leaves nothing")
    job = Job(lab, "h0:2,h1:2", RALLY, "1", ranks=4,
              options="devices=self+shmem+ethernet,ethernet.attach=direct")
    code, out = job.end()
    tap.equal(code, 0, "the next job has new ones")


def test_lost_frames(lab):
    for attach in ("direct", "port"):
        code, out = Job(lab, "h0:1,h1:1", f"{BUILD}/mpi/away", options=f"{config(attach)},fault=11:drop=20%").end()
        tap.ok(code == 0 and "OK away" in out, f"{attach}: frames of a rank that has left MPI are sent again",
               f"{code} {out}")


def test_deleted_nic_of_job(lab):
    job = Job(lab, "h0:1,h1:1", RALLY, "3", options=config("auto"))
    job.await_traffic()
    lab.ip("h1", "link", "del", "eth2")
    code, out = job.end()
    tap.ok(code == 0 and "OK rally" in out, "an MPI job goes on over the NIC that is left", f"{code} {out}")


def test_no_daemon(lab):
    note = lab.guest("h0").do("pm_open", number=0, key=KEY, config="devices=self+ethernet")["note"]
    tap.ok("pm-ethernetd does not run on this host" in note and "start it as root" in note,
           "no daemon: a program can say so and what to do", note)
    code, out = Job(lab, "h0:1,h1:1", RALLY, "1", options="devices=self+ethernet").end()
    tap.ok(code not in (0, None) and "start it as root: pm-ethernetd --nics" in out,
           "no daemon and nothing else allowed: MPI ends and says so", f"{code} {out}")
    code, out = Job(lab, "h0:1,h1:1", RALLY, "1").end()
    tap.ok(code == 0 and "OK rally" in out and "pm-ethernetd" not in out,
           "no daemon: by default MPI uses UDP and says nothing", f"{code} {out}")
    code, out = Job(lab, "h0:2,h1:2", RALLY, "1", options="devices=self+shmem+ethernet+udp",
                    ranks=4).end()
    tap.ok(code == 0 and "OK rally" in out, "no daemon: devices named, MPI uses UDP", f"{code} {out}")
    tap.equal(out.count("pm-ethernetd does not run"), 2, "no daemon: and warns in one line per host")


def main():
    run_parts("j", (test_killed_rank, test_killed_in_lock, test_lost_frames, test_deleted_nic_of_job),
              2, 2, "--ethernet", "--mode", "tc")
    run_parts("j", (test_no_daemon,), 2, 1)
    return tap.end()


if __name__ == "__main__":
    if reason := ethlab.skip_reason():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    if not runner.is_built():
        sys.exit(0)
    sys.exit(main())
