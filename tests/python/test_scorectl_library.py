# SPDX-License-Identifier: BSD-3-Clause
"""scorectl.library - that it calls C as ctypes does, and loads no more of Python than it says."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scheduler" / "ctl"))

from scorectl import library, munge  # noqa: E402


def test_library__numbers_texts_and_places():
    libc = library.Library("libc.so.6")
    assert libc.atoi(b"-42") == -42
    libc.strerror.restype = library.c_char_p
    assert libc.strerror(library.c_int(2)) == os.strerror(2).encode()
    end = library.c_void_p()
    assert libc.strtol(b"17 and more", library.byref(end), library.c_int(10)) == 17
    assert library.bytes_at(end.value, 4) == b" and"


def test_library__a_place_needs_all_its_bits():
    libc = library.Library("libc.so.6")
    libc.gnu_get_libc_version.restype = library.c_void_p
    place = libc.gnu_get_libc_version()  # in libc, far from where numbers of 32 bits lead
    assert place > 1 << 32
    assert library.bytes_at(place, 2) == b"2."


def test_library__not_there():
    with pytest.raises(OSError, match="libnothing"):
        library.Library("libnothing.so.1")
    with pytest.raises(AttributeError):
        library.Library("libc.so.6").no_such_function()


def test_munge__not_installed(monkeypatch):
    def absent(name):
        raise OSError(f"{name}: no such file")
    monkeypatch.setattr(munge, "Library", absent)
    with pytest.raises(munge.Refused, match="install libmunge2"):
        munge.Munge()


def test_munge__loads_little():
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'scheduler' / 'ctl')!r}); import scorectl.munge; " \
           "print('ctypes' in sys.modules)"
    done = subprocess.run(["/usr/bin/python3", "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
