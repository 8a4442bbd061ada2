# SPDX-License-Identifier: BSD-3-Clause
"""pmharmless and scout's screen: what stays of texts of other people."""

import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from pmharmless import harmless  # noqa: E402
from scoutkit.screen import Screen  # noqa: E402

CASES = [(b"plain\ttext\n", b"plain\ttext\n"), ("Grüße, 世界, 🙂\n".encode(), "Grüße, 世界, 🙂\n".encode()),
         (b"\x1b]0;title\x07", b"?]0;title?"), (b"a\rb\r\nc\r", b"a?b\r\nc?"),
         (b"\x9b31m\xff", "\ufffd31m\ufffd".encode()),
         ("\u009b2J\u202ex".encode(), b"?2J?x"), (b"\x1b[2J\x1b[1;31", b"?[2J?[1;31"), (b"\x1b", b"?"),
         (b"\x1b[" + b"1;" * 30 + b"m", b"?[" + b"1;" * 30 + b"m"), (b"\x1bc\x1b[?25l", b"?c?[?25l")]


def test_harmless():
    assert harmless("Grüße 世界") == "Grüße 世界"
    assert harmless("\x1b[2J\x9b\u202e\ud800\n\t") == "?[2J?????"
    assert harmless("a\nb\tc\r", kept="\n\t") == "a\nb\tc?"


@pytest.mark.parametrize("data, want", CASES)
def test_screen__in_one_piece_and_in_single_bytes(data, want):
    assert Screen.shown(data) == want
    screen = Screen()
    assert b"".join(screen.feed(data[at:at + 1]) for at in range(len(data))) + screen.end() == want


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_screen__colours_stay_and_end_with_their_output(size):
    data = b"\x1b[1;38:5:8mred\x1b[m and \x1b[4munder\n"
    screen = Screen()
    assert b"".join(screen.feed(data[at:at + size]) for at in range(0, len(data), size)) == data
    assert screen.end() == b"\x1b[0m"
