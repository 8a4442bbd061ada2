#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sccheckpoint --try: running jobs of a lab close all links, are looked at, and go on with nothing lost; what is in the
way of a checkpoint is named. Each program checks its own data. TAP. Needs root."""
import json
import os
import random
import signal
import subprocess
import sys
import threading

import schedlab
from runningjobs import LIMIT, end_of, in_mpi, is_late, numbers_of, said
from schedlab import BUILD, SCRUN, kill, over_pm
from systest import ROOT, Tap, told

SCCHECKPOINT = f"{ROOT}/scheduler/ctl/sccheckpoint"
NOBODY = "nobody"
LINES = 600
WORDS = {"model": ("known", "7", "150"), "rally": ("8",)}

tap = Tap()


def look(lab, number, *words, **how):
    return in_mpi(lambda: lab.run(SCCHECKPOINT, "--try", *words, str(number), **how))


def under_traffic(lab, env):
    """All the time, until the programs end. Two of them share the cores, and take turns."""
    for names in (("rally",), ("model", "model")):
        jobs = [lab.start("-nodes=2x2", "-checkpoint", f"{BUILD}/mpi/{name}", *WORDS.get(name, ()), env=env)
                for name in names]
        numbers, looks, refusals = numbers_of(lab, len(jobs)), 0, []
        while any(job.poll() is None for job in jobs):
            done = look(lab, numbers[looks % len(jobs)])
            looks += 1
            if done.returncode:
                refusals.append(done.stderr)
        ends = [end_of(job) for job in jobs]
        refusals = [text for text in refusals if not is_late(text)]
        is_right = all(code == 0 and "OK " in out for code, out in ends)
        tap.ok(is_right and looks > 1 and not refusals,
               f"{' and '.join(names)}: looked at all the time, and the data are right",
               f"{looks} times\n{ends}\n{refusals}")


def parrot(lab, env, *words, **how):
    """A job that says on each rank what it hears."""
    command = lab.command(SCRUN, "-nodes=2x2", *words, f"{BUILD}/mpi/parrot", *how.pop("what", ()), **how)
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **env})


def streams(lab, env):
    """Standard input and output go on, each byte once and in order, while scrun leaves and comes again."""
    rolls = random.Random(7)
    lines = [f"{number} {'x' * rolls.randrange(200)}\n" for number in range(LINES)]
    job = parrot(lab, env, "-checkpoint")
    out, looks = [], []
    reader = threading.Thread(target=lambda: out.extend(job.stdout))
    reader.start()
    number = numbers_of(lab, 1)[0]
    for first in range(0, LINES, LINES // 6):
        job.stdin.writelines(lines[first:first + LINES // 6])
        job.stdin.flush()
        looks.append(look(lab, number))
    job.stdin.close()
    job.wait(LIMIT)
    reader.join(LIMIT)
    err = job.stderr.read()
    tap.ok(job.returncode == 0 and not err and all(done.returncode == 0 for done in looks),
           f"a job with input and output, looked at {len(looks)} times, ends well",
           f"{job.returncode}\n{err}\n{''.join(map(told, looks))}")
    for rank in range(4):
        said = [line.partition(":")[2] for line in out if line.startswith(f"{rank}:")]
        tap.ok(said == lines, f"rank {rank} has heard and said each line once, in order", f"{len(said)} lines")


def spawned(lab, env):
    path = f"{BUILD}/sccheckpoint-{os.getpid()}"
    job = lab.start("-nodes=2x2", "-checkpoint", f"{BUILD}/mpi/spawn", "before", path, env=env)
    number = numbers_of(lab, 1)[0]
    done = look(lab, number)
    with open(path, "w", encoding="utf-8"):
        code, out = end_of(job)
    os.unlink(path)
    tap.ok(code == 0 and "OK spawn" in out and done.returncode == 0, "a job that was looked at spawns others",
           f"{code}\n{out}\n{told(done)}")


def by_its_owner(lab, env):
    job = parrot(lab, env, "-checkpoint", user=NOBODY)
    number = numbers_of(lab, 1)[0]
    done = look(lab, number, "--json", user=NOBODY)
    answer = json.loads(done.stdout or "{}")
    tap.ok(done.returncode == 0 and answer.get("id") == number and 0 < answer.get("stood_s", 0) < LIMIT,
           "an ordinary user's job, by him, as JSON", told(done))
    done = lab.run(SCCHECKPOINT, "--try", "999", user=NOBODY)
    tap.ok(done.returncode == 1 and "no job 999" in done.stderr, "refused: no such job", told(done))
    job.send_signal(signal.SIGTSTP)
    done = schedlab.wait_until(lambda: said(look(lab, number), "is suspended"), 10)
    tap.ok(done and done.returncode == 1, "refused: a job that is suspended", told(done) if done else "")
    job.send_signal(signal.SIGCONT)
    out, err = job.communicate("last\n", timeout=LIMIT)
    tap.ok(job.returncode == 0 and "3:last\n" in out, "the job goes on", f"{out}\n{err}")


def refused(lab, env):
    for what, wanted in (("udp", "UDP socket"), ("ring", "io_uring"), ("nameless", "/var/tmp/parrot-")):
        job = parrot(lab, env, "-checkpoint", what=(what,))
        number = numbers_of(lab, 1)[0]
        done = look(lab, number)
        tap.ok(done.returncode == 1 and wanted in done.stderr and "rank " in done.stderr
               and "; the job goes on" in done.stderr, f"refused: a job that holds {what}", told(done))
        out, err = job.communicate("last\n", timeout=LIMIT)
        tap.ok(job.returncode == 0 and "3:last\n" in out, "... and the job goes on", f"{out}\n{err}")
    job = parrot(lab, env)
    done = look(lab, numbers_of(lab, 1)[0])
    tap.ok(done.returncode == 1 and "without -checkpoint" in done.stderr, "refused: a job without -checkpoint",
           told(done))
    job.communicate("", timeout=LIMIT)
    tap.equal(job.returncode, 0, "... and the job goes on")


def look_again_and_again(lab, number, looks, is_enough):
    """Links are closed for a moment only, which a watcher may miss."""
    while not is_enough.is_set():
        looks.append(look(lab, number))


def broken(lab, env):
    """Somebody dies while the links are closed, or a little before or after."""
    for what in ("scnoded", "scnoded", "scstepd", "rank", "scrun"):
        job = parrot(lab, env, "-checkpoint")
        number = numbers_of(lab, 1)[0]
        look(lab, number)
        looks, is_enough = [], threading.Event()
        looker = threading.Thread(target=look_again_and_again, args=(lab, number, looks, is_enough))
        parting = {pid: sockets_of(pid) for pid in lab.find("scstepd")}
        looker.start()
        is_seen = schedlab.wait_until(lambda parting=parting: any(sockets_of(pid) < n for pid, n in parting.items()),
                                      LIMIT)
        is_enough.set()
        if what == "scnoded":
            kill(lab.daemons("scnoded", "h1")[0])
            lab.restart("scnoded", "h1")
        elif what == "scrun":
            job.kill()
        else:
            kill(lab.find("parrot" if what == "rank" else what, "h1")[0])
        looker.join(LIMIT)
        out, err = job.communicate("last\n" if what == "scnoded" else None, timeout=LIMIT)
        is_right = is_seen and (job.returncode == 0 and "3:last\n" in out if what == "scnoded" else job.returncode)
        tap.ok(is_right, f"{what} dies while links are closed: {'the job goes on' if what == 'scnoded' else 'it ends'}",
               f"{job.returncode} {out}\n{err}\n{''.join(map(told, looks))}")
        tap.equal(lab.settled(), [], "... and nothing is left")


def sockets_of(pid):
    """How many a process has now."""
    count = 0
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                count += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
            except OSError:
                pass
    except OSError:
        pass
    return count


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    env = over_pm("devices=self+shmem+udp")
    with schedlab.Lab(f"ck{os.getpid()}", 2, "--ethernet") as lab:
        for part in (under_traffic, streams, spawned, by_its_owner, refused, broken):
            part(lab, env)
        left = [name for host in lab.hosts for name in lab.listing(host, "/dev/shm") if name not in lab.shm[host]]
        tap.ok(not left, "nothing is left below /dev/shm", str(left))
    return tap.end()


sys.exit(main())
