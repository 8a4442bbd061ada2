#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scqueue, scancel, scinfo, sctop and scpool with the real daemons on one host, for two users. TAP."""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from systest import BUILD, ROOT, Tap, told

PROGRAMS = ("scored", "scnoded", "scstepd", "scrun")
NOBODY = 65534
OPERATOR = 1                # daemon, who is one by the file
CLUSTER = """[[hosts]]
range = "h[0-1]"
[scheduler]
server = "localhost"
quantum = "100ms"
operators = ["daemon"]
"""
DAEMON_S, JOB_S = 15, 15
tap = Tap()


class World:
    """A munged, scored and a scnoded of our own; copies of the programs where every user reaches them."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="scqueue-test.", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.processes = []
        self.group = f"openscore-test-{os.getpid()}"
        for name in PROGRAMS:
            shutil.copy(f"{BUILD}/bin/{name}", self.dir)
        ignored = shutil.ignore_patterns("__pycache__")
        for part in ("configs", "scheduler/ctl"):
            shutil.copytree(f"{ROOT}/{part}", f"{self.dir}/share/{part}", ignore=ignored)
        os.makedirs(f"{self.dir}/share/mk")
        shutil.copy(f"{ROOT}/mk/version.mk", f"{self.dir}/share/mk")
        self.munge = self.start_munged("munge")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("SCORE_")}
        self.env |= {"SCORE_MUNGE_SOCKET": self.munge, "COLUMNS": "200"}
        with open(f"{self.dir}/cluster.toml", "w", encoding="ascii") as file:
            file.write(CLUSTER)
        subprocess.run([f"{self.dir}/share/configs/scconf", "compile", f"{self.dir}/cluster.toml", "-o",
                        f"{self.dir}/cluster.json"], check=True, timeout=20)
        self.port = self.start_scored(0)
        self.env["SCORE_SERVER"] = f"localhost:{self.port}"
        self.node = self.daemon("scnoded", "--name", "h0", "--listen", "127.0.0.1:0", "--run", f"{self.dir}/run",
                                "--cores", "8x", "--cgroup", self.group, until="registered with")

    def start_munged(self, name):
        place = f"{self.dir}/{name}"
        os.mkdir(place, 0o755)
        with open(f"{place}/key", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
            key.write(os.urandom(128))
        process = subprocess.Popen(["munged", "--foreground", "--force", f"--socket={place}/socket",
                                    f"--key-file={place}/key", f"--pid-file={place}/pid", f"--log-file={place}/log",
                                    f"--seed-file={place}/seed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        until(lambda: os.path.exists(f"{place}/socket"), 10)
        return f"{place}/socket"

    def daemon(self, name, *words, until):
        """Its line that says the word, once it has said it; it goes on talking to a file."""
        process = subprocess.Popen([f"{self.dir}/{name}", *words], env=self.env, text=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.processes.append(process)
        process.line = read_until(process.stderr, until)
        return process

    def start_scored(self, port):
        self.scored = self.daemon("scored", "--config", f"{self.dir}/cluster.json",
                                  "--listen", f"127.0.0.1:{port}", "--state",
                                  f"{self.dir}/state", until="ready")
        return int(re.search(r"port (\d+)", self.scored.line)[1])

    def call(self, *words, user=0, **env):
        """A command as a user."""
        path = f"{self.dir}/share/scheduler/ctl/{words[0]}"
        who = {"user": user, "group": user, "extra_groups": []} if user else {}
        return subprocess.run([path, *words[1:]], capture_output=True, text=True, check=False, timeout=60, cwd="/",
                              env=self.env | env, **who)

    def job(self, *words, user=0):
        """A running scrun and the number of its job."""
        who = {"user": user, "group": user, "extra_groups": []} if user else {}
        before = {job["id"] for job in self.jobs()}
        process = subprocess.Popen([f"{self.dir}/scrun", *words], env=self.env, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", **who)
        self.processes.append(process)
        new = until(lambda: [job["id"] for job in self.jobs() if job["id"] not in before
                             and job["state"] in ("running", "idle")], JOB_S)
        return process, new[0] if new else 0

    def jobs(self, *words, user=0):
        done = self.call("scqueue", "--json", *words, user=user)
        return json.loads(done.stdout) if done.returncode == 0 else []

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for parent, names, _ in os.walk("/sys/fs/cgroup", topdown=False):
            if self.group in names:
                os.rmdir(f"{parent}/{self.group}")
        shutil.rmtree(self.dir)


def until(condition, seconds):
    """Polls, as the effects of another process have no descriptor to wait on."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


def read_until(stream, word):
    """The first line with the word; "" when there is none in time. Past the stream's buffer, of which select(2) does
    not know."""
    end, said = time.monotonic() + DAEMON_S, ""
    while select.select([stream], [], [], max(0, end - time.monotonic()))[0]:
        piece = os.read(stream.fileno(), 4096).decode()
        said += piece
        lines = [line for line in said.splitlines(keepends=True) if word in line and line.endswith("\n")]
        if lines or not piece:
            return lines[0] if lines else ""
    return ""


def one(jobs, number):
    return next((job for job in jobs if job["id"] == number), {})


def who_sees_what(world, ours, theirs):
    jobs = world.jobs()
    tap.equal([one(jobs, number).get("name") for number in (ours, theirs)], ["sh", "sleep"], "root sees all programs")
    jobs = world.jobs(user=NOBODY)
    tap.equal(one(jobs, theirs).get("argv"), ["sleep", "300"], "a user sees the own program")
    tap.ok(not {"name", "argv", "cwd"} & one(jobs, ours).keys() and one(jobs, ours)["uid"] == 0,
           "of others only that they run", jobs)
    done = world.call("scqueue", user=NOBODY)
    tap.ok(done.returncode == 0 and "nobody" in done.stdout and "h0" in done.stdout and " sh " not in done.stdout,
           "the table", told(done))
    jobs = world.jobs("--user", "nobody")
    tap.equal([job["id"] for job in jobs], [theirs], "--user")


def commands_of_others(world, ours, theirs):
    done = world.call("scancel", str(ours), user=NOBODY)
    tap.ok(done.returncode == 1 and f"no job {ours} of yours" in done.stderr, "others' jobs are not cancelled",
           told(done))
    tap.equal(len(world.jobs()), 2, "both go on")
    done = world.call("scinfo", "--drain", "h0", user=NOBODY)
    tap.ok(done.returncode == 1 and "operators" in done.stderr, "only operators take out hosts", told(done))
    done = world.call("scancel", "--all", user=NOBODY)
    tap.ok(done.returncode == 0 and done.stdout == "1 job: cancelled\n", "--all is all of one's own", told(done))
    tap.ok(until(lambda: not one(world.jobs(), theirs), JOB_S) is True and one(world.jobs(), ours),
           "the own one has ended, the other goes on")


def drained(world):
    done = world.call("scinfo", "--drain", "h0", "--note", "new fan", user=OPERATOR)
    tap.equal((done.returncode, done.stdout), (0, "h0: drained\n"), "--drain by an operator of cluster.toml")
    cluster = json.loads(world.call("scinfo", "--json").stdout)
    tap.equal((cluster["quantum_ns"], [state["state"] for state in cluster["states"]]),
              (100_000_000, ["drained", "absent"]), "the file's quantum, and its host that is not there")
    done = world.call("scinfo", "--check", "--json")
    found = [finding for finding in json.loads(done.stdout) if "new fan" in finding["what"]]
    tap.ok(found and found[0]["where"] == "h0", "the reason is told", told(done))
    done = world.call("scinfo", "--undrain", "h0", "--json")
    tap.equal(json.loads(done.stdout), {"hosts": ["h0"], "state": "up"}, "--undrain")
    done = world.call("scinfo", "--drain", "h9")
    tap.ok(done.returncode == 1 and "host h9 is not in the cluster" in done.stderr, "no such host", told(done))


def looks(world):
    for words in (["scinfo"], ["scinfo", "--hosts"], ["scinfo", "h0"], ["sctop", "--once"]):
        done = world.call(*words, user=NOBODY)
        tap.ok(done.returncode == 0 and "h0" in done.stdout and "Traceback" not in done.stderr, " ".join(words),
               told(done))
        done = world.call(*words, "--json", user=NOBODY)
        tap.ok(isinstance(json.loads(done.stdout), dict), f"{' '.join(words)} --json", told(done))
    path = f"{world.dir}/share/scheduler/ctl/"
    for words in (["scqueue", "--watch", "0.2", "--json"], ["sctop", "--every", "0.2", "--json"]):
        process = subprocess.Popen([path + words[0], *words[1:]], env=world.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        frames = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        tap.ok(len(frames) == 2 and process.returncode == 0, f"{' '.join(words)}: one line of JSON after the other")


def signalled(world, process, number):
    done = world.call("scancel", str(number), "--signal", "usr1")
    tap.equal((done.returncode, done.stdout), (0, f"job {number}: SIGUSR1 sent\n"), "--signal")
    said, _ = process.communicate(timeout=JOB_S)
    tap.ok(process.returncode == 7, "the ranks get it", f"exit code {process.returncode}: {said}")


def remembered(world, ours, theirs):
    tap.ok(until(lambda: not one(world.jobs(), ours), JOB_S) is True, "the job is gone from its host")
    world.scored.terminate()
    world.scored.wait(20)
    done = world.call("scqueue")
    tap.ok(done.returncode == 3 and f"scored at localhost:{world.port}" in done.stderr and "--server" in done.stderr
           and done.stderr.count("\n") == 1, "without scored: one line and 3", told(done))
    world.start_scored(world.port)
    jobs = world.jobs("--history", "10")
    tap.equal([(job["id"], job["state"], job.get("code")) for job in jobs],
              [(theirs, "ended", 143), (ours, "ended", 7)], "history outlives scored, newest first")
    jobs = world.jobs("--history", "10", user=NOBODY)
    tap.ok("code" not in one(jobs, ours) and "cancelled by nobody" in one(jobs, theirs)["text"],
           "a user sees how the own ones ended", jobs)


def refused(world):
    done = world.call("scinfo", "--check", SCORE_MUNGE_SOCKET="/nonexistent/munge")
    tap.ok(done.returncode == 3 and "munge" in done.stderr and "Traceback" not in done.stderr, "no munged", told(done))
    done = world.call("scqueue", SCORE_MUNGE_SOCKET=world.start_munged("stranger"))
    tap.ok(done.returncode == 3 and "key" in done.stderr and "Traceback" not in done.stderr, "another key", told(done))
    done = world.call("scqueue", "--server", world.munge.replace("/", "x"))
    tap.ok(done.returncode == 3 and "Traceback" not in done.stderr, "no such host", told(done))


def private(world):
    if not shutil.which("pdsh"):
        tap.skip("scpool", "install pdsh")
        return
    name = f"test{os.getpid()}"
    words = ["--name", name, "--through", "env POOL_HOST=%h", "--address", "localhost", "--programs", world.dir]
    done = world.call("scpool", "run", *words, "a[0-1]", "--", f"{world.dir}/scrun", "-nodes=2", "id", "-u",
                      user=NOBODY)
    tap.ok(done.returncode == 0 and done.stdout.split() == ["65534", "65534"],
           "scpool run: a job on two hosts of a user", told(done))
    done = world.call("scpool", "up", *words, "a[0-1]", user=NOBODY)
    line = re.fullmatch(r"export SCORE_SERVER=(localhost:\d+)\n", done.stdout)
    tap.ok(done.returncode == 0 and line, "scpool up", told(done))
    again = world.call("scpool", "up", *words, "a[0-1]", user=NOBODY)
    tap.ok(again.returncode == 1 and "scpool down" in again.stderr, "a second one of that name", told(again))
    seen = world.call("scinfo", "--json", "--server", line[1] if line else "?", user=NOBODY)
    tap.equal(sorted(host["name"] for host in json.loads(seen.stdout)["hosts"]), ["a0", "a1"], "its hosts")
    done = world.call("scpool", "down", "--name", name, user=NOBODY)
    left = [entry for entry in os.listdir("/tmp") if entry.endswith(name) or f".{name}." in entry]
    tap.ok(done.returncode == 0 and not left, "scpool down leaves nothing", f"{told(done)}{left}")
    done = world.call("scpool", "down", "--name", name, user=NOBODY)
    tap.ok(done.returncode == 1 and "there is no private cluster" in done.stderr, "nor is there one", told(done))


def missing():
    if os.geteuid():
        return "needs root: it is two users"
    for program in ("munged", "setpriv"):
        if not shutil.which(program):
            return f"{program} is missing: install {'munge' if program == 'munged' else 'util-linux'}"
    for name in PROGRAMS:
        if not os.access(f"{BUILD}/bin/{name}", os.X_OK):
            return f"{name} was not built: run make"
    return None


def main():
    reason = missing()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    world = World()
    try:
        process, ours = world.job("-n", "1", "sh", "-c", "trap 'exit 7' USR1; while :; do sleep 0.1; done")
        _, theirs = world.job("-n", "2", "sleep", "300", user=NOBODY)
        tap.ok(ours and theirs, "two jobs of two users run")
        who_sees_what(world, ours, theirs)
        commands_of_others(world, ours, theirs)
        drained(world)
        looks(world)
        signalled(world, process, ours)
        remembered(world, ours, theirs)
        refused(world)
        private(world)
    finally:
        world.close()
    return tap.end()


sys.exit(main())
