# SPDX-License-Identifier: BSD-3-Clause
"""tests/bench/pmbench/memory.py: when freed memory goes back to the host."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))
from pmbench import memory                                              # noqa: E402


@pytest.mark.parametrize("text, expected", [("9\n", True), ("10\n", True), ("11\n", False), ("4294967295\n", False),
                                            ("-1\n", False), ("\n", False)])
def test_is_taken_back(tmp_path, text, expected):
    order = tmp_path / "order"
    order.write_text(text)
    assert memory.is_taken_back(order) is expected


def test_is_not_taken_back_without_the_parameter(tmp_path):
    assert memory.is_taken_back(tmp_path / "none") is False
