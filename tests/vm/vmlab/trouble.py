# SPDX-License-Identifier: BSD-3-Clause
"""Failures of guests, as opposed to failures of commands in guests."""


class Trouble(Exception):
    """A guest can't be started, ended early or did not answer; the sentence says which and where."""
