#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sclab sweep` removes all that the labs of killed tests have left, and touches no other lab.

It names the labs to be swept: those of other tests that were killed stay. TAP; skips without root.
"""
import contextlib
import os
import subprocess
import sys
import time

import schedlab
from schedlab import groups_of, left_of
from systest import HERE, Tap

LAB = f"w{os.getpid()}"
PARTS = ("inner", "killed", "living", "person", "half", "orphan")
LARGE = ("up", "--hosts", "24", "--nics", "3")

# As a test does it: a lab with a scheduler, and a job.
TEST = """
import sys, time
sys.path.insert(0, sys.argv[1])
import schedlab
with schedlab.Lab(sys.argv[2], 2) as lab:
    job = lab.start("-nodes=2", "sleep", "1000")
    if not schedlab.wait_until(lambda: len(lab.find("sleep")) == 2, 20):
        sys.exit(job.communicate()[1])
    print("ready", flush=True)
    time.sleep(1000)
"""
# Its lab is seen in a mount namespace only that nobody is in but the lab's own processes, later.
INNER = 'SCLAB_MAKER=$$ "$1" --name "$2" up >/dev/null && echo ready && exec sleep 1000'

tap = Tap()


def name_of(part):
    return f"{LAB}{part}"


def environment(maker):
    env = {name: value for name, value in os.environ.items() if name != "SCLAB_MAKER"}
    return {**env, "SCLAB_MAKER": str(maker)} if maker else env


def sclab(*words, part="", maker=None):
    return subprocess.run([schedlab.SCLAB, "--name", name_of(part), *words], capture_output=True, text=True,
                          check=False, timeout=schedlab.TIME_LIMIT, env=environment(maker))


def sweep():
    return sclab("sweep", *(name_of(part) for part in PARTS if os.path.isdir(f"/run/openscore-lab/{name_of(part)}")))


def listed():
    """The words of `list` on our labs, by part."""
    lines = dict(line.split("  ", 1) for line in sclab("list").stdout.splitlines())
    return {part: lines[name_of(part)] for part in PARTS if name_of(part) in lines}


def begin_up(part, maker):
    """`up` of a large lab, on its way."""
    process = subprocess.Popen([schedlab.SCLAB, "--name", name_of(part), *LARGE], stdout=subprocess.DEVNULL,
                               env=environment(maker))
    while not os.path.exists(f"/run/netns/{name_of(part)}-h3") and process.poll() is None:
        time.sleep(0.005)
    return process


def kill(process):
    process.kill()
    process.wait()


@contextlib.contextmanager
def sleeping():
    """A maker that never takes its lab down."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            yield process
        finally:
            process.kill()


def inhabitants(part):
    """Pid and program of all that runs in the hosts, and holds their links."""
    spaces = {os.stat(f"/run/netns/{name}").st_ino for name in os.listdir("/run/netns")
              if name.startswith(f"{name_of(part)}-")}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}/ns/net").st_ino in spaces:
                found.add((int(pid), schedlab.name_of(int(pid))))
    return found


def test_sweep(inner, test, living):
    kill(inner)
    kill(test)
    there = inhabitants("killed")
    tap.ok(any("/job-" in path for path in groups_of(name_of("killed"))) and len(there) >= 7,
           "a killed test leaves its lab, a job and its control groups", f"{left_of(name_of('killed'))} {there}")
    tap.equal(listed(), {"inner": f"up  maker {inner.pid} has ended", "killed": f"up  maker {test.pid} has ended",
                         "living": f"up  maker {living.pid}", "person": "up"}, "list shows which makers have ended")
    done = sweep()
    said = "".join(f"lab '{name_of(part)}' is removed: its maker, process {maker.pid}, has ended\n"
                   for part, maker in (("inner", inner), ("killed", test)))
    tap.equal((done.returncode, done.stdout, done.stderr), (0, said, ""), "sweep removes their labs alone")
    tap.equal(left_of(name_of("inner")), [], "nothing is left of the one in another mount namespace")
    tap.equal(left_of(name_of("killed")), [], "of the other no namespace, mount, file or control group is left")
    tap.equal({(pid, name) for pid, name in there if name and schedlab.name_of(pid) == name}, set(),
              "nor one of its processes")
    for part, whose in (("living", "of a living maker"), ("person", "of a person")):
        tap.equal(sclab("exec", "h1", "hostname", part=part).stdout, "h1\n", f"the lab {whose} is not touched")


def test_half_built():
    with sleeping() as maker:
        up = begin_up("half", maker.pid)
        kill(up)
        kill(maker)
        tap.equal(listed().get("half"), f"building  maker {maker.pid} has ended",
                  "a killed up leaves a half-built lab")
    tap.equal(sweep().returncode, 0, "which is swept, too")
    tap.equal(left_of(name_of("half")), [], "and leaves nothing")


def test_maker_ends_while_it_is_built():
    with sleeping() as maker:
        up = begin_up("orphan", maker.pid)
        kill(maker)
        done = sweep()
        tap.equal((up.wait(schedlab.TIME_LIMIT), done.returncode, left_of(name_of("orphan"))), (0, 0, []),
                  "a lab whose maker ends while it is built is swept as soon as it is up")
        again = sclab("up", part="orphan", maker=maker.pid)
    tap.equal((again.returncode, left_of(name_of("orphan"))), (4, []), "up for a maker that has ended is refused")


def main():
    if reason := schedlab.missing():
        print(f"1..0 # SKIP {reason}")
        return 0
    test = subprocess.Popen([sys.executable, "-c", TEST, HERE, name_of("killed")], stdout=subprocess.PIPE, text=True,
                            env=environment(None))
    inner = subprocess.Popen(["unshare", "-m", "sh", "-c", INNER, "sh", schedlab.SCLAB, name_of("inner")],
                             stdout=subprocess.PIPE, text=True)
    try:
        with sleeping() as living:
            ups = [sclab("up", part="living", maker=living.pid), sclab("up", part="person")]
            ready = [process.stdout.readline() for process in (inner, test)]
            tap.ok(all(ready) and not any(up.returncode for up in ups), "labs of tests and of a person are up",
                   f"{ready} {ups}")
            test_sweep(inner, test, living)
            test_half_built()
            test_maker_ends_while_it_is_built()
    finally:
        kill(inner)
        kill(test)
        for part in PARTS:
            if os.path.exists(f"/run/openscore-lab/{name_of(part)}"):
                sclab("down", part=part)
    return tap.end()


sys.exit(main())
