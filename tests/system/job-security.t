#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that lie to their scstepd, and processes that would run while their job is frozen: they harm no job but their
own, which can be ended. TAP. Needs root, munged and a user that is in the passwd file."""
import contextlib
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from systest import ROOT, Tap, told                                                # noqa: E402

OWNER, HOSTILE = 1, 65534       # daemon, nobody
PYTHON = "/usr/bin/python3"
LIAR = f"{ROOT}/tests/system/jobhostile.py"
FREEZE = f"{ROOT}/tests/system/jobfreeze.py"
DONE_S, TERM_S, END_S = 20, 2, 8
SETTLE_S, SHARED_S = 0.5, 3
FAIR = 0.4                      # least part of the time of both: half is ideal, who is never frozen leaves a quarter
GROWN_MIB = 250                 # of a scstepd
TAP = Tap()


class Job:
    """A job in the background, as a context."""

    def __init__(self, cluster, user, *words):
        self.cluster, self.user = cluster, user
        self.log = f"{cluster.directory}/job-{time.monotonic_ns()}"
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", schedlocal.SCRUN, *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cluster.directory,
                env={**os.environ, **cluster.environment()})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def says(self, word, times=1, seconds=DONE_S):
        return schedlocal.wait_until(lambda: self.said().count(word) >= times or self.child.poll() is not None,
                                     seconds) and self.said().count(word) >= times

    def end(self):
        """A signal, which programs and tracers may keep from them, then the end of scrun: that of the job. Whether all
        of it has gone soon."""
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(TERM_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        return schedlocal.wait_until(lambda: self.user not in {each[1] for each in scstepds(self.cluster)}, END_S)


def scstepds(cluster):
    """(pid, uid, MiB) of those of this cluster."""
    parents, found = {str(host.child.pid) for host in cluster.hosts.values()}, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, KeyError):
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                of = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            if of["Name"] == "scstepd" and of["PPid"] in parents:
                found.append((int(pid), int(of["Uid"].split()[0]), int(of["VmHWM"].split()[0]) / 1024))
    return found


def liars(cluster):
    """Each kind of jobhostile.py, beside another user's job on the same hosts."""
    with Job(cluster, OWNER, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 300") as other:
        TAP.ok(other.says("here", 2), "another user's job runs", other.said())
        theirs = {pid for pid, uid, _ in scstepds(cluster) if uid == OWNER}
        for kind in ("garbage", "idle", "client", "puts", "others", "lines"):
            with Job(cluster, HOSTILE, "-nodes=2x1", PYTHON, LIAR, kind) as job:
                job.says("done", 2)
                mib = max((each[2] for each in scstepds(cluster) if each[1] == HOSTILE), default=0)
                print(f"# {kind}: {mib:.0f} MiB", job.child.poll(), job.said().replace("\n", "; ")[:400])
                lives = {pid for pid, uid, _ in scstepds(cluster) if uid == HOSTILE}
                if kind == "puts":
                    TAP.ok("PMIx_Publish: -" in job.said(), "puts: what is published is bounded", job.said())
                TAP.ok("here" in job.said() and mib < GROWN_MIB, f"{kind}: scstepd stays small", job.said())
                TAP.ok(job.end(), f"{kind}: the job can be ended, and nothing of it is left", job.said())
                TAP.ok(not set(job.said()) & {"\x1b", "\x07"}, f"{kind}: the end is told safely",
                       repr(job.said()[-300:]))
                if not lives:
                    TAP.ok("scrun: job" in job.said(), f"{kind}: the end of the job has a reason", job.said())
            TAP.ok(other.child.poll() is None and theirs <= {each[0] for each in scstepds(cluster)},
                   f"{kind}: the other job goes on", other.said())
        with Job(cluster, HOSTILE, "-nodes=1x1,memory=64M", PYTHON, LIAR, "commits") as job:
            schedlocal.wait_until(lambda: job.child.poll() is not None, DONE_S)
            has_limit = "no cgroup controller memory" not in cluster.hosts["h1"].log()
            TAP.ok(not has_limit or (job.child.poll() == 137 and "64 MiB" in job.said()),
                   "commits: memory of scstepd counts for its job", job.said())
        done = cluster.scrun("-nodes=2x1", "true", user=HOSTILE)
        TAP.ok(done.returncode == 0, "a job after all that", told(done))


def cpu_s(cluster, job):
    """Seconds of processor time that the ranks of a job have had, by their control group."""
    for path in cluster.cgroups():
        if path.endswith(f"/job-{job}/ranks"):
            with contextlib.suppress(OSError), open(f"{path}/cpuacct.usage", encoding="ascii") as file:
                return int(file.read()) / 1e9
            with contextlib.suppress(OSError), open(f"{path}/cpu.stat", encoding="ascii") as file:
                return int(file.read().split("usage_usec ")[1].split()[0]) / 1e6
    raise RuntimeError(f"no group of job {job}")


def number(job):
    return job.said().split("job ")[1].split()[0]


def shares(cluster, kind):
    """Seconds of an honest job and of one that isn't, on the same two cores. None: the kind can't be had here."""
    def words(what):
        return "-nodes=1x2,group=h1", "sh", "-c", f"echo job $SCORE_JOBID; exec {PYTHON} {FREEZE} {what} 60"

    inside = "spin" if kind == "outside" else kind
    with Job(cluster, OWNER, *words("spin")) as honest, Job(cluster, HOSTILE, *words(inside)) as greedy, \
            contextlib.ExitStack() as more:
        if not (honest.says("here", 2) and greedy.says("here", 2)):
            raise RuntimeError(honest.said() + greedy.said())
        if kind == "outside":
            pids = [line.split()[1] for line in greedy.said().splitlines() if line.startswith("here")]
            child = subprocess.Popen(["setpriv", f"--reuid={HOSTILE}", f"--regid={HOSTILE}", "--clear-groups", PYTHON,
                                      FREEZE, "outside", "60", *pids], stdout=subprocess.DEVNULL)
            more.callback(child.wait)
            more.callback(child.kill)
        time.sleep(SETTLE_S)
        jobs = number(honest), number(greedy)
        before = [cpu_s(cluster, job) for job in jobs]
        time.sleep(SHARED_S)
        if greedy.child.poll() is not None:
            return None
        after = [cpu_s(cluster, job) for job in jobs]
        TAP.ok(greedy.end() and honest.end(), f"{kind}: both can be ended", greedy.said())
        return [b - a for a, b in zip(before, after)]


def turns(cluster):
    """No trick makes a job run while it is frozen."""
    with open("/proc/sys/kernel/io_uring_disabled", encoding="ascii") as file:
        print("# io_uring_disabled", file.read().strip())
    for kind in ("spin", "seize", "attach", "storm", "sqpoll", "outside"):
        got = shares(cluster, kind)
        if not got:
            TAP.skip(f"{kind}: the other job has its share", "not to be had here")
            continue
        print(f"# {kind}: honest {got[0]:.2f} s, greedy {got[1]:.2f} s of {2 * SHARED_S} s")
        TAP.ok(got[0] >= FAIR * sum(got), f"{kind}: the other job has its share", got)
    logs = cluster.scored.log() + cluster.hosts["h1"].log()
    TAP.ok("said nothing" not in logs, "scnoded stood still for none of them", logs[-1000:])


def main():
    why = schedlocal.missing("setpriv")
    if why:
        TAP.skip("security of jobs", why)
        return TAP.end()
    with schedlocal.Cluster() as cluster:
        cluster.up("h1", "h2", scored=("--quantum", "100ms"))
        for part in (liars, turns):
            begun = time.monotonic()
            part(cluster)
            print(f"# {part.__name__}: {time.monotonic() - begun:.1f} s")
        TAP.equal(cluster.settled(), [], "nothing is left")
        TAP.ok(all(daemon.child.poll() is None for daemon in cluster.daemons), "all daemons live")
    return TAP.end()


sys.exit(main())
