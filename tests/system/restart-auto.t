#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun -checkpoint=TIME and -restart auto: jobs of a lab are written to disk by themselves, and go on elsewhere when a
host is lost. The output and the file are those of a run that nobody disturbed. TAP. Needs root and CRIU."""
import json
import os
import shutil
import subprocess
import sys
import time

import schedlab
from chronicles import CRIU, Chronicle, are_one, steps_of
from runningjobs import LIMIT, end_of, numbers_of
from schedlab import BUILD, SCRUN, kill, over_pm
from systest import ROOT, Tap, told

SCQUEUE = f"{ROOT}/scheduler/ctl/scqueue"
SHARED = f"{BUILD}/checkpoints-{os.getpid()}"
OUTPUT = f"{BUILD}/restart-auto-{os.getpid()}"
# A second between two checkpoints, and some three for each restart.
CHRONICLE = Chronicle(120, 40000)
WORDS = ("-checkpoint=1", "-restart", "auto")

tap = Tap()


def listed(lab, number):
    """The job as scqueue has it; {}: it is not there."""
    jobs = json.loads(lab.run(SCQUEUE, "--json").stdout or "[]")
    return next((job for job in jobs if job["id"] == number), {})


def has_checkpoint(lab, number, least=1):
    """Waits for it; where the job runs."""
    job = schedlab.wait_until(lambda: (found := listed(lab, number)) and
                              found.get("checkpoint", {}).get("round", 0) >= least and found, 20)
    return [host["name"] for host in job["hosts"]] if job else []


def lose(lab, host):
    """All of the host that has to do with jobs dies, as with its power."""
    for program in ("scnoded", "scstepd", "chronicle"):
        for pid in lab.find(program, host):
            kill(pid)


def told_once(out, host):
    """The line about the restart, and no other one of scrun's."""
    lines = [line for line in out.splitlines() if line.startswith("scrun:")]
    return len(lines) == 1 and f"host {host} is lost" in lines[0] and "it starts again from checkpoint" in lines[0]


def host_is_lost(lab, env, right, content):
    """The one of the leader, and another one."""
    for which, name in ((0, "the leader's host"), (1, "another host")):
        # scored is on h0
        job = CHRONICLE.start(lab, env, "-hosts=h[1-3]", *WORDS)
        number = numbers_of(lab, 1)[0]
        hosts = has_checkpoint(lab, number)
        lose(lab, hosts[which])
        code, out = end_of(job)
        tap.ok(code == 0 and told_once(out, hosts[which]) and steps_of(out)[-1:] == right[-1:],
               f"{name} is lost: the job goes on by itself, and its user is told in one line",
               f"{hosts}\n{code}\n{out}")
        tap.ok(are_one(right, runs_of(out)), "... and has said what an undisturbed one does", out)
        tap.equal(CHRONICLE.contents(), content, "... and so has its file")
        lab.restart("scnoded", hosts[which])
        tap.equal(lab.settled(), [], "... and nothing is left")


def runs_of(out):
    """The steps, cut where one comes that came before."""
    runs, last = [[]], -1
    for step in steps_of(out):
        number = int(step.split()[1].rstrip(":"))
        if number <= last:
            runs.append([])
        runs[-1].append(step)
        last = number
    return runs


def no_spare(lab, env, right):
    """It waits in the queue for its host, and output in files is continued."""
    job = CHRONICLE.start(lab, env, "-hosts=h[1-2]", f"--output={OUTPUT}", *WORDS)
    number = numbers_of(lab, 1)[0]
    has_checkpoint(lab, number)
    lose(lab, "h2")
    waits = schedlab.wait_until(lambda: listed(lab, number).get("state") == "queued", 20)
    lab.restart("scnoded", "h2")
    code, out = end_of(job)
    with open(OUTPUT, encoding="ascii") as file:
        said = file.read()
    tap.ok(waits and code == 0 and are_one(right, runs_of(said)),
           "without a spare it waits for its host; a file of the output is continued", f"{code}\n{out}\n{said}")
    tap.equal(lab.settled(), [], "... and nothing is left")


def again_and_again(lab, env):
    """Something kills it each time before it has come to a checkpoint: that ends."""
    job = CHRONICLE.start(lab, env, "-checkpoint=4", "-restart", "auto")
    number = numbers_of(lab, 1)[0]
    has_checkpoint(lab, number)
    while numbers_of(lab, 1)[0] and job.poll() is None:
        for host in lab.hosts:
            for pid in lab.find("scstepd", host):
                kill(pid)
        schedlab.wait_until(lambda: listed(lab, number).get("state") != "running", 20)
    code, out = end_of(job)
    tap.ok(code == 123 and out.count("it starts again") == 4 and "restored 3 times from checkpoint 1" in out,
           "a job that is lost again and again from one checkpoint is given up", f"{code}\n{out}")
    lab.run(f"{ROOT}/scheduler/ctl/sccheckpoint", "--remove", str(number))
    tap.equal(lab.settled(), [], "... and nothing is left")


def not_wanted(lab, env):
    """A job that the user or the program ends is over."""
    job = CHRONICLE.start(lab, env, *WORDS)
    number = numbers_of(lab, 1)[0]
    has_checkpoint(lab, number)
    kill(lab.find("chronicle")[0])
    code, out = end_of(job)
    tap.ok(code == 137 and "starts again" not in out, "a rank that is killed ends the job for good", f"{code}\n{out}")
    lab.settled()
    job = CHRONICLE.start(lab, env, *WORDS)
    number = numbers_of(lab, 1)[0]
    has_checkpoint(lab, number)
    done = lab.run(f"{ROOT}/scheduler/ctl/scancel", str(number))
    code, out = end_of(job)
    tap.ok(done.returncode == 0 and code and "starts again" not in out, "so does its user",
           f"{told(done)}{code}\n{out}")
    lab.settled()


def failures(lab, env):
    """They are told on scrun's standard error while the job runs on."""
    job = subprocess.Popen(lab.command(SCRUN, "-nodes=1x2", "-checkpoint=1", f"{BUILD}/mpi/parrot", "udp"),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, **env})
    line = job.stderr.readline()
    tap.ok("no checkpoint was written" in line and "UDP socket" in line and "next try is in 1 s" in line,
           "a checkpoint that can't be written is told", line)
    time.sleep(2.5)
    out, err = job.communicate("last\n", timeout=LIMIT)
    tap.ok(job.returncode == 0 and "0:last\n" in out and not err, "... once, and the job goes on", f"{out}\n{err}")


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    if not os.path.exists(CRIU):
        print(f"# no {CRIU}: run tests/criu/fetch {BUILD}/criu, where a mirror of Debian sid is")
        return 77
    env = over_pm("devices=self+shmem+ethernet")
    try:
        with schedlab.Lab(f"ra{os.getpid()}", 4, "--ethernet", "--checkpoints", SHARED) as lab:
            right, content = CHRONICLE.undisturbed(lab, env, tap)
            host_is_lost(lab, env, right, content)
            no_spare(lab, env, right)
            again_and_again(lab, env)
            not_wanted(lab, env)
            failures(lab, env)
    finally:
        CHRONICLE.remove()
        if os.path.exists(OUTPUT):
            os.unlink(OUTPUT)
        shutil.rmtree(SHARED, ignore_errors=True)
    return tap.end()


sys.exit(main())
