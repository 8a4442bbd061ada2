# SPDX-License-Identifier: BSD-3-Clause
"""table - the messages of the suite's programs, read from the table that they are compiled from.

Refuses a line that is not as the head of scheduler/proto/messages.def says.
"""

import collections
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parents[2] / "scheduler/proto/messages.def"
NUMBERS = ("NUMBER", "ID", "INTEGER")
LISTS = ("TEXTS", "NUMBERS", "LIST")
TYPES = (*NUMBERS, "REAL", "BOOL", "TEXT", "BYTES", *LISTS, "OBJECT")

# name: its word in the table; sender, receiver, sentence: for people; messages: a tuple of Message.
Link = collections.namedtuple("Link", "name sender receiver sentence messages")
# op: its text in a head; name: OP_NAME of C; fields: a tuple of Field.
Message = collections.namedtuple("Message", "name op sentence fields")
# low, high: of a number or of the length of a list, or None; words: all that a text may be, or ().
Field = collections.namedtuple("Field", "name type is_optional meaning low high words")

_TEXT = r'"(?:[^"\\\n]|\\["\\])*"'
_HEAD = re.compile(r"/\*([^*]|\*(?!/))*\*/\s*/\*([^*]|\*(?!/))*\*/\s*")
_SPACE = re.compile(r"\s*")
_LINK = re.compile(rf"LINK\((?P<name>[A-Z_]+), (?P<sender>{_TEXT}), (?P<receiver>{_TEXT}),"
                   rf"(?P<sentence>(?:\s+{_TEXT})+)\)\n")
_MESSAGE = re.compile(rf'(?:MESSAGE\((?P<new>[A-Z_]+), "(?P<op>[a-z_]+)"|ALSO\((?P<old>[A-Z_]+)), (?P<link>[A-Z_]+),'
                      rf"\s+(?P<sentence>{_TEXT})(?P<more>,\n)?")
_FIELD = re.compile(rf'(?P<kind>FIELD|OPTIONAL)\("(?P<name>[a-z_0-9]+)", (?P<type>{"|".join(TYPES)}), '
                    rf"(?P<meaning>{_TEXT})"
                    rf"(?:,\s+RANGE\((?P<low>[0-9]+), (?P<high>[0-9]+)\))?"
                    rf"(?:,\s+WORDS\((?P<words>{_TEXT}(?:, {_TEXT})+)\))?\)")
_END = re.compile(r"\)\n")


def _text(quoted):
    """The text of adjacent string literals."""
    return re.sub(r"\\(.)", r"\1", "".join(part[1:-1] for part in re.findall(_TEXT, quoted)))


class _Reader:
    """Goes through the text of a table; at: where it is."""

    def __init__(self, text):
        self.text, self.at = text, 0
        self.take(_HEAD, "begin with the two comments of the head")

    def take(self, pattern, wanted=None):
        """Goes over a match that begins here. None: there is none; ValueError if one is wanted."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        elif wanted:
            raise ValueError(wanted)
        return match

    def is_at_end(self):
        self.take(_SPACE)
        return self.at == len(self.text)


def _field(reader):
    reader.take(_SPACE)
    match = reader.take(_FIELD)
    if not match:
        return None
    low, high = (int(match[key]) if match[key] else None for key in ("low", "high"))
    if low is not None and (match["type"] not in NUMBERS + LISTS or low > high):
        raise ValueError(f"{match['name']}: write RANGE of a number or a list, with the smaller number first")
    words = tuple(map(_text, re.findall(_TEXT, match["words"] or "")))
    if words and match["type"] != "TEXT":
        raise ValueError(f"{match['name']}: write WORDS of a TEXT")
    return Field(match["name"], match["type"], match["kind"] == "OPTIONAL", _text(match["meaning"]), low, high, words)


def _message(reader, ops, link):
    """The next message of @link; None: there is no more. @ops has the text of each name."""
    reader.take(_SPACE)
    match = reader.take(_MESSAGE)
    if not match:
        return None
    name = match["new"] or match["old"]
    if match["link"] != link:
        raise ValueError(f"{name} stands behind LINK({link}, ...) and is of {match['link']}")
    if bool(match["new"]) == (name in ops) or match["op"] in ops.values():
        raise ValueError(f"{name}: write MESSAGE where it is new, and ALSO from then on")
    op = ops.setdefault(name, match["op"])
    fields = []
    while match["more"] and (field := _field(reader)):
        if field.name in [other.name for other in fields]:
            raise ValueError(f"{name}: {field.name} is there already; remove one of the lines")
        fields.append(field)
    reader.take(_END, f"{name}: write FIELD or OPTIONAL as the head of the file says")
    return Message(name, op, _text(match["sentence"]), tuple(fields))


def _link(reader, ops, names):
    match = reader.take(_LINK, 'write LINK(name, "sender", "receiver", "sentence") or MESSAGE, as the head says')
    if match["name"] in names:
        raise ValueError(f"LINK({match['name']}, ...) is there already; write its messages behind that one")
    messages = []
    while message := _message(reader, ops, match["name"]):
        if message.op in [other.op for other in messages]:
            raise ValueError(f"{message.name} is there already; remove one of them")
        messages.append(message)
    return Link(match["name"], *(_text(match[key]) for key in ("sender", "receiver", "sentence")), tuple(messages))


def parse(text, path=PATH):
    """The links of a table, in its order. Raises ValueError with path and line."""
    reader, links, ops = None, [], {}
    try:
        reader = _Reader(text)
        while not reader.is_at_end():
            links.append(_link(reader, ops, [link.name for link in links]))
    except ValueError as error:
        line = text.count("\n", 0, reader.at if reader else 0) + 1
        raise ValueError(f"{path}:{line}: {error}") from None
    return tuple(links)


def load():
    return parse(PATH.read_text("utf-8"))
