# SPDX-License-Identifier: BSD-3-Clause
"""JSON and sockets by the halves of Python's modules that are in C: the same texts, values and refusals; and that a
short command of scout loads no more than it needs."""

import json
import pathlib
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

TREE = pathlib.Path(__file__).resolve().parents[2]
PATHS = [str(TREE / part) for part in ("scout", "configs", "scheduler/ctl")]
sys.path[:0] = PATHS

from scorectl import bare, jsontext  # noqa: E402

VALUES = some.recursive(some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
                        lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner))
BROKEN = ["", " ", "{", "{} x", "[1,]", '"a', "nul", '{"a":1,}', '{"a"}', "\ufeff1", '"\n"', "1 2", "[" * 100000]
# In a Python of its own: here json is loaded, and the scanner can name what is wrong.
READ_ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from scorectl import jsontext
assert "json" not in sys.modules
try:
    jsontext.read(sys.stdin.read())
except (ValueError, RecursionError):
    print("refused")
"""
HEAVY = {"argparse", "collections", "contextlib", "dataclasses", "encodings.idna", "enum", "functools", "json", "re",
         "selectors", "signal", "socket", "subprocess", "threading", "typing"}


@given(VALUES)
def test_made_and_read__as_json(value):
    text = jsontext.made(value)
    assert text == json.dumps(value, separators=(",", ":"))
    assert jsontext.read(text) == json.loads(text) == value


@pytest.mark.parametrize("text", [' {"a" : [1, 2.5e3, null]}\n', "\t-0.0 ", "[NaN, Infinity, -Infinity]",
                                  '"\\ud83d\\ude00"'])
def test_read__what_others_wrote(text):
    assert repr(jsontext.read(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", BROKEN)
def test_read__refuses(text):
    with pytest.raises((ValueError, RecursionError)):
        jsontext.read(text)


@pytest.mark.parametrize("text", BROKEN[:-1])
def test_read__refuses_where_json_is_not_loaded(text):
    done = subprocess.run(["/usr/bin/python3", "-IS", "-c", READ_ALONE, PATHS[2]], input=text, text=True,
                          capture_output=True, check=False)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_made__of_what_json_does_not_have():
    with pytest.raises(TypeError, match="bytes"):
        jsontext.made({"a": b"x"})


def test_connected__to_who_listens_and_to_nobody():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()
        link = bare.connected(place, 5)
        assert (link.getpeername(), link.gettimeout()) == (place, 5)
        assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        link.close()
    with pytest.raises(ConnectionRefusedError):
        bare.connected(place, 5)


def test_addresses__of_a_name_that_is_no_ascii():
    with pytest.raises(UnicodeError):
        bare.addresses("\u00f6" * 64, 1)


def test_scout__loads_nothing_that_takes_long():
    """Each of these takes a millisecond or more, of the 25 that scout may need beside what pdsh does."""
    code = (f"import sys; sys.path[:0] = {PATHS}; import scoutkit.main, scoutkit.lease, scoutkit.opening; "
            "from scorectl import bare; bare.addresses('localhost', 7710); "
            f"print(sorted({HEAVY} & set(sys.modules)))")
    done = subprocess.run(["/usr/bin/python3", "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
