# SPDX-License-Identifier: BSD-3-Clause
"""mk/lint's rules for what modules of Python import, on small trees and on this one."""
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "# SPDX-License-Identifier: BSD-3-Clause\n"
EMPTY = ("configs/pmcommand.py", "configs/pmharmless.py", "configs/pmtopo/__init__.py", "configs/pmtopo/model.py",
         "scheduler/ctl/scorectl/__init__.py", "scheduler/ctl/scorectl/link.py", "scout/scoutkit/__init__.py",
         "scout/scoutkit/fanout.py", "scout/scoutkit/health/__init__.py", "scout/scoutkit/health/judge.py",
         "scout/scoutkit/watchdog/__init__.py", "tests/lab/labkit/__init__.py", "tests/vm/vmlab/__init__.py",
         "tests/system/systest.py")


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    for name in EMPTY:
        write(tmp_path, name, "")
    return tmp_path


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(("" if text.startswith("#!") else HEAD) + text)


def lint(tree, *rules):
    done = subprocess.run([ROOT / "mk/lint", "--root", tree, *rules], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name, statement, package", [
    ("configs/pmharmless.py", "import pmcommand", "pmcommand"),
    ("configs/pmtopo/a.py", "from scorectl import link", "scorectl"),
    ("configs/pmtopo/a.py", "import scorectl.link as l", "scorectl"),
    ("configs/pmtopo/a.py", "import numpy.linalg", "numpy"),
    ("configs/scconf", "from scoutkit import fanout", "scoutkit"),
    ("scheduler/ctl/scorectl/a.py", "from scoutkit.fanout import spread", "scoutkit"),
    ("scheduler/ctl/scorectl/a.py", "def late():\n    import scoutkit", "scoutkit"),
    ("scout/scoutkit/a.py", "from .health import judge", "scoutkit.health"),
    ("scout/scoutkit/a.py", "from .health.judge import think", "scoutkit.health"),
    ("scout/scoutkit/health/a.py", "from ..watchdog import core", "scoutkit.watchdog"),
    ("scout/scoutkit/health/a.py", "import systest", "systest"),
    ("tests/vm/vmlab/a.py", "import labkit", "labkit"),
])
def test_packages_reports(tree, name, statement, package):
    write(tree, name, f"#!/usr/bin/python3\n{HEAD}{statement}\n")
    code, output = lint(tree, "packages")
    line = 3 + statement.count("\n")
    assert code == 1 and f"{name}:{line}: {package} is against the layers" in output, output


@pytest.mark.parametrize("name, statement", [
    ("configs/pmcommand.py", "import pmharmless"),
    ("configs/pmtopo/a.py", "from . import model"),
    ("configs/pmtopo/a.py", "from .model import Host"),
    ("configs/pmtopo/a.py", "import os.path, tomllib"),
    ("scheduler/ctl/scorectl/a.py", "from pmtopo.model import Host"),
    ("scout/scoutkit/health/a.py", "from .. import fanout"),
    ("scout/scoutkit/health/a.py", "from ..fanout import spread"),
    ("tests/lab/labkit/a.py", "import vmlab"),
    ("tests/system/a.t", "import systest, scorectl.link, numpy"),
])
def test_packages_allows(tree, name, statement):
    write(tree, name, f"#!/usr/bin/python3\n{HEAD}{statement}\n")
    code, output = lint(tree, "packages")
    assert code == 0, output


def test_packages_reports_a_package_without_a_row(tree):
    write(tree, "scout/other/__init__.py", "")
    write(tree, "pm-udp/kit/__init__.py", "")
    code, output = lint(tree, "packages")
    assert code == 1 and "pm-udp/kit: this package has no row" in output, output


CIRCLE = {"a": "from . import b", "b": "def late():\n    from .c import go", "c": "import pmtopo.a",
          "top": "from . import a, c", "leaf": "import os"}


def write_circle(tree, ceilings):
    for name, text in CIRCLE.items():
        write(tree, f"configs/pmtopo/{name}.py", text + "\n")
    write(tree, "mk/circles", ceilings)


def test_modules_reports_a_circle_that_is_larger_than_its_ceiling(tree):
    write_circle(tree, "configs/pmtopo 2\n")
    code, output = lint(tree, "modules")
    assert code == 1 and "configs/pmtopo: 3 modules import each other in a circle, 2 may: a.py b.py c.py" in output


def test_modules_without_a_ceiling_form_no_circle(tree):
    write_circle(tree, "")
    code, output = lint(tree, "modules")
    assert code == 1 and "configs/pmtopo: 3 modules import each other in a circle, 1 may" in output


def test_modules_wants_ceilings_that_are_no_higher_than_needed(tree):
    write_circle(tree, "configs/pmtopo 4\n")
    code, output = lint(tree, "modules")
    assert code == 1 and "mk/circles: configs/pmtopo has circles of at most 3 modules: lower its 4" in output
    write_circle(tree, "configs/pmtopo 3\n")
    assert lint(tree, "modules") == (0, "")


def test_this_tree_keeps_both_rules():
    assert lint(ROOT, "packages", "modules") == (0, "")
