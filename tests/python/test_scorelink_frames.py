# SPDX-License-Identifier: BSD-3-Clause
"""scorelink.frames: what is encoded is decoded, in whatever pieces it comes, and all else is Broken."""

import contextlib
import json
import pathlib
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "scheduler" / "ctl"))

from scorelink import frames  # noqa: E402

VALUES = some.recursive(some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
                        lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner))
BROKEN = [b"", b" ", b"{", b"{} x", b'{"op":"x",}', b'{"op":"x', b"nul", b'{"op"}', b'\xef\xbb\xbf{"op":"x"}', b'"\n"',
          b"\xff{}", b"[" * 100000, b"1", b"null", b"{}", b'{"op":1}', b'[{"op":"x"}]']
TWO = frames.encode({"op": "a", "id": 1}, b"body") + frames.encode({"op": "b"})
BOTH = [({"op": "a", "id": 1}, b"body"), ({"op": "b"}, b"")]


def decoded(*pieces, preamble=None):
    decoder, messages = frames.Decoder(), []
    if preamble:
        decoder.expect(preamble)
    for piece in pieces:
        decoder.feed(piece)
        messages += decoder.messages()
    return messages


@given(VALUES, some.binary(max_size=100))
def test_encode__json_without_blanks_and_back(value, body):
    head = {"op": "x", "value": value}
    data, text = frames.encode(head, body), json.dumps(head, separators=(",", ":")).encode()
    assert data == struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body
    assert decoded(data) == [(head, body)]


def test_messages__in_whatever_pieces():
    assert decoded(TWO) == decoded(*(TWO[at:at + 1] for at in range(len(TWO)))) == BOTH
    whole = frames.preamble(7) + TWO
    assert decoded(*(whole[at:at + 1] for at in range(len(whole))), preamble=frames.preamble(7)) == BOTH


def test_waiting__what_was_not_handed_out():
    decoder = frames.Decoder()
    decoder.feed(TWO[:-1])
    assert (decoder.message(), decoder.waiting) == (BOTH[0], len(frames.encode({"op": "b"})) - 1)
    assert decoder.message() is None


@pytest.mark.parametrize("head", BROKEN)
def test_messages__a_head_that_is_none(head):
    with pytest.raises(frames.Broken):
        decoded(struct.pack(">II", 4 + len(head), len(head)) + head)


@pytest.mark.parametrize("length, head_length", [(0, 0), (3, 0), (5, 2), (4, (1 << 32) - 1), (frames.MAX - 3, 2)])
def test_messages__lengths(length, head_length):
    with pytest.raises(frames.Broken):
        decoded(struct.pack(">II", length, head_length))


@given(some.lists(some.binary(max_size=64)), some.binary(max_size=64))
def test_messages__any_bytes(pieces, head):
    """They are messages, or Broken."""
    with contextlib.suppress(frames.Broken):
        decoded(*pieces)
    with contextlib.suppress(frames.Broken):
        decoded(struct.pack(">II", 4 + len(head), len(head)) + head)


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n", b"OSCORE2", frames.preamble(8)])
def test_messages__another_preamble(first):
    with pytest.raises(frames.Broken):
        decoded(first, preamble=frames.preamble(7))


def test_seal__of_all_behind_the_last_message():
    """Also of what came with it, and while the messages are still looked through."""
    class Sealed:
        @staticmethod
        def pull(data):
            return bytes(byte ^ 1 for byte in data)
    first, second = frames.encode({"op": "welcome"}), Sealed.pull(frames.encode({"op": "a"}))
    decoder, heard = frames.Decoder(), []
    decoder.feed(first + second[:5])
    for head, _ in decoder.messages():
        heard.append(head["op"])
        decoder.seal(Sealed)
    decoder.feed(second[5:])
    assert heard + [head["op"] for head, _ in decoder.messages()] == ["welcome", "a"]


@pytest.mark.parametrize("value", [None, 1, True, "\ud800", "a\udfffb", ["x"]])
def test_text__that_is_none(value):
    with pytest.raises(frames.Broken, match='x: "name" is missing or no text'):
        frames.text({"op": "x", "name": value}, "name")


def test_text__that_is_missing():
    assert frames.text({"op": "x"}, "name", "other") == "other"
    assert frames.text({"op": "x", "name": "\U0001f600"}, "name") == "\U0001f600"
    with pytest.raises(frames.Broken):
        frames.text({"op": "x"}, "name")


@pytest.mark.parametrize("value", [None, "1", 1.0, True, -1, 8])
def test_number__that_is_none(value):
    with pytest.raises(frames.Broken, match='x: "id" is missing or no number'):
        frames.number({"op": "x", "id": value}, "id", 0, 7)
