# SPDX-License-Identifier: BSD-3-Clause
"""scorehosts - the records of a scorehosts.db, the cluster database of SCore 4 to 7.

Owns the syntax: what cpp did (comments, continued lines, #include, #define of names, #ifdef), records of
name and attributes, "~" for defect ones. legacy.py interprets the records.
"""

import os
import re
from typing import NamedTuple

from .problems import Wrong, quote

_DEPTH_MAX = 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMENT = re.compile(r'"[^"\n]*"|/\*.*?\*/|(?:^|(?<=\s))//[^\n]*', re.DOTALL | re.MULTILINE)


class Attribute(NamedTuple):
    """key=a,b,c; is_file: the value is the path of a file (key:file=)."""

    values: list
    is_file: bool
    where: str             # file:line


class Record:
    """One name with all its attributes."""

    def __init__(self, name, where):
        self.name = name
        self.where = where
        self.is_defect = False
        self.attributes = {}   # key -> Attribute

    def values(self, key):
        return self.attributes[key].values if key in self.attributes else []

    def first(self, key, default=None):
        return next(iter(self.values(key)), default)


def read(path):
    """Text of a file that somebody named. Raises Wrong."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise Wrong(f"{path}: cannot be read: {error.strerror}") from None


class _Preprocessor:
    """Lines of a file and of those that it includes, with macros replaced: pairs (file:line, text)."""

    def __init__(self):
        self._macros = {}
        self._opened = []

    def lines(self, path):
        if len(self._opened) == _DEPTH_MAX or path in self._opened:
            raise Wrong(f"{self._opened[-1]}: includes {path} without end; take one #include out")
        self._opened.append(path)
        text = _COMMENT.sub(self._blank, read(path))
        shown = []             # of the #ifdefs around
        number = 0
        rest = iter(text.split("\n"))
        for line in rest:
            number += 1
            first = number
            while line.endswith("\\"):
                line = line[:-1] + " " + next(rest, "")
                number += 1
            where = f"{path}:{first}"
            if line.lstrip().startswith("#"):
                yield from self._directive(line.strip()[1:].strip(), where, shown)
            elif all(shown) and line.strip():
                yield where, self._replaced(line, ())
        if shown:
            raise Wrong(f"{path}:{number}: an #ifdef is not closed; add #endif")
        self._opened.pop()

    @staticmethod
    def _blank(match):
        """Comments go, and do not end a record; lines keep their numbers."""
        text = match.group()
        return text if text.startswith('"') else " " + "\\\n" * text.count("\n")

    def _replaced(self, text, inside):
        def value(match):
            name = match.group()
            if name not in self._macros or name in inside:
                return name
            return self._replaced(self._macros[name], (*inside, name))
        return _NAME.sub(value, text)

    def _directive(self, text, where, shown):
        word, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        rest = rest.strip()
        if word in ("ifdef", "ifndef"):
            shown.append((rest in self._macros) == (word == "ifdef"))
        elif word == "else" and shown:
            shown[-1] = not shown[-1]
        elif word == "endif" and shown:
            shown.pop()
        elif not all(shown):
            return
        elif word == "include":
            match = re.fullmatch(r'["<](.+)[">]', rest)
            if not match:
                raise Wrong(f'{where}: #include {quote(rest)}: write the name of the file in quotes')
            yield from self.lines(os.path.join(os.path.dirname(self._opened[-1]), match[1]))
        elif word == "define" and re.fullmatch(r"[A-Za-z_]\w*(\s.*)?", rest):
            name, *value = rest.split(None, 1)
            self._macros[name] = value[0] if value else ""
        elif word == "undef":
            self._macros.pop(rest, None)
        elif word:
            raise Wrong(f"{where}: #{word} of this kind is not understood; import what \"cpp -P {self._opened[0]}\" "
                        "prints instead")


def _attribute(token, where):
    key, equal, value = token.partition("=")
    if not equal or not key:
        raise Wrong(f"{where}: {quote(token)} is no attribute; write key=value, without blanks")
    key, colon, kind = key.rpartition(":") if key.endswith(":file") else (key, "", "")
    return key, Attribute([item for item in value.split(",") if item], bool(colon and kind), where)


def parse(path):
    """name -> Record, in the order of the file. Raises Wrong."""
    records = {}
    for where, line in _Preprocessor().lines(path):
        name, *tokens = line.split()
        is_defect = name.startswith("~")
        name = name.removeprefix("~")
        record = records.setdefault(name, Record(name, where))
        record.is_defect |= is_defect
        for token in tokens:
            key, found = _attribute(token, where)
            old = record.attributes.get(key)
            if old:
                found = found._replace(values=old.values + found.values)
            record.attributes[key] = found
    return records
