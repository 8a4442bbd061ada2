#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""btl/pm: MPI programs by pml/ob1 over it, and one-sided communication by osc/rdma over it, beside mtl/pm as well. On
one host over shared memory and UDP, between the hosts of a lab, with packets lost. TAP. Lab tests need root.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, environment, plain_mpirun, recovery, run      # noqa: E402

# "bursts" and "away" want messages to leave while nothing of MPI is called, which mtl/pm alone promises. "truncate" and
# "crowd" find that pml/ob1 writes behind a buffer that is too short, over btl/tcp and btl/vader too.
PROGRAMS = ("sizes", "modes", "wildcards", "order", "probes", "cancel", "datatypes", "comms", "threads", "collectives",
            "flood", "spawn")
OVER_UDP = ("sizes", "order", "datatypes", "threads", "flood")
BETWEEN_HOSTS = ("sizes", "order", "datatypes", "threads", "collectives", "flood")
OB1 = ("--mca", "pml", "ob1", "--mca", "btl", "pm,self")
BESIDE_MTL = ("--mca", "pml", "cm", "--mca", "mtl", "pm", "--mca", "btl", "pm,self")
RDMA = ("--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "pm")
LOSSES = "fault=11:dup=3%:reorder=3%/8:drop=1%"
TAP = runner.Tap()


def check(name, words, env, title, on_first=(), arguments=()):
    program = f"{BUILD}/mpi/{name}"
    code, out = run([*on_first, *plain_mpirun(3, *words, program, *arguments)], env)
    TAP.ok(code == 0 and f"OK {name}" in out, f"{name}: {title}", f"exit {code}\n{out}")


def by_ob1():
    for devices, names in (("self+shmem", PROGRAMS), ("self+udp", OVER_UDP)):
        for name in names:
            check(name, OB1, environment(devices), f"ob1 over {devices}")
    for others in (f"pm,{'sm' if runner.open_mpi() > 4 else 'vader'},self", "pm,tcp,self"):
        for name in ("sizes", "order"):
            check(name, ("--mca", "pml", "ob1", "--mca", "btl", others), environment(), f"ob1 over {others}")


def windows():
    for what, words in (("ob1", OB1), ("mtl/pm beside it", BESIDE_MTL)):
        for devices in ("self+shmem", "self+udp", f"self+udp,{LOSSES}"):
            check("windows", (*words, *RDMA), environment(devices), f"{what}, {devices}")
        code, out = run(plain_mpirun(2, *words, *RDMA, f"{BUILD}/mpi/windows", "component"), environment("self+udp"))
        TAP.ok(code == 0 and out.count("by rdma") == 3, f"windows: {what}: osc/rdma serves all kinds", out)
    check("windows", (*OB1, *RDMA), environment("self+udp"), "ob1, a program with threads", arguments=("threads",))
    check("windows", ("--mca", "mtl", "pm"), environment("self+udp"), "only mtl/pm is named, a program with threads",
          arguments=("threads",))


def computing():
    """Memory of a rank that computes is reached meanwhile, with the progress thread."""
    for devices in ("self+shmem", "self+udp"):
        line = plain_mpirun(2, *BESIDE_MTL, *RDMA, "--mca", "mtl_pm_progress_thread", "1", f"{BUILD}/mpi/computing",
                            "window")
        code, out = run(line, environment(devices))
        TAP.ok(code == 0 and "OK computing" in out, f"computing: a window, {devices}", f"exit {code}\n{out}")


def dead():
    """A rank that dies ends the job, with a sentence that names it."""
    for how in ((), ("late",)):
        # two ranks: of three, a third one that sees it may end first, and be named as well
        code, out = run(plain_mpirun(2, *OB1, *recovery(), f"{BUILD}/mpi/dead", *how), environment("self+udp"))
        TAP.ok("btl/pm: rank 1: " in out and "OK dead" not in out, f"dead {' '.join(how)}: the rank is named",
               f"exit {code}\n{out}")


def lab():
    if not runner.can_lab():
        TAP.skip("3 lab hosts", "needs root and iproute2")
        return
    with runner.lab(TAP, 3) as on_first:
        for name in BETWEEN_HOSTS:
            check(name, (*OB1, "-H", "h0:1,h1:1,h2:1"), environment(), "ob1, 3 lab hosts", on_first)
        check("windows", ("--mca", "mtl", "pm", "-H", "h0:1,h1:1,h2:1"), environment(),
              "only mtl/pm is named, a program with threads, 3 lab hosts", on_first, ("threads", "known"))
        # osc/rdma of Open MPI before 4.1.5 waits for a lock that it has, where memory is attached to a window of
        # several hosts: https://github.com/open-mpi/ompi/pull/10518
        for what, words in (("ob1", OB1), ("mtl/pm beside it", BESIDE_MTL)):
            for places in ("h0:1,h1:1,h2:1", "h0:2,h1:1"):
                check("windows", (*words, *RDMA, "-H", places), environment(), f"{what}, {places}", on_first,
                      ("known",))


def main():
    if not runner.is_built():
        return 0
    if not os.path.exists(f"{BUILD}/mca/mca_btl_pm.so"):
        print("1..0 # SKIP btl/pm is not built")
        return 0
    for part in (by_ob1, windows, computing, dead, lab):
        part()
    return TAP.end()


sys.exit(main())
