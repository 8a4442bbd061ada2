#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The clock of one daemon is set while jobs run: forwards, backwards, by minutes, hours and days. Jobs go on, turns are
taken, limits last as long as they are to, and no time is shown below zero. TAP. Needs root, munged and a C compiler:
a preloaded library shifts the clock of the daemon alone."""
import contextlib
import os
import re
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from schedlocal import HOSTILE, OWNER, job, tool                        # noqa: E402
from systest import HERE, ROOT, Tap, told                                    # noqa: E402

MINUTES, HOURS, DAYS = 300, 7200, 3 * 86400
JUMPS = (MINUTES, -HOURS, DAYS, 0)                  # off the true clock; each is set from the one before
TURN_S = 4                      # two quanta, and a beat of scnoded
LIMIT_S = 3                     # of a job
TAP = Tap()


class Clock:
    """One that is set by set(); put before a daemon's command it is that daemon's."""

    def __init__(self, cluster, name):
        self.path = f"{cluster.directory}/clock-{name}"
        self.library = f"{cluster.directory}/clockshift.so"
        self.set(0)

    def set(self, seconds):
        with open(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644), "wb") as file:
            file.write(struct.pack("=q", int(seconds * 1e9)))

    def env(self):
        return {"LD_PRELOAD": self.library, "CLOCKSHIFT": self.path}

    def through(self):
        return ("env", *(f"{name}={value}" for name, value in self.env().items()))


class Worker:
    """A job of two hosts that counts on each while it has its turn."""

    def __init__(self, cluster, stack, name, user):
        self.base = f"{cluster.directory}/{name}"
        os.mkdir(self.base, 0o777)
        os.chmod(self.base, 0o777)
        count = (f"n=0; echo here; while :; do n=$((n + 1)); echo $n >{self.base}/$SCORE_HOST.new; "
                 f"mv {self.base}/$SCORE_HOST.new {self.base}/$SCORE_HOST; done")
        self.child, self.said = stack.enter_context(job(cluster, "-nodes=2x2", "sh", "-c", count, user=user))
        self.name = name

    def counts(self):
        found = {}
        for host in ("h1", "h2"):
            with contextlib.suppress(OSError, ValueError), open(f"{self.base}/{host}", encoding="ascii") as file:
                found[host] = int(file.read())
        return found

    def goes_on(self):
        """On both hosts, more than once: turns come again."""
        for _ in range(2):
            before = self.counts()
            if not schedlocal.wait_until(lambda before=before: len(self.counts()) == 2 and all(
                    count > before.get(host, 0) for host, count in self.counts().items()), TURN_S):
                return False
        return self.child.poll() is None


def daemons(cluster, clocks):
    """Each under a clock of its own; clients and munged have the true one."""
    cluster.munge, cluster.munged = cluster.start_munge()
    cluster.server, cluster.scored = cluster.start_scored("--rows", "3", "--quantum", "100ms",
                                                          through=clocks["scored"].through())
    if not cluster.scored.says("ready"):
        raise RuntimeError(cluster.scored.log())
    step = f"{cluster.directory}/scstepd"
    with open(os.open(step, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nexec {' '.join(clocks['scstepd'].through())} {schedlocal.BUILD}/bin/scstepd\n")
    for host in ("h1", "h2"):
        cluster.start_host(host, "--scstepd", step, through=clocks[host].through())
    for host in ("h1", "h2"):
        if not cluster.hosts[host].says("registered with"):
            raise RuntimeError(cluster.hosts[host].log())


def limit(cluster, name, begin, *words):
    """A job's own limit of time, whose clock is set by @begin when it has begun."""
    with job(cluster, "-nodes=1x1", *words, "--timeout", str(LIMIT_S), "sh", "-c",
             "echo here; exec sleep 60") as (child, said):
        begun = time.monotonic()
        begin()
        TAP.ok(schedlocal.wait_until(lambda: child.poll() is not None, LIMIT_S + 4) and
               time.monotonic() - begun > LIMIT_S - 1, f"--timeout {LIMIT_S} lasts as long, {name}",
               f"{time.monotonic() - begun:.1f} s: {said()}")


def jumps(cluster, clocks):
    """The clock of each daemon in turn."""
    with contextlib.ExitStack() as stack:
        workers = [Worker(cluster, stack, name, user) for name, user in (("one", OWNER), ("two", HOSTILE))]
        for name in ("scored", "h2", "scstepd"):
            for seconds in JUMPS:
                clocks[name].set(seconds)
                where = f"clock of {name} off by {seconds} s"
                stuck = [worker.name for worker in workers if not worker.goes_on()]
                TAP.equal(stuck, [], f"{where}: two jobs have their turns")
                done = cluster.scrun("-nodes=2x1", "--statistics", "true", limit=20)
                TAP.ok(done.returncode == 0 and " -" not in done.stderr, f"{where}: a third one begins and ends",
                       told(done))
            if name == "scstepd":
                limit(cluster, "clock of scstepd set back", lambda: clocks["scstepd"].set(-DAYS))
                limit(cluster, "clock of scstepd set forwards", lambda: clocks["scstepd"].set(DAYS))
                clocks["scstepd"].set(0)
    TAP.equal(cluster.settled(), [], "all is swept")
    log = cluster.scored.log()
    TAP.ok("said nothing" not in log and "is lost" not in log, "no host was lost", log)


def own_time(cluster):
    """A host that was up for days before, or asleep for a part of them: no clock of it is compared with others'."""
    host = cluster.start_host("h3", through=("unshare", "--time", "--boottime", str(4 * DAYS), "--monotonic",
                                             str(DAYS)))
    if not host.says("registered with"):
        TAP.skip("a host with a time of its own", host.log().strip())
        return
    with job(cluster, "-nodes=2x2", "--hosts", "h1,h3", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        limit(cluster, "on a host with a time of its own", lambda: None, "--hosts", "h3")
        TAP.ok(child.poll() is None, "a job of it and another one goes on", said())
    TAP.equal(cluster.settled(), [], "all is swept")
    cluster.hosts.pop("h3")
    cluster.daemons.remove(host)
    host.end()


def ages(cluster, clocks):
    """Times of scored, told to a client of another clock."""
    clocks["scored"].set(-DAYS)
    # A job that computes: one that waits is shown as idle after a while.
    with job(cluster, "-nodes=1x1", "sh", "-c", "echo here; while :; do :; done"):
        shown = tool(cluster, "scqueue", "--history", "3")
        if shown.returncode:
            TAP.skip("ages in scqueue", shown.stderr.strip())
        else:
            TAP.ok(re.search(r"running .*\b\ds\b", shown.stdout) and "3d" not in shown.stdout,
                   "a clock of scored that is days slow makes no job days old", told(shown))
    clocks["scored"].set(0)


def own_clock(cluster):
    """scrun's own clock, while it shows times and waits for a second ^C."""
    clock = Clock(cluster, "scrun")
    words = [*schedlocal.become(OWNER, [*clock.through(), schedlocal.SCRUN, "-nodes=1x1", "--statistics", "sh", "-c",
                                        "echo here; exec sleep 1"])]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=cluster.directory, env={**os.environ, **cluster.environment()}) as child:
        said = child.stdout.readline()
        clock.set(-DAYS)
        _, err = child.communicate(timeout=20)
    ran = re.search(r"ran: ([\d.]+) s", err)
    TAP.ok(said == "here\n" and child.returncode == 0 and ran and 0.5 < float(ran.group(1)) < 20,
           "clock of scrun set back: it tells how long the job ran", f"{said}{err}")


def credentials(cluster, clocks):
    """Credentials have a time of their own: with a munged whose clock is off nobody gets in, and who is in stays."""
    with job(cluster, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        munge, _ = cluster.start_munge("odd-munge", env=clocks["munge"].env())
        for seconds, word in ((HOURS, "rewound"), (-HOURS, "expired")):
            clocks["munge"].set(seconds)
            done = cluster.scrun("-nodes=1x1", "true", munge=munge)
            TAP.ok(done.returncode == 125 and word in done.stderr and "set both clocks" in done.stderr and
                   len(done.stderr.splitlines()) == 1, f"clock of munged off by {seconds} s: {word}, one line",
                   told(done))
        clocks["munge"].set(MINUTES / 2)
        done = cluster.scrun("-nodes=1x1", "true", munge=munge)
        TAP.equal((done.returncode, done.stderr), (0, ""), "off by half of a credential's time: no matter")
        TAP.ok(child.poll() is None, "a job that runs goes on", said())


def ethernet(cluster):
    """pm-ethernetd answers as before."""
    program, run = f"{schedlocal.BUILD}/bin/pm-ethernetd", f"{cluster.directory}/ethernet"
    if not os.access(program, os.X_OK):
        TAP.skip("clock of pm-ethernetd", "it is not built")
        return
    clock = Clock(cluster, "pm-ethernetd")
    made = subprocess.run(["unshare", "--net", "true"], check=False)
    if made.returncode:
        TAP.skip("clock of pm-ethernetd", "no network namespace")
        return
    daemon = cluster.start("pm-ethernetd", "unshare", "--net", "sh", "-c",
                           'ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && '
                           'exec "$@"',
                           "sh", *clock.through(), program, "--run", run, "--nics", "v0", "--mode", "generic")
    if not schedlocal.wait_until(lambda: os.path.exists(f"{run}/socket"), schedlocal.READY_S):
        TAP.skip("clock of pm-ethernetd", daemon.log().strip().splitlines()[-1])
        return
    for seconds in JUMPS:
        clock.set(seconds)
        done = subprocess.run([sys.executable, f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl", "status", "--run", run],
                              capture_output=True, text=True, check=False, timeout=20)
        TAP.ok(done.returncode == 0 and " -" not in done.stdout,
               f"clock of pm-ethernetd off by {seconds} s: it answers", told(done))
    daemon.end()


def main():
    why = schedlocal.missing("setpriv", "unshare", "ip", "cc")
    if why:
        TAP.skip("clocks that are set", why)
        return TAP.end()
    with schedlocal.Cluster() as cluster:
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", f"{cluster.directory}/clockshift.so",
                        f"{HERE}/clockshift.c"], check=True)
        clocks = {name: Clock(cluster, name) for name in ("scored", "h1", "h2", "scstepd", "munge")}
        daemons(cluster, clocks)
        jumps(cluster, clocks)
        own_time(cluster)
        ages(cluster, clocks)
        own_clock(cluster)
        credentials(cluster, clocks)
        ethernet(cluster)
        TAP.equal(cluster.settled(), [], "nothing is left")
    return TAP.end()


sys.exit(main())
