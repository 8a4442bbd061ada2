#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""relay_time: every case is measured, and did in each run what it says. TAP."""
import json
import os
import subprocess
import sys

from systest import BUILD, Tap, told

TOOL = f"{BUILD}/tests/tools/relay_time"
CASES = ("own", "relayed", "relayed_trunk", "dropped")
tap = Tap()


def run(*words, **keywords):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, timeout=60, **keywords)


def test_cases():
    done = run("5")
    tap.ok(done.returncode == 0, "all cases are measured", told(done))
    times = json.loads(done.stdout)
    tap.equal((times["calls"], *[name for name in times if name in CASES]), (5, *CASES), "and told")
    tap.ok(all(0 < times[name]["min"] <= times[name]["median"] <= times[name]["max"] for name in CASES),
           "each with a median, the least and the most", done.stdout)


def test_usage():
    for words in (("0",), ("many",), ("1", "2")):
        done = run(*words)
        tap.equal((done.returncode, done.stderr.count("\n")), (2, 1), f"{' '.join(words)} is refused in one line")


def test_unprivileged():
    try:
        done = run(user="nobody", cwd="/")
    except PermissionError:
        tap.skip("without root it says that it can't run", "nobody may not read this tree")
        return
    tap.equal((done.returncode, done.stdout), (77, ""), "without root it says that it can't run")


def main():
    if not os.path.exists(TOOL):
        print("1..0 # SKIP relay_time is not built here (no libbpf)")
        return 0
    if os.geteuid():
        print("1..0 # SKIP BPF programs are loaded by root only")
        return 0
    for test in (test_cases, test_usage, test_unprivileged):
        test()
    return tap.end()


sys.exit(main())
