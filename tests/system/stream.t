#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long reads by TCP streams between two hosts of a lab, over two cables: they go that way, and go on when a cable is
pulled or the reading process is stopped for a while. Needs root. TAP."""
import json
import os
import signal
import subprocess
import sys
import time

from systest import BUILD, ROOT, Tap, told

PMTEST, PMSTAT = f"{BUILD}/bin/pmtest", f"{BUILD}/bin/pmstat"
SCLAB = f"{ROOT}/tests/lab/sclab"
LAB = f"stream{os.getpid()}"
DEVICE = "devices=self+udp,udp.rails=eth1+eth2"
READS = 9000      # of 1 MiB: some seconds
READS_CUT = 24000
TIME_LIMIT = 60
# A connection whose cable is pulled breaks after 0.8 s at most, and the device goes on by the other cable.
STALL_S = 3
tap = Tap()


def sclab(*words):
    return [SCLAB, "--name", LAB, *words]


def run(*words):
    return subprocess.run(sclab(*words), capture_output=True, text=True, check=False, timeout=TIME_LIMIT)


def start(host, *words, options=""):
    return subprocess.Popen(sclab("exec", host, "--", *words), text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PM_OPTIONS": f"{DEVICE}{options}"})


def contexts(host):
    done = run("exec", host, "--", PMSTAT, "--json")
    return [c for line in done.stdout.splitlines() if line.startswith("{") for c in json.loads(line)["contexts"]]


def reader():
    """The context that has read something, and its counters by link; None: there is none yet."""
    for context in contexts("h0"):
        read = {link["name"]: link["read_bytes"] for link in context["links"]}
        if sum(read.values()):
            return context["pid"], read
    return None


def wait_for_reader():
    end = time.monotonic() + TIME_LIMIT
    while time.monotonic() < end:
        found = reader()
        if found:
            return found
        time.sleep(0.05)
    return None


def while_reading(name, options, meanwhile, reads=READS):
    """pmtest reads from h1 and checks the data; @meanwhile gets the reader's pid and may break things."""
    listener = start("h1", PMTEST, "--listen", "--once", options=options)
    tap.ok("listening" in listener.stderr.readline(), f"{name}: the other node listens")
    program = start("h0", PMTEST, "h1", "--test", "read", "--size", "1M", "--iterations", str(reads), "--json",
                    options=options)
    found = wait_for_reader()
    tap.ok(found, f"{name}: it reads")
    if found:
        meanwhile(found[0])
    read = (reader() or found or (0, {}))[1]
    out, err = program.communicate(timeout=TIME_LIMIT)
    tap.ok(program.returncode == 0 and json.loads(out)["checked"], f"{name}: all data are right",
           f"status {program.returncode}: {out}{err}")
    tap.ok(listener.wait(TIME_LIMIT) == 0, f"{name}: the other node ends well")
    return read


def test_way():
    for options, by_stream in ((",stream=always", True), (",stream=never", False)):
        read = while_reading(options[1:], options, lambda pid: time.sleep(0.5))
        tap.equal(read.get("stream", 0) > read["udp"], by_stream, f"{options[1:]}: which way most goes")


def pull(host, is_up):
    run("exec", host, "--", "ip", "link", "set", "eth1", "up" if is_up else "down")


def test_cable():
    def pull_and_plug(pid):
        before = reader()[1]
        pull("h0", False)
        time.sleep(STALL_S)
        after = reader()
        tap.ok(after and sum(after[1].values()) > sum(before.values()) + (10 << 20),
               "a cable is pulled: reads go on", f"{before}, then {after}")
        pull("h0", True)
    while_reading("a cable is pulled", ",stream=always", pull_and_plug, READS_CUT)


def test_stopped():
    def stop(pid):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(pid, signal.SIGCONT)
    read = while_reading("the reader is stopped for 2 s", ",stream=always", stop)
    tap.ok(read.get("stream", 0) > 0, "the reader is stopped for 2 s: by the stream", str(read))


def main():
    if os.geteuid():
        print("1..0 # SKIP needs root to make network namespaces")
        return 0
    if not os.access(PMTEST, os.X_OK):
        print("1..0 # SKIP pmtest was not built: install libpmix-dev and run make")
        return 0
    done = run("up", "--hosts", "2", "--nics", "2", "--share", BUILD)
    tap.ok(done.returncode == 0, "the lab comes up", told(done))
    try:
        if not done.returncode:
            test_way()
            test_cable()
            test_stopped()
    finally:
        run("down")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
