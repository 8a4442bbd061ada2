# SPDX-License-Identifier: BSD-3-Clause
"""Properties that all commands written in Python share, in the tree and as they are installed."""
import functools
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PM_BUILD", TREE / "build")).resolve()
VERSION = re.search(r"^VERSION\s*:=\s*(\S+)$", (TREE / "mk/version.mk").read_text("utf-8"), re.M)[1]
COMMANDS = ["configs/scconf", "tests/lab/sclab", "pm-ethernet/ctl/pm-ethernetctl",
            *(f"scheduler/ctl/{name}" for name in ("scqueue", "scancel", "scinfo", "sctop", "scpool")),
            *(f"scout/{name}" for name in ("scout", "msgb", "msgblock", "sceptic", "sc_watch"))]


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_version__in_the_tree(command):
    assert said(TREE / command, "--version") == (0, f"{os.path.basename(command)} {VERSION}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_version__as_installed(command, tmp_path):
    """By a link to where it lies with what it needs, tests/ left out."""
    ignored = shutil.ignore_patterns("__pycache__")
    for part in ("configs", "tests/lab", "pm-ethernet/ctl", "scheduler/ctl", "scout"):
        shutil.copytree(TREE / part, tmp_path / "share" / part.removeprefix("tests/"), ignore=ignored)
    (tmp_path / "share/mk").mkdir()
    shutil.copy(TREE / "mk/version.mk", tmp_path / "share/mk")
    link = tmp_path / "command"
    link.symlink_to(tmp_path / "share" / command.removeprefix("tests/"))
    assert said(link, "--version") == (0, f"{os.path.basename(command)} {VERSION}\n", "")


@pytest.mark.parametrize("command, words, code", [
    ("scout/sc_watch", ["-n", "0", "--", "sh", "-c", "echo up >{0}; exit 1"], 1), ("scout/scout", ["--help"], 0),
    ("configs/scconf", ["check", "/no/such/file"], 1)])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_descriptors__closed(command, words, code, closed, tmp_path):
    """Only the output to a closed descriptor is lost: the daemon runs, and the exit code is the usual one."""
    mark = tmp_path / "mark"
    words = [word.format(mark) for word in words]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", TREE / command, *words], capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, "Traceback" in done.stderr, mark.exists()) == (code, False, "sc_watch" in command)


@functools.cache    # make takes seconds to tell
def installing(*settings):
    """The commands that make install would run."""
    if not (BUILD / "config.mk").exists():
        pytest.skip("nothing is built: run make")
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", "-n", "-C", TREE, f"BUILD={BUILD}", *settings, "install"], env=env,
                          capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


def test_install__last_line_says_what_and_where():
    last = next(line for line in reversed(installing("PREFIX=/opt/x")) if line.startswith("echo"))
    for part in ("installed: programs in /opt/x/bin,", "library in /opt/x/lib,", "headers in /opt/x/include,",
                 "manual in /opt/x/share/man"):
        assert part in last


def test_install__staged():
    """The version lies where the commands look for it."""
    lines = installing("PREFIX=/opt/x", "DESTDIR=/stage")
    assert any("installed below /stage: programs in /opt/x/bin," in line for line in lines)
    assert any("/stage/opt/x/share/openscore/mk/version.mk" in line for line in lines)


def test_install__python_is_compiled():
    """By who installs: a user's command, which may not write there, would compile all of it each time."""
    lines = installing("PREFIX=/opt/x")
    compiles = [n for n, line in enumerate(lines) if "-m compileall" in line and "'/opt/x/share/openscore'" in line]
    assert len(compiles) == 1
    assert max(n for n, line in enumerate(lines) if "/share/openscore/scout/scoutkit/main.py" in line) < compiles[0]


def test_install__a_staged_python_is_not_compiled():
    """A package compiles for the Python of the host that it lands on."""
    assert "compileall" not in "\n".join(installing("PREFIX=/opt/x", "DESTDIR=/stage"))


def place_of_component(*settings):
    """The directory that make install would put Open MPI's component into."""
    found = [re.search(r"-o '([^']*)/mca_mtl_pm\.so'", line) for line in installing(*settings)]
    if not any(found):
        pytest.skip("mtl/pm is not built")
    return next(match[1] for match in found if match)


def test_install__component_of_open_mpi():
    """Another prefix leaves the machine's Open MPI alone; that one's own and the default mean it."""
    theirs = place_of_component()
    path = subprocess.run(["ompi_info", "--path", "prefix"], capture_output=True, text=True, timeout=60, check=True)
    prefix = path.stdout.split(":", 1)[1].strip()
    assert not theirs.startswith("/usr/local/lib/openmpi")
    assert place_of_component(f"PREFIX={prefix}", "DESTDIR=/stage") == f"/stage{theirs}"
    assert place_of_component("PREFIX=/opt/x") == "/opt/x/lib/openmpi"
    assert place_of_component("PREFIX=/opt/x", "DESTDIR=/stage") == "/stage/opt/x/lib/openmpi"


def test_install__nothing_outside_its_prefix():
    text = "\n".join(installing("PREFIX=/opt/x"))
    assert not re.search(r"'/(?!opt/x/)[^']*/(mca_|help-)", text)
