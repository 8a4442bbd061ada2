# SPDX-License-Identifier: BSD-3-Clause
"""scorelink.seal: the other side pulls what one side pushes, in whatever pieces it comes; all else is Broken. That it
agrees with seal.c is seen wherever a command meets a daemon."""

import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scorectl import checks  # noqa: E402
from scorelink import seal  # noqa: E402
from scorelink.munge import Refused  # noqa: E402


def ends():
    ours, theirs = seal.Keys(), seal.Keys()
    return ours.seal(theirs.public, False), theirs.seal(ours.public, True)


def test_pull__what_was_pushed():
    one, other = ends()
    wire = one.opening + one.push(b"first") + one.push(bytes(3 * seal.PLAIN_MAX + 1)) + one.last()
    assert b"first" not in wire
    assert other.pull(wire) == b"first" + bytes(3 * seal.PLAIN_MAX + 1)
    assert other.is_ended and not one.is_ended
    assert one.pull(other.opening + other.push(b"back")) == b"back"


def test_pull__byte_by_byte():
    one, other = ends()
    wire = one.opening + one.push(b"first") + one.push(b"") + one.push(b"second")
    assert b"".join(other.pull(wire[at:at + 1]) for at in range(len(wire))) == b"firstsecond"


def test_pull__altered_anywhere():
    ours, theirs = seal.Keys(), seal.Keys()
    for at in range(seal.OPENING_BYTES, seal.OPENING_BYTES + 4 + 17 + 3):
        one, other = ours.seal(theirs.public, False), theirs.seal(ours.public, True)
        wire = bytearray(one.opening + one.push(b"abc") + bytes(512))
        wire[at] ^= 1
        with pytest.raises(seal.Broken):
            other.pull(bytes(wire))


def test_pull__repeated_reordered_and_behind_the_last():
    for order in ((0, 0), (1, 0), (2, 0)):
        one, other = ends()
        records = [one.push(b"a"), one.push(b"b"), one.last()]
        if order[0] == 2:
            other.pull(one.opening + records[0] + records[1] + records[2])
            wire = one.push(b"more")
        else:
            wire = one.opening + b"".join(records[at] for at in order)
        with pytest.raises(seal.Broken):
            other.pull(wire)


@pytest.mark.parametrize("length", [0, 16, seal.PLAIN_MAX + 18, (1 << 32) - 1])
def test_pull__lengths(length):
    one, other = ends()
    with pytest.raises(seal.Broken):
        other.pull(one.opening + length.to_bytes(4, "big"))


@pytest.mark.parametrize("key", ["", "zz" * 32, "00" * 31, "00" * 33, "00" * 32])
def test_seal__a_key_that_is_none(key):
    with pytest.raises(Refused):
        seal.Keys().seal(key, False)


@pytest.mark.parametrize("more, found", [({}, []), ({"altered": 0}, []), ({"altered": 2}, ["2 connections ended"])])
def test_judge__connections_that_were_altered(more, found):
    said = checks.judge({"hosts": [], "version": "1", **more})
    assert [finding.what[:len("2 connections ended")] for finding in said] == found
