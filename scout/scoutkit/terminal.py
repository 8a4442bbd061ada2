# SPDX-License-Identifier: BSD-3-Clause
"""terminal - what scout says there, and what hosts and other people wrote, made fit for it."""

import sys

from pmharmless import harmless


def say(text):
    """A line of ours; what hosts and others put into it commands no terminal."""
    print(f"scout: {harmless(str(text), kept=chr(10))}", file=sys.stderr, flush=True)
