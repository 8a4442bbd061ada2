# SPDX-License-Identifier: BSD-3-Clause
"""problems - what is wrong with a configuration.

Collects problems, sorts them, makes them lines of the form file:line: key: text.
"""

import json
import re

from pmharmless import harmless

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_LONGEST = 60


class Wrong(ValueError):
    """A value that cannot be used; the text says what is wrong and what to write instead."""


def quote(value):
    """A value as it would be written in TOML, harmless on a terminal and not too long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=True)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + '..."'
    text = str(value) if not isinstance(value, int) or abs(value) < 10 ** 30 else "a huge number"
    text = text.encode("ascii", "backslashreplace").decode()
    text = harmless(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def key_text(path):
    """("hosts", 0, "range") -> hosts[0].range"""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
            continue
        name = part if _BARE_KEY.match(part) else quote(part)
        out += f".{name}" if out else name
    return out


class Problems:
    """The problems of one file."""

    def __init__(self, document):
        self._document = document
        self._seen = []

    def add(self, path, text):
        """path: the key the problem is about; its line is looked up in the document."""
        self._seen.append((self._document.line(path), key_text(path), text))

    def __len__(self):
        return len(self._seen)

    def lines(self):
        """One line of text per problem, in the order of the file, none twice."""
        out = []
        for line, key, text in dict.fromkeys(sorted(self._seen, key=lambda entry: entry[0])):
            where = f"{self._document.name}:{line}: "
            out.append(where + (f"{key}: {text}" if key else text))
        return out
