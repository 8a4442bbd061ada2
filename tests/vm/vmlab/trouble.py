# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong with guests, as opposed to what goes wrong in them."""


class Trouble(Exception):
    """A guest can't be started, ended early or did not answer; the sentence says which and where."""
