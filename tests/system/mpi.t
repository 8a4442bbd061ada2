#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs over mtl/pm: every program of tests/mpi with the progress thread, and on four hosts of a lab.
mpi-local.t runs them on this host over each device, and mpi-cores.t has those that look at time. The test also
shows how the component is selected, and what is said when it can't be. TAP. Each program checks itself and prints
one OK line. Lab tests need root, the others do not.
"""
import functools
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, EVERYWHERE, ONLY, environment, mpirun, plain_mpirun, recovery, run    # noqa: E402

TAP = runner.Tap()
program = functools.partial(runner.program, TAP)


def memory():
    """Freed memory stays with the process, unless the user says otherwise."""
    for words, more, what in (((), {}, "kept"),
                              (("--mca", "mtl_pm_keep_memory", "0"), {}, "returned"),
                              ((), {"MALLOC_TRIM_THRESHOLD_": "100000", "MALLOC_MMAP_THRESHOLD_": "1000000"},
                               "returned"),
                              ((), {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=100000"}, "returned")):
        env = {name: value for name, value in environment("self+shmem").items()
               if not name.startswith("MALLOC_") and name != "GLIBC_TUNABLES"}
        code, out = run(mpirun(2, *ONLY, *words, f"{BUILD}/mpi/memory", what), {**env, **more})
        TAP.ok(code == 0 and "OK memory" in out, f"memory: {what} with {words or more or 'defaults'}",
               f"exit {code}\n{out}")


def thread():
    """With the progress thread all is as without it. mpi-cores.t looks whether the thread does its work."""
    for devices in ("self+shmem", "self+udp"):
        for name in (*EVERYWHERE, "spawn"):
            program(name, 2, devices, ("progress_thread", "1"))
        _, out = run(mpirun(2, *ONLY, *recovery(), "--mca", "mtl_pm_progress_thread", "1",
                            f"{BUILD}/mpi/dead"), environment(devices))
        TAP.ok("OK dead" in out and "has lost rank 1 on host" in out,
               f"dead: a killed peer is an error with the progress thread over {devices}", out)


def idle():
    """A thread is there where packets may get lost, unless the user wants none; it rests when nothing is to do."""
    for devices, value, threads in (("self+udp", "0", 1), ("self+udp", "1", 1), ("self+udp", "-1", 0),
                                    ("self+shmem", "0", 0), ("self+shmem", "1", 1)):
        program("away", 2, devices, ("progress_thread", value), ("idle", str(threads)))


def dead():
    for devices in ("self+shmem", "self+udp"):
        command = mpirun(2, *ONLY, *recovery(), f"{BUILD}/mpi/dead")
        _, out = run(command, environment(devices))
        TAP.ok("OK dead" in out, f"dead: a killed peer is an error over {devices}", out)
        TAP.ok("has lost rank 1 on host" in out, f"dead: rank and host are named over {devices}",
               out)
        _, out = run(mpirun(2, *ONLY, *recovery(), f"{BUILD}/mpi/dead", "amid"), environment(devices))
        TAP.ok("OK dead" in out, f"dead: amid a message that is unpacked, over {devices}", out)
    command = mpirun(2, *ONLY, *recovery(), f"{BUILD}/mpi/dead", "late")
    _, out = run(command, environment("self+udp"))
    TAP.ok("OK dead" in out and "has lost rank 1" in out,
           "dead: one that owed nothing is missed as well", out)


def selection():
    verbose = ("--mca", "pml_base_verbose", "10")
    sizes = f"{BUILD}/mpi/wildcards"
    code, out = run(mpirun(2, *verbose, sizes), environment())
    TAP.ok(code == 0 and "selected cm best priority" in out, "--mca mtl pm alone selects it", out)
    code, out = run(plain_mpirun(2, *verbose, sizes), environment())
    TAP.ok(code == 0 and "selected cm" not in out, "not named, it stays out of the way", out)
    code, out = run(plain_mpirun(2, *ONLY, *verbose, sizes), environment())
    TAP.ok(code == 0 and "selected cm best priority 1" in out,
           "named is only pml cm: the last resort", out)

    code, out = run(mpirun(2, sizes), environment("no-such-device"))
    TAP.ok("mtl/pm cannot be used on host" in out and "no-such-device" in out
           and "pm_options(5)" in out, "unusable: the help text says why and what to do", out)
    TAP.ok(code == 0 and "OK wildcards" in out, "unusable: the program goes on without it", out)
    code, out = run(mpirun(2, *ONLY, sizes), environment("no-such-device"))
    TAP.ok(code != 0 and "mtl/pm cannot be used on host" in out,
           "unusable and nothing else allowed: exit code", out)
    code, out = run([f"{BUILD}/mpi/spawn"], environment(OMPI_MCA_mtl="pm", OMPI_MCA_pml="cm"))
    # A program without mpirun and its children are two jobs for Open MPI 5.
    is_good = code == 0 and "OK spawn 1 ranks" in out if runner.open_mpi() == 4 else "start it by mpirun -np 1" in out
    TAP.ok(is_good, "started without mpirun, and spawning", out)


def window_component(command, env):
    """That of a window made by MPI_Win_create, or what was printed instead."""
    code, out = run([*command, f"{BUILD}/mpi/windows", "component"], env)
    found = re.search(r"^create by (\w+)$", out, re.M)
    return found[1] if code == 0 and found else f"exit {code}\n{out}"


def windows():
    """One-sided communication goes by osc/pt2pt, unless somebody has chosen."""
    if runner.open_mpi() > 4:
        TAP.skip("windows: which component", "Open MPI 5 has no osc/pt2pt")
        return
    pm, debian = mpirun(2, *ONLY), "^ucx,pt2pt"
    with tempfile.TemporaryDirectory() as home:
        os.mkdir(f"{home}/.openmpi")
        own = f"{home}/.openmpi/mca-params.conf"
        with open(own, "w", encoding="ascii") as f:
            f.write(f"osc = {debian}\n")
        for words, more, expected, what in (
                ([], {}, "pt2pt", "nobody has chosen, or Debian has"),
                ([], {"OMPI_MCA_mca_base_param_files": "none"}, "pt2pt", "nobody has chosen"),
                (["--mca", "osc", debian], {}, "rdma", "chosen on the command line"),
                ([], {"OMPI_MCA_osc": debian}, "rdma", "chosen in the environment"),
                ([], {"HOME": home}, "rdma", "chosen in a file of the user's"),
                (["--tune", own], {}, "rdma", "chosen in a file that --tune names")):
            got = window_component([*pm, *words], environment("self+shmem", **more))
            TAP.ok(got == expected, f"windows: {what}: {expected}", got)
        tcp = plain_mpirun(2, "--mca", "pml", "ob1")
        got = window_component(tcp, environment(OMPI_MCA_mca_base_param_files=own))
        TAP.ok(got == "rdma", "windows: not over PM: Open MPI's own choice", got)
    code, out = run([*pm, f"{BUILD}/mpi/windows", "tool"], environment("self+shmem"))
    TAP.ok(code == 0 and "create by pt2pt" in out, "windows: with MPI's tools interface: pt2pt", out)
    code, out = run([*pm, "--mca", "osc", debian, f"{BUILD}/mpi/windows", "tool"], environment("self+shmem"))
    TAP.ok(code == 0 and "create by rdma" in out, "windows: the same, chosen: rdma", out)
    code, out = run([*pm, f"{BUILD}/mpi/windows", "threads"], environment("self+shmem"))
    TAP.ok(code == 0 and "create by rdma" in out, "windows: with threads: Open MPI's own choice", out)


def lab():
    if not runner.can_lab():
        TAP.skip("4 lab hosts", "needs root and iproute2")
        return
    with runner.lab(TAP, 4) as on_first:
        for name in EVERYWHERE:
            code, out = run([*on_first, *mpirun(4, *ONLY, "-H", "h0:1,h1:1,h2:2",
                                                f"{BUILD}/mpi/{name}")], environment())
            TAP.ok(code == 0 and f"OK {name}" in out, f"{name}: 4 ranks on 3 lab hosts",
                   f"exit {code}\n{out}")
        _, out = run([*on_first, *mpirun(2, *ONLY, *recovery(), "-H",
                                         "h0:1,h3:1", f"{BUILD}/mpi/dead")], environment())
        TAP.ok("OK dead" in out and "has lost rank 1 on host h3" in out,
               "dead: lab, rank and host are named", out)


def main():
    if not runner.is_built():
        return 0
    for part in (selection, windows, thread, idle, memory, dead, lab):
        part()
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
