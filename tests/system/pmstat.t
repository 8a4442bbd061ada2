#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pmstat beside running programs: their counters, rates, other users, dead ones. TAP."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from systest import BUILD, Tap, told

PMTEST, PMSTAT = f"{BUILD}/bin/pmtest", f"{BUILD}/bin/pmstat"
NOBODY = 65534
SHOWN = 8192            # contexts at most
UDP = "devices=self+udp,udp.rails=lo,channel.crc=1,fault=7:drop=3%:corrupt=3%"
tap = Tap()


def pmstat(*words, **keywords):
    return subprocess.run([PMSTAT, *words], capture_output=True, text=True, check=False, timeout=20, **keywords)


def contexts(pid, *words):
    done = pmstat("--json", "--pid", str(pid), *words)
    return json.loads(done.stdout)["contexts"] if done.returncode == 0 else []


def wait_until(condition, seconds=10):
    """Counters of another process have no descriptor to wait on."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


class Program:
    """Two pmtests by hand over the faulty network, or one alone; killed at the end."""

    def __init__(self, *commands, options=""):
        env = {**os.environ, "PM_OPTIONS": options}
        self.processes = []
        for command in commands:
            self.processes.append(subprocess.Popen([PMTEST, *command], stdout=subprocess.DEVNULL, text=True,
                                                   stderr=subprocess.PIPE, env=env, stdin=subprocess.DEVNULL))
            if command[0].startswith("--listen"):
                self.processes[-1].stderr.readline()

    def __enter__(self):
        return self.processes

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stderr.close()


def link(context, name):
    return next(item for item in context["links"] if item["name"] == name)


def nothing():
    if os.geteuid() or not shutil.which("unshare"):
        tap.skip("nothing open", "needs root to have a /dev/shm of its own")
        return
    for words, name in (("", "one clear line"), ("--json", "JSON")):
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /dev/shm && exec {PMSTAT} {words}"],
                              capture_output=True, text=True, check=False, timeout=20)
        wanted = '{"contexts": []}\n' if words else "no PM context is open on this host\n"
        tap.ok(done.returncode == 0 and done.stdout == wanted, f"nothing open: {name}", told(done))


def one_alone():
    with Program(["--self", "--test", "bandwidth", "--size", "1K", "--seconds", "30"]) as (process,):
        first = wait_until(lambda: [c for c in contexts(process.pid) if link(c, "self")["tx_messages"]])
        tap.ok(len(first) == 1 and first[0]["program"] == "pmtest" and first[0]["uid"] == os.geteuid(),
               "a running program is seen", first)
        sent = link(first[0], "self")["tx_messages"]
        tap.ok(wait_until(lambda: link(contexts(process.pid)[0], "self")["tx_messages"] > sent),
               "its counters move on")
        done = pmstat("--pid", str(process.pid))
        tap.ok(f"pid {process.pid}  pmtest" in done.stdout and "self" in done.stdout, "the table", told(done))
        tap.ok(f"pid {process.pid} " in pmstat().stdout, "without --pid it is there as well")
        other_user(process.pid)
        watched(process.pid)
        process.kill()
        process.wait()
        done = pmstat("--pid", str(process.pid))
        tap.ok(done.returncode == 1 and f"no process {process.pid}:" in done.stderr and "without --pid" in done.stderr,
               "after kill -9 it is gone", told(done))


def without_pm():
    done = pmstat("--pid", str(os.getpid()))
    tap.ok(done.returncode == 1 and done.stdout == "" and "without --pid" in done.stderr
           and f"process {os.getpid()} has no PM context open" in done.stderr,
           "of a process without PM: a hint", told(done))


def other_user(pid):
    if os.geteuid():
        tap.skip("another user", "needs root to become one")
        return
    # The build tree may lie where nobody has no way in.
    copy = f"/tmp/pmstat-test.{os.getpid()}"
    os.mkdir(copy, 0o755)
    try:
        for name in (PMSTAT, f"{BUILD}/libpm.so.0"):
            shutil.copy(name, copy)
        env = {**os.environ, "LD_LIBRARY_PATH": copy}

        def as_nobody(*words):
            return subprocess.run([f"{copy}/pmstat", *words], capture_output=True, text=True, check=False, timeout=20,
                                  user=NOBODY, group=NOBODY, extra_groups=[], env=env)
        done = as_nobody()
        tap.ok(done.returncode == 0 and f"pid {pid} " not in done.stdout, "another user does not see it", told(done))
        tap.ok("root sees those of all users" in done.stdout or "user nobody" in done.stdout,
               "another user is told why", told(done))
        done = as_nobody("--pid", str(pid))
        tap.ok(done.returncode == 1 and "is of another user" in done.stderr, "also when asking for it by number",
               told(done))
    finally:
        shutil.rmtree(copy)


def watched(pid):
    process = subprocess.Popen([PMSTAT, "--watch=0.1", "--json", "--pid", str(pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    lines = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    tap.ok(process.returncode == 0, "--watch ends by ^C", process.returncode)
    tap.ok(all(0.09 < line["seconds"] < 2 for line in lines), "--watch keeps its interval", lines)
    rates = [link(line["contexts"][0], "self")["per_second"]["tx_messages"] for line in lines]
    tap.ok(all(rate > 1000 for rate in rates), "--watch shows rates", rates)


def two_on_a_bad_network():
    port = str(20000 + os.getpid() % 10000)
    commands = (["--listen", port], [f"localhost:{port}", "--test", "bandwidth", "--size", "64K", "--seconds", "30"])
    with Program(*commands, options=UDP) as (listener, client):
        def damaged():
            return [c for c in contexts(listener.pid) if c["rails"] and c["rails"][0]["drops"]["crc"]]
        seen = wait_until(damaged)
        tap.ok(seen and seen[0]["rails"][0]["name"] == "lo", "drops are counted by reason and rail",
               contexts(listener.pid))
        again = wait_until(lambda: [c for c in contexts(client.pid) if c["rails"][0]["retransmits"]])
        tap.ok(bool(again), "packets sent again are counted", contexts(client.pid))
        done = pmstat("--pid", str(listener.pid))
        tap.ok("dropped on lo:" in done.stdout and " crc " in done.stdout, "the table has the reason", told(done))


def too_many():
    """Live contexts as many as somebody cares to make up, in a /dev/shm of their own."""
    if os.geteuid() or not shutil.which("unshare"):
        tap.skip("more contexts than are shown", "needs root and unshare")
        return
    forge = ("import fcntl, os, resource, struct, subprocess, sys\n"
             "n = int(sys.argv[1]); page = sys.stdin.buffer.read()\n"
             "resource.setrlimit(resource.RLIMIT_NOFILE, (n + 100, n + 100))\n"
             "lock = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)\n"
             "for i in range(n):\n"
             "    fd = os.open(f'/dev/shm/openscore-stat.0.{1000000 + i}.0', os.O_RDWR | os.O_CREAT, 0o600)\n"
             "    os.write(fd, page)\n"
             "    fcntl.fcntl(fd, 37, lock)\n"       # F_OFD_SETLK
             "sys.exit(subprocess.run(sys.argv[2:]).returncode)\n")
    with Program(["--self", "--test", "bandwidth", "--size", "1K", "--seconds", "30"]) as (program,):
        path = f"/dev/shm/openscore-stat.0.{program.pid}.0"
        wait_until(lambda: contexts(program.pid))
        with open(path, "rb") as file:
            page = file.read()
    for n, is_cut in ((SHOWN, False), (SHOWN + 1, True)):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh",
                               sys.executable, "-c", forge, str(n), PMSTAT, "--json"], input=page, capture_output=True,
                              check=False, timeout=60)
        tap.equal((done.returncode, len(json.loads(done.stdout)["contexts"]), b"--pid" in done.stderr),
                  (0, SHOWN, is_cut), f"{n} contexts, of which {SHOWN} are shown")


def wrong_arguments():
    for words, said in ((["--bogus"], "--bogus"), (["--watch=x"], "seconds"), (["--pid", "0"], "--pid 0"),
                        (["more"], "nothing but options")):
        done = pmstat(*words)
        tap.ok(done.returncode == 1 and said in done.stderr, f"wrong: {' '.join(words)}", told(done))


def main():
    if not (os.access(PMTEST, os.X_OK) and os.access(PMSTAT, os.X_OK)):
        print("1..0 # SKIP pmtest or pmstat was not built: run make")
        return 0
    nothing()
    one_alone()
    two_on_a_bad_network()
    without_pm()
    too_many()
    wrong_arguments()
    return tap.end()


sys.exit(main())
