# SPDX-License-Identifier: BSD-3-Clause
"""log - a line for each event, with its time, to standard error or a file; in words or as JSON."""

import datetime
import json
import os
import sys


def _opened(path, flags):
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o666)


class Log:
    """name: of the daemon. path None: standard error."""

    def __init__(self, name, path=None, is_json=False):
        self._name, self._path, self._is_json = name, path, is_json
        self._file = sys.stderr
        self.reopen()

    def reopen(self):
        """After somebody has moved the file away. Raises OSError."""
        if self._path:
            # A daemon's name may be no text. A pipe that nobody reads is told, not waited for.
            fresh = open(self._path, "a", encoding="utf-8", errors="backslashreplace", opener=_opened)
            if self._file is not sys.stderr:
                self._file.close()
            self._file = fresh

    def say(self, event, text):
        """One line. A log that cannot be written is no reason to stop watching."""
        now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "daemon": self._name, "event": event, "text": text}) if self._is_json else \
            f"{now} sc_watch: {self._name}: {event.replace('_', ' ')}: {text}"
        try:
            self._file.write(f"{line}\n")   # at once: others write there, too
            self._file.flush()
        except OSError:
            pass
