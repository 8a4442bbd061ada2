#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of MPI over mtl/pm that look at time: one rank computes while the other waits for it, or other programs want
the same cores. The longest message is here too, as it needs most of the memory. This test runs alone, as the ranks need
their cores for themselves. TAP. Each program checks itself and prints one OK line. The lab needs root, the others do
not.
"""
import contextlib
import functools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, ONLY, environment, mpirun, run                # noqa: E402

HUGE_NEEDS_KIB = 7 << 20        # memory two ranks of "huge" need
LOAD_S = 60                     # other programs run that long at most
TAP = runner.Tap()
program = functools.partial(runner.program, TAP)


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


def computing():
    """The progress thread moves long messages while a rank computes."""
    for devices in ("self+shmem", "self+udp"):
        program("computing", 2, devices, ("progress_thread", "1"))
        code, out = run(mpirun(2, *ONLY, "--mca", "mtl_pm_progress_thread", "1", f"{BUILD}/mpi/computing", "abort"),
                        environment(devices), limit_s=30)
        TAP.ok(code == 3, f"computing: abort with the progress thread over {devices}", f"exit {code}\n{out}")


def available_kib():
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1])
    return 0


def huge():
    if available_kib() < HUGE_NEEDS_KIB:
        TAP.skip("huge: a message of more than 2 GiB", "needs 7 GiB of free memory")
        return
    program("huge", 2, "self+shmem")


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
        rounds(on_first)


def main():
    if not runner.is_built():
        return 0
    for part in (unasked, batch, computing, huge, lab):
        part()
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
