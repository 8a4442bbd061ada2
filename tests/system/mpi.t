#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs over mtl/pm: what a rank does while others wait for it or want its core, and every program
of tests/mpi on four hosts of a lab. mpi-local.t runs them on this host over each device. The test also
shows how the component is selected, and what is said when it can't be. TAP. Each program checks itself and
prints one OK line. Lab tests need root, the others do not.
"""
import contextlib
import functools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, EVERYWHERE, ONLY, environment, mpirun, plain_mpirun, recovery, run    # noqa: E402

HUGE_NEEDS_KIB = 7 << 20        # memory two ranks of "huge" need
LOAD_S = 60                     # other programs run that long at most
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


def batch():
    """Threads that share a core do not take it from the one that wakes them, unless the user wants it otherwise."""
    for devices in ("self+shmem", "self+udp"):
        for how in ("idle", "one"):
            program("batch", 2, devices, arguments=(how,))
        program("batch", 2, devices, ("batch_threads", "0"), ("other",))


def ends_unasked(parts, answer, size, stream, *more):
    code, out = run(mpirun(2, *ONLY, *parts, f"{BUILD}/mpi/unasked", answer, str(size), *more),
                    environment(f"self+udp,stream={stream}"))
    TAP.ok(code == 0 and "OK unasked" in out,
           f"unasked: {answer} for {size} bytes {' '.join(more)} with {parts or 'defaults'}, stream={stream}",
           f"exit {code}\n{out}")


def unasked():
    """Where ranks share cores and no stream is there, long messages leave before their receiver asks: each answer would
    wait for its turn. Bursts are announced where a stream reads them, unless each message is received by itself."""
    for parts, answer, size, stream in ((("--mca", "mpi_yield_when_idle", "1"), "yes", 4 << 20, "never"),
                                        (("--mca", "mpi_yield_when_idle", "1"), "no", (4 << 20) + 1, "never"),
                                        (("--mca", "mpi_yield_when_idle", "1"), "no", 128 << 10, "auto"),
                                        (("--mca", "mtl_pm_middle_limit", "1000"), "no", 1 << 20, "never"),
                                        ((), "yes", 256 << 10, "never"), ((), "no", 1 << 20, "never"),
                                        ((), "yes", (128 << 10) - 1, "auto"), ((), "no", 128 << 10, "auto")):
        ends_unasked(parts, answer, size, stream)
    for answer, size, stream, *how in (("no", 16 << 10, "auto"), ("yes", 16 << 10, "never"), ("yes", 8 << 10, "auto"),
                                       ("yes", 32 << 10, "auto", "each")):
        ends_unasked((), answer, size, stream, "64", *how)


def available_kib():
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1])
    return 0


def thread():
    """The progress thread: what it is for, and that all else is as without it."""
    for devices in ("self+shmem", "self+udp"):
        program("computing", 2, devices, ("progress_thread", "1"))
        for name in (*EVERYWHERE, "spawn"):
            program(name, 2, devices, ("progress_thread", "1"))
        code, out = run(mpirun(2, *ONLY, "--mca", "mtl_pm_progress_thread", "1", f"{BUILD}/mpi/computing", "abort"),
                        environment(devices), limit_s=30)
        TAP.ok(code == 3, f"computing: abort with the progress thread over {devices}", f"exit {code}\n{out}")
        _, out = run(mpirun(2, *ONLY, *recovery(), "--mca", "mtl_pm_progress_thread", "1",
                            f"{BUILD}/mpi/dead"), environment(devices))
        TAP.ok("OK dead" in out and "has lost rank 1 on host" in out,
               f"dead: a killed peer is an error with the progress thread over {devices}", out)


def idle():
    """A thread is there where packets may get lost, unless the user wants none; it rests when nothing is to do."""
    for devices, value, threads in (("self+udp", "0", 1), ("self+udp", "1", 1), ("self+udp", "-1", 0),
                                    ("self+shmem", "0", 0), ("self+shmem", "1", 1)):
        program("away", 2, devices, ("progress_thread", value), ("idle", str(threads)))


def huge():
    if available_kib() < HUGE_NEEDS_KIB:
        TAP.skip("huge: a message of more than 2 GiB", "needs 7 GiB of free memory")
        return
    program("huge", 2, "self+shmem")


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


@contextlib.contextmanager
def load(n, seconds):
    """Processes that want the cores as well, for that long at most."""
    script = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    with contextlib.ExitStack() as stack:
        for _ in range(n):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", script]))
            stack.callback(process.kill)
        yield


def rounds(on_first):
    """Eight ranks and other programs share two cores: every wait gives the core away, but none stands still."""
    command = [*on_first, *mpirun(8, *ONLY, "-H", "h0:2,h1:2,h2:2,h3:2",
                                  f"{BUILD}/mpi/flood", "rounds", "1000", "2000")]
    with load(4, LOAD_S):
        code, out = run(command, environment(), limit_s=LOAD_S)
    TAP.ok(code == 0 and "OK flood" in out, "flood: rounds of 8 ranks on 4 lab hosts under load",
           f"exit {code}\n{out}")


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
        rounds(on_first)
        _, out = run([*on_first, *mpirun(2, *ONLY, *recovery(), "-H",
                                         "h0:1,h3:1", f"{BUILD}/mpi/dead")], environment())
        TAP.ok("OK dead" in out and "has lost rank 1 on host h3" in out,
               "dead: lab, rank and host are named", out)


def main():
    if not runner.is_built():
        return 0
    for part in (selection, windows, unasked, batch, thread, idle, memory, huge, dead, lab):
        part()
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
