# SPDX-License-Identifier: BSD-3-Clause
"""progress - a line on a terminal about what is still waited for, when that takes longer than a moment."""

import os

from . import hosts

_FIRST_S, _AGAIN_S = 1.0, 0.5


class _Quiet:
    """For those who have no terminal."""

    def start(self, waiting, total):
        """waiting() gives the names that are waited for."""

    def clear(self):
        """Before something else is written."""

    def end(self):
        """No line any more."""


QUIET = _Quiet()


class Progress(_Quiet):
    """On standard error."""

    def __init__(self, turns):
        self._loop, self._timer, self._is_shown = turns, None, False
        self._waiting = self._total = None

    def start(self, waiting, total):
        self._waiting, self._total = waiting, total
        self._timer = self._loop.call_later(_FIRST_S, self._show)

    def _show(self):
        left = self._waiting()
        line = f"scout: {self._total - len(left)} of {self._total} hosts done, waiting for {hosts.fold(left)}" \
            if left else "scout: all hosts done"
        width = (os.get_terminal_size(2).columns or 80) - 1
        os.write(2, b"\r" + line[:width].encode(errors="replace") + b"\x1b[K")
        self._is_shown = True
        self._timer = self._loop.call_later(_AGAIN_S, self._show)

    def clear(self):
        if self._is_shown:
            os.write(2, b"\r\x1b[K")
            self._is_shown = False

    def end(self):
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self.clear()


def chosen(turns):
    """One for this standard error."""
    return Progress(turns) if os.isatty(2) else QUIET
