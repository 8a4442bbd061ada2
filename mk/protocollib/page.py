# SPDX-License-Identifier: BSD-3-Clause
"""page - the table as a document, docs/protocol.md."""

HEAD = """# Messages between programs

`mk/protocol` writes this page from `scheduler/proto/messages.def`. Change the table and run `make protocol`.

A message is a frame: a head in JSON with the field `op`, and a body of bytes.
The body is empty where nothing is said of it.
Frames are described in `scheduler/proto/frame.h`, the handshake of a connection in `scheduler/proto/link.h`.
Programs in C check every message that they get against the table, see `scheduler/proto/messages_check.h`.
`scout` and the other programs in Python look at the fields that they read.
Fields that the receiver does not know are ignored. A request of an op that it does not know is answered by `error`.
Any other message of such an op is ignored by scrun and scstepd, and logged by scored and by scnoded.
scremote ends the connection for it, and scnoded ends a job whose scstepd sends one.

| type | value in JSON |
|---|---|
| NUMBER | a whole number from 0, below 2^63 |
| ID | a NUMBER from 1 |
| INTEGER | a whole number |
| REAL | a number |
| BOOL | true or false |
| TEXT | a string |
| BYTES | a string, or `{"hex": "..."}` for bytes that are no UTF-8 |
| TEXTS, NUMBERS | a list of them |
| LIST | a list of other values |
| OBJECT | an object |
"""


def _bounds(field):
    if field.words:
        return " or ".join(f'"{word}"' for word in field.words)
    if field.low is None:
        return ""
    count = " values" if field.type in ("TEXTS", "NUMBERS", "LIST") else ""
    return f"{field.low}{count}" if field.low == field.high else f"{field.low} to {field.high}{count}"


def _field(field):
    type_and_bounds = ", ".join(filter(None, (field.type, _bounds(field), "optional" if field.is_optional else "")))
    return f"- `{field.name}` ({type_and_bounds}): {field.meaning}"


def _message(message):
    fields = "".join(f"\n{_field(field)}" for field in message.fields)
    return f"**`{message.op}`** {message.sentence}\n{fields}".rstrip() + "\n"


def _link(link):
    title = f"{link.sender} to {link.receiver}"
    return "\n".join((f"## {title[0].upper() + title[1:] if title[0] != 's' else title}\n", f"{link.sentence}\n",
                      *map(_message, link.messages)))


def text(links):
    """The page, of a table that was read."""
    return "\n".join((HEAD, *map(_link, links)))
