#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the life of a peer of pm-verbs as a graph for dot, drawn from the table in pm-verbs/conn/lifetable.c. Edges
between the same two states are one edge, with a line for each event and its action."""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parents[2] / "pm-verbs/conn/lifetable.c"
ROW = re.compile(r"\{PMV_PEER_(\w+), PMV_(\w+), PMV_DO_(\w+),\s*PMV_PEER_(\w+)\}")
HEAD = """digraph peer_life {
ranksep = 0.7
node [shape = box, style = "rounded,filled", fillcolor = "#eef3f8", color = "#4a6a8a"]
node [fontname = "Helvetica", fontsize = 11]
edge [color = "#4a6a8a", fontname = "Helvetica", fontsize = 9]
"alive" [style = "rounded,filled,bold"]
"deleted" [style = "rounded,filled,dashed"]"""
# Nearly every state has these: pale, so that the rest can be followed.
PALE = ("killed / bury", "removed / give up")


def words(name):
    return name.lower().replace("_", " ")


def rows(text):
    """[(state, event, action, next state)] in words, in the order of the table."""
    return [tuple(map(words, row)) for row in ROW.findall(text)]


def graph(table):
    labels = {}
    for state, event, action, after in table:
        label = event if action == "nothing" else f"{event} / {action}"
        labels.setdefault((state, after), []).append(label)
    yield HEAD
    for (state, after), lines in labels.items():
        pale = ', color = "#b8c4d0", fontcolor = "#6a7a8a"' if set(lines) <= set(PALE) else ""
        label = "\\n".join(lines)
        yield f'"{state}" -> "{after}" [label = "{label}"{pale}]'
    yield "}"


def main():
    text = TABLE.read_text(encoding="utf-8")
    found = rows(text)
    if not found or len(found) != text.count("{PMV_PEER_"):
        sys.exit(f"{TABLE}: not every row is as {ROW.pattern}; write it so, or change {sys.argv[0]}")
    print("\n".join(graph(found)))


if __name__ == "__main__":
    main()
