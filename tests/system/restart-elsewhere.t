#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun -restart: jobs of a lab whose hosts share their checkpoints start again on other hosts and over other networks,
again and again. The output and the file are those of a run that nobody disturbed. CHECKPOINTS=N: so many instead of
those of a short test. TAP. Needs root and CRIU."""
import json
import os
import random
import shutil
import sys
import time

import schedlab
from chronicles import CRIU, Chronicle, are_one, checkpoint, crash, restart, steps_of
from runningjobs import end_of, numbers_of
from schedlab import BUILD, kill, over_pm
from systest import ROOT, Tap, told

SCQUEUE = f"{ROOT}/scheduler/ctl/scqueue"
SHARED = f"{BUILD}/checkpoints-{os.getpid()}"
CHECKPOINTS = int(os.environ.get("CHECKPOINTS", "8"))
NETWORKS = ("self+udp", "self+shmem+udp", "self+shmem+ethernet", "self+ethernet")
# A checkpoint, a crash and a restart take the time of some 12 of these steps.
CHRONICLE = Chronicle(60 + 16 * CHECKPOINTS, 20000)

tap = Tap()


def places(lab, number):
    """Names of the hosts that the job has; [] when it is not there."""
    done = lab.run(SCQUEUE, "--json")
    return [host["name"] for job in json.loads(done.stdout or "[]") if job["id"] == number for host in job["hosts"]]


def at_random(lab, env, right, content):
    """Written down at random moments. Behind half of them all dies, and it goes on elsewhere."""
    rolls = random.Random(7)
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    log, parts, moved = [], [], 0
    for written in range(1, CHECKPOINTS + 1):
        time.sleep(rolls.random() * 0.3)
        done = checkpoint(lab, number)
        if done.returncode:
            log.append(told(done))
            break
        if rolls.random() < 0.5 and written < CHECKPOINTS:
            continue
        (_, out), left = crash(lab, job)
        parts.append(steps_of(out))
        pair, network = sorted(rolls.sample(lab.hosts, 2)), rolls.choice(NETWORKS)
        job = lab.start("-restart", str(number), f"--hosts={','.join(pair)}", f"-network={network}", env=env)
        numbers_of(lab, 1)
        moved += sorted(places(lab, number)) == pair
        log.append(f"after {written} on {pair} over {network}, {left}")
    code, out = end_of(job)
    parts.append(steps_of(out))
    tap.ok(written == CHECKPOINTS and code == 0 and are_one(right, parts),
           f"{written} checkpoints, {len(parts) - 1} restarts: the output is that of the undisturbed run",
           f"{log}\n{code}\n{out[-2000:]}\n{[part[:1] + part[-1:] for part in parts]}")
    tap.equal(CHRONICLE.contents(), content, "the file is that of the undisturbed run, byte by byte")
    tap.equal(moved, len(parts) - 1, "each restart was on the hosts that were asked for")
    tap.ok(schedlab.wait_until(lambda: os.listdir(SHARED) == ["identity"], 10),
           "no image is left of a job that ended well", str(os.listdir(SHARED)))
    tap.equal(lab.settled(), [], "nothing else is left")


def well(done):
    """The command's end, or None."""
    return None if done.returncode else done


def refusals(lab, env):
    """They come before anything is touched. A host that lacks the images says so, and those of others stay."""
    job = CHRONICLE.start(lab, env, "-hosts=h[0-2]")
    number = numbers_of(lab, 1)[0]
    first = places(lab, number)[0]
    checkpoint(lab, number)
    crash(lab, job)
    for word, wanted in (("-hosts=h7", "h7"), ("-hosts=h2", "has no place on h2"), ("-network=nothing", "nothing"),
                         ("-nodes=3", "keeps its ranks")):
        done = restart(lab, number, word)
        tap.ok(done.returncode and wanted in done.stderr, f"refused: {word}", told(done))
    kill(lab.daemons("scnoded", "h3")[0])
    line = lab.lines["scnoded", "h3"]
    line[line.index("--checkpoints") + 1] = "/run/checkpoints"
    lab.restart("scnoded", "h3")
    done = restart(lab, number, "-hosts=h[2-3]")
    tap.ok(done.returncode and "h3" in done.stderr and "share" in done.stderr,
           "refused: a host that does not share the directory", told(done))
    kill(lab.daemons("scnoded", first)[0])
    done = schedlab.wait_until(lambda: well(restart(lab, number)), 30)
    tap.ok(done and "OK chronicle" in done.stdout, "a host of before is down: a spare takes its place by itself",
           str(done))
    lab.restart("scnoded", first)


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    if not os.path.exists(CRIU):
        print(f"# no {CRIU}: run tests/criu/fetch {BUILD}/criu, where a mirror of Debian sid is")
        return 77
    env = over_pm("devices=self+shmem+udp")
    try:
        with schedlab.Lab(f"re{os.getpid()}", 4, "--ethernet", "--checkpoints", SHARED) as lab:
            right, content = CHRONICLE.undisturbed(lab, env, tap)
            at_random(lab, env, right, content)
            refusals(lab, env)
    finally:
        CHRONICLE.remove()
        shutil.rmtree(SHARED, ignore_errors=True)
    return tap.end()


sys.exit(main())
