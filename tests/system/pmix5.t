#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5 and PMIx 5 of Debian 13 beside those of this machine. The parts of this tree that
stand on them are compiled. Each pair of scstepd's PMIx and a program's Open MPI runs on the hosts
of a lab. TAP. Needs root, munged, and what tests/debian13/fetch unpacks."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import debian13                                                         # noqa: E402
import schedlab                                                         # noqa: E402
from debian13 import NEXT, UNPACKED                                     # noqa: E402
from schedlab import BUILD, kill, over_pm                               # noqa: E402
from systest import Tap, told                                           # noqa: E402

LIMIT = 30
# All of tests/mpi that needs no other words, no other launcher and no 7 GiB; they end within seconds.
PROGRAMS = ("away", "bursts", "cancel", "collectives", "comms", "crowd", "datatypes", "finalize", "flood", "modes",
            "order", "probes", "sizes", "spawn", "threads", "truncate", "wildcards")
DEVICES = "devices=self+shmem+udp"
# A program whose argument says how its last rank acts in the middle.
ENDS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int meets(int rank)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    int sum = 0, one = 1, size;
    MPI_Comm other, both;

    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("pmix5", MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank > 1)
        return 1;
    if (rank == 1)
        MPI_Lookup_name("pmix5", MPI_INFO_NULL, found);
    if (rank == 1 && strcmp(port, found))
        return 0;
    if (rank)
        MPI_Comm_connect(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    MPI_Intercomm_merge(other, rank, &both);
    MPI_Comm_size(both, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&other);
    if (rank == 0) {
        MPI_Unpublish_name("pmix5", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    return size == 2 && sum == 2;
}
int main(int argc, char **argv)
{
    const char *how = argv[1];
    int rank, size, sum = 0, is_good = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == size - 1 && !strcmp(how, "aborts"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == size - 1 && !strcmp(how, "leaves"))
        exit(0);
    if (!strcmp(how, "stays")) {
        puts("here");
        fflush(stdout);
        sleep(30);
    }
    if (!strcmp(how, "meets"))
        is_good = meets(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return !is_good || sum != size * (size - 1) / 2;
}
"""


def compile_ends(directory):
    source = f"{directory}/ends.c"
    with open(source, "w", encoding="ascii") as f:
        f.write(ENDS)
    for compiler, name in (("mpicc", "ends4"), (f"{UNPACKED}/bin/mpicc", "ends5")):
        subprocess.run([compiler, "-o", f"{directory}/{name}", source], check=True)


def serve_with(lab, scstepd):
    """Every host's scnoded anew, with another scstepd."""
    for host in lab.hosts:
        lab.lines["scnoded", host] += ["--scstepd", scstepd]
        for pid in lab.find("scnoded", host):
            kill(pid)
        lab.restart("scnoded", host)


class Pair:
    """A version of scstepd's PMIx, and an Open MPI with its programs."""

    def __init__(self, tap, lab, name, env):
        self.tap = tap
        self.lab = lab
        self.name = name
        self.env = env

    def run(self, nodes, *words):
        return self.lab.scrun(f"-nodes={nodes}", *words, env=self.env, limit=LIMIT)

    def says(self, nodes, text, program, *words):
        done = self.run(nodes, program, *words)
        self.tap.ok(done.returncode == 0 and text in done.stdout and not done.stderr,
                    f"{self.name}: {os.path.basename(program)}, -nodes={nodes}", told(done))

    def programs(self, build_dir):
        for nodes in ("1x2", "2x2"):
            self.says(nodes, "OK collectives", f"{build_dir}/mpi/collectives")
        self.says("2x1", '"bytes": 8', f"{build_dir}/bench/mpi_allreduce", "8", "50", "3")
        self.says("2x1", "OK spawn", f"{build_dir}/mpi/spawn")

    def all_programs(self, build_dir):
        for name in PROGRAMS:
            self.says("2x2", f"OK {name}", f"{build_dir}/mpi/{name}")

    def ends(self, program):
        # A rank that leaves closes no connection but that to PMIx: others would call MPI_Abort as soon as
        # they see a closed one.
        for how, nodes, code, text in (("meets", "2x1", 0, ""), ("aborts", "2x2", 7, "rank 3 on h"),
                                       ("leaves", "1x2", 1, "without MPI_Finalize")):
            done = self.run(nodes, program, how)
            self.tap.ok(done.returncode == code and text in done.stderr,
                        f"{self.name}: the last rank {how}", told(done))


def guarded(tap, lab):
    """PMIx's server lets nobody in but the job's user: scstepd's own accept() is called, see pmix/guard.c."""
    # PMIx waits for a client's first bytes as long as it likes: an end at once is ours.
    knock = ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); s.settimeout(1)\n"
             "try:\n print('bytes' if s.recv(1) else 'end')\nexcept TimeoutError:\n print('waits')\n"
             "except ConnectionResetError:\n print('end')")
    job = lab.start("sh", "-c", "echo $PMIX_SERVER_URI2 $SCORE_HOST; exec sleep 30")
    with job:
        uri, host = job.stdout.readline().split()
        for user, want in (("nobody", "end"), ("root", "waits")):
            done = lab.run("/usr/bin/python3", "-c", knock, uri.rsplit(":", 1)[1], host=host, user=user)
            tap.equal(done.stdout.strip(), want, f"PMIx's server of a job of root, to {user}")
        job.terminate()


def killed(tap, lab, program):
    """Open MPI's shared memory has files of other names than Open MPI 4's, which nobody removes here but scnoded."""
    job = lab.start("-nodes=1x2", program, "stays", env={"OMPI_MCA_pml": "ob1"})
    with job:
        said = [job.stdout.readline() for _ in range(2)]
        files = [name for host in lab.hosts for name in lab.listing(host, "/dev/shm") if name not in lab.shm[host]]
        for pid in lab.find("scstepd"):
            kill(pid)
    tap.ok(said == ["here\n"] * 2 and files and job.returncode, "scstepd is killed, and the job ends",
           f"{said} {files} {job.returncode}")
    tap.equal(lab.settled(), [], "nothing is left of it")


def run_pairs(tap, lab, directory, version):
    """With the scstepd that the hosts have now."""
    done = lab.scrun("sh", "-c", "echo $PMIX_VERSION")
    tap.ok(done.stdout.startswith(f"{version}."), f"scstepd has PMIx {version}", told(done))
    five = Pair(tap, lab, f"PMIx {version}, Open MPI 5", {"OMPI_MCA_pml": "ob1"})
    five.programs(NEXT)
    five.ends(f"{directory}/ends5")
    # As the build tree's env.sh sets it: PMIx has a path of its own, or it complains of what lies in Open MPI's.
    env = {"OMPI_MCA_mca_base_component_path": f"{NEXT}/mca", "PMIX_MCA_mca_base_component_path": f"{NEXT}/pmix",
           "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "pm", "PM_OPTIONS": DEVICES}
    over_mtl = Pair(tap, lab, f"PMIx {version}, Open MPI 5 over mtl/pm", env)
    over_mtl.programs(NEXT)
    over_mtl.all_programs(NEXT)
    # With this machine's own PMIx that is what scheduler.t and scheduler-security.t try.
    if version != 4:
        four = Pair(tap, lab, f"PMIx {version}, Open MPI 4 over mtl/pm", over_pm(DEVICES))
        four.programs(BUILD)
        four.ends(f"{directory}/ends4")
        guarded(tap, lab)
        killed(tap, lab, f"{directory}/ends5")
    tap.equal(lab.settled(), [], f"nothing is left of jobs of PMIx {version}")


def main():
    why = schedlab.missing() or debian13.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tap = Tap()
    debian13.build(tap, "bin/scstepd", "bench/mpi_allreduce", *debian13.MTL, *(f"mpi/{name}" for name in PROGRAMS))
    directory = f"{NEXT}/pmix5.{os.getpid()}"
    os.makedirs(directory)
    try:
        compile_ends(directory)
        with schedlab.Lab(f"pmix5_{os.getpid()}", 2) as lab:
            run_pairs(tap, lab, directory, 4)
            serve_with(lab, f"{NEXT}/bin/scstepd")
            run_pairs(tap, lab, directory, 5)
    finally:
        shutil.rmtree(directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
