# SPDX-License-Identifier: BSD-3-Clause
"""document - reads a TOML file into a tree with the line of each key.

Everything that can be wrong before the first key is looked at ends here: missing, unreadable,
not a file, not UTF-8, not TOML.
"""

import re
import stat
import os
import tomllib

from .problems import quote
from .toml_lines import key_lines

MAX_BYTES = 64 << 20

_POSITION = re.compile(r"(.*?) ?\(at (?:line (\d+), column (\d+)|end of document)\)\Z", re.DOTALL)


class DocumentError(Exception):
    """A file without a usable tree. is_content: the file was read, its content is at fault."""

    def __init__(self, text, is_content):
        super().__init__(text)
        self.is_content = is_content


class Document:
    """A parsed file: name as given by the user, tree, lines of keys."""

    def __init__(self, name, tree, lines):
        self.name = name
        self.tree = tree
        self._lines = lines

    def has(self, path):
        """Is the key in the file, whether or not its value could be used?"""
        return path in self._lines

    def line(self, path):
        """The line of a key, or of the nearest table above it that stands in the file."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]


def _read(name):
    try:
        with open(name, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise DocumentError(f"{name}: is a directory; name the cluster.toml in it", False) from None
    except FileNotFoundError:
        raise DocumentError(f"{name}: no such file", False) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable file name"
        raise DocumentError(f"{quote(name)}: cannot be read: {reason}", False) from None
    if len(data) > MAX_BYTES:
        raise DocumentError(f"{name}: longer than {MAX_BYTES >> 20} MiB; "
                            "this is no cluster description", True)
    return data


def _decode(name, data):
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"{name}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; "
                            "save the file as UTF-8 text", True) from None


_REMEDIES = (
    ("Cannot overwrite a value", "this key is given twice; remove one of the two"),
    ("Cannot declare", "this table is opened twice; join the two"),
    ("Cannot mutate immutable", "this table was already written out in { }; add the key there"),
    ("Invalid value", "write text in double quotes, numbers and true/false without"),
    ("Expected '=' after a key", 'write key = value; names with other letters than A-Z a-z 0-9 _ - '
     "need quotes"),
    ("Expected newline or end of document", "one key = value per line"),
    ("Illegal character", "close the quotes on the same line"),
    ("Unterminated string", "close the quotes"),
    ("Unclosed array", 'add the closing "]" and commas between the values'),
    ("Unclosed inline table", 'add the closing "}" and commas between the keys'),
)


def _syntax_error(name, text, error):
    match = _POSITION.match(str(error))
    what = match.group(1) if match else str(error)
    line = int(match.group(2)) if match and match.group(2) else max(1, len(text.splitlines()))
    remedy = next((remedy for start, remedy in _REMEDIES if what.startswith(start)), None)
    what = what.encode("ascii", "backslashreplace").decode()
    text = f"{name}:{line}: not valid TOML: {what[:1].lower()}{what[1:]}"
    return DocumentError(f"{text}: {remedy}" if remedy else text, True)


def load(name):
    """The Document of a file, or DocumentError."""
    return parse(name, _decode(name, _read(name)))


def parse(name, text):
    """The Document of a text, or DocumentError; name is what the file would be called."""
    if not text.strip():
        raise DocumentError(f"{name}:1: the file is empty; begin with [[hosts]] and "
                            'range = "n[0-3]"', True)
    try:
        return Document(name, tomllib.loads(text), key_lines(text))
    except RecursionError:
        raise DocumentError(f"{name}:1: tables or arrays are nested too deeply", True) from None
    except ValueError as error:
        raise _syntax_error(name, text, error) from None
