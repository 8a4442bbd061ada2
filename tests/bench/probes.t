#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The probes of the cache line time: a program of its own, around each size of a program that measures, and around any
other program. Both cores have to be free for them. TAP; needs no root."""
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../mpi")]
import runner                                                           # noqa: E402
from runner import BUILD, ONLY, environment, mpirun, run                # noqa: E402
from pmbench.command import pinned                                      # noqa: E402

TAP = runner.Tap()
SIZES = ["64", "4096", "131072"]
QUICK = ["-t", "2"]  # milliseconds for a size
LINE = f"{BUILD}/probes-line.{os.getpid()}"


def told(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def probes():
    """Around each size when ranks share a file, and around any other program below linewatch."""
    if (os.cpu_count() or 1) < 2:
        TAP.skip("cache line time", "one core")
        return
    code, out = run([f"{BUILD}/bench/cacheline"], environment())
    TAP.ok(code == 0 and 0 < told(out)[0]["one_way_ns"] < 1e6, "cacheline: a time", f"exit {code}\n{out}")
    code, out = run(mpirun(2, *ONLY, *pinned([f"{BUILD}/bench/mpi_trip", "-l", LINE, *QUICK, *SIZES])),
                    environment("self+shmem"))
    lines = [line.get("line_ns", []) for line in told(out)]
    TAP.ok(code == 0 and len(lines) == len(SIZES) and all(len(ns) == 2 and min(ns) > 0 for ns in lines),
           "mpi_trip -l: a time before and after each size", f"exit {code}\n{out}")
    with open(LINE, "wb") as f:
        f.write(bytes(4096))
    words = pinned([f"{BUILD}/bench/linewatch", LINE, "below", "1e9", f"{BUILD}/bench/mpi_trip", *QUICK, "8"])
    code, out = run(mpirun(2, *ONLY, *words), environment("self+shmem"))
    os.unlink(LINE)
    TAP.ok(code == 0 and list(told(out)[-1]) == ["line_ns"] and told(out)[0]["bytes"] == 8,
           "linewatch: a time before and after a command", f"exit {code}\n{out}")


def main():
    if not runner.is_built():
        return 0
    probes()
    return TAP.end()


sys.exit(main())
