# SPDX-License-Identifier: BSD-3-Clause
"""Why a figure has no result."""
from __future__ import annotations


class CannotRun(Exception):
    """The figure can't be measured on this machine; the text is the reason."""


class Failed(Exception):
    """A contestant failed; the text names command and output."""
