# SPDX-License-Identifier: BSD-3-Clause
"""scheduler/proto/messages.def: its reader refuses what is malformed, what is made of it is up to date, and the suite's
programs in Python name no message and no field that it does not have."""

import ast
import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "mk"))

from protocollib import page, seeds, table  # noqa: E402

LINKS = {link.name: link for link in table.load()}
HEAD = "/* 1 */\n/*\n * 2\n */\n\n"
LINK = 'LINK(UP, "a", "b", "Goes up.")\n'
GOOD = ('MESSAGE(SAY, "say", UP, "Says.",\n\tFIELD("n", NUMBER, "how \\"much\\"", RANGE(1, 9))\n'
        '\tOPTIONAL("w", TEXT, "x", WORDS("p", "q")))\n')


def refused(text):
    with pytest.raises(ValueError) as caught:
        table.parse(HEAD + text, "messages.def")
    return str(caught.value)


def test_parse__every_part_of_an_entry():
    more = 'LINK(DOWN, "b", "a", "Goes "\n\t"down.")\nALSO(SAY, DOWN, "Answers.")\n'
    up, down = table.parse(HEAD + LINK + GOOD + "\n" + more)
    assert up == ("UP", "a", "b", "Goes up.", ((
        "SAY", "say", "Says.", (("n", "NUMBER", False, 'how "much"', 1, 9, ()),
                                ("w", "TEXT", True, "x", None, None, ("p", "q")))),))
    assert down == ("DOWN", "b", "a", "Goes down.", (("SAY", "say", "Answers.", ()),))


@pytest.mark.parametrize("text", [
    "x\n", "/* a third comment */\n", "LINK(UP)\n", LINK + "MESSAGE\n", LINK.replace("UP", "up"), LINK[:-2] + ";\n",
    LINK + GOOD.replace('"say"', "say"), LINK + GOOD.replace(", UP", ""), LINK + GOOD.replace("MESSAGE", "NEWS"),
    LINK + GOOD.replace("NUMBER", "COLOUR"), LINK + GOOD.replace("FIELD", "FELD"), LINK + GOOD.replace("9)", "-9)"),
    LINK + GOOD.replace('"n"', '"N"'), LINK + GOOD[:-2] + "\n", LINK + GOOD.replace('WORDS("p", "q")', 'WORDS("p")'),
    LINK + GOOD.replace('"Says."', "Says.")])
def test_parse__a_malformed_entry(text):
    assert refused(text).startswith("messages.def:") and ": write " in refused(text)


@pytest.mark.parametrize("text, why", [
    (LINK + GOOD.replace("UP", "OVER"), "stands behind LINK(UP, ...)"),
    (LINK + GOOD + GOOD, "write MESSAGE where it is new"),
    (LINK + GOOD + GOOD.replace("SAY", "TELL"), "write MESSAGE where it is new"),
    (LINK + 'ALSO(SAY, UP, "Says.")\n', "ALSO from then on"),
    (LINK + GOOD + 'ALSO(SAY, UP, "Says.")\n', "SAY is there already"),
    (LINK + GOOD.replace('"w"', '"n"'), "n is there already"),
    (LINK + GOOD.replace("(1, 9)", "(9, 1)"), "smaller number first"),
    (LINK + GOOD.replace("NUMBER", "BOOL"), "RANGE of a number or a list"),
    (LINK + GOOD.replace("TEXT", "LIST"), "WORDS of a TEXT"),
    (LINK + GOOD + "\n" + LINK, "LINK(UP, ...) is there already"),
    (LINK + GOOD + "\nx\n", "messages.def:11: write LINK")])
def test_parse__parts_that_do_not_fit(text, why):
    assert why in refused(text)


def test_table__every_sentence_is_one():
    for link in LINKS.values():
        assert link.messages and link.sentence.endswith("."), link.name
        for message in link.messages:
            assert message.sentence.endswith("."), message
            assert all(field.meaning and not field.meaning.endswith(".") for field in message.fields), message


def test_page__is_up_to_date():
    assert (TREE / "docs/protocol.md").read_text("utf-8") == page.text(tuple(LINKS.values())), "run: make protocol"


def test_seeds__of_the_fuzz_program_are_up_to_date():
    wanted = dict(seeds.all_of(tuple(LINKS.values())))
    corpus = TREE / "tests/fuzz/corpus/sched_message"
    there = {path.name: path.read_bytes() for path in corpus.iterdir() if not path.name.startswith("found-")}
    assert there == wanted, "run: make protocol; files that it does not write begin with found-"


# ---- programs in Python -------------------------------------------------------------------------

HANDSHAKE = {"hello", "welcome", "refused"}     # of scheduler/proto/link.h
SOURCES = [path for place in ("scheduler/ctl/scorectl", "scout/scoutkit") for path in (TREE / place).rglob("*.py")]
IN_A_SESSION = {"op", "host"}


def fields_of(op):
    """All fields that a message of this op may have, in any direction."""
    return {field.name for link in LINKS.values() for message in link.messages if message.op == op
            for field in message.fields}


OPS = {message.op for link in LINKS.values() for message in link.messages}


def text_of(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def heads(tree):
    """(op, its other keys) of each head that is written out."""
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Dict)):
        items = {text_of(key): value for key, value in zip(node.keys, node.values) if key is not None and text_of(key)}
        if text_of(items.get("op")):
            yield text_of(items["op"]), set(items)


def is_op(node):
    """head["op"], or a variable of that name."""
    return (isinstance(node, ast.Subscript) and text_of(node.slice) == "op") or \
        (isinstance(node, ast.Name) and node.id == "op")


def compared(tree):
    """The ops that a head's op is compared with."""
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Compare) and is_op(node.left)):
        for other in node.comparators:
            yield from filter(None, map(text_of, getattr(other, "elts", [other])))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(TREE)))
def test_python__names_no_message_and_no_field_beside_the_table(path):
    tree = ast.parse(path.read_text("utf-8"))
    for op, keys in heads(tree):
        assert op in HANDSHAKE or op in OPS and keys - IN_A_SESSION <= fields_of(op), (op, keys)
    assert set(compared(tree)) <= OPS | HANDSHAKE


def test_python__the_heads_are_found():
    found = {op for path in SOURCES for op, _ in heads(ast.parse(path.read_text("utf-8")))}
    assert found > {"activity", "cancel", "cluster", "drain", "get", "jobs", "lock", "put", "remote", "run", "unlock"}
