# SPDX-License-Identifier: BSD-3-Clause
"""Parts of every tool of the bench: its progress, numbers it is given, and its end."""
from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable

from .errors import CannotRun, Failed

EXIT_CANNOT, EXIT_INTERRUPTED = 77, 130


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 1 or more")
    return int(text)


def progress(text: str) -> None:
    """Replaces the line of progress on a terminal; "" removes it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def interrupt(*_) -> None:
    """As by Ctrl-C, so that labs are removed."""
    raise KeyboardInterrupt


def status_of(tool: str, work: Callable[[], int], failed: int) -> int:
    """Does the work: its exit status, or that of the reason why it ended before, which is told. failed: of Failed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        return work()
    except CannotRun as why:
        progress("")
        print(f"{tool}: cannot run here: {why}", file=sys.stderr)
        return EXIT_CANNOT
    except (Failed, OSError) as why:
        progress("")
        print(f"{tool}: {why}", file=sys.stderr)
        return failed
    except KeyboardInterrupt:
        progress("")
        print(f"{tool}: interrupted; its labs are gone", file=sys.stderr)
        return EXIT_INTERRUPTED
