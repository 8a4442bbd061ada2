# SPDX-License-Identifier: BSD-3-Clause
"""show - what hosts printed, on our own outputs: merged, one by one, line by line or as JSON. A sink of fanout.py:
data() as it comes (label only), ended() for each host, finish() at the end."""

import os

from . import hosts
from .progress import QUIET
from .screen import Screen

_LINE_MAX = 64 << 10    # a line that is longer is shown in parts


def write(fd, data):
    """All of it; BrokenPipeError when the reader has gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def _copy(fd, output, is_raw):
    screen = None if is_raw or not os.isatty(fd) else Screen()
    for piece in output.pieces():
        write(fd, screen.feed(piece) if screen else piece)
    if screen:
        write(fd, screen.end())


class _Shown:
    """The common part of all forms of output. total: hosts; before outputs of a single one stands no name. is_raw:
    every byte goes to a terminal, too."""

    is_raw = False

    def __init__(self, total, progress=QUIET):
        self.total, self.progress = total, progress

    def group(self, names, result):
        """Both outputs of hosts that have printed the same."""
        self.progress.clear()
        for fd, output in ((1, result.stdout), (2, result.stderr)):
            if not output.size:
                continue
            if self.total > 1:
                write(fd, f"{names}:\n".encode())
            _copy(fd, output, self.is_raw)
            if self.total > 1 and output.last != b"\n":
                write(fd, b"\n")

    def ended(self, result):
        """A host has ended."""

    def finish(self, results):
        """All have."""


class Merged(_Shown):
    """Equal outputs of hosts that ended alike once, under their list; in the order of the first of each."""

    def finish(self, results):
        groups = {}
        for one in results:
            groups.setdefault((one.stdout.key(), one.stderr.key(), one.status), []).append(one)
        for alike in groups.values():
            if alike[0].stdout.size or alike[0].stderr.size:    # names that are not printed need not be sorted
                self.group(hosts.fold([one.host for one in alike]), alike[0])


class Sorted(_Shown):
    """Each host by itself, in the order of the list or against it, as soon as those before it have ended."""

    def __init__(self, total, progress=QUIET, names=()):
        super().__init__(total, progress)
        self._names, self._ended = list(reversed(names)), {}

    def ended(self, result):
        self._ended[result.host] = result
        while self._names and self._names[-1] in self._ended:
            name = self._names.pop()
            self.group(name, self._ended.pop(name))


class Unsorted(_Shown):
    """Each host by itself, when it ends."""

    def ended(self, result):
        self.group(result.host, result)


class Labelled(_Shown):
    """Lines as they come, each behind the name of its host."""

    def __init__(self, total, progress=QUIET):
        super().__init__(total, progress)
        self._rest = {}

    def data(self, host, stream, data):
        """Some bytes of a host's output."""
        *lines, rest = (self._rest.pop((host, stream), b"") + data).split(b"\n")
        if len(rest) > _LINE_MAX:
            lines, rest = [*lines, rest], b""
        if rest:
            self._rest[host, stream] = rest
        self._lines(host, stream, lines)

    def _lines(self, host, stream, lines):
        if lines:
            self.progress.clear()
            label = f"{host}: ".encode()
            if not self.is_raw and os.isatty(stream):
                lines = [Screen.shown(line) for line in lines]
            write(stream, b"".join(b"%s%s\n" % (label, line) for line in lines))

    def ended(self, result):
        for stream in (1, 2):
            rest = self._rest.pop((result.host, stream), b"")
            self._lines(result.host, stream, [rest] if rest else [])


def _text(name, output):
    """As text, as base64 if it is none."""
    data = output.bytes()
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        import base64
        return {f"{name}_base64": base64.b64encode(data).decode()}


class Json(_Shown):
    """An object in a line for each host, when it ends."""

    def ended(self, result):
        import json
        self.progress.clear()
        known = result.status is not None
        one = {"host": result.host, "code": result.code, "signal": result.signal,
               "status": os.WEXITSTATUS(result.status) if known and os.WIFEXITED(result.status) else None,
               "error": result.words(), **_text("stdout", result.stdout), **_text("stderr", result.stderr),
               "seconds": round(result.seconds, 3)}
        write(1, (json.dumps(one) + "\n").encode())


def chosen(options, names, progress):
    """The way that options ask for."""
    if options.output in ("sort", "rev"):
        made = Sorted(len(names), progress, names if options.output == "sort" else names[::-1])
    else:
        kinds = {"merge": Merged, "nosort": Unsorted, "label": Labelled, "json": Json}
        made = kinds[options.output](len(names), progress)
    made.is_raw = options.is_raw
    return made
