# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests with Open MPI 5 and PMIx 5: what tests/debian13/fetch unpacks, and the tree built with it."""
import fcntl
import os
import subprocess
import sys

from systest import BUILD, ROOT, told

UNPACKED = f"{BUILD}/debian13"
NEXT = f"{UNPACKED}/build"              # the tree, built with what is there
MPIRUN = f"{UNPACKED}/system/usr/bin/mpirun.openmpi"
SAME = ("libpm.so", "libpm.so.0", "libpmutil.a", "libsched.a")  # know neither Open MPI nor PMIx
MTL = ("mca/mca_mtl_pm.so", "mca/mca_btl_pm.so", "mca/help-mtl-pm.txt", "pmix/pmix_mca_pmdl_score.so", "env.sh")


def missing():
    """Why nothing can be built with it; '' = it can."""
    own = subprocess.run(["pkg-config", "--atleast-version=5", "pmix"], capture_output=True, check=False)
    if own.returncode == 0:
        return "this machine has PMIx 5 itself, so all other tests are of that"
    if os.path.exists(MPIRUN):
        return ""
    return f"Open MPI 5 is not unpacked; run tests/debian13/fetch {UNPACKED}"


def build(tap, *goals):
    """Those of the tree, with Open MPI 5 and PMIx 5; the test ends if that fails."""
    env = {**os.environ, "PATH": f"{UNPACKED}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{UNPACKED}/pkgconfig"}
    for name in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"):
        env.pop(name, None)
    words = ["make", f"-j{os.cpu_count()}", "-C", ROOT, f"BUILD={NEXT}", *(f"{NEXT}/{goal}" for goal in goals)]
    os.makedirs(NEXT, exist_ok=True)
    with open(f"{UNPACKED}/lock", "w", encoding="ascii") as lock:      # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in SAME:
            if not os.path.lexists(f"{NEXT}/{name}"):
                os.symlink(f"{BUILD}/{name}", f"{NEXT}/{name}")
            words += ["-o", f"{NEXT}/{name}"]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, "builds against PMIx 5 and Open MPI 5", told(done))
    if done.returncode:
        sys.exit(tap.end())
