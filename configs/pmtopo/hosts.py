# SPDX-License-Identifier: BSD-3-Clause
"""hosts - from the [[hosts]] tables to hosts with ids, names, states.

Owns names and their uniqueness; addresses are laid on in addresses.py.
"""

import re

from . import hostlist
from .model import Host
from .problems import Wrong, quote
from .schema import CLUSTER_HOSTS_MAX

_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def split_items(text):
    """The comma-separated items of a host list with their offsets; commas in [ ] do not count."""
    items, start, depth = [], 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            items.append((start, text[start:at]))
            start = at + 1
    items.append((start, text[start:]))
    return items


def marked_names(text):
    """Names of a list whose items may begin with "~": pairs (name, is_marked). Raises Wrong."""
    out = []
    for start, item in split_items(text):
        stripped = item.strip()
        is_marked = stripped.startswith("~")
        body = stripped[1:] if is_marked else stripped
        try:
            out.extend((name, is_marked) for name in hostlist.expand(body))
        except hostlist.HostlistError as error:
            at = start + len(item) - len(item.lstrip()) + is_marked + error.at + 1
            raise Wrong(f"{quote(text)}: at character {at}: {error.why}") from None
        if len(out) > CLUSTER_HOSTS_MAX:
            raise Wrong(f"{quote(text)} names more than {CLUSTER_HOSTS_MAX} hosts")
    return out


class Inventory:
    """The hosts of the file, and whether all [[hosts]] could be understood."""

    def __init__(self):
        self.hosts = []
        self.by_name = {}
        self.ranges = []        # per [[hosts]] table its hosts, None: not understood
        self.is_complete = True

    def skip_entry(self):
        self.ranges.append(None)
        self.is_complete = False


def _report_overlaps(index, overlaps, ranges, document, problems):
    """overlaps: index of an earlier table -> names that both give."""
    path = ("hosts", index, "range")
    for other, names in overlaps.items():
        listed = quote(hostlist.fold(names))
        if other == index:
            problems.add(path, f"{listed} is named twice; name each host once")
            continue
        line = document.line(("hosts", other, "range"))
        problems.add(path, f"overlaps with {quote(ranges[other])} of line {line}: {listed} would "
                     "be defined twice; take it out of one of the two")


def _host_names(text, room):
    """The pairs of marked_names, all of them fit to be hosts. Raises Wrong."""
    named = marked_names(text)
    bad = next((name for name, _ in named if not _HOST_NAME.match(name)), None)
    if bad is not None:
        raise Wrong(f"{quote(bad)} is no host name; use at most 64 letters, digits, . _ - and "
                    "begin with a letter or digit")
    if len(named) > room:
        raise Wrong(f"more than {CLUSTER_HOSTS_MAX} hosts in one file; shorten the range")
    return named


def resolve_hosts(tables, document, problems):
    """The Inventory of the [[hosts]] tables."""
    inventory = Inventory()
    texts = [table.get("range") for table in tables]
    for index, text in enumerate(texts):
        if text is None:
            inventory.skip_entry()
            continue
        try:
            named = _host_names(text, CLUSTER_HOSTS_MAX - len(inventory.hosts))
        except Wrong as wrong:
            problems.add(("hosts", index, "range"), str(wrong))
            inventory.skip_entry()
            continue
        overlaps, own = {}, []
        for name, is_defect in named:
            host = Host(len(inventory.hosts), name, "defect" if is_defect else "up", index)
            first = inventory.by_name.setdefault(name, host)
            if first is not host:
                overlaps.setdefault(first.entry, []).append(name)
                continue
            inventory.hosts.append(host)
            own.append(host)
        if overlaps:
            inventory.skip_entry()
        else:
            inventory.ranges.append(own)
        _report_overlaps(index, overlaps, texts, document, problems)
    return inventory


def mark_spares(names, inventory, problems):
    """cluster.spares: hosts that wait to replace defect ones."""
    unknown = [name for name in names if name not in inventory.by_name]
    if unknown and inventory.is_complete:
        problems.add(("cluster", "spares"), f"{quote(hostlist.fold(unknown))} is not among the "
                     "[[hosts]]; correct the name or add the host")
    for name in names:
        host = inventory.by_name.get(name)
        if host and host.state == "defect":
            problems.add(("cluster", "spares"), f"{quote(name)} is marked defect by ~ and cannot "
                         "be a spare; take it out of one of the two")
        elif host:
            host.state = "spare"
