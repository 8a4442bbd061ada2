# SPDX-License-Identifier: BSD-3-Clause
"""scorectl.munge - that what libmunge is told is what its header means by it."""
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scheduler" / "ctl"))

from scorectl import munge  # noqa: E402

HEADER = pathlib.Path("/usr/include/munge.h")


@pytest.mark.skipif(not HEADER.exists(), reason="munge.h is not there; install libmunge-dev")
def test_options__as_in_the_header():
    numbers = dict(re.findall(r"MUNGE_OPT_(\w+)\s*=\s*(\d+)", HEADER.read_text(encoding="utf-8")))
    assert int(numbers["SOCKET"]) == munge.CTX_SOCKET
    assert int(numbers["UID_RESTRICTION"]) == munge.CTX_UID_RESTRICTION
