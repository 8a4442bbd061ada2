#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs over mtl/pm on this host: every program of tests/mpi over shmem and over udp, with 2 and
4 ranks. Some run over a wire that is not clean, and on the paths that default limits choose rarely. TAP.
Each program checks itself and prints one OK line. Needs no root. MPI_SHORT=1 leaves out the parts that are
the same with each Open MPI. mpi-cores.t has the parts that look at time.
"""
import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, EVERYWHERE, ONLY, environment, mpirun, run    # noqa: E402

TAP = runner.Tap()
program = functools.partial(runner.program, TAP)


def local():
    for devices in ("self+shmem", "self+udp"):
        for ranks in (2, 4):
            for name in EVERYWHERE + ("spawn",):
                program(name, ranks, devices)
        # 40 MB of data, of which the limit allows 1; 9 MiB are 40000 announcements, the rest is on its way. Each of
        # these messages is fetched when it is received: 2 s, and 2 ms for each where other tests hold the cores.
        program("flood", 3, devices, ("unexpected_limit", "1000000"), ("20",), limit_s=240)


def wire():
    """A wire that gives packets twice and in another order, with and without losing some: MPI sees each message once.
    Of a sender that does nothing of MPI any more the component's thread sends lost packets again."""
    names = ("order", "wildcards", "probes", "truncate", "datatypes", "collectives", "threads", "bursts", "away")
    for what, script in (("doubled and disordered", "11:dup=5%:reorder=5%/16"),
                         ("doubled, disordered and lost", "11:dup=3%:reorder=3%/8:drop=1%")):
        for name in names:
            code, out = run(mpirun(3, *ONLY, f"{BUILD}/mpi/{name}"), environment(f"self+udp,fault={script}"))
            TAP.ok(code == 0 and f"OK {name}" in out, f"{name}: 3 ranks, packets {what}", f"exit {code}\n{out}")
    for value in ("0", "1"):
        program("away", 2, "self+udp,fault=11:drop=20%", ("progress_thread", value))
    code, out = run(mpirun(2, *ONLY, f"{BUILD}/mpi/order"), environment("self+udp,fault=11:dup=many"))
    TAP.ok(code != 0 and "fault: " in out, "order: the script is obeyed, as a wrong one is refused", out)


def protocols():
    """The paths that default limits choose rarely: no eager parts at all, nothing but streams."""
    for devices in ("self+shmem", "self+udp"):
        for parameter in (("middle_limit", "0"), ("middle_limit", "20000"), ("middle_limit", "200000"),
                          ("pull_limit", "1000000000"),
                          ("head_limit", "0"), ("head_limit", "5000"), ("head_limit", "200000"), ("read_limit", "1")):
            for name in ("sizes", "order", "truncate", "datatypes"):
                program(name, 2, devices, parameter)


def main():
    if not runner.is_built():
        return 0
    local()
    if not os.environ.get("MPI_SHORT"):
        wire()
        protocols()
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
