# SPDX-License-Identifier: BSD-3-Clause
"""groups - named sets of hosts: each a list of host expressions (hostexpr), of which a later one goes on from what the
earlier ones came to."""

import difflib

from . import hostexpr, hostlist
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

    def named(self, path, word):
        """The names of a word of an expression; None when it is not one."""
        if word in self.tables or word == "all":
            return self.group(word, path)
        try:
            names = hostlist.expand(word)
        except hostlist.HostlistError:
            return None     # whoever reads the expression tells where in it
        unknown = [name for name in names if name not in self.inventory.by_name]
        if unknown:
            self.unknown(path, unknown)
        return names

    def joined(self, path, members, text):
        """The members with what an expression adds to them and takes away."""
        try:
            return hostexpr.expand(text, lambda word: self.named(path, word), members)
        except hostexpr.NotThere as error:
            # Hosts that could not be read are told of already.
            if self.inventory.is_complete:
                self.wrong(path, text, error)
        except hostlist.HostlistError as error:
            self.wrong(path, text, error)
        return members

    def wrong(self, path, text, error):
        self.problems.add(path, f"{quote(text)}: at character {error.at + 1}: {error.why}")

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
        members = []
        before = len(self.problems)
        for text in self.tables[name]:
            members = self.joined(("groups", name), members, text)
        members = [member for member in members if member in self.inventory.by_name]
        self.open.pop()
        if not members and len(self.problems) == before and self.inventory.is_complete:
            self.problems.add(("groups", name), "the group has no members; name some or remove it")
        self.done[name] = members
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
