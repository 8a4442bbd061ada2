# SPDX-License-Identifier: BSD-3-Clause
"""pmcore/util/copy.h: no string instruction is made of copies that avoid it."""
import os
import platform
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALLS = """
#include "pmcore/util/copy.h"
void bytes(void *to, const void *from, size_t len);
void bytes(void *to, const void *from, size_t len) { copy_bytes(to, from, len); }
"""
STRING = """
void known(void *to, const void *from);
void known(void *to, const void *from) { copy_string(to, from, 1984); }
"""


def assembly(compiler, source):
    return subprocess.run([compiler, "-std=gnu11", "-O2", "-I", ROOT, "-x", "c", "-S", "-o", "-", "-"], input=source,
                          capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 has string instructions")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_copies_in_pieces_are_no_string_instructions(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    assert "rep movs" in " ".join(assembly(compiler, CALLS + STRING).replace(";", " ").split())
    assert "rep movs" not in " ".join(assembly(compiler, CALLS).replace(";", " ").split())
