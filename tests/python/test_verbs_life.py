# SPDX-License-Identifier: BSD-3-Clause
"""docs/design/peer-life.md shows the table of pm-verbs/conn/lifetable.c, row for row."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r"\{PMV_PEER_(\w+), PMV_(\w+), PMV_DO_(\w+),\s*PMV_PEER_(\w+)\}")
LINE = re.compile(r"([a-z ]+?) +--([a-z ]+?)(?: / ([a-z ]+?))?-*--> ([a-z ]+)$")


def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def words(name):
    return name.lower().replace("_", " ")


def test_drawing_shows_each_row():
    rows = [tuple(map(words, row)) for row in ROW.findall(text("pm-verbs/conn/lifetable.c"))]
    block = re.search(r"```life\n(.*?)```", text("docs/design/peer-life.md"), re.DOTALL).group(1)
    lines = [LINE.match(line) for line in block.splitlines() if line]
    assert len(rows) > 30 and all(lines)
    assert [(m[1], m[2], m[3] or "nothing", m[4]) for m in lines] == rows


def test_words_are_explained():
    page, source = text("docs/design/peer-life.md"), text("pm-verbs/conn/lifetable.c")
    for _, event, action, _ in ROW.findall(source):
        assert f"| {words(event)} |" in page
        assert action == "NOTHING" or f"| {words(action)} |" in page
