#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's programs under scrun, by PMI-1: those of tests/mpi compiled with mpicc.mpich, on one host, on two scnodeds of
this machine and on the hosts of a lab; how each of their ends is told. TAP. Needs root, munged, libmpich-dev."""
import functools
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from systest import BUILD, ROOT, Tap, told                              # noqa: E402

COMPILER = "mpicc.mpich"
PROGRAMS = ("collectives", "comms", "order")
LEAVES = ("finalize",)          # messages of MPI_Bsend on their way in MPI_Finalize
SCLAB = f"{ROOT}/tests/lab/sclab"
LAB = f"mpich{os.getpid()}"
LIMIT = 120
# A program whose argument says how its last rank acts in the middle.
ENDS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, failed = 0, sum = 0, codes[1];
    MPI_Comm child;

    if (!strcmp(how, "never") && !strcmp(getenv("PMI_RANK"), "1"))
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == size - 1 && !strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == size - 1 && !strcmp(how, "killed"))
        abort();
    if (rank == size - 1 && !strcmp(how, "leaves"))
        exit(0);
    if (!strcmp(how, "spawn")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        failed = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                    codes) != MPI_SUCCESS;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return !strcmp(how, "spawn") ? 40 + failed : sum != size * (size - 1) / 2;
}
"""


@functools.cache
def programs():
    """MPICH 4.2 hangs in LEAVES under its own mpiexec as well."""
    done = subprocess.run(["mpichversion"], capture_output=True, text=True, check=True)
    version = re.search(r"(\d+)\.(\d+)", done.stdout)
    return PROGRAMS + (LEAVES if (int(version[1]), int(version[2])) < (4, 2) else ())


def compile_all(directory):
    for name in programs():
        subprocess.run([COMPILER, "-w", f"-I{ROOT}", "-o", f"{directory}/{name}", f"{ROOT}/tests/mpi/{name}.c"],
                       check=True)
    with open(f"{directory}/ends.c", "w", encoding="ascii") as f:
        f.write(ENDS)
    subprocess.run([COMPILER, "-o", f"{directory}/ends", f"{directory}/ends.c"], check=True)


def local(tap, cluster):
    for nodes in ("1x2", "2x1", "2x2"):
        for name in programs():
            done = cluster.scrun(f"-nodes={nodes}", f"{cluster.directory}/{name}", limit=LIMIT)
            tap.ok(done.returncode == 0 and f"OK {name}" in done.stdout, f"{name} of MPICH, -nodes={nodes}", told(done))
    for how, code, text in (("abort", 7, "rank 3 on p"), ("killed", 134, "was killed by signal 6"),
                            ("leaves", 1, "without MPI_Finalize"), ("spawn", 41, "exited with code 41"),
                            ("well", 0, "")):
        done = cluster.scrun("-nodes=2x2", f"{cluster.directory}/ends", how)
        tap.ok(done.returncode == code and text in done.stderr, f"a job of MPICH whose last rank: {how}", told(done))
    for nodes in ("1x2", "2x1"):
        done = cluster.scrun(f"-nodes={nodes}", f"{cluster.directory}/ends", "never", limit=LIMIT)
        tap.ok(done.returncode == 1 and "rank 1 on p" in done.stderr and "before MPI_Init" in done.stderr,
               f"-nodes={nodes}: a rank that ends before MPI_Init leaves nobody waiting", told(done))
    tap.equal(cluster.settled(), [], "nothing is left of jobs of MPICH")


def lab(tap, directory):
    def sclab(*words):
        return subprocess.run([SCLAB, "--name", LAB, *words], capture_output=True, text=True, check=False,
                              timeout=LIMIT, stdin=subprocess.DEVNULL, env={**os.environ, "BUILD": BUILD})

    up = sclab("up", "--hosts", "2", "--scheduler", "--share", BUILD, "--share", directory)
    tap.ok(up.returncode == 0, "a lab with daemons comes up", told(up))
    if up.returncode:
        return
    try:
        for name in programs():
            done = sclab("exec", "h0", "--", f"{BUILD}/bin/scrun", "-nodes=2x2", f"{directory}/{name}")
            tap.ok(done.returncode == 0 and f"OK {name}" in done.stdout, f"{name} of MPICH on two hosts of a lab",
                   told(done))
    finally:
        down = sclab("down")
        tap.ok(down.returncode == 0, "the lab goes down", told(down))


def main():
    why = schedlocal.missing() or ("" if shutil.which(COMPILER) else f"{COMPILER} is not installed: libmpich-dev")
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tap = Tap()
    with schedlocal.Cluster() as cluster:
        compile_all(cluster.directory)
        local(tap, cluster.up("p0", "p1"))
        lab(tap, cluster.directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
