# SPDX-License-Identifier: BSD-3-Clause
"""Removal by the scripts of the Debian packages, in a mount namespace of their own."""
import os
import pathlib
import shutil
import subprocess

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
# The directories of a machine that a script would look at are empty here.
ALONE = "mount -t tmpfs none /run && mount -t tmpfs none /sys/fs/cgroup && mkdir -p /run/openscore/jobs/7/tmp && "
JOB = "mount -t tmpfs none /run/openscore/jobs/7/tmp && "

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")


@pytest.mark.parametrize("mounts", range(3))
def test_scheduler__removal_beside_a_job_that_runs_on(mounts):
    """@mounts: those on the job's directory for temporary files, the upper ones by its user."""
    script = ALONE + JOB * mounts + 'sh "$0" remove && test ! -e /run/openscore'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, TREE / "debian" / "openscore-scheduler.postrm"],
                          capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
