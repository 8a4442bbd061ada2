#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tests/lab/demo where network namespaces are refused: a real MPI job runs over PM all the same, through shared memory
and by UDP, and what is not shown is said. The virtual cluster itself is tried by every other test with a lab. TAP. As
root it gives up rights to get there."""
import os
import shutil
import subprocess
import sys

from systest import BUILD, ROOT, Tap, told

DEMO = f"{ROOT}/tests/lab/demo"
LIMIT = 200
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
WITHOUT_ADMIN = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]

tap = Tap()


def demo(before, hidden=""):
    """The finished demonstration, started through the words `before`, on a machine without the program `hidden`."""
    hide = f"mount --bind /dev/null {hidden}; " if hidden else ""
    words = ["unshare", "-m", "sh", "-ec", f'{hide}exec "$@"', "sh"] if not os.geteuid() else []
    env = {**os.environ, "BUILD": BUILD, "HOME": "/tmp"}
    return subprocess.run([*words, *before, DEMO], capture_output=True, text=True, check=False, timeout=LIMIT, cwd="/",
                          env=env)


def judge(done, why, name):
    """It ended well and said what there is not, and ran each part."""
    out = done.stdout
    tap.ok(done.returncode == 0 and f"There is no virtual cluster: {why}" in out, f"{name}: says why", told(done))
    tap.ok("\nNot shown: several hosts, " in out, f"{name}: says what it does not show", told(done))
    tables = [line.split(", ")[1] for line in out.splitlines() if line.startswith("# pmtest")]
    tap.equal(tables, ["shmem", "udp"], f"{name}: pmtest through shared memory and by UDP")


def refused():
    """As root of a container that may not make namespaces."""
    done = demo(WITHOUT_ADMIN)
    judge(done, "/run/openscore-lab/demo/ns: Operation not permitted", "refused")
    wanted = 2 if shutil.which("hpcc") else 0
    tap.equal(done.stdout.count("all verifications of hpcc passed"), wanted,
              "refused: HPC Challenge through shared memory and by UDP")
    tap.ok(not os.path.exists("/run/openscore-lab/demo"), "refused: nothing is left")


def anybody():
    """As a user, on a machine without hpcc."""
    readable = subprocess.run([*NOBODY, "test", "-r", DEMO, "-a", "-r", f"{BUILD}/env.sh"], check=False)
    if not os.geteuid() and readable.returncode:
        tap.skip("as a user", "others may not read this tree")
        return
    done = demo([] if os.geteuid() else NOBODY, "" if os.geteuid() else shutil.which("hpcc") or "")
    judge(done, "only root can make network namespaces", "as a user")
    if not os.geteuid():
        tap.equal(done.stdout.count("collective operations with checked data (hpcc is not installed)"), 2,
                  "without hpcc a program of the tests runs")


def without_component():
    """A build that lacks mtl/pm."""
    done = subprocess.run([DEMO], capture_output=True, text=True, check=False, env={**os.environ, "BUILD": "/nowhere"})
    tap.ok(done.returncode == 1 and "mtl/pm, the component of Open MPI, is not built" in done.stderr,
           "without the component it fails and says so", told(done))


def main():
    if not shutil.which("mpirun") or not os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so"):
        print("1..0 # SKIP mtl/pm is not built: install libopenmpi-dev openmpi-bin, run make")
        return 0
    if not os.geteuid():
        refused()
    anybody()
    without_component()
    return tap.end()


sys.exit(main())
