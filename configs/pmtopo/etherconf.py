# SPDX-License-Identifier: BSD-3-Clause
"""etherconf - pm-ethernet.conf of SCore 4 to 6: the interfaces of one unit, which was one rail of a trunk."""

import re
from typing import NamedTuple

from .problems import Wrong, quote

_MAC = re.compile(r"(?:[0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}\Z")
_OPTIONS = ("unit", "checksum", "maxnsend", "backoff")


class Node(NamedTuple):
    """A host's interface."""

    number: int
    mac: str
    host: str
    where: str             # file:line


class Unit(NamedTuple):
    """One file."""

    path: str
    number: int
    nodes: list            # by their numbers
    options: dict          # other keys -> number


def is_like(text):
    """Is this text a pm-ethernet.conf?"""
    words = next((line.split() for line in text.splitlines() if line.partition("#")[0].split()), [])
    return bool(words) and (words[0] in _OPTIONS or (len(words) == 3 and words[0].isdecimal()))


def _node(words, where):
    number, mac, host = words
    if not _MAC.match(mac):
        raise Wrong(f"{where}: {quote(mac)} is no MAC address; write six pairs of hex digits such as 00:00:f3:51:03:00")
    return Node(int(number), ":".join(f"{int(part, 16):02x}" for part in mac.split(":")), host, where)


def _check_twice(node, seen):
    for key, what in ((node.number, f"number {node.number}"), (node.mac, node.mac), (node.host, node.host)):
        other = seen.setdefault(key, node)
        if other is not node:
            raise Wrong(f"{node.where}: {what} is given on {other.where} already; give each host its own line")


def parse(path, text):
    """The Unit of a file. Raises Wrong."""
    options, nodes, seen = {}, [], {}
    for line_number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        where = f"{path}:{line_number}"
        if not words:
            continue
        if words[0] in _OPTIONS and len(words) == 2 and words[1].isdecimal():
            options[words[0]] = int(words[1])
        elif len(words) == 3 and words[0].isdecimal():
            nodes.append(_node(words, where))
            _check_twice(nodes[-1], seen)
        else:
            raise Wrong(f"{where}: {quote(line.strip())} is not understood; write NodeNumber MAC Hostname, or one of "
                        f"{', '.join(_OPTIONS)} with a number")
    if not nodes:
        raise Wrong(f"{path}:1: names no host; write a line NodeNumber MAC Hostname for each")
    return Unit(path, options.pop("unit", 0), sorted(nodes), options)
