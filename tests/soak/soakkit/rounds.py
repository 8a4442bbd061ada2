# SPDX-License-Identifier: BSD-3-Clause
"""rounds - one round: two jobs of two users on the same hosts, by turns, whose data are checked; one fault or two; then
the judgement, and a look for anything that is left."""
import os
import pwd
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field

import schedlab
from systest import BUILD

from . import faults

OWNER, OTHER = "nobody", "daemon"
RALLY = f"{BUILD}/mpi/rally"
LONGEST_S = 300         # a job ends by itself after that
NOTICE_S = 10           # the end of a broken job, two jobs taking turns on busy cores
TOLD = 1500             # characters of what a job has said last
END_S = 30              # a job that was told to end: its turn has to come, and lost frames again
TOGETHER = 0.4          # share of the rounds with two faults
DEVICES = "devices=self+shmem+ethernet"


@dataclass
class Round:
    """One line of the report."""
    number: int
    seed: int
    faults: list
    wrong: list = field(default_factory=list)       # sentences: what should not have come
    data: bool = True                               # no byte was wrong
    others: bool = True                             # the job of another user went on
    left: list = field(default_factory=list)
    seconds: float = 0.0
    noticed_s: float = 0.0                          # from the end of the fault to that of a job that has to end

    def is_good(self):
        return not self.wrong and not self.left


def environment():
    return {**schedlab.over_pm(DEVICES)}


def start(lab, user):
    return lab.start("-nodes=4x1", RALLY, str(LONGEST_S), user=user, env=environment())


def ranks(lab, uid):
    return [pid for pid in lab.find("rally") if faults.uid_of(pid) == uid]


def _catches(pid, number):
    """True for a process that is gone as well."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            caught = next((line.split()[1] for line in f if line.startswith("SigCgt:")), "0")
    except OSError:
        return True
    return bool(int(caught, 16) & 1 << (number - 1))


def tell_to_end(lab, uid):
    """As soon as they know that signal: a rank that is just being started does not."""
    for pid in ranks(lab, uid):
        schedlab.wait_until(lambda pid=pid: _catches(pid, signal.SIGUSR1), END_S)
        try:
            os.kill(pid, signal.SIGUSR1)
        except ProcessLookupError:
            pass


def end_of(job, seconds):
    """Its output; None: it has not ended by then, and was ended."""
    try:
        out, err = job.communicate(timeout=seconds)
        return out + err
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        return None


def _is_wrong_data(text):
    return bool(re.search(r"byte \d+ of \d+ is wrong|\d+ ranks took part", text))


class Judge:
    """Fills in what came of the jobs."""

    def __init__(self, lab, entry):
        self.lab, self.entry = lab, entry

    def _ended_well(self, job, uid, name):
        """It is told to end, and its data are right."""
        if job.poll() is None:
            tell_to_end(self.lab, uid)
        said = end_of(job, END_S)
        if said is None:
            self.entry.wrong.append(f"{name} did not end within {END_S} s")
            return False
        self._data(said)
        if job.returncode or "OK rally" not in said:
            self.entry.wrong.append(f"{name} ended with {job.returncode}: {said[-TOLD:]}")
            return False
        return True

    def _data(self, said):
        if _is_wrong_data(said):
            self.entry.data = False
            self.entry.wrong.append(f"wrong data: {said[-TOLD:]}")

    def goes_on(self, job, uid, name):
        return self._ended_well(job, uid, name)

    def ends(self, job, name):
        """By itself, and not as if all was well."""
        since = time.monotonic()
        said = end_of(job, NOTICE_S)
        if said is None:
            self.entry.wrong.append(f"{name} has not ended {NOTICE_S} s after the fault")
            return
        self.entry.noticed_s = round(time.monotonic() - since, 2)
        self._data(said)
        if not job.returncode:
            self.entry.wrong.append(f"{name} was broken, and ended with 0: {said[-TOLD:]}")


def _choose(chance):
    chosen = [chance.choice(faults.ALL)]
    if chance.random() < TOGETHER:
        second = chance.choice([fault for fault in faults.ALL if fault != chosen[0]])
        # A job that has ended is not there to be broken.
        chosen = sorted([chosen[0], second], key=lambda fault: fault.outcome != faults.GOES_ON)
        if chosen[0].outcome != faults.GOES_ON:
            chosen = chosen[:1]
    return chosen


def _apply(scene, entry, chosen):
    for fault in chosen:
        try:
            fault.apply(scene)
        except faults.Nothing:
            entry.wrong.append(f"{fault.name}: there was none")
        except RuntimeError as problem:
            entry.wrong.append(f"{fault.name}: {problem}")


def play(lab, lines, number, seed):
    """The Round that was played."""
    chance = random.Random(seed)
    chosen = _choose(chance)
    entry = Round(number, seed, [fault.name for fault in chosen])
    begun = time.monotonic()
    owner, other = (pwd.getpwnam(name).pw_uid for name in (OWNER, OTHER))
    bystander, job = start(lab, OTHER), start(lab, OWNER)
    if not schedlab.wait_until(lambda: len(ranks(lab, owner)) == len(ranks(lab, other)) == len(lab.hosts),
                               schedlab.READY_S):
        entry.wrong.append("the jobs did not start")
    time.sleep(chance.uniform(0, 1.5))
    _apply(faults.Scene(lab, chance, job, owner, lines), entry, chosen)
    judge = Judge(lab, entry)
    outcomes = {fault.outcome for fault in chosen}
    if outcomes == {faults.GOES_ON}:
        judge.goes_on(job, owner, "the job")
    else:
        judge.ends(job, "the job")
    if faults.ALL_END in outcomes:
        judge.ends(bystander, "the other user's job")
    else:
        entry.others = judge.goes_on(bystander, other, "the other user's job")
    lab.restart_missing()
    entry.left = lab.settled(NOTICE_S)
    entry.seconds = round(time.monotonic() - begun, 1)
    return entry
