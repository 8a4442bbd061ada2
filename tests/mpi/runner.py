# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the test files that start MPI programs: TAP lines, the environment in which mpirun finds the
component of the build tree, runs bounded in time, and a lab that always comes down.
"""
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../system"))
from systest import BUILD, ROOT                                         # noqa: E402

SCLAB = f"{ROOT}/tests/lab/sclab"
# With the pml named as well, Open MPI can choose nothing else in silence.
ONLY = ("--mca", "pml", "cm")
# The programs that take any number of ranks, with every device.
EVERYWHERE = ("sizes", "modes", "wildcards", "order", "probes", "cancel", "truncate", "datatypes",
              "comms", "threads", "batch", "collectives", "flood", "bursts", "crowd", "away", "windows", "finalize")


class Tap:
    count = 0
    failed = 0

    def ok(self, is_ok, name, detail=""):
        self.count += 1
        self.failed += not is_ok
        print(f"{'ok' if is_ok else 'not ok'} {self.count} - {name}", flush=True)
        if not is_ok:
            # prove hides comments on standard output, also in the log of a run nobody watches
            for line in detail.strip().splitlines()[-25:]:
                print(f"#   {line}", file=sys.stderr, flush=True)

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def is_built():
    """False, with the TAP line that says so, when there is no component to test."""
    if shutil.which("mpirun") and os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so"):
        return True
    print("1..0 # SKIP mtl/pm is not built: install libopenmpi-dev openmpi-bin, run make")
    return False


@functools.cache
def component_dir():
    """Where Open MPI keeps its own components."""
    done = subprocess.run(["ompi_info", "--parsable", "--path", "pkglibdir"], text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.strip().rsplit(":", 1)[1]


def environment(devices=None, **more):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
               PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_mca_base_component_path=f"{BUILD}/mca:{component_dir()}", **more)
    if os.path.isdir(f"{BUILD}/pmix"):
        env["PMIX_MCA_mca_base_component_path"] = f"{BUILD}/pmix"
    env.pop("PM_OPTIONS", None)
    if devices:
        env["PM_OPTIONS"] = f"devices={devices}"
    return env


def run(command, env, limit_s=90, cwd=None):
    """Exit code and everything printed; all that was started ends with the time limit."""
    with subprocess.Popen(command, env=env, cwd=cwd, text=True, errors="replace",
                          start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            out, _ = process.communicate(timeout=limit_s)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                out, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, _ = process.communicate()
            return 124, f"{out}\nstopped after {limit_s} s"
        except SystemExit:
            os.killpg(process.pid, signal.SIGTERM)
            raise


@functools.cache
def open_mpi():
    """Which one mpirun belongs to: 4 or 5."""
    done = subprocess.run(["mpirun", "--version"], text=True, stdout=subprocess.PIPE, check=True)
    return int(done.stdout.split(")")[1].split(".")[0])


def plain_mpirun(ranks, *words):
    """More ranks than cores are welcome, and none is bound: Open MPI 4 has that from environment()."""
    many = ("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none") if open_mpi() > 4 else ()
    return ["mpirun", "-np", str(ranks), *many, *words]


def mpirun(ranks, *words):
    return plain_mpirun(ranks, "--mca", "mtl", "pm", *words)


def recovery():
    """The words by which a job goes on without a rank that has died."""
    return ("--enable-recovery",) if open_mpi() > 4 else ("--mca", "orte_enable_recovery", "1")


def program(tap, name, ranks, devices, parameter=(), arguments=(), limit_s=90):
    """One program of tests/mpi: exit code 0 and its OK line. @parameter: name and value of ours."""
    words = ("--mca", f"mtl_pm_{parameter[0]}", parameter[1]) if parameter else ()
    code, out = run(mpirun(ranks, *ONLY, *words, f"{BUILD}/mpi/{name}", *arguments),
                    environment(devices), limit_s)
    with_what = f" with {parameter[0]} {parameter[1]}" if parameter else ""
    tap.ok(code == 0 and f"OK {name}" in out, f"{name}: {ranks} ranks over {devices}{with_what}",
           f"exit {code}\n{out}")


def can_lab():
    return os.geteuid() == 0 and shutil.which("ip") is not None


@contextlib.contextmanager
def lab(tap, hosts):
    """A lab of that many hosts; gives the words that run a command on its first one."""
    command = [SCLAB, "--name", f"mpi{os.getpid()}"]
    code, out = run([*command, "up", "--hosts", str(hosts), "--nics", "1", "--share", BUILD],
                    environment())
    try:
        tap.ok(code == 0, f"lab of {hosts} hosts", out)
        yield [*command, "exec", "h0", "--"]
    finally:
        run([*command, "down"], environment())
