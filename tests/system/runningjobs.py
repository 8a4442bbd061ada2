# SPDX-License-Identifier: BSD-3-Clause
"""For tests of commands about jobs of a lab that run: their numbers, and their ends."""
import json

import schedlab
from systest import ROOT

LIMIT = 90


def numbers_of(lab, count):
    """The numbers of so many jobs, once they run. One whose ranks only sleep is idle at the next look at it."""
    def running():
        done = lab.run(f"{ROOT}/scheduler/ctl/scqueue", "--json")
        jobs = json.loads(done.stdout) if done.returncode == 0 else []
        numbers = [job["id"] for job in jobs if job["state"] in ("running", "idle")]
        return numbers if len(numbers) == count else None
    return schedlab.wait_until(running, 30) or [0] * count


def end_of(job):
    """Exit code, and all that it has said."""
    out, err = job.communicate(timeout=LIMIT)
    return job.returncode, out + err


def in_mpi(ask):
    """The command's end. It is asked again until all ranks have come to MPI, and scrun is back from a look before."""
    def answer():
        done = ask()
        return None if "MPI_Init" in done.stderr or "not attached yet" in done.stderr else done
    return schedlab.wait_until(answer, 20) or ask()


def is_late(text):
    """It speaks of the job's end, that a command may come to too late."""
    return any(word in text for word in ("MPI_Finalize", "no job", "does not run", "has ended", "or ends"))


def said(done, text):
    """A command that has complained so, or None."""
    return done if text in done.stderr else None
