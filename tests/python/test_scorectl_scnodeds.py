# SPDX-License-Identifier: BSD-3-Clause
"""scpool and a scout session: what their scripts on the hosts do where somebody else has taken the name in /tmp."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scorectl import scnodeds  # noqa: E402

NOBODY = 65534


class Here(scnodeds.Scnodeds):
    """On this machine."""

    def _host(self):
        return "here"

    def _carry(self, text):
        done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, timeout=20)
        return done.returncode, done.stdout.strip()


@pytest.fixture
def victim(tmp_path):
    """A process that looks like somebody's scnoded."""
    shutil.copy("/bin/sleep", tmp_path / "scnoded")
    with subprocess.Popen([tmp_path / "scnoded", "60"]) as child:
        yield child
        child.kill()


def taken(place, pid, uid):
    """A directory that names the process."""
    place.mkdir()
    (place / "pid").write_text(str(pid))
    (place / "log").write_text("what another user wants us to read")
    for path in (place, *place.iterdir()):
        os.chown(path, uid, uid)


@pytest.mark.skipif(os.geteuid() != 0, reason="must be root to be somebody else")
def test_scnodeds__a_name_that_another_user_has_taken(tmp_path, victim):
    made = Here(["here"], f"{tmp_path}/pool")
    taken(tmp_path / "pool.here", victim.pid, NOBODY)
    with pytest.raises(scnodeds.Trouble, match="is not yours: choose another name"):
        made.up("/bin/true", "front", None, [])
    assert made.log() == "scnoded was not started"
    made.down()
    assert victim.poll() is None and (tmp_path / "pool.here" / "pid").exists()


def test_scnodeds__a_name_that_leads_elsewhere(tmp_path, victim):
    made = Here(["here"], f"{tmp_path}/pool")
    taken(tmp_path / "ours", victim.pid, os.geteuid())
    (tmp_path / "pool.here").symlink_to(tmp_path / "ours")
    made.down()
    assert victim.poll() is None and (tmp_path / "ours" / "pid").exists()


def test_scnodeds__what_is_ours_is_ended_and_removed(tmp_path, victim):
    made = Here(["here"], f"{tmp_path}/pool")
    taken(tmp_path / "pool.here", victim.pid, os.geteuid())
    with pytest.raises(scnodeds.Trouble, match="there already"):
        made.up("/bin/true", "front", None, [])
    # It has to be reaped, or the script waits for it.
    reaper = threading.Thread(target=victim.wait)
    reaper.start()
    made.down()
    reaper.join(20)
    assert victim.returncode == -signal.SIGTERM and not (tmp_path / "pool.here").exists()
