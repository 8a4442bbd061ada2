#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun under a debugger that speaks MPIR, on the hosts of a lab: ranks stay in MPI_Init until the debugger has seen
them, and a debugger may come to a job that runs. TAP. Needs root."""
import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
import time

import schedlab
from schedlab import SCRUN, wait_until
from systest import HERE, Tap

tap = Tap()
DEBUGGER = f"{HERE}/mpirdebug"
HELD_S = 1.0        # a rank that is not held has passed MPI_Init by then
LIMIT = 30
# Names a file before and after MPI_Init.
RANK = """
import ctypes, os, sys
mark = lambda what: open(f"{sys.argv[2]}/{what}.{os.environ['SCORE_RANK']}", "w").close()
mark("before")
if os.environ['SCORE_RANK'] == os.environ.get("LATE_RANK"):
    import time; time.sleep(3)
mpi = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
mark("after")
mpi.MPI_Finalize()
"""


def marks(work, what):
    return sum(name.startswith(f"{what}.") for name in os.listdir(work))


def whose(pid):
    """Rank and host of a process, as its environment has them."""
    with open(f"/proc/{pid}/environ", encoding="utf-8") as f:
        values = dict(word.split("=", 1) for word in f.read().split("\0") if "=" in word)
    return values.get("SCORE_RANK"), values.get("SCORE_HOST")


def under_debugger(lab, library, title, late=False):
    with tempfile.TemporaryDirectory(dir=schedlab.BUILD) as work:
        env = {**os.environ, **schedlab.over_pm("devices=self+shmem+udp"), **({"LATE_RANK": "3"} if late else {})}
        command = lab.command(DEBUGGER, SCRUN, "-nodes=2x2", sys.executable, "-c", RANK, library, work)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env) as job:
            seen = json.loads(job.stdout.readline() or "{}")
            processes = seen.get("processes", [])
            tap.equal((seen.get("state"), [whose(p["pid"]) for p in processes]),
                      (1, [(str(rank), p["host"]) for rank, p in enumerate(processes)]),
                      f"{title}: at MPIR_Breakpoint the table has ranks in order, on their hosts")
            tap.equal(sorted(p["host"] for p in processes), ["h0", "h0", "h1", "h1"], f"{title}: and all of them")
            there = {pid: name for pid, (_, name) in lab.processes().items()}
            tap.ok(all(p["executable"] == os.path.realpath(f"/proc/{p['pid']}/exe") or p["pid"] in there
                       and there[p["pid"]].startswith("python") for p in processes) and len(processes) == 4,
                   f"{title}: each process executes its program by then", repr(processes))
            wait_until(lambda: marks(work, "before") == 4, 10)
            time.sleep(HELD_S)
            tap.equal((marks(work, "before"), marks(work, "after")), (4, 0),
                      f"{title}: no rank has passed MPI_Init while the debugger looks")
            job.stdin.write("\n")
            job.stdin.flush()
            done = wait_until(lambda: marks(work, "after") == 4, LIMIT)
            tap.ok(done, f"{title}: it goes on, and all ranks pass", repr(os.listdir(work)))
            ended = json.loads(job.stdout.readline() or "{}")
            tap.equal(ended.get("state"), 2, f"{title}: the debugger hears of the end")
            _, err = job.communicate("\n", LIMIT)
            tap.equal((job.returncode, err), (0, ""), f"{title}: the job ends well")


def attached(lab):
    job = lab.start("-nodes=2x1", "sleep", "60")
    wait_until(lambda: len(lab.find("sleep")) == 2, 10)

    def table():
        done = lab.run(DEBUGGER, "--attach", str(job.pid))
        return sorted(p["pid"] for p in json.loads(done.stdout or "{}").get("processes", []))
    wait_until(lambda: len(table()) == 2, 10)
    tap.equal(table(), sorted(lab.find("sleep")), "a debugger that comes later finds the table")
    job.terminate()
    job.communicate(timeout=LIMIT)


def killed(lab):
    """Whoever ends the debugger ends scrun, and so the job, whose ranks are still held."""
    with tempfile.TemporaryDirectory(dir=schedlab.BUILD) as work:
        command = lab.command(DEBUGGER, SCRUN, "-nodes=2x1", sys.executable, "-c", RANK, "libmpi.so.40", work)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
            job.stdout.readline()
            for pid in lab.find("scrun"):
                os.kill(pid, 9)
            job.kill()
        tap.equal(lab.settled(), [], "a debugger and scrun that are killed leave nothing")


def main():
    why = schedlab.missing()
    if not why and os.uname().machine != "x86_64":
        why = "mpirdebug knows x86-64 only"
    if why:
        print(f"1..0 # SKIP {why}")
        return 77
    with schedlab.Lab(f"g{os.getpid()}", 2, "--cores", "4") as lab:
        under_debugger(lab, "libmpi.so.40", "Open MPI")
        under_debugger(lab, "libmpi.so.40", "Open MPI, a late rank", late=True)
        mpich = ctypes.util.find_library("mpich")
        if mpich:
            under_debugger(lab, mpich, "MPICH")
        else:
            tap.skip("MPICH", "it is not installed")
        attached(lab)
        killed(lab)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
