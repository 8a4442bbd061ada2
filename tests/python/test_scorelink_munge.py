# SPDX-License-Identifier: BSD-3-Clause
"""scorelink.munge - that what libmunge is told is what its header means by it."""
import ctypes
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scheduler" / "ctl"))

from scorelink import frames, munge  # noqa: E402

HEADER = pathlib.Path("/usr/include/munge.h")


@pytest.mark.skipif(not HEADER.exists(), reason="munge.h is not there; install libmunge-dev")
def test_options__as_in_the_header():
    numbers = dict(re.findall(r"MUNGE_OPT_(\w+)\s*=\s*(\d+)", HEADER.read_text(encoding="utf-8")))
    assert int(numbers["SOCKET"]) == munge.CTX_SOCKET
    assert int(numbers["UID_RESTRICTION"]) == munge.CTX_UID_RESTRICTION


class Lib:
    """libmunge as far as it is called: what it returns is its own."""

    def munge_ctx_create(self):
        return 1

    def munge_ctx_destroy(self, _context):
        pass

    def munge_encode(self, made, _context, data, _size):
        made._obj.value = data
        return 0

    def munge_decode(self, _credential, _context, data, _size, uid, _gid):
        data._obj.value, uid._obj.value = 0x1000, 7
        return 0

    def munge_ctx_strerror(self, _context):
        return b"no"


def test_what_the_library_returns_is_given_back(monkeypatch):
    freed = []
    monkeypatch.setattr(munge, "_library", lambda: (Lib(), lambda place: freed.append(place.value)))
    one = munge.Munge()
    assert one.make("text") == "text" and freed == [b"text"]
    assert one.read("credential") == ("", 7) and freed[1:] == [0x1000]
    monkeypatch.setattr(Lib, "munge_encode", lambda *_: 5)
    with pytest.raises(munge.Refused, match="munge: no;"):
        one.make("text")
    assert freed[2:] == [None]


def test_munge__not_installed(monkeypatch):
    def absent(name):
        raise OSError(f"{name}: no such file")
    monkeypatch.setattr(munge, "CDLL", absent)
    munge._library.cache_clear()
    with pytest.raises(munge.Refused, match="install libmunge2"):
        munge.Munge()


class Bytes(Lib):
    """One whose credentials are of bytes that are no text."""

    kept = (ctypes.c_char * 3)(b"a", b"\xff", b"b")

    def munge_decode(self, _credential, _context, data, size, uid, _gid):
        data._obj.value, size._obj.value, uid._obj.value = ctypes.addressof(self.kept), 3, 7
        return 0


def test_read__bytes_that_are_no_text(monkeypatch):
    """They are not those of any message, in which half a character is no text."""
    monkeypatch.setattr(munge, "_library", lambda: (Bytes(), lambda place: None))
    text, uid = munge.Munge().read("credential")
    assert uid == 7
    with pytest.raises(frames.Broken):
        frames.text({"op": "hello", "nonce": text}, "nonce")
