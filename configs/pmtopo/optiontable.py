# SPDX-License-Identifier: BSD-3-Clause
"""optiontable - the options of the library, read from the table that it is compiled from, configs/options.def.

Refuses a line that is not as that file says. Knows no values.
"""

import collections
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parents[1] / "options.def"

_HEAD = re.compile(r"(/\*([^*]|\*(?!/))*\*/\n)*")
_LINE = re.compile(
    r'OPTION\("(?P<name>[a-z_]+(?:\.[a-z_]+)?)", '
    r"(?P<kind>(?P<number>NUMBER|POWER|BYTES|POWER_BYTES|MILLISECONDS|MICROSECONDS)|(?P<choice>CHOICE)|"
    r"SWITCH|TEXT|PATH|SOCKET|DEVICES|RAILS|INTERFACES|PORTS), "
    r'[a-z_]+, (?P<scope>HOST|JOB|RUN), (?:NULL|"(?P<default>[^"\\]+)")'
    r'(?(number), RANGE\((?P<low>[0-9]+), (?P<high>[0-9]+)\)(?:, ZERO\("(?P<zero>[^"\\]+)"\))?)'
    r'(?(choice), WORDS\((?P<words>"[a-z]+"(?:, "[a-z]+")*)\))\)\Z')

# name: as in PM_OPTIONS; kind, scope: words of the table; default: text or None; low, high: of a number; zero: what 0
# stands for, which is below low, or None; words: of a choice.
Option = collections.namedtuple("Option", "name kind scope default low high zero words")


def _option(line):
    match = _LINE.match(line)
    if not match:
        raise ValueError('write OPTION("key", KIND, field, SCOPE, "default", details) as the head of the file says')
    parts = {name: match[name] for name in Option._fields}
    if parts["low"]:
        parts.update(low=int(parts["low"]), high=int(parts["high"]))
        if parts["low"] > parts["high"] or parts["zero"] and not parts["low"]:
            raise ValueError("write RANGE with the smaller number first, and from 1 or more where ZERO follows")
    return Option(**{**parts, "words": tuple(re.findall("[a-z]+", parts["words"] or ""))})


def parse(text, path=PATH):
    """The options of a table, in its order. Raises ValueError with path and line."""
    head = _HEAD.match(text)[0]
    options = {}
    for number, line in enumerate(text[len(head):].splitlines(), head.count("\n") + 1):
        try:
            option = _option(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if option.name in options:
            raise ValueError(f"{path}:{number}: {option.name} is there already; remove one of the lines")
        options[option.name] = option
    return tuple(options.values())


TABLE = parse(PATH.read_text("utf-8"))
