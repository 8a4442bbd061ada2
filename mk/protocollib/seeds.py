# SPDX-License-Identifier: BSD-3-Clause
"""seeds - inputs of tests/fuzz/sched_message_fuzz.c: a message with all its fields for each entry of the table."""

import json

FIRST_LINK = ord("A")   # as in the fuzz program

_VALUES = {"ID": 1, "INTEGER": -1, "REAL": 0.5, "BOOL": True, "BYTES": {"hex": "ff"}, "OBJECT": {}}
_IN_LISTS = {"TEXTS": "x", "NUMBERS": 0, "LIST": None}


def _value(field):
    least = field.low or 0
    if field.type in _IN_LISTS:
        return [_IN_LISTS[field.type]] * (least if least else 1)
    if field.type == "NUMBER":
        return least
    if field.type == "TEXT":
        return field.words[0] if field.words else "x"
    return _VALUES[field.type]


def all_of(links):
    """Name of a file and its bytes."""
    for number, link in enumerate(links):
        for message in link.messages:
            head = {"op": message.op, **{field.name: _value(field) for field in message.fields}}
            yield f"{link.name.lower()}-{message.op}", bytes((FIRST_LINK + number,)) + json.dumps(head).encode()
