# SPDX-License-Identifier: BSD-3-Clause
"""toml_lines - on which line does each key of a TOML text stand?

tomllib tells no positions, so this walks the text a second time. It relies on tomllib having
accepted the text: it finds where things are and never judges whether they are right.
"""

import bisect
import re
import tomllib

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?""""{0,2}', re.DOTALL),
    re.compile(r"'''.*?''''{0,2}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


class _Walker:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.lines = {(): 1}
        self.last_index = {}  # path of an array of tables -> index of its newest table

    def line(self):
        return bisect.bisect_left(self.newlines, self.at) + 1

    def skip(self, pattern):
        self.at = pattern.match(self.text, self.at).end()

    def peek(self, token):
        return self.text.startswith(token, self.at)

    def string(self):
        for pattern in _STRINGS:
            match = pattern.match(self.text, self.at)
            if match:
                self.at = match.end()
                return match.group()
        return None

    def key(self):
        """A dotted key: the list of its parts."""
        parts = []
        while True:
            self.skip(_BLANK)
            quoted = self.string()
            if quoted is not None:
                parts.append(tomllib.loads("k = " + quoted)["k"])
            else:
                match = _BARE.match(self.text, self.at)
                parts.append(match.group())
                self.at = match.end()
            self.skip(_BLANK)
            if not self.peek("."):
                return parts
            self.at += 1

    def mark(self, path, line):
        self.lines.setdefault(path, line)

    def resolve(self, parts, line):
        """The path of a header key; arrays of tables on the way mean their newest table."""
        path = ()
        for part in parts:
            path += (part,)
            self.mark(path, line)
            if path in self.last_index:
                path += (self.last_index[path],)
        return path

    def header(self):
        line = self.line()
        if self.peek("[["):
            self.at += 2
            parts = self.key()
            self.at += 2
            array = self.resolve(parts[:-1], line) + (parts[-1],)
            self.mark(array, line)
            index = self.last_index.get(array, -1) + 1
            self.last_index[array] = index
            path = array + (index,)
        else:
            self.at += 1
            parts = self.key()
            self.at += 1
            path = self.resolve(parts, line)
        self.mark(path, line)
        return path

    def pair(self, table):
        line = self.line()
        path = table
        for part in self.key():
            path += (part,)
            self.mark(path, line)
        self.at += 1  # =
        self.skip(_BLANK)
        self.value(path)

    def value(self, path):
        if self.peek("["):
            self.array(path)
        elif self.peek("{"):
            self.inline_table(path)
        elif self.string() is None:
            self.skip(_SCALAR)

    def array(self, path):
        self.at += 1
        index = 0
        while True:
            self.skip(_SPACE)
            if self.peek("]"):
                self.at += 1
                return
            item = path + (index,)
            self.mark(item, self.line())
            self.value(item)
            self.skip(_SPACE)
            if self.peek(","):
                self.at += 1
            index += 1

    def inline_table(self, path):
        self.at += 1
        while True:
            self.skip(_SPACE)
            if self.peek("}"):
                self.at += 1
                return
            self.pair(path)
            self.skip(_SPACE)
            if self.peek(","):
                self.at += 1

    def walk(self):
        table = ()
        while True:
            self.skip(_SPACE)
            if self.at >= len(self.text):
                return self.lines
            if self.peek("["):
                table = self.header()
            else:
                self.pair(table)


def key_lines(text):
    """Maps the path of each key, array item and table, () included, to its line (from 1).

    A path holds strings for keys and numbers for places in arrays: ("hosts", 0, "range").
    """
    return _Walker(text.replace("\r\n", "\n")).walk()
