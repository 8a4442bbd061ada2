# SPDX-License-Identifier: BSD-3-Clause
"""frames - messages as they lie on a connection (scheduler/proto/frame.h), made and taken apart without waiting for
any. Pure: bytes in, bytes out. scorectl.link has the form that waits."""

import struct

from scorectl import jsontext, seal

MAX = 16 << 20      # bytes of a frame, all included
STRANGER = 8192     # of one from somebody who is not known yet
CHUNK = 64 << 10    # most bytes of a stream in one frame
ROOM = 1 << 20      # of a stream may be sent before the other side gives more: LINK_FULL
_LENGTHS = struct.Struct(">II")


class Broken(Exception):
    """Bytes that are no frames."""


def encode(head, body=b""):
    """One message as bytes."""
    data = jsontext.made(head).encode()
    return _LENGTHS.pack(4 + len(data) + len(body), len(data)) + data + body


def _head(data):
    try:
        head = jsontext.read(data.decode())
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
        self._at = 0            # of _data; what stands before it was handed out
        self._seal = None

    def expect(self, preamble):
        """A stranger: bytes that stand before the first message, and short messages until trust()."""
        self._preamble, self._limit = preamble, STRANGER

    def trust(self):
        """Messages may be long from now on."""
        self._limit = MAX

    def seal(self, sealed):
        """All behind the message that was handed out last is of a scorectl.seal.Seal; Broken."""
        rest = bytes(self._data[self._at:])
        del self._data[self._at:]
        self._seal = sealed
        self.feed(rest)

    def feed(self, data):
        """More bytes; Broken."""
        try:
            self._data += self._seal.pull(data) if self._seal else data
        except seal.Broken as problem:
            raise Broken(str(problem)) from None

    def messages(self):
        """(head, body) of each message that is there in full; Broken."""
        at, data = 0, self._data
        if self._preamble:
            if not self._preamble.startswith(bytes(data[:len(self._preamble)])):
                raise Broken("another preamble")
            if len(data) < len(self._preamble):
                return
            at, self._preamble = len(self._preamble), b""
        try:
            while len(data) - at >= _LENGTHS.size:
                length, head_length = _LENGTHS.unpack_from(data, at)
                if not head_length + 4 <= length <= self._limit - 4:
                    raise Broken("lengths that do not fit together")
                end = at + 4 + length
                if len(data) < end:
                    break
                start = at + _LENGTHS.size
                head = _head(bytes(data[start:start + head_length]))
                body = bytes(data[start + head_length:end])
                self._at = at = end
                yield head, body
        finally:
            del data[:at]
            self._at = 0


def number(head, name, low=0, high=(1 << 63) - 1):
    """A whole number of a head; Broken."""
    value = head.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Broken(f"{head['op']}: \"{name}\" is missing or no number")
    return value


def text(head, name, otherwise=None):
    """A text of a head; what is missing is otherwise, and Broken without that."""
    value = head.get(name, otherwise)
    if not isinstance(value, str):
        raise Broken(f"{head['op']}: \"{name}\" is missing or no text")
    return value
