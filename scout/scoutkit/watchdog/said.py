# SPDX-License-Identifier: BSD-3-Clause
"""said - the last line that a child prints, however much it prints: a pipe of which the end is kept. A child that still
prints when the pipe is closed gets SIGPIPE."""

import os

from pmharmless import harmless

_TAIL = 300
_AT_ONCE = 64 << 10     # what a pipe holds


class Said:
    """fd: readable when there is more to hear()."""

    def __init__(self):
        self.fd, self._child = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.fd, False)
        self._tail = b""

    def become_outputs(self):
        """In the child."""
        for number in (1, 2):
            os.dup2(self._child, number)

    def let_go(self):
        """Of the child's end, when the child is there."""
        os.close(self._child)

    def hear(self):
        """A piece; whether more may come."""
        try:
            data = os.read(self.fd, _AT_ONCE)
        except BlockingIOError:
            return True
        self._tail = (self._tail + data)[-_TAIL:]
        return bool(data)

    def close(self):
        """The last line, "" = none; what lies in the pipe belongs to it."""
        self.hear()
        os.close(self.fd)
        text = self._tail.decode("utf-8", "replace").strip()
        return harmless(text.split("\n")[-1])
