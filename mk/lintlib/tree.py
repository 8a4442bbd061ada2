# SPDX-License-Identifier: BSD-3-Clause
"""The files that lint judges, by kind. Knows what belongs to the project; knows no rule."""
import ast
import functools
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

NOT_OURS = {".git", "__pycache__", ".pytest_cache", ".hypothesis"}


class Skip(Exception):
    """A rule cannot run here; the text says what to install."""


class Tree:
    """One source tree. Paths are relative to its root."""

    def __init__(self, root, build):
        self.root = os.path.abspath(root)
        self.build = os.path.join(self.root, build)
        present = sorted(self._walk())
        self.links = [name for name in present if os.path.islink(self.path(name))]
        self.files = [name for name in present if name not in self.links]
        self._text = {}

    def _walk(self):
        for directory, subdirs, names in os.walk(self.root):
            subdirs[:] = [d for d in subdirs if self._is_ours(os.path.join(directory, d))]
            for name in names:
                path = os.path.join(directory, name)
                if os.path.isfile(path):
                    yield os.path.relpath(path, self.root)

    def _is_ours(self, directory):
        name = os.path.basename(directory)
        is_output = os.path.exists(os.path.join(directory, "config.mk"))
        return name not in NOT_OURS and not is_output

    def path(self, name):
        return os.path.join(self.root, name)

    def text(self, name):
        """The text of a file; empty for one that is not text."""
        if name not in self._text:
            with open(self.path(name), "rb") as f:
                data = f.read()
            self._text[name] = "" if b"\0" in data else data.decode("utf-8", "replace")
        return self._text[name]

    @functools.cache
    def python_nodes(self, name):
        """All nodes of a Python file's syntax tree; none where the syntax is wrong, as the rule "python" tells."""
        try:
            return list(ast.walk(ast.parse(self.text(name))))
        except SyntaxError:
            return []

    def _has_shebang(self, name, interpreters):
        if "." in os.path.basename(name) and not name.endswith(".t"):
            return False
        first = self.text(name).split("\n", 1)[0]
        return first.startswith("#!") and any(word in first for word in interpreters)

    def c_files(self):
        return [n for n in self.files if n.endswith((".c", ".h"))]

    def headers(self):
        return [n for n in self.files if n.endswith(".h")]

    def shell_files(self):
        return [n for n in self.files if n.endswith(".sh") or self._has_shebang(n, ("/sh", "bash"))]

    def python_files(self):
        return [n for n in self.files if n.endswith(".py") or self._has_shebang(n, ("python",))]

    def man_pages(self):
        return [n for n in self.files if n.rsplit("/", 2)[-2:-1] == ["man"] and n[-2:-1] == "."
                and n[-1].isdigit()]

    def sources(self):
        """Everything a person wrote as program text."""
        return sorted({*self.c_files(), *self.shell_files(), *self.python_files()})

    def run(self, command, stdin=""):
        """Runs a tool at the root; its output and exit code."""
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False,
                              input=stdin)
        return done.stdout + done.stderr, done.returncode

    def run_all(self, commands, stdin=""):
        """Runs independent commands two at a time; outputs and codes in order."""
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(lambda command: self.run(command, stdin), commands))


def need(tool, package=None):
    """Refuses a rule whose tool is not installed."""
    if not shutil.which(tool):
        raise Skip(f"install {package or tool}")
