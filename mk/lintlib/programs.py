# SPDX-License-Identifier: BSD-3-Clause
"""Rules that a program of the distribution checks: shell, Python, C format, manual pages."""
import re
import shutil

from lintlib import symbols
from lintlib.tree import Skip, need

# How many files one call of a tool gets, so that two calls run side by side.
BATCH = 24
# That of Debian 12.
FORMAT_VERSION = 14


def batches(names):
    return [names[i:i + BATCH] for i in range(0, len(names), BATCH)]


def offences(tree, command, names, wanted=lambda line: True):
    """The lines that a tool prints about these files."""
    calls = [command + batch for batch in batches(names)]
    for output, code in tree.run_all(calls):
        lines = [line for line in output.splitlines() if line.strip()]
        if code:
            yield from [line for line in lines if wanted(line)] or lines


def check_shell(tree):
    need("shellcheck")
    yield from offences(tree, ["shellcheck", "-f", "gcc", "-x"], tree.shell_files())


def check_python(tree):
    if shutil.which("ruff"):
        command = ["ruff", "check", "--quiet", "--no-cache", "--output-format", "concise",
                   "--line-length", "120"]
    else:
        need("flake8")
        # Where a continued line is indented is taste; ruff does not judge it either.
        command = ["flake8", "--max-line-length", "120", "--extend-ignore", "E127,E128,E129,E131"]
    yield from offences(tree, command, tree.python_files())


def format_version(tree):
    """Of the installed clang-format."""
    need("clang-format")
    output, _ = tree.run(["clang-format", "--version"])
    return int(re.search(r"version (\d+)", output)[1])


def check_format(tree):
    version = format_version(tree)
    if version != FORMAT_VERSION:
        raise Skip(f"clang-format {FORMAT_VERSION} formats this tree, and others do it otherwise: here is {version}")
    found = offences(tree, ["clang-format", "--dry-run", "-Werror"], tree.c_files(),
                     lambda line: "error:" in line)
    first = {}
    for line in found:
        first.setdefault(line.split(":", 1)[0], line)
    yield from (f"{line}; make format" for line in first.values())


def undescribed(tree):
    """Public calls and commands without a page of their own."""
    pages = {page.rsplit("/", 1)[1] for page in tree.man_pages() + tree.links}
    if symbols.MAP in tree.files:
        for name in sorted(symbols.declared(tree.text(symbols.MAP))):
            if f"{name}.3" not in pages:
                yield f"{symbols.MAP}: {name} has no manual page {name}.3"
    tools = {name.split("/")[2] for name in tree.c_files() if name.startswith("pmcore/tools/")}
    for name in sorted(tools - {"common"}):
        if f"{name}.1" not in pages:
            yield f"pmcore/tools/{name}: has no manual page {name}.1"


def alias_target(tree, page):
    """The page that an alias page (one line, ".so man3/NAME") stands for, else None."""
    text = tree.text(page)
    return text.split()[1] if text.startswith(".so ") and text.count("\n") == 1 else None


def check_man(tree):
    yield from undescribed(tree)
    need("mandoc")
    pages = {f"man{page[-1]}/{page.rsplit('/', 1)[1]}" for page in tree.man_pages()}
    aliases = {page: alias_target(tree, page) for page in tree.man_pages()}
    for page, target in aliases.items():
        if target and target not in pages:
            yield f"{page}: stands for {target}, which is no page"
    yield from offences(tree, ["mandoc", "-T", "lint", "-W", "error"],
                        [page for page, target in aliases.items() if not target])
