#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of tests/mpi started by scrun on two hosts of a lab, two ranks on each: shared memory and UDP at once.
Each checks itself and prints one OK line. TAP. Needs root."""
import glob
import os
import sys

import schedlab
from schedlab import BUILD, BY_BTL, over_pm
from systest import ROOT, Tap, told

# Those that mpirun's tests start with words of their own, or that look at a single host.
LEFT_OUT = ("computing", "counted", "dead", "huge", "memory", "unasked")
LIMIT = 90

tap = Tap()


def names():
    found = [os.path.basename(path)[:-2] for path in sorted(glob.glob(f"{ROOT}/tests/mpi/*.c"))]
    return [name for name in found if name not in LEFT_OUT]


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    env = over_pm("devices=self+shmem+udp")
    with schedlab.Lab(f"ms{os.getpid()}", 2) as lab:
        for name in names():
            done = lab.scrun("-nodes=2x2", f"{BUILD}/mpi/{name}", env=env, limit=LIMIT)
            tap.ok(done.returncode == 0 and f"OK {name}" in done.stdout, f"{name}: 2 hosts x 2 ranks", told(done))
        if os.path.exists(f"{BUILD}/mca/mca_btl_pm.so"):
            # 100 plans: beside other tests each takes up to a second
            for name, words in (("windows", ["known"]), ("model", ["known", "1", "100"])):
                done = lab.scrun("-nodes=2x2", f"{BUILD}/mpi/{name}", *words, env={**env, **BY_BTL}, limit=LIMIT)
                tap.ok(done.returncode == 0 and f"OK {name}" in done.stdout, f"{name}, by osc/rdma over btl/pm",
                       told(done))
    return tap.end()


sys.exit(main())
