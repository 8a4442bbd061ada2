# SPDX-License-Identifier: BSD-3-Clause
"""staged - what became of files that were sent or fetched: told in one line, or as an object each; one exit code."""

import json
from dataclasses import dataclass

from . import hosts, result
from .terminal import say


@dataclass
class End:
    """Of one file with one host. source, target: where it was and where it is to be. words: what went wrong, "" = it is
    there whole."""
    host: str
    source: str
    target: str
    size: int
    words: str
    code: int


class Limit:
    """-timeout of all files together; of none if there is no such time."""

    def __init__(self, turns, seconds):
        self.is_over = False
        self._timer = turns.call_later(seconds, self._end) if seconds else None

    def _end(self):
        self.is_over = True

    def close(self):
        """The loop may be used for other things."""
        if self._timer:
            self._timer.cancel()


LATE = "timed out", result.TIMED_OUT


def tell(ends, options):
    """The exit code."""
    if options.output == "json":
        for end in ends:
            print(json.dumps({"host": end.host, "source": end.source, "target": end.target, "code": end.code,
                              "error": end.words, "bytes": 0 if end.words else end.size}), flush=True)
    words = {}
    for end in ends:
        if end.words:
            # Of several files the same may be said of a host.
            words.setdefault(end.words, {})[end.host] = None
    if words:
        say("; ".join(f"{hosts.fold(names)}: {text}" for text, names in words.items()))
    return max((end.code for end in ends), default=0)
