# SPDX-License-Identifier: BSD-3-Clause
"""Rules on what Python imports: nothing whose name begins with an underscore, and no socket in the modules that make
and read the bytes of a connection."""
import ast

PURE = "scheduler/ctl/scorelink/"
DRIVER = f"{PURE}link.py"
SOCKETS = {"asyncio", "select", "selectors", "socket", "ssl"}


def is_private(name):
    """Whether its owner may change it without a word; __future__ is part of the language."""
    return name.startswith("_") and not name.startswith("__")


def imported(tree, name):
    """(line, dotted name) of each module and name that a file imports."""
    for node in tree.python_nodes(name):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module or ''}.{alias.name}") for alias in node.names)


def check(tree):
    for name in tree.python_files():
        for line, found in imported(tree, name):
            if any(map(is_private, found.split("."))):
                yield f"{name}:{line}: {found} is private to its owner; import what is documented"
            if name.startswith(PURE) and name != DRIVER and found.split(".")[0] in SOCKETS:
                yield f"{name}:{line}: {found}: bytes in, bytes out; {DRIVER} alone has a socket"
