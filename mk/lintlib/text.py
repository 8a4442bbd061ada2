# SPDX-License-Identifier: BSD-3-Clause
"""Rules on the text of files: length, width of comments, licence line, marks of unfinished work."""
import re

MAX_LINES = 600
MAX_COLUMNS = 100
TAB = 8
C_COMMENT = re.compile(r"^\s*(?:/\*|\*|//)|/\*")
# A row of a table or a grammar may be wider: wrapped it could not be read.
ROW = re.compile(r"\S {3,}\S|\S\t+\S")
# BPF programs carry the kernel's licence beside ours.
LICENCE = re.compile(r"SPDX-License-Identifier:.*BSD-3-Clause")
# As the kernel has it: a header may be read by tools that know block comments alone.
LICENCE_COMMENT = {".c": "// SPDX", ".h": "/* SPDX"}
# Written so that this file does not contain the words itself.
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|\bnot imple" r"mented\b|\bstub f" r"or now\b")


def check_length(tree):
    for name in tree.sources():
        lines = tree.text(name).count("\n")
        if lines > MAX_LINES:
            yield f"{name}:{lines}: {lines} lines, more than {MAX_LINES}; split it by state"


def check_columns(tree):
    for name in tree.sources():
        if not name.endswith((".c", ".h")):
            continue
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            columns = len(line.expandtabs(TAB))
            if columns > MAX_COLUMNS and C_COMMENT.search(line) and not ROW.search(line.strip(" \t*")):
                yield f"{name}:{number}: a comment of {columns} columns, more than {MAX_COLUMNS}"


def check_licence(tree):
    for name in tree.sources():
        head = tree.text(name).split("\n", 2)[:2]
        if not any(LICENCE.search(line) for line in head):
            if tree.text(name).strip():
                yield f"{name}:1: the first line must be SPDX-License-Identifier: BSD-3-Clause"
        elif not head[0].startswith(LICENCE_COMMENT.get(name[-2:], "")):
            yield f"{name}:1: begin with {LICENCE_COMMENT[name[-2:]]}"


def check_unfinished(tree):
    for name in tree.files:
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            found = MARKS.search(line)
            if found:
                yield f"{name}:{number}: {found.group(0)}: finish it or open an issue"
