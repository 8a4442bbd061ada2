# SPDX-License-Identifier: BSD-3-Clause
"""seeds - inputs of tests/fuzz/sched_message_fuzz.c: a message with all its fields for each entry of the table, and one
with a wrong value for each kind of field."""

import json

FIRST_LINK = ord("A")   # as in the fuzz program

_VALUES = {"ID": 1, "INTEGER": -1, "REAL": 0.5, "BOOL": True, "BYTES": {"hex": "ff"}, "OBJECT": {}}
_IN_LISTS = {"TEXTS": "x", "NUMBERS": 0, "LIST": None}
_WRONG = {"ID": 0, "NUMBER": -1, "TEXT": 7, "BYTES": 7, "TEXTS": [7], "NUMBERS": [-1], "LIST": {}, "OBJECT": []}


def _value(field):
    least = field.low or 0
    if field.type in _IN_LISTS:
        return [_IN_LISTS[field.type]] * (least if least else 1)
    if field.type == "NUMBER":
        return least
    if field.type == "TEXT":
        return field.words[0] if field.words else "x"
    return _VALUES[field.type]


def _wrong(field):
    if field.words:
        return "other"
    if field.high is not None:
        return [_IN_LISTS[field.type]] * (field.high + 1 if field.high < 9 else 0) if field.type in _IN_LISTS else \
            field.high + 1
    return _WRONG.get(field.type, "x")


def _seed(number, message, **others):
    head = {"op": message.op, **{field.name: _value(field) for field in message.fields}, **others}
    return bytes((FIRST_LINK + number,)) + json.dumps(head).encode()


def all_of(links):
    """Name of a file and its bytes."""
    kinds = set()
    for number, link in enumerate(links):
        for message in link.messages:
            name = f"{link.name.lower()}-{message.op}"
            yield name, _seed(number, message)
            for field in message.fields:
                kind = field.type, bool(field.low), field.high is None, bool(field.words)
                if kind not in kinds:
                    yield f"{name}-{field.name}-wrong", _seed(number, message, **{field.name: _wrong(field)})
                kinds.add(kind)
