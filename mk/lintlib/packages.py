# SPDX-License-Identifier: BSD-3-Clause
"""Imports of Python: which package may use which, and modules of one directory that import each other in a circle.

An import counts wherever it stands: one inside a function only hides the circle. A package is a directory with
__init__.py; any other module is a package of its own. A program can't be imported. Circles have their ceilings in
mk/circles, as those of calls in C.
"""
import ast
import os
import sys

from lintlib import circles

COMMON = ("pmcommand", "pmharmless")  # modules of configs/ that every command shares
SHOWN = ("rich",)  # tables and progress in colour, where it is installed
BELOW_SCOUT = ("scorectl", "scorelink", "pmtopo", *COMMON, *SHOWN)

# Beginning of a path -> packages of the tree and of others that may be imported there. The first match wins. The own
# package and the standard library may be in any case. Programs and single modules that match no row may import all.
ALLOWED = (
    ("configs/pmcommand.py", ("pmharmless",)),
    ("configs/pmharmless.py", ()),
    ("configs/", ("pmtopo", *COMMON, *SHOWN)),
    ("pm-ethernet/ctl/", ("pmethernet", "pmcommand", *SHOWN)),
    ("scheduler/ctl/scorelink/", ()),
    ("scheduler/ctl/", ("scorectl", "scorelink", "pmtopo", *COMMON, *SHOWN)),
    ("scout/scoutkit/health/", ("scoutkit", *BELOW_SCOUT)),
    ("scout/scoutkit/watchdog/", ("scoutkit", "scorectl", "scorelink", *COMMON)),
    ("scout/scoutkit/", BELOW_SCOUT),
    ("scout/", ("scoutkit", "scoutkit.health", "scoutkit.watchdog", "scorectl")),
    ("mk/lintlib/", ()),
    ("mk/protocollib/", ()),
    ("tests/vm/vmlab/", ()),
    ("tests/lab/labkit/", ("vmlab",)),
    ("tests/soak/soakkit/", ("labkit", "schedlab", "systest")),
    # The figures of all parts are collected in pmbench, which the parts use.
    ("tests/bench/pmbench/", ("pmbench", "pmbench.apps", "pmbench.budget", "pmbench.study", "vmlab", "vmtest",
                              "matplotlib")),
)


def allowed_for(name):
    """The packages that a file may import, or None when there is no row for it."""
    return next((packages for prefix, packages in ALLOWED if name.startswith(prefix)), None)


class Modules:
    """The modules of a tree by the names that they are imported by."""

    def __init__(self, tree):
        self.files = tree.python_files()
        self.packages = {os.path.dirname(name) for name in self.files if os.path.basename(name) == "__init__.py"}
        self.by_name = {}
        for name in self.files:
            if name.endswith(".py"):
                self.by_name.setdefault(self.dotted(name), []).append(name)

    def dotted(self, name):
        """The name that a file is imported by: "scoutkit.health.judge"."""
        directory, base = os.path.split(name)
        words = [] if base == "__init__.py" else [base.removesuffix(".py")]
        while directory in self.packages:
            directory, base = os.path.split(directory)
            words.insert(0, base)
        return ".".join(words)

    def package(self, name):
        """The package of a file, "scoutkit.health"; of a module that is in none, the module."""
        dotted, is_inside = self.dotted(name), os.path.dirname(name) in self.packages
        return dotted.rpartition(".")[0] if is_inside and not name.endswith("/__init__.py") else dotted

    def find(self, dotted, importer):
        """The file of a module. Where several directories have one of that name, the importer's own comes first."""
        found = self.by_name.get(dotted, [])
        own = [name for name in found if os.path.dirname(name) == os.path.dirname(importer)]
        return next(iter(own + found), None)


def wanted(node, package):
    """[(module, name in it or None)] of one statement that imports; @package: the importer's, for leading dots."""
    if isinstance(node, ast.Import):
        return [(alias.name, None) for alias in node.names]
    words = package.split(".")
    words = words[:len(words) - node.level + 1] if node.level else []
    module = ".".join([*words, *filter(None, [node.module])])
    return [(module, alias.name) for alias in node.names]


def imports(tree, modules, name):
    """(line, file or None, package) for each thing that a file imports; None: it is not of this tree."""
    for node in tree.python_nodes(name):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for module, part in wanted(node, modules.package(name)):
            file = (part and modules.find(f"{module}.{part}", name)) or modules.find(module, name)
            yield node.lineno, file, modules.package(file) if file else module.partition(".")[0]


def check_packages(tree):
    modules = Modules(tree)
    for directory in sorted(modules.packages):
        if allowed_for(directory + "/") is None:
            yield f"{directory}: this package has no row in mk/lintlib/packages.py"
    for name in modules.files:
        allowed, own = allowed_for(name), modules.package(name)
        for line, file, package in imports(tree, modules, name) if allowed is not None else ():
            is_standard = not file and package in sys.stdlib_module_names
            if package != own and package not in allowed and not is_standard:
                yield (f"{name}:{line}: {package} is against the layers; "
                       f"allowed here: {' '.join(allowed) or 'the standard library'}")


def graphs(tree):
    """{directory: {file: files of the directory that it imports}}"""
    modules, found = Modules(tree), {}
    for name in modules.files:
        directory = os.path.dirname(name)
        files = {file for _, file, _ in imports(tree, modules, name) if file and file != name}
        found.setdefault(directory, {})[name] = {file for file in files if os.path.dirname(file) == directory}
    return found


def check_modules(tree):
    ceilings = circles.read_ceilings(tree.text(circles.CEILINGS)) if circles.CEILINGS in tree.files else {}
    for directory, graph in sorted(graphs(tree).items()):
        ceiling, circle = ceilings.get(directory, circles.NONE), max(circles.circles(graph), key=len)
        if len(circle) > ceiling:
            names = " ".join(os.path.basename(name) for name in circle)
            yield f"{directory}: {len(circle)} modules import each other in a circle, {ceiling} may: {names}"
        elif len(circle) < ceiling:
            yield f"{circles.CEILINGS}: {directory} has circles of at most {len(circle)} modules: lower its {ceiling}"
