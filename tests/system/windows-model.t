#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One-sided MPI over PM by random plans, against a model (tests/mpi/model.c): by messages of mtl/pm, as programs have
it with Open MPI 4.1, and by btl/pm. On one host with packets lost; between the hosts of a lab whose links lose frames
and whose cables are pulled. Locks that all ranks want at the same time, and one that a dead rank holds. TAP. Lab tests
need root.
"""
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, SCLAB, environment, plain_mpirun, recovery, run   # noqa: E402

BY_DEFAULT = ("--mca", "pml", "cm", "--mca", "mtl", "pm")
BY_BTL = (*BY_DEFAULT, "--mca", "btl", "pm,self", "--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "pm")
WAYS = (("as it is by default", BY_DEFAULT), ("by btl/pm", BY_BTL))
LOSSES = "fault=11:dup=3%:reorder=3%/8:drop=1%"
KNOWN = "known"  # faults of Open MPI are left out
HOSTS = "h0:1,h1:1,h2:1"
LAB = f"wm{os.getpid()}"
CABLES = ("h1:eth2", "h2:eth1")
PAUSE_S = 0.4
TAP = runner.Tap()


def model(title, ranks, words, env, arguments, before=(), limit_s=90):
    code, out = run([*before, *plain_mpirun(ranks, *words, f"{BUILD}/mpi/model", *arguments)], env, limit_s)
    TAP.ok(code == 0 and f"OK model {ranks} ranks" in out, title, f"exit {code}\n{out}")


def one_host():
    for way, words in WAYS:
        for devices, arguments in (("self+shmem", ("2", "100")), ("self+udp", ("3", "150")),
                                   (f"self+udp,{LOSSES}", ("4", "80"))):
            model(f"{way}: 3 ranks, {devices}", 3, words, environment(devices), arguments)
        model(f"{way}: 8 ranks", 8, words, environment("self+shmem+udp"), ("5", "20"))
        model(f"{way}: 3 ranks want the same locks", 3, words, environment("self+udp"), ("storm", "6", "100"))


def dead():
    """With an mpirun that ends the job, and with one that leaves it to us."""
    for way, words in WAYS:
        code, out = run(plain_mpirun(2, *words, f"{BUILD}/mpi/dead", "lock"), environment("self+udp"), limit_s=30)
        TAP.ok(code not in (0, 124) and "rank 1" in out, f"{way}: a rank dies with a lock, and the job ends",
               f"exit {code}\n{out}")
    line = plain_mpirun(2, *BY_BTL, *recovery(), f"{BUILD}/mpi/dead", "lock")
    code, out = run(line, environment("self+udp"), limit_s=30)
    TAP.ok(code != 124 and "btl/pm: rank 1: " in out and "given to another" not in out, "the same, told by btl/pm",
           f"exit {code}\n{out}")


def sclab(*words):
    return subprocess.run([SCLAB, "--name", LAB, *words], env=environment(), capture_output=True, text=True,
                          check=False)


def pull_cables(is_over, pulled):
    """One after the other out and in again, until the event is set."""
    while not is_over.is_set():
        for cable in CABLES:
            done = sclab("link", cable, "down")
            is_over.wait(PAUSE_S)
            done = done if done.returncode else sclab("link", cable, "up")
            pulled.append(done.stderr if done.returncode else "")
            is_over.wait(PAUSE_S)


def between_hosts():
    done = sclab("up", "--hosts", "3", "--nics", "2", "--loss", "1%", "--seed", "7", "--ethernet", "--share", BUILD)
    try:
        TAP.ok(done.returncode == 0, "lab of 3 hosts with 2 links each, which lose 1 % of the frames", done.stderr)
        before = [SCLAB, "--name", LAB, "exec", "h0", "--"]
        for way, words in WAYS:
            there = (*words, "-H", HOSTS)
            model(f"{way}: 3 hosts", 3, there, environment(), (KNOWN, "7", "80"), before)
            model(f"{way}: 3 hosts want the same locks", 3, there, environment(), ("storm", KNOWN, "9", "40"), before)
        for way, words in WAYS:
            is_over, pulled = threading.Event(), []
            puller = threading.Thread(target=pull_cables, args=(is_over, pulled))
            puller.start()
            try:
                model(f"{way}: 3 hosts, cables are pulled", 3, (*words, "-H", HOSTS), environment(),
                      (KNOWN, "8", "200"), before)
            finally:
                is_over.set()
                puller.join()
            TAP.ok(len(pulled) > 1 and not any(pulled), f"{way}: so were {len(pulled)}", "\n".join(pulled))
    finally:
        sclab("down")


def main():
    if not runner.is_built():
        return 0
    one_host()
    dead()
    if runner.can_lab():
        between_hosts()
    else:
        TAP.skip("3 lab hosts", "needs root and iproute2")
    return TAP.end()


sys.exit(main())
