#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiprofile.so counts the calls of an MPI program, of C and of Fortran, in all threads, and takes their time. TAP;
needs no root."""
import glob
import json
import os
import pathlib
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../mpi")]
import runner                                                           # noqa: E402
from runner import BUILD, ONLY, environment, mpirun, run                # noqa: E402
from pmbench.apps import profile                                        # noqa: E402
from pmbench.errors import Failed                                       # noqa: E402

TAP = runner.Tap()
RANKS = 2
LATE_S = 0.05  # rank 1 of counted.c
BASE = pathlib.Path(f"{BUILD}/mpiprofile-test.{os.getpid()}")
BY_C = {"MPI_Isend": [3, 300, [[64, 3]]], "MPI_Recv": [3, 300, [[64, 3]]], "MPI_Wait": [3, 0, [[0, 3]]],
        "MPI_Allgather": [1, 8, [[8, 1]]], "MPI_Barrier": [1, 0, [[0, 1]]], "MPI_Allreduce": [5, 40, [[8, 5]]]}
BY_FORTRAN = {"MPI_Allreduce": [5, 80, [[16, 5]]], "MPI_Barrier": [1, 0, [[0, 1]]]}


def profiled(kind, *settings):
    words = ["env", f"LD_PRELOAD={BUILD}/bench/mpiprofile.so", *settings, f"{BUILD}/mpi/counted", kind]
    return run(mpirun(RANKS, *ONLY, *words), environment("self+shmem"))


def told():
    files = sorted(glob.glob(f"{BASE}.*"))
    ranks = [json.loads(pathlib.Path(path).read_text(encoding="ascii")) for path in files]
    return [{name: [call["calls"], call["bytes"], [size[:2] for size in call["sizes"]]]
             for name, call in each["calls"].items()} for each in ranks]


def forget():
    for path in glob.glob(f"{BASE}.*"):
        os.unlink(path)


def counts(kind, wanted):
    code, out = profiled(kind, f"MPIPROFILE={BASE}")
    found = told()
    TAP.ok(code == 0 and found == [wanted] * RANKS, f"{kind}: calls and bytes of each rank",
           f"exit {code}\n{found}\n{out}")


def takes_time():
    """Of the files that counts("c") left: rank 0 waits for rank 1 in the barrier."""
    ranks = [json.loads(pathlib.Path(f"{BASE}.{rank}").read_text(encoding="ascii")) for rank in range(RANKS)]
    seconds = [each["calls"]["MPI_Barrier"]["seconds"] for each in ranks]
    TAP.ok(seconds[0] > 0.8 * LATE_S and seconds[1] < seconds[0], "the rank that waits has the time", f"{seconds}")
    TAP.ok(all(LATE_S < each["wall_s"] and 0 < each["mpi_s"] <= each["wall_s"] for each in ranks),
           "time inside calls is below the time between Init and Finalize", f"{ranks}")
    read = profile.read(BASE, RANKS)
    TAP.ok(read.calls["MPI_Isend", 64][1] == 3 and read.wall_s > LATE_S, "what ranks wrote is read", f"{read}")


def fails():
    code, out = profiled("c")
    TAP.ok(code != 0 and "MPIPROFILE is not set" in out, "without a name for the files it says so",
           f"exit {code}\n{out}")
    code, out = profiled("none", f"MPIPROFILE={BASE}")
    try:
        profile.read(BASE, RANKS)
        why = "it was read"
    except Failed as failed:
        why = str(failed)
    TAP.ok(code == 0 and why == "no MPI call was counted", "a program without a call is refused", f"{why}\n{out}")


def main():
    if not runner.is_built():
        return 0
    try:
        counts("c", BY_C)
        takes_time()
        forget()
        counts("fortran", BY_FORTRAN)
        forget()
        fails()
    finally:
        forget()
    return TAP.end()


sys.exit(main())
