# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of tests/mpi/chronicle on a lab. Each of their steps depends on all before it. So a job that was written to
disk, died and was restarted has either the output and the file of an undisturbed one, or wrong ones."""
import os
import subprocess

import schedlab
from runningjobs import LIMIT, end_of, in_mpi
from schedlab import BUILD, SCRUN, kill
from systest import ROOT

SCCHECKPOINT = f"{ROOT}/scheduler/ctl/sccheckpoint"
CRIU = f"{BUILD}/criu/criu"


class Chronicle:
    """A job by its steps, the time of each, and the file that it writes."""

    def __init__(self, steps, step_us, shape="-nodes=2x2"):
        self.steps, self.step_us, self.shape = steps, step_us, shape
        self.file = f"{BUILD}/restart-{os.getpid()}"

    def start(self, lab, env, *words):
        """Its file is new: has_come_to() takes no step of a job before for one of this."""
        self.remove()
        return lab.start(self.shape, "-checkpoint", *words, f"{BUILD}/mpi/chronicle", self.file, str(self.steps),
                         str(self.step_us), env=env)

    def contents(self):
        with open(self.file, encoding="ascii") as file:
            return file.read()

    def remove(self):
        if os.path.exists(self.file):
            os.unlink(self.file)

    def has_come_to(self, job, step):
        """Waits until the job's file has that step."""
        return schedlab.wait_until(lambda: os.path.exists(self.file) and f"step {step}:" in self.contents(), LIMIT) \
            and job.poll() is None

    def last_step(self):
        """That the file has; -1: none."""
        return len(steps_of(self.contents())) - 1 if os.path.exists(self.file) else -1

    def undisturbed(self, lab, env, tap):
        """Its steps, and its file."""
        job = self.start(lab, env)
        code, out = end_of(job)
        is_right = code == 0 and len(steps_of(out)) == self.steps and "OK chronicle" in out
        tap.ok(is_right, "a run that nobody disturbs ends well", f"{code}\n{out}")
        return steps_of(out), self.contents()


def checkpoint(lab, number, *words, **how):
    return in_mpi(lambda: lab.run(SCCHECKPOINT, *words, str(number), **how))


def restart(lab, number, *words, limit=LIMIT):
    """The command's end. Its hosts may still clear away what was there before."""
    def start():
        done = lab.run(SCRUN, "-restart", str(number), *words, limit=limit)
        return None if "has not ended" in done.stderr else done
    return schedlab.wait_until(start, 10) or start() or subprocess.CompletedProcess([], 1, "", "it has not ended")


def steps_of(out):
    return [line for line in out.splitlines() if line.startswith("step ")]


def is_like(right, first, last):
    """The steps of two runs, of which the second began before the end of the first, are those of one."""
    n = len(right) - len(last)
    return n >= 0 and right[n:] == last and right[:len(first)] == first and n <= len(first)


def are_one(right, parts):
    """Each part begins where one before it has come to, or earlier, and the last one has the end."""
    come_to = 0
    for part in parts:
        at = right.index(part[0]) if part and part[0] in right else 0
        if at > come_to or right[at:at + len(part)] != part:
            return False
        come_to = at + len(part)
    return come_to == len(right)


def crash(lab, job):
    """Everything of the job dies at once, as with the power; what it has said until then."""
    for host in lab.hosts:
        for program in ("chronicle", "scstepd"):
            for pid in lab.find(program, host):
                kill(pid)
    out = end_of(job)
    return out, lab.settled()
