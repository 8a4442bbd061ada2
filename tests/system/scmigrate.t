#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scmigrate: running jobs of a lab go on by other networks, if their owner or root says so, and nobody else.
Each program checks its own data. TAP. Needs root."""
import os
import signal
import sys

import schedlab
from runningjobs import end_of, in_mpi, is_late, numbers_of, said
from schedlab import BUILD, over_pm
from systest import ROOT, Tap, told

SCMIGRATE = f"{ROOT}/scheduler/ctl/scmigrate"
NETWORKS = ("self+udp", "self+shmem+udp", "self+shmem+ethernet")
WORDS = {"model": ("known", "7", "60")}
NOBODY = "nobody"

tap = Tap()


def change(lab, network, number, **how):
    return in_mpi(lambda: lab.run(SCMIGRATE, "--network", network, str(number), **how))


def migrated(lab, env):
    """To and fro under traffic, until the programs end. Two of them share the cores, and take turns."""
    for names in (("crowd",), ("rally",), ("model", "model")):
        jobs = [lab.start("-nodes=2x2", f"{BUILD}/mpi/{name}", *WORDS.get(name, ()), env=env) for name in names]
        numbers, changes, refusals = numbers_of(lab, len(jobs)), 0, []
        while any(job.poll() is None for job in jobs):
            done = change(lab, NETWORKS[changes % len(NETWORKS)], numbers[changes % len(jobs)])
            changes += 1
            if done.returncode:
                refusals.append(done.stderr)
        ends = [end_of(job) for job in jobs]
        refusals = [text for text in refusals if not is_late(text)]
        is_right = all(code == 0 and "OK " in out for code, out in ends)
        tap.ok(is_right and changes > 1 and not refusals,
               f"{' and '.join(names)}: to other networks all the time, and the data are right",
               f"{changes} times\n{ends}\n{refusals}")


def spawned(lab, env):
    """Ranks that come later open the devices of now, and find those that were there before."""
    path = f"{BUILD}/scmigrate-{os.getpid()}"
    job = lab.start("-nodes=2x2", f"{BUILD}/mpi/spawn", "before", path, env=env)
    number = numbers_of(lab, 1)[0]
    changes = [change(lab, network, number) for network in ("self+ethernet+shmem", "self+udp")]
    with open(path, "w", encoding="utf-8"):
        code, out = end_of(job)
    os.unlink(path)
    tap.ok(code == 0 and "OK spawn" in out and not any(done.returncode for done in changes),
           "a job that has changed its network spawns others", f"{code}\n{out}\n{changes}")


def outlived(lab, env):
    """Children of a job have ended, and those that talked with them change their network."""
    path = f"{BUILD}/scmigrate-{os.getpid()}"
    job = lab.start("-nodes=1x2", f"{BUILD}/mpi/spawn", "behind", path, env=over_pm("devices=self+shmem"))
    number = numbers_of(lab, 1)[0]
    there = schedlab.wait_until(lambda: os.path.exists(f"{path}.there"), 30)
    done = change(lab, "self+udp", number)
    with open(path, "w", encoding="utf-8"):
        code, out = end_of(job)
    for name in (path, f"{path}.there"):
        os.unlink(name)
    tap.ok(there and code == 0 and "OK spawn" in out and done.returncode == 0,
           "a job whose children have ended changes its network", f"{code}\n{out}\n{told(done)}")


def by_its_owner(lab, env):
    job = lab.start("-nodes=2x2", f"{BUILD}/mpi/rally", "1000", user=NOBODY, env=env)
    number = numbers_of(lab, 1)[0]
    done = change(lab, "self+udp", number, user=NOBODY)
    job.send_signal(signal.SIGUSR1)
    code, out = end_of(job)
    tap.ok(code == 0 and "OK rally" in out and done.returncode == 0 and "stood still for" in done.stdout,
           "an ordinary user's job, by him", f"{code}\n{out}\n{told(done)}")


def refused(lab, env):
    path = f"{BUILD}/scmigrate-{os.getpid()}"
    job = lab.start("-nodes=2x2", f"{BUILD}/mpi/spawn", "before", path, env=env)
    number = str(numbers_of(lab, 1)[0])
    change(lab, "self+shmem+udp", number)
    for words, user, wanted in ((["--network", "nothing", number], None, "nothing"),
                                (["--network", "self", number], None, "cannot be reached"),
                                (["--network", "udp", number], None, "add self to the devices"),
                                (["--network", "udp", "999"], None, "no job 999"),
                                (["--network", "udp", number], NOBODY, f"no job {number}")):
        done = lab.run(SCMIGRATE, *words, user=user)
        tap.ok(done.returncode == 1 and wanted in done.stderr, f"refused: {' '.join(words[:2])}, {wanted}", told(done))
    job.send_signal(signal.SIGTSTP)
    done = schedlab.wait_until(lambda: said(change(lab, "self+udp", number), "is suspended"), 10)
    tap.ok(done and done.returncode == 1, "refused: a job that is suspended", told(done) if done else "")
    job.send_signal(signal.SIGCONT)
    with open(path, "w", encoding="utf-8"):
        code, out = end_of(job)
    os.unlink(path)
    tap.ok(code == 0 and "OK spawn" in out, "the job goes on by the devices that it had", f"{code}\n{out}")
    job = lab.start("-nodes=2", "sleep", "60")
    done = lab.run(SCMIGRATE, "--network", "self+udp", str(numbers_of(lab, 1)[0]))
    tap.ok(done.returncode == 1 and "does not use PM" in done.stderr, "refused: a job that does not use PM", told(done))
    job.terminate()
    end_of(job)


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    env = over_pm("devices=self+shmem+udp")
    with schedlab.Lab(f"mg{os.getpid()}", 2, "--ethernet") as lab:
        migrated(lab, env)
        spawned(lab, env)
        outlived(lab, env)
        by_its_owner(lab, env)
        refused(lab, env)
        left = [name for host in lab.hosts for name in lab.listing(host, "/dev/shm") if name not in lab.shm[host]]
        tap.ok(not left, "nothing is left below /dev/shm", str(left))
    return tap.end()


sys.exit(main())
