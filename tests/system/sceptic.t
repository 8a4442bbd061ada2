#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sceptic on the hosts of a lab, each with something else that is wrong: links, daemons, a full file system; and hooks
of sc_watch on these hosts. TAP."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import schedlab
from schedlab import BUILD, kill, wait_until
from systest import ROOT, Tap, told

SCEPTIC, SCOUT, SC_WATCH = (f"{ROOT}/scout/{name}" for name in ("sceptic", "scout", "sc_watch"))
SCCONF = f"{ROOT}/configs/scconf"
CALM_S = 10                 # until daemons have seen that a link is back
tap = Tap()


class World:
    """The lab, and its cluster.json where all hosts see it."""

    def __init__(self, lab, work):
        self.lab = lab
        self.env = {"SCORE_CLUSTER": f"{work}/cluster.json"}
        with open(f"{work}/cluster.toml", "w", encoding="utf-8") as file:
            file.write(lab.sclab("config").stdout)
        subprocess.run([SCCONF, "compile", file.name, "-o", self.env["SCORE_CLUSTER"]], check=True)

    def sceptic(self, *words, **more):
        return self.lab.run(SCEPTIC, "-t", "2", "-r", "0", *words, **{"env": self.env, **more})

    def findings(self, *words):
        """(level, hosts, what) of all that are no notes, and what the command said in all."""
        done = self.sceptic("--json", *words)
        try:
            found = json.loads(done.stdout)["findings"]
        except (ValueError, KeyError):
            return [], told(done)
        return [(one["level"], one["hosts"], one["what"]) for one in found if one["level"] != "note"], told(done)

    def is_well(self):
        return self.sceptic("-q").returncode == 0

    def calm(self, name):
        tap.ok(wait_until(self.is_well, CALM_S), f"{name}: all is well again", self.findings())

    def expect(self, level, hosts, words, name):
        """One finding, and no other."""
        found, said = self.findings()
        tap.ok(len(found) == 1 and found[0][:2] == (level, hosts) and words in found[0][2], name, f"{found}\n{said}")


def well(world):
    done = world.sceptic()
    tap.ok(done.returncode == 0 and done.stdout.endswith("4 hosts: all well\n"), "all well", told(done))
    done = world.sceptic(user="daemon")
    tap.ok(done.returncode == 0 and done.stdout.endswith("4 hosts: all well\n"), "for anybody", told(done))
    value = json.loads(world.sceptic("--json").stdout)
    hosts = value["hosts"]
    tap.ok([host["name"] for host in hosts] == world.lab.hosts and value["alive"] == world.lab.hosts
           and all(host["rails"]["eth1"]["has_carrier"] and host["daemons"] == ["pm-ethernetd"] and host["munge"] == 0
                   and host["door"] == "answers" and host["state"] == "up" for host in hosts), "--json tells the facts",
           value)
    least, most = hosts[2]["skew_s"]
    tap.ok(-5 < least <= 0 <= most < 5, "one clock for all: no skew is within the bounds", (least, most))
    began = time.monotonic()
    world.sceptic("-q")
    tap.between(0, time.monotonic() - began, 5, "it does not take long")


def rail_down(world):
    world.lab.sclab("link", "h2:eth1", "down")
    world.expect("trouble", ["h2"], "eth1 has no carrier", "a rail without carrier")
    done = world.sceptic()
    tap.ok(done.returncode == 1 and "ip link set eth1 up" in done.stdout and
           done.stdout.endswith("4 hosts: 3 well, 1 in trouble (h2)\n"), "the table says what to do", told(done))
    tap.equal([world.sceptic(option).stdout for option in ("-a", "-d", "-D")], ["h[0-1,3]\n", "", "h2\n"],
              "-a, -d, -D")
    world.lab.sclab("link", "h2:eth1", "up")
    world.calm("rail")


def host_down(world):
    world.lab.sclab("link", "h3:eth0", "down")
    found, said = world.findings("-t", "1")
    tap.ok([one[:2] for one in found] == [("dead", ["h3"])] and "does not answer" in found[0][2], "a host that is down",
           f"{found}\n{said}")
    tap.equal(world.sceptic("-d", "-t", "1").stdout, "h3\n", "-d")
    world.lab.sclab("link", "h3:eth0", "up")
    world.calm("host")


def daemon_hangs(world):
    pid = world.lab.find("scnoded", "h1")[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        found, said = world.findings("-t", "1")
    finally:
        os.kill(pid, signal.SIGCONT)
    tap.ok([one[:2] for one in found] == [("dead", ["h1"])] and "scnoded hangs" in found[0][2], "scnoded stopped",
           f"{found}\n{said}")
    world.calm("stopped")


def daemon_dead(world):
    """While scnoded of h1 is dead, /dev/shm of h3 is full."""
    kill(world.lab.find("scnoded", "h1")[0])
    world.expect("dead", ["h1"], "lives, but scnoded does not", "scnoded killed")
    with full(world.lab, "h3"):
        found, said = world.findings()
        tap.ok([one[:2] for one in found] == [("dead", ["h1"]), ("trouble", ["h3"])] and "/dev/shm is full" in
               found[1][2], "and a full file system elsewhere", f"{found}\n{said}")
        left_out(world)
    waiting = subprocess.Popen(world.lab.command(SCEPTIC, "-r", "inf", "-q"), env={**os.environ, **world.env})
    world.lab.restart("scnoded", "h1")
    tap.equal(waiting.wait(schedlab.TIME_LIMIT), 0, "-r inf waits until all are up")
    world.calm("killed")


@contextlib.contextmanager
def full(lab, host):
    """/dev/shm of a host."""
    lab.run("mount", "-o", "remount,size=1m", "/dev/shm", host=host)
    lab.run("dd", "if=/dev/zero", "of=/dev/shm/full", "bs=64k", "count=100", host=host)
    yield
    lab.run("rm", "/dev/shm/full", host=host)
    lab.run("mount", "-o", "remount,size=50%", "/dev/shm", host=host)


def left_out(world):
    """The output of -D is a valid argument of -x of scout."""
    defects = world.sceptic("-D").stdout.strip()
    tap.equal((defects, world.sceptic("-D", "-l").stdout), ("h[1,3]", "h1\nh3\n"), "-D, as one expression and as lines")
    done = world.lab.run(SCOUT, "-g", "all", "-x", defects, "-no-lock", "uname", "-n", env=world.env)
    tap.ok(done.returncode == 0 and "h0" in done.stdout and "h2" in done.stdout and "h1" not in done.stdout
           and "h3" not in done.stdout, "scout -x takes it", told(done))


def hooks_there(world):
    script = 'echo "$(uname -n) $SC_WATCH_COUNT $SC_WATCH_REASON"; test "$(uname -n)" != h2'
    done = world.lab.run(SC_WATCH, "-n", "0", "-g", "h[1-2]", "-r", script, "--", "false", env=world.env)
    lines = done.stderr.splitlines()
    tap.ok(done.returncode == 1 and {"h1: h1 1 exit 1", "h2: h2 1 exit 1", "h2: exit 1"} <= set(lines),
           "a hook of sc_watch on two hosts", told(done))
    tap.ok("hook failed: remote: exit 1" in done.stderr, "it failed on one of them", told(done))


def ethernetd_dead(world):
    kill(world.lab.find("pm-ethernetd", "h2")[0])
    world.expect("trouble", ["h2"], "pm-ethernetd does not run", "pm-ethernetd killed")


def blind(world):
    done = world.lab.run(SCEPTIC, "-t", "2", "-r", "0", "--munge-socket", "/no/such/socket", env=world.env)
    tap.ok(done.returncode == 3 and "no command ran on any host" in done.stderr and "Traceback" not in done.stderr,
           "no munge here: it cannot be judged", told(done))
    tap.equal(world.sceptic("-D", "--munge-socket", "/no/such/socket").stdout, "", "and is no host's defect")


def scored_dead(world):
    kill(world.lab.find("scored")[0])
    found, said = world.findings("-g", "h[0-1]")
    tap.ok([one[:2] for one in found] == [("trouble", [])] and "scored at h0" in found[0][2], "scored killed",
           f"{found}\n{said}")
    tap.equal(world.sceptic("-a", "-g", "h[0-1]").stdout, "h[0-1]\n", "hosts are judged all the same")


def main():
    reason = schedlab.missing()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    work = f"{BUILD}/sceptic.{os.getpid()}"
    os.makedirs(work)
    try:
        with schedlab.Lab(f"s{os.getpid()}", 4, "--ethernet") as lab:
            world = World(lab, work)
            for part in (well, rail_down, host_down, daemon_hangs, daemon_dead, hooks_there, blind, ethernetd_dead,
                         scored_dead):
                part(world)
            wait_until(lambda: not lab.leftovers(), CALM_S)
            tap.equal(lab.leftovers(), [], "nothing is left running")
    finally:
        shutil.rmtree(work)
    return tap.end()


sys.exit(main())
