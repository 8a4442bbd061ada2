#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sccheckpoint and scrun -restart: jobs of a lab are written to disk while they run, die with everything around them,
and start again. The output, the file and the end are those of a run that nobody disturbed. TAP. Needs root and CRIU."""
import json
import os
import random
import signal
import subprocess
import sys

import schedlab
from chronicles import CRIU, SCCHECKPOINT, Chronicle, checkpoint, crash, is_like, restart, steps_of
from runningjobs import LIMIT, end_of, is_late, numbers_of
from schedlab import BUILD, SCRUN, kill, over_pm
from systest import ROOT, Tap, told

SCQUEUE = f"{ROOT}/scheduler/ctl/scqueue"
IMAGES = "/run/checkpoints"         # in each host
STEPS = 60
CHRONICLE = Chronicle(STEPS, 40000)
FILE = CHRONICLE.file

tap = Tap()


def removed(lab, number):
    """The command's end, when it has removed them and they are gone."""
    done = lab.run(SCCHECKPOINT, "--remove", str(number))
    return done if not any(images(lab, host) for host in lab.hosts) else None


def images(lab, host):
    """Numbers of checkpoints there, as directories of job/round."""
    return lab.run("sh", "-c", f"cd {IMAGES} 2>/dev/null && ls -d */*/* 2>/dev/null", host=host).stdout.split()


def again_and_again(lab, env, right, content):
    """Written down at random moments, killed later, restarted; then the restarted one as well."""
    rolls = random.Random(5)
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    for turn in range(3):
        written, step = [], rolls.randrange(STEPS // 5) + 1 + turn * STEPS // 4
        CHRONICLE.has_come_to(job, step)
        for _ in range(rolls.randrange(1, 3)):
            written.append(checkpoint(lab, number))
        CHRONICLE.has_come_to(job, step + rolls.randrange(4))
        (_, out), left = crash(lab, job)
        tap.ok(all(done.returncode == 0 for done in written) and not left,
               f"turn {turn}: written down {len(written)} times while it ran, then killed", f"{written}\n{out}\n{left}")
        job = lab.start("-restart", str(number), env=env)
        if not numbers_of(lab, 1)[0]:
            break
    code, out = end_of(job)
    last = steps_of(out)
    tap.ok(code == 0 and "OK chronicle" in out and last and last == right[-len(last):],
           "the last of four runs says what the undisturbed one does, and ends well", f"{code}\n{out}")
    tap.equal(CHRONICLE.contents(), content, "the file is that of the undisturbed run, byte by byte")
    tap.equal([images(lab, host) for host in lab.hosts], [[], []], "no image is left of a job that ended well")
    tap.equal(lab.settled(), [], "nothing else is left")


def two_are_kept(lab, env, right):
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    answers = [json.loads(checkpoint(lab, number, "--json").stdout or "{}") for _ in range(3)]
    tap.ok([answer.get("round") for answer in answers] == [1, 2, 3]
           and all(answer["hosts"] == 2 and answer["bytes"] > 0 and answer["stood_s"] > 0 for answer in answers),
           "checkpoints are numbered, and told as JSON", str(answers))
    for host in lab.hosts:
        tap.equal([name.split("/")[1] for name in images(lab, host)], ["2", "3"], f"{host} keeps the last two")
    line = lab.run(SCQUEUE).stdout
    tap.ok("checkpoint 3" in line, "scqueue shows the last one", line)
    (_, out), _ = crash(lab, job)
    done = lab.run(SCRUN, "-restart", f"{number}@1")
    tap.ok(done.returncode and "no checkpoint 1" in done.stderr, "an older one is refused in a sentence", told(done))
    done = lab.run(SCRUN, "-restart", f"{number}@2")
    tap.ok(done.returncode == 0 and is_like(right, steps_of(out), steps_of(done.stdout)),
           "the one before the last can be chosen", told(done))


def refusals(lab, env):
    done = restart(lab, 999)
    tap.ok(done.returncode and "job 999 of yours has no checkpoint" in done.stderr, "refused: no such job", told(done))
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    checkpoint(lab, number)
    done = lab.run(SCRUN, "-restart", str(number))
    tap.ok(done.returncode and "has not ended" in done.stderr, "refused: a job that runs", told(done))
    done = lab.run(SCRUN, "-restart", str(number), user="nobody")
    tap.ok(done.returncode, "refused: the job of another user", told(done))
    crash(lab, job)
    done = lab.run(SCRUN, "-restart", str(number), user="nobody")
    tap.ok(done.returncode and "of yours has no checkpoint" in done.stderr,
           "refused: the checkpoint of another user", told(done))
    lab.run("sh", "-c", f"mv {FILE} {FILE}.old && cp {FILE}.old {FILE}")
    done = restart(lab, number)
    tap.ok(done.returncode and "is another one than it was" in done.stderr, "refused: its file was replaced",
           told(done))
    lab.run("sh", "-c", f"mv {FILE}.old {FILE}")
    image = f"{IMAGES}/{images(lab, 'h0')[0]}/pages-1.img"
    done = lab.run("sh", "-c", f"cp {image} /run/kept && printf '\\377x' | dd of={image} conv=notrunc bs=1 seek=4096")
    tap.equal(done.returncode, 0, "an image is damaged")
    done = restart(lab, number)
    tap.ok(done.returncode and "pages-1.img" in done.stderr, "refused: an image that is damaged", told(done))
    tap.equal(lab.settled(), [], "... and nothing is left")
    lab.run("sh", "-c", f"cp /run/kept {image}")
    job = lab.start("-restart", str(number))
    tap.equal(numbers_of(lab, 1), [number], "mended, it starts")
    done = lab.run(SCCHECKPOINT, "--remove", str(number))
    tap.ok(done.returncode == 1 and "has not ended" in done.stderr, "refused: to remove images of a job that runs",
           told(done))
    crash(lab, job)
    done = schedlab.wait_until(lambda: removed(lab, number), 10)
    tap.ok(done and images(lab, "h0") == images(lab, "h1") == [], "images of a job that has ended are removed",
           told(done) if done else "")


def in_the_way(lab, env):
    job = subprocess.Popen(lab.command(SCRUN, CHRONICLE.shape, "-checkpoint", f"{BUILD}/mpi/parrot", "udp"),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, **env})
    number = numbers_of(lab, 1)[0]
    done = checkpoint(lab, number)
    tap.ok(done.returncode == 1 and "UDP socket" in done.stderr and "rank " in done.stderr,
           "refused: a job that holds a socket, which is named", told(done))
    out, err = job.communicate("last\n", timeout=LIMIT)
    tap.ok(job.returncode == 0 and "3:last\n" in out, "... and the job goes on", f"{out}\n{err}")
    tap.equal([images(lab, host) for host in lab.hosts], [[], []], "... and nothing was written")


def daemons_die(lab, env, right, content):
    """Images and journal on disk are enough: scored and the scnodeds are started anew."""
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    CHRONICLE.has_come_to(job, 5)
    done = checkpoint(lab, number)
    kill(lab.daemons("scored", "h0")[0])
    crash(lab, job)
    for host in lab.hosts:
        kill(lab.daemons("scnoded", host)[0])
    lab.restart("scored")
    for host in lab.hosts:
        lab.restart("scnoded", host)
    again = restart(lab, number)
    last = steps_of(again.stdout)
    tap.ok(done.returncode == 0 and again.returncode == 0 and last and last == right[-len(last):],
           "scored and all scnodeds were killed as well: it starts again", told(done) + told(again))
    tap.equal(CHRONICLE.contents(), content, "... and its file is right")


def one_dies(lab, env):
    """Somebody dies while a checkpoint is written: the job goes on or starts from the one before, never from a part."""
    for what in ("scnoded", "criu", "scored", "chronicle"):
        job = CHRONICLE.start(lab, env)
        number = numbers_of(lab, 1)[0]
        first = checkpoint(lab, number)
        writer = subprocess.Popen(lab.command(SCCHECKPOINT, str(number)), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        host = "h0" if what == "scored" else "h1"
        victim = schedlab.wait_until(lambda host=host: lab.find("criu", host), 10) and \
            (lab.daemons(what, host) if what.startswith("sc") else lab.find(what, host))
        if victim:
            kill(victim[0])
        out, err = writer.communicate(timeout=LIMIT)
        if what.startswith("sc") and victim:
            lab.restart(what, host)
        code, said = end_of(job)
        if code:
            again = restart(lab, number)
            code, said = again.returncode, f"{said}\n{told(again)}"
        tap.ok(first.returncode == 0 and code == 0 and "OK chronicle" in said,
               f"{what} dies while a checkpoint is written: the job goes on, or starts from a whole one",
               f"{victim}\n{told(first)}\n{out}{err}\n{said}")
        left = [(at, images(lab, at)) for at in lab.hosts if images(lab, at)]
        tap.ok(not lab.settled() and all(".new" not in name for _, names in left for name in names),
               "... and nothing is left", f"{lab.settled()} {left}")


def disk_is_full(lab, env):
    job = CHRONICLE.start(lab, env)
    number = numbers_of(lab, 1)[0]
    checkpoint(lab, number)
    lab.run("sh", "-c", f"mkdir {IMAGES}/x; mount -t tmpfs -o size=3m,mode=700 none {IMAGES}", host="h1")
    done = checkpoint(lab, number)
    tap.ok(done.returncode == 1 and "make room" in done.stderr and not is_late(done.stderr),
           "refused: a disk that is full, with the remedy", told(done))
    tap.equal(images(lab, "h1"), [], "... and nothing is left there")
    lab.run("sh", "-c", f"umount {IMAGES}; rmdir {IMAGES}/x", host="h1")
    code, out = end_of(job)
    tap.ok(code == 0 and "OK chronicle" in out, "... and the job goes on", f"{code}\n{out}")


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    if not os.path.exists(CRIU):
        print(f"# no {CRIU}: run tests/criu/fetch {BUILD}/criu, where a mirror of Debian sid is")
        return 77
    env = over_pm("devices=self+shmem+udp")
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with schedlab.Lab(f"rs{os.getpid()}", 2, "--ethernet") as lab:
        right, content = CHRONICLE.undisturbed(lab, env, tap)
        again_and_again(lab, env, right, content)
        two_are_kept(lab, env, right)
        refusals(lab, env)
        in_the_way(lab, env)
        daemons_die(lab, env, right, content)
        one_dies(lab, env)
        disk_is_full(lab, env)
    for path in (FILE, f"{FILE}.old"):
        if os.path.exists(path):
            os.unlink(path)
    return tap.end()


sys.exit(main())
