#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests/python below pytest and prints one TAP line per test. As pytest-scconf.t it runs those of scconf,
which take as long as all others together, and as pytest.t the others."""
import glob
import os
import sys

try:
    import pytest
except ImportError:
    print("1..0 # SKIP pytest is missing (install python3-pytest)")
    sys.exit(0)


class TapReport:
    """Pytest plugin: the reports of one run as TAP; a fixture's error counts as the test's."""

    def __init__(self, out):
        self.count = 0
        self.out = out

    def print(self, text):
        print(text, file=self.out, flush=True)

    def line(self, result, name, note=""):
        self.count += 1
        self.print(f"{result} {self.count} - {name}{note}")

    def diagnose(self, report):
        for text in str(report.longrepr).splitlines():
            print(f"#   {text}", file=sys.stderr)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.removeprefix("tests/python/")
        if report.failed:
            self.diagnose(report)
            self.line("not ok", name if report.when == "call" else f"{name} ({report.when})")
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected failure"
            self.line("ok", name, f" # SKIP {reason.removeprefix('Skipped: ')}")
        elif report.when == "call":
            self.line("ok", name)

    def pytest_collectreport(self, report):
        if report.failed:
            self.diagnose(report)
            self.line("not ok", f"{report.nodeid} (collection)")


def part():
    """The tests of this file's name."""
    of_scconf = set(glob.glob("tests/python/test_scconf*.py"))
    if os.path.basename(sys.argv[0]) == "pytest-scconf.t":
        return sorted(of_scconf)
    return sorted(set(glob.glob("tests/python/test_*.py")) - of_scconf)


sys.dont_write_bytecode = True
# Pytest's own report goes nowhere: TAP has standard output to itself.
tap = TapReport(os.fdopen(os.dup(1), "w"))
sys.stdout = open(os.devnull, "w")
code = pytest.main(["-p", "no:cacheprovider", *(sys.argv[1:] or part())], plugins=[tap])
tap.print(f"1..{tap.count}")
sys.exit(0 if code in (0, 5) else 1)
