# SPDX-License-Identifier: BSD-3-Clause
"""bootstrap.sh with a package manager of our own in the place of the machine's: what it asks for, what a package costs
that can't be had, and that no service is started. And that mk/packages says all it has to."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = """\
# a comment
gcc      build!,demo!   the compiler
clang    build,demo     pm-ethernetd
hpcc     demo           HPC Challenge
munge    demo           a scheduler
valgrind bench          figures
"""
# A package is installed when a file says so; those in "absent" are in no source, those in "broken" fail.
STUBS = {
    "dpkg-query": 'for last; do :; done; [ ! -e "$STUB/has/$last" ] || printf installed',
    "apt-cache": 'shift; for p; do grep -qx "$p" "$STUB/absent" || '
                 'printf "%s:\\n  Installed: (none)\\n  Candidate: 1\\n" "$p"; done',
    "apt-get": """
        case " $* " in *" update "*) [ ! -e "$STUB/offline" ] || { echo "E: no network" >&2; exit 100; }; exit 0 ;; esac
        [ ! -e "$STUB/offline" ] || { echo "E: no network" >&2; exit 100; }
        packages=$(echo " $*" | sed 's/.* --no-install-recommends//')
        for p in $packages; do ! grep -qx "$p" "$STUB/broken" || { echo "E: $p is broken" >&2; exit 100; }; done
        for p in $packages; do touch "$STUB/has/$p"; done
        echo "$packages" >>"$STUB/installed"
        /usr/sbin/policy-rc.d; echo "policy $?" >>"$STUB/services" """,
    "deb-systemd-helper": 'echo "$@" >>"$STUB/services"',
    "update-rc.d": ":",
    "id": 'cat "$STUB/uid"',
    "make": 'echo "make $*"',
}


@pytest.fixture
def machine(tmp_path):
    """A clone with bootstrap.sh, on a machine that has nothing."""
    if os.geteuid():
        pytest.skip("needs root for a private /usr/sbin")
    (tmp_path / "mk").mkdir()
    (tmp_path / "mk/packages").write_text(LIST)
    shutil.copy(ROOT / "bootstrap.sh", tmp_path)
    (tmp_path / "stub/has").mkdir(parents=True)
    (tmp_path / "stub/bin").mkdir()
    for name, text in {"absent": "", "broken": "", "uid": "0"}.items():
        (tmp_path / "stub" / name).write_text(text)
    for name, text in STUBS.items():
        path = tmp_path / "stub/bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return tmp_path


def bootstrap(machine, words):
    """Installed packages in the order of the calls, and the finished process. /usr/sbin is empty and private."""
    env = {"STUB": f"{machine}/stub", "PATH": f"{machine}/stub/bin:/usr/bin:/bin"}
    done = subprocess.run([ROOT / "tests/lab/rooted", "sh", "-c",
                           'mount -t tmpfs none /usr/sbin && "$0" "$@"; code=$?; '
                           "ls /usr/sbin; exit $code", f"{machine}/bootstrap.sh", *words.split()],
                          env=env, capture_output=True, text=True, check=False, timeout=60)
    log = machine / "stub/installed"
    return log.read_text().split() if log.exists() else [], done


def test_demo__installs_its_own_packages_only(machine):
    installed, done = bootstrap(machine, "demo")
    assert (installed, done.returncode) == (["gcc", "clang", "hpcc", "munge"], 0)
    assert re.findall("make .*", done.stdout)[-1].endswith("demo")


def test_services__are_neither_started_nor_enabled(machine):
    _, done = bootstrap(machine, "demo")
    assert (machine / "stub/services").read_text().splitlines() == ["policy 101", "disable munge.service"]
    assert done.stdout.splitlines()[-1].startswith("make")      # nothing is left in /usr/sbin


def test_optional__that_is_in_no_source_costs_its_part(machine):
    (machine / "stub/absent").write_text("clang\n")
    installed, done = bootstrap(machine, "demo")
    assert (installed, done.returncode) == (["gcc", "hpcc", "munge"], 0)
    assert done.stderr == ("bootstrap.sh: package clang is missing (this machine's package sources do not have it): "
                           "without it no pm-ethernetd\n")


def test_broken__is_named_and_the_others_are_installed(machine):
    (machine / "stub/broken").write_text("hpcc\n")
    installed, done = bootstrap(machine, "demo")
    assert (sorted(installed), done.returncode) == (["clang", "gcc", "munge"], 0)
    assert "package hpcc is missing (hpcc is broken): without it no HPC Challenge\n" in done.stderr


def test_needed__stops_and_is_named(machine):
    (machine / "stub/absent").write_text("gcc\n")
    _, done = bootstrap(machine, "build")
    assert done.returncode == 1
    assert "package gcc is missing" in done.stderr and "apt-get install gcc\n" in done.stderr
    assert "make" not in done.stdout


def test_offline__goes_on_with_what_is_there(machine):
    (machine / "stub/offline").touch()
    (machine / "stub/has/gcc").touch()
    installed, done = bootstrap(machine, "build")
    assert (installed, done.returncode) == ([], 0)
    assert "package clang is missing (no network): without it no pm-ethernetd\n" in done.stderr


def test_not_root__names_what_root_has_to_install(machine):
    (machine / "stub/uid").write_text("1000")
    (machine / "stub/has/gcc").touch()
    installed, done = bootstrap(machine, "build")
    assert (installed, done.returncode) == ([], 0)
    assert "package clang is missing (only root can install it)" in done.stderr


def test_deps__of_a_goal_builds_nothing(machine):
    installed, done = bootstrap(machine, "deps build")
    assert (installed, done.returncode) == (["gcc", "clang"], 0)
    assert "make" not in done.stdout


@pytest.mark.parametrize("words", ["nonsense", "deps nonsense", "build demo"])
def test_wrong_call__installs_nothing(machine, words):
    installed, done = bootstrap(machine, words)
    assert (installed, done.returncode) == ([], 2)
    assert done.stderr.startswith("usage: ")


def test_complete__asks_for_nothing(machine):
    for package in ("gcc", "clang"):
        (machine / f"stub/has/{package}").touch()
    (machine / "stub/offline").touch()
    assert bootstrap(machine, "build")[1].stderr == ""


def test_packages__every_line_says_package_sets_and_part():
    lines = [line for line in (ROOT / "mk/packages").read_text().splitlines() if line and line[0] != "#"]
    names = [line.split()[0] for line in lines]
    assert len(lines) > 40 and len(set(names)) == len(names)
    one = "(build|demo|check|short|guests|bench|other)!?"
    for line in lines:
        assert re.fullmatch(rf"[a-z0-9+.-]+ +{one}(,{one})* +\S.*", line), line
