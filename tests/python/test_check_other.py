# SPDX-License-Identifier: BSD-3-Clause
"""tests/debian/check where there is no other Debian to be had: it says why, ends with 77, and leaves no half of a root.
Programs of our own stand for those that unpack one. And .ci/run, which goes on after a failure."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path):
    """A clone with the script; programs named in it come before the machine's."""
    (tmp_path / "tests/debian").mkdir(parents=True)
    shutil.copy(ROOT / "tests/debian/check", tmp_path / "tests/debian")
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin/id", "echo 0")
    return tmp_path


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def check(tree, *words, path="/usr/bin:/bin"):
    return subprocess.run([tree / "tests/debian/check", *words], env={"PATH": f"{tree}/bin:{path}"},
                          capture_output=True, text=True, check=False, timeout=60)


def only_basic_tools(tree):
    """A PATH without mmdebstrap and debootstrap."""
    for tool in ("sh", "dirname", "mkdir", "rm", "grep", "tail"):
        (tree / "bin" / tool).symlink_to(shutil.which(tool))
    return tree / "bin"


def test_not_root(tree):
    program(tree / "bin/id", "echo 1000")
    done = check(tree, "trixie")
    assert (done.returncode, done.stdout) == (77, "skipped: the check on Debian 13: only root can run it\n")


def test_no_program_that_unpacks(tree):
    done = check(tree, "bookworm", path=only_basic_tools(tree))
    assert done.returncode == 77
    assert "skipped: the check on Debian 12: E: neither mmdebstrap nor debootstrap is installed" in done.stdout


def test_no_network(tree):
    program(tree / "bin/mmdebstrap", 'echo "E: no route to the packages"; exit 1')
    done = check(tree, "trixie")
    assert done.returncode == 77
    assert done.stdout.splitlines()[-1].startswith("skipped: the check on Debian 13: E: no route to the packages")
    assert [path.name for path in (tree / "build/debian").iterdir()] == ["trixie.log"]


def test_wrong_suite(tree):
    assert check(tree, "sid").returncode == 2


@pytest.mark.parametrize("first, second, code", [(0, 0, 0), (1, 0, 1), (0, 77, 0), (0, 3, 3), (1, 77, 1)])
def test_ci__runs_both_and_fails_with_either(tmp_path, first, second, code):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    program(tmp_path / "bootstrap.sh", f'echo "$1"; case $1 in check) exit {first} ;; esac; exit {second}')
    done = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("check\ncheck-other\n", code)
