# SPDX-License-Identifier: BSD-3-Clause
"""groups - named sets of hosts, made of host ranges and other groups; "~" takes away."""

import difflib

from . import hostlist
from .hosts import split_items
from .problems import quote

_SUGGEST_FROM = 5000


class _Resolver:
    def __init__(self, tables, inventory, problems):
        self.tables = tables
        self.inventory = inventory
        self.problems = problems
        self.done = {"all": [host.name for host in inventory.hosts]}
        self.open = []  # groups being resolved, outermost first

    def unknown(self, path, names):
        if not self.inventory.is_complete:
            return
        candidates = list(self.tables) + list(self.inventory.by_name)[:_SUGGEST_FROM]
        near = difflib.get_close_matches(names[0], candidates, n=1, cutoff=0.6)
        hint = f'did you mean "{near[0]}"?' if near else "correct the name or add the host"
        self.problems.add(path, f"{quote(hostlist.fold(names))} is neither a host nor a group; "
                          f"{hint}")

    def item(self, path, text):
        if text in self.tables or text == "all":
            return self.group(text, path)
        try:
            names = hostlist.expand(text)
        except hostlist.HostlistError as error:
            self.problems.add(path, f"{quote(text)}: at character {error.at + 1}: {error.why}")
            return []
        unknown = [name for name in names if name not in self.inventory.by_name]
        if unknown:
            self.unknown(path, unknown)
        return [name for name in names if name in self.inventory.by_name]

    def group(self, name, path):
        if name in self.done:
            return self.done[name]
        if name in self.open:
            loop = " -> ".join(self.open[self.open.index(name):] + [name])
            self.problems.add(path, f"the group contains itself: {loop}; break the circle")
            return []
        if len(self.open) > 50:
            self.problems.add(path, "groups are nested more than 50 deep; list the hosts instead")
            return []
        self.open.append(name)
        members = {}
        before = len(self.problems)
        for text in self.tables[name]:
            for _, item in split_items(text):
                item = item.strip()
                found = self.item(("groups", name), item.removeprefix("~").strip())
                if item.startswith("~"):
                    for member in found:
                        members.pop(member, None)
                else:
                    members.update(dict.fromkeys(found))
        self.open.pop()
        if not members and len(self.problems) == before and self.inventory.is_complete:
            self.problems.add(("groups", name), "the group has no members; name some or remove it")
        self.done[name] = list(members)
        return self.done[name]


def resolve_groups(tables, inventory, problems):
    """Group name -> list of host ids in the order named, each once."""
    resolver = _Resolver(tables, inventory, problems)
    out = {}
    for name in tables:
        path = ("groups", name)
        if name == "all":
            problems.add(path, 'the group "all" is built in and means every host; choose another '
                         "name")
            continue
        if name in inventory.by_name:
            problems.add(path, f"{quote(name)} is a host as well; choose another name for the "
                         "group")
            continue
        out[name] = [inventory.by_name[member].id for member in resolver.group(name, path)]
    return out
