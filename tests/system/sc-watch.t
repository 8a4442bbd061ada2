#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sc_watch with real processes: a daemon that crashes, hangs, does not want to end; hooks that fail; what is left of it
all. TAP."""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from systest import BUILD, ROOT, Tap, free_port

SC_WATCH = f"{ROOT}/scout/sc_watch"
TIME_LIMIT = 30
MARK = f"sc_watch.test={os.getpid()}"       # in the environment of all that is started here
tap = Tap()


class Watched:
    """A running sc_watch: its log as events, its daemon's pids."""

    def __init__(self, options, daemon, **env):
        key, _, value = MARK.partition("=")
        self.process = subprocess.Popen([SC_WATCH, "--json", *options, "--", *daemon], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, key: value, **env})
        self.events = []

    def await_event(self, name, count=1):
        """The text of the event's latest line, when it has come so many times; None: it did not."""
        deadline = time.monotonic() + TIME_LIMIT
        while sum(event == name for event, _ in self.events) < count:
            left = deadline - time.monotonic()
            if not select.select([self.process.stderr], [], [], max(0, left))[0] or not self._read():
                return None
        return [text for event, text in self.events if event == name][count - 1]

    def _read(self):
        # A line comes at once, as a whole.
        line = os.read(self.process.stderr.fileno(), 65536).decode()
        for one in line.splitlines():
            try:
                value = json.loads(one)
            except ValueError:
                value = {"event": "printed", "text": one}
            self.events.append((value["event"], value["text"]))
        return line

    def daemon(self, count=1):
        """Its pid at that start."""
        text = self.await_event("started", count)
        return int(text.split()[1]) if text else 0

    def end(self, number=None):
        """(exit code, standard output); number: a signal to it before."""
        if number:
            self.process.send_signal(number)
        deadline = time.monotonic() + TIME_LIMIT
        while time.monotonic() < deadline and self._read():
            pass
        code = self.process.wait(TIME_LIMIT)
        return code, self.process.stdout.read()

    def names(self):
        return [event for event, _ in self.events]


def left():
    """Processes of this test, as lines; itself has no mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                is_ours = MARK.encode() in file.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if is_ours and line:
            found.append(f"{pid} {line}")
    return found


def none_left(name):
    deadline = time.monotonic() + 5
    while left() and time.monotonic() < deadline:
        time.sleep(0.02)
    tap.equal(left(), [], f"{name}: nothing is left running")


def crash_loop(_):
    watched = Watched(["-n", "3", "-pause", "0.1", "-l", 'echo "$SC_WATCH_COUNT $SC_WATCH_REASON"', "-a", "echo last"],
                      ["sh", "-c", "sleep 300 & exit 3"])
    code, out = watched.end()
    tap.equal(code, 1, "a daemon that crashes again and again: gives up with 1")
    tap.equal(out, "".join(f"{count} exit 3\n" for count in range(1, 5)) + "last\n",
              "the hook after each failure with reason and count, the other when giving up")
    tap.equal([text for event, text in watched.events if event == "restart"],
              ["in 0.1 s, number 1 of 3", "in 0.2 s, number 2 of 3", "in 0.4 s, number 3 of 3"], "growing pauses")
    none_left("what the daemon left in its group")


def killed(_):
    watched = Watched(["-pause", "0.05"], ["sleep", "300"])
    os.kill(watched.daemon(), signal.SIGKILL)
    tap.ok(watched.daemon(2), "killed: started anew", watched.events)
    tap.equal(watched.await_event("ended"), "killed by signal 9 (SIGKILL)", "the log says how it ended")
    tap.equal(watched.end(signal.SIGTERM)[0], 0, "SIGTERM: ends the daemon, and with 0")
    tap.equal(watched.names()[-2:], ["stopping", "stopped"], "and says so")
    none_left("SIGTERM")


def hangs(work):
    """A daemon that writes the time of its life; stopped, it writes nothing."""
    life = f"{work}/life"
    probe = f'test "$(cat {life})" != "$(cat {life}.seen 2>/dev/null)" && cp {life} {life}.seen'
    watched = Watched(["-pause", "0.05", "-every", "0.4", "-within", "1", "-grace", "0.3", "-probe", probe, "-l",
                       "echo $SC_WATCH_REASON"],
                      ["sh", "-c", f"while :; do date +%s%N >{life}.new && mv {life}.new {life}; sleep 0.05; done"])
    tap.ok(watched.await_event("ready"), "ready when the probe says so", watched.events)
    os.kill(watched.daemon(), signal.SIGSTOP)
    tap.ok(watched.daemon(2), "stopped: found silent, killed, started anew", watched.events)
    tap.ok(watched.await_event("killed") and watched.await_event("silent"),
           "SIGTERM did not help, SIGKILL did", watched.events)
    code, out = watched.end(signal.SIGINT)
    tap.equal((code, out), (0, "silent: exit 1\n"), "the hook is told that it was silent; SIGINT ends as SIGTERM does")
    none_left("silence")


def probe_hangs(_):
    watched = Watched(["-pause", "0.05", "-every", "0.05", "-within", "0.2", "-probe", "sleep 300 & sleep 300"],
                      ["sleep", "300"])
    tap.equal(watched.await_event("silent"), "no answer within 0.2 s", "a probe that hangs tells silence")
    tap.ok(watched.daemon(2), "the daemon is started anew", watched.events)
    watched.end(signal.SIGTERM)
    none_left("hanging probes")


def probe_floods(_):
    """Only the last line of a probe's output is kept. The whole output was once kept in memory, 1 GB a second."""
    probe = "head -c 200000000 /dev/zero; echo; stat -L -c 'kept: %s' /dev/stdout; exit 1"
    watched = Watched(["-pause", "0.05", "-every", "0.05", "-probe", probe], ["sleep", "300"])
    tap.equal(watched.await_event("silent"), "exit 1: kept: 0", "of what a probe prints the last line is kept")
    watched.end(signal.SIGTERM)
    none_left("probes that print much")


def stubborn(_):
    watched = Watched(["-grace", "0.3"], ["sh", "-c", 'trap "" TERM INT HUP; echo up; while :; do sleep 300; done'])
    watched.process.stdout.readline()
    tap.equal(watched.end(signal.SIGTERM)[0], 0, "a daemon that ignores SIGTERM is killed")
    tap.ok("killed" in watched.names(), "and the log says so", watched.events)
    none_left("stubborn")


def hook_fails(_):
    watched = Watched(["-pause", "0.05", "-n", "1", "-l", "exit 7", "-a", "exit 8"], ["false"])
    tap.equal(watched.end()[0], 1, "hooks that fail change nothing")
    tap.equal([text for event, text in watched.events if event == "hook_failed"],
              ["local: exit 7", "local: exit 7", "give-up: exit 8"], "the log names them")


def stopped_in_hook(_):
    watched = Watched(["-l", "echo hook; sleep 300 & sleep 300"], ["false"])
    tap.equal(watched.process.stdout.readline(), "hook\n", "the hook runs")
    tap.equal(watched.end(signal.SIGTERM)[0], 0, "SIGTERM while a hook runs")
    none_left("hook")


def orphaned(_):
    watched = Watched([], ["sleep", "300"])
    tap.ok(watched.daemon() and watched.await_event("ready"), "no probe: ready at once", watched.events)
    watched.process.kill()
    watched.process.wait()
    none_left("the watchdog killed")


def service(work):
    """As under systemd: told when it serves, and nobody else is given the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(f"{work}/notify")
        notify.settimeout(TIME_LIMIT)
        log = f"{work}/log"
        watched = Watched(["-f", log], ["sh", "-c", 'trap "echo again" HUP; echo "${NOTIFY_SOCKET-none}"; '
                                        "while :; do sleep 0.05; done"], NOTIFY_SOCKET=f"{work}/notify")
        tap.equal(notify.recv(100), b"READY=1", "the service manager is told")
        tap.equal(watched.process.stdout.readline(), "none\n", "the daemon is not given its socket")
        os.rename(log, f"{log}.old")
        watched.process.send_signal(signal.SIGHUP)
        tap.equal(watched.process.stdout.readline(), "again\n", "SIGHUP is passed on")
        watched.process.terminate()
        tap.equal(notify.recv(100), b"STOPPING=1", "and of the end")
        watched.end()
    with open(f"{log}.old", encoding="utf-8") as old, open(log, encoding="utf-8") as new:
        names = [[json.loads(line)["event"] for line in file] for file in (old, new)]
    tap.equal(names, [["started", "ready"], ["stopping", "stopped"]], "-f, and a new file after SIGHUP")


def words(_):
    done = subprocess.run([SC_WATCH, "-n", "0", "--", "false"], capture_output=True, text=True, timeout=TIME_LIMIT,
                          check=False)
    tap.ok(done.returncode == 1 and "sc_watch: false: gave up: failure number 1: exit 1\n" in done.stderr,
           "the log in words", done.stderr)
    done = subprocess.run([SC_WATCH, "--", "/no/such/daemon"], capture_output=True, text=True, timeout=TIME_LIMIT,
                          check=False)
    tap.ok(done.returncode == 2 and "no such program" in done.stderr, "no such daemon: 2, and no loop", done.stderr)


def scored(work):
    """With the probe of its own."""
    if not shutil.which("munged") or not os.access(f"{BUILD}/bin/scored", os.X_OK):
        tap.skip("scored", "munged is not installed, or scored not built")
        return
    with open(f"{work}/key", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
        key.write(os.urandom(128))
    munge = f"{work}/munge"
    munged = subprocess.Popen(["munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={work}/key",
                               f"--pid-file={work}/pid", f"--log-file={work}/munged.log", f"--seed-file={work}/seed"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _scored_with(work, munge)
    finally:
        munged.terminate()
        munged.wait()


def _scored_with(work, munge):
    port = free_port()
    # The first probe may meet a munged that is about to start: it is one of three.
    watched = Watched(["-every", "1", "-within", "5", "-pause", "0.1", "-grace", "1"],
                      [f"{BUILD}/bin/scored", "--listen", f"127.0.0.1:{port}", "--state", f"{work}/state",
                       "--munge-socket", munge])
    tap.ok(watched.await_event("ready"), "scored answers its probe", watched.events)
    os.kill(watched.daemon(), signal.SIGSTOP)
    tap.ok(watched.daemon(2), "a scored that hangs is killed and started anew", watched.events)
    tap.ok("scinfo" in (watched.await_event("silent") or "") or watched.await_event("silent") ==
           "no answer within 5 s", "as it was silent", watched.events)
    tap.equal(watched.end(signal.SIGTERM)[0], 0, "and ends with the watchdog")
    none_left("scored")


def main():
    work = tempfile.mkdtemp(prefix="sc-watch-test.", dir="/tmp")
    os.chmod(work, 0o755)
    try:
        for part in (crash_loop, killed, hangs, probe_hangs, probe_floods, stubborn, hook_fails, stopped_in_hook,
                     orphaned, service, words, scored):
            part(work)
    finally:
        shutil.rmtree(work)
    return tap.end()


sys.exit(main())
