# SPDX-License-Identifier: BSD-3-Clause
"""Rules on the text of files: length, licence line, marks of unfinished work."""
import re

MAX_LINES = 600
# BPF programs carry the kernel's licence beside ours.
LICENCE = re.compile(r"SPDX-License-Identifier:.*BSD-3-Clause")
# Written so that this file does not contain the words itself.
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|\bnot imple" r"mented\b|\bstub f" r"or now\b")


def check_length(tree):
    for name in tree.sources():
        lines = tree.text(name).count("\n")
        if lines > MAX_LINES:
            yield f"{name}:{lines}: {lines} lines, more than {MAX_LINES}; split it by state"


def check_licence(tree):
    for name in tree.sources():
        head = tree.text(name).split("\n", 2)[:2]
        if not any(LICENCE.search(line) for line in head):
            if tree.text(name).strip():
                yield f"{name}:1: the first line must be SPDX-License-Identifier: BSD-3-Clause"


def check_unfinished(tree):
    for name in tree.files:
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            found = MARKS.search(line)
            if found:
                yield f"{name}:{number}: {found.group(0)}: finish it or open an issue"
