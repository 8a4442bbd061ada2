# SPDX-License-Identifier: BSD-3-Clause
"""hostexpr - host expressions such as "rack0+io[1-2]~n7" or "all:16": names, groups and what is done with them.

Owns the grammar, which cluster/hostexpr.c shares (tests/golden/hostexpr.json feeds both). The caller gives
the hosts of a group, and checks whether a name is a host.
"""

from pmharmless import harmless

from . import hostlist
from .hostlist import HostlistError

_OPERATORS = ",+~"
_CUTS = ":@"
_BLANKS = " \t"
MAX_CUTS = 16

_COUNT_DIGITS = 9
_TOO_MANY = f"the expression names more than {hostlist.MAX_NAMES} hosts"


class NotThere(HostlistError):
    """A cut at a host, or behind a number of hosts, that the hosts on its left do not have."""


class _Reader:
    """A place in the text."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def skip_blanks(self):
        while self.at < len(self.text) and self.text[self.at] in _BLANKS:
            self.at += 1

    def next(self):
        """The character at the place, "" at the end."""
        return self.text[self.at:self.at + 1]

    def word(self):
        """The text up to an operator, a blank or the end, and its offset; commas within brackets belong to it."""
        start, is_inside = self.at, False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "[]":
                is_inside = char == "["
            elif not is_inside and char in _OPERATORS + _CUTS + _BLANKS:
                break
            self.at += 1
        return self.text[start:self.at], start


def _primary(reader, find_group):
    """The names of a group or of a list of hosts, each once."""
    word, start = reader.word()
    if not word:
        raise HostlistError(start, "a host or a group is missing")
    names = find_group(word)
    if names is None:
        try:
            names = hostlist.expand(word)
        except HostlistError as error:
            raise HostlistError(start + error.at, error.why) from None
    return dict.fromkeys(names)


def _place_of(word, start, names):
    """How many of the names a cut leaves on its left: a count, or all up to a host."""
    if not word:
        raise HostlistError(start, "a number or a host is missing")
    if len(word) <= _COUNT_DIGITS and word.isascii() and word.isdigit():
        count = int(word)
        if count > len(names):
            raise NotThere(start, f"there are only {len(names)} hosts to take {count} from")
        return count
    if word not in names:
        raise NotThere(start, f'"{harmless(word[:40])}" is not among the hosts on its left')
    return list(names).index(word) + 1


def _term(reader, find_group):
    """A primary and its cuts."""
    names = _primary(reader, find_group)
    reader.skip_blanks()
    cuts = 0
    while reader.next() and reader.next() in _CUTS:
        cuts += 1
        if cuts > MAX_CUTS:
            raise HostlistError(reader.at, f"more than {MAX_CUTS} cuts of one term")
        is_first = reader.next() == ":"
        reader.at += 1
        reader.skip_blanks()
        place = _place_of(*reader.word(), names)
        ordered = list(names)
        names = dict.fromkeys(ordered[:place] if is_first else ordered[place:])
        reader.skip_blanks()
    return names


def _operator(reader):
    """Whether the next term is taken away; "a,~b" is "a~b"."""
    operator = reader.next()
    if operator not in _OPERATORS:
        raise HostlistError(reader.at, "hosts and groups are separated by , + or ~")
    reader.at += 1
    reader.skip_blanks()
    if operator == "," and reader.next() == "~":
        operator = "~"
        reader.at += 1
        reader.skip_blanks()
    return operator == "~"


def expand(text, find_group=lambda name: None, left=None):
    """The hosts that the expression names, in order, each once; at least one.

    Terms are joined from left to right: "a+b" and "a,b" are all of both, "a~b" is a without b. A
    term is a group, or names with brackets as in hostlist. It may be cut: "a:4" are its first four
    hosts, "a@4" the others, "a:n7" those up to n7, "a@n7" those behind it. Digits alone are a
    count. find_group(name) gives the names of a group in order, or None. left: hosts that stand on
    the left of it all already; it may then begin with "~", and leave none. Raises HostlistError.
    """
    reader = _Reader(text)
    reader.skip_blanks()
    if not reader.next():
        raise HostlistError(0, "the expression is empty: write a host or a group")
    is_removing = reader.next() == "~"
    if is_removing and left is None:
        raise HostlistError(reader.at, 'there is nothing to take from: write "all~" before it')
    if is_removing:
        reader.at += 1
        reader.skip_blanks()
    total = 0
    names = dict.fromkeys(left or ())
    while True:
        start = reader.at
        term = _term(reader, find_group)
        total += len(term)
        if total > hostlist.MAX_NAMES:
            raise HostlistError(start, _TOO_MANY)
        if is_removing:
            for name in term:
                names.pop(name, None)
        else:
            names.update(term)
        if not reader.next():
            break
        is_removing = _operator(reader)
    if not names and left is None:
        raise HostlistError(0, "the expression leaves no host")
    return list(names)
