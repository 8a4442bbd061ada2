# SPDX-License-Identifier: BSD-3-Clause
"""frames - messages as they lie on a connection (scheduler/proto/frame.h), made and taken apart. Pure: bytes in, bytes
out."""

import json
import struct

MAGIC = b"OSCORE1\n"
PREAMBLE = struct.Struct(">8sQ")
MAX = 16 << 20      # bytes of a frame, all included
STRANGER = 8192     # of one from somebody who is not known yet
CHUNK = 64 << 10    # most bytes of a stream in one frame
ROOM = 1 << 20      # of a stream may be sent before the other side gives more: LINK_FULL
_LENGTHS = struct.Struct(">II")
_text_of = json.JSONEncoder(separators=(",", ":")).encode


class Broken(Exception):
    """Bytes that are no frames."""


def preamble(job=0):
    """The bytes that a connector sends first. job: the one it asks for, 0: the daemon itself."""
    return PREAMBLE.pack(MAGIC, job)


def encode(head, body=b""):
    """One message as bytes."""
    data = _text_of(head).encode()
    return _LENGTHS.pack(4 + len(data) + len(body), len(data)) + data + body


def _head(data):
    try:
        head = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise Broken("a head that is no JSON") from None
    if not isinstance(head, dict) or not isinstance(head.get("op"), str):
        raise Broken("a head without \"op\"")
    return head


class Decoder:
    """Takes bytes as they come."""

    def __init__(self):
        self._data = bytearray()
        self._preamble = b""
        self._limit = MAX
        self._seal = None

    @property
    def waiting(self):
        """Bytes that have come and were not handed out."""
        return len(self._data)

    def expect(self, first):
        """A stranger: bytes that stand before the first message, and short messages until trust()."""
        self._preamble, self._limit = first, STRANGER

    def trust(self):
        """Messages may be long from now on."""
        self._limit = MAX

    def seal(self, sealed):
        """All behind the message that was handed out last is of a seal.Seal; Broken."""
        rest, self._data, self._seal = bytes(self._data), bytearray(), sealed
        self.feed(rest)

    def feed(self, data):
        """More bytes; Broken."""
        self._data += self._seal.pull(data) if self._seal else data

    def _take_preamble(self):
        """Whether nothing of it is missing any more."""
        size = len(self._preamble)
        if not self._preamble.startswith(bytes(self._data[:size])):
            raise Broken("another preamble")
        if len(self._data) < size:
            return False
        del self._data[:size]
        self._preamble = b""
        return True

    def message(self):
        """(head, body) of the next message, None: it is not there in full; Broken."""
        data = self._data
        if not self._take_preamble() or len(data) < _LENGTHS.size:
            return None
        length, head_length = _LENGTHS.unpack_from(data)
        if not head_length + 4 <= length <= self._limit - 4:
            raise Broken("lengths that do not fit together")
        if len(data) < 4 + length:
            return None
        body_at = _LENGTHS.size + head_length
        head, body = bytes(data[_LENGTHS.size:body_at]), bytes(data[body_at:4 + length])
        del data[:4 + length]
        return _head(head), body

    def messages(self):
        """(head, body) of each message that is there in full; Broken."""
        return iter(self.message, None)


def number(head, name, low=0, high=(1 << 63) - 1):
    """A whole number of a head; Broken."""
    value = head.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Broken(f"{head['op']}: \"{name}\" is missing or no number")
    return value


def text(head, name, otherwise=None):
    """A text of a head; what is missing is otherwise, and Broken without that."""
    value = head.get(name, otherwise)
    if not isinstance(value, str) or _is_torn(value):
        raise Broken(f"{head['op']}: \"{name}\" is missing or no text")
    return value


def _is_torn(value):
    """Whether it has half of a character that JSON may write as two: no program can send or print that."""
    return not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)
