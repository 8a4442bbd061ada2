# SPDX-License-Identifier: BSD-3-Clause
"""hosts - which hosts are meant, and where they are: expressions, files of them, groups and addresses of
cluster.json."""

import json
import os

from pmharmless import harmless
from pmtopo import hostexpr, hostlist
from scorectl.server import CLUSTER

NODE_PORT = 7711    # of scnoded, unless cluster.json says otherwise


class Wrong(Exception):
    """An expression or a file that names no hosts."""


class Cluster:
    """The parts of cluster.json that are used here; without the file: names only."""

    def __init__(self, path=None):
        self.groups, self.addresses, self.node_port = {}, {}, NODE_PORT
        self._names = frozenset()
        named = path or os.environ.get("SCORE_CLUSTER")
        path = named or CLUSTER
        self._is_known = True
        try:
            with open(path, encoding="utf-8") as file:
                self._take(json.load(file))
        except FileNotFoundError:
            if named:
                raise Wrong(f"{path}: there is no such file; scconf compile writes it") from None
            self._is_known = False
        except OSError as problem:
            raise Wrong(f"{path}: {problem.strerror}") from None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise Wrong(f"{path}: it is no cluster.json; scconf compile writes it") from None

    def _take(self, document):
        names = [host["name"] for host in document["hosts"]]
        self._names = frozenset(names)
        self.addresses = {host["name"]: host["address"] for host in document["hosts"] if host.get("address")}
        self.groups = {group["name"]: [names[number] for number in group["hosts"]] for group in document["groups"]}
        # As scored has it: one marked as defect or spare is used when it is named.
        self.groups.setdefault("all", names)
        self.node_port = (document.get("scheduler") or {}).get("node_port", NODE_PORT)

    def _group(self, name):
        if name == "all" and not self._is_known:
            raise Wrong(f"all: no groups are known without {CLUSTER}; name the hosts, or another file with "
                        "SCORE_CLUSTER")
        return self.groups.get(name)

    def expand(self, text):
        """Names that an expression means."""
        try:
            return hostexpr.expand(text, self._group)
        except hostlist.HostlistError as error:
            raise Wrong(f"{harmless(text)}: at character {error.at + 1}: {error.why}") from None

    def read(self, path):
        """Names in a file: an expression per line, # begins a remark."""
        names = {}
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError as problem:
            raise Wrong(f"{path}: {problem.strerror}") from None
        except ValueError:
            raise Wrong(f"{path}: it is no text") from None
        for number, line in enumerate(lines, 1):
            line = line.partition("#")[0].strip()
            if line:
                try:
                    names.update(dict.fromkeys(self.expand(line)))
                except Wrong as problem:
                    raise Wrong(f"{path}:{number}: {problem}") from None
        if not names:
            raise Wrong(f"{path}: it names no host")
        return list(names)

    def chosen(self, options):
        """Names that the options of scout mean, in order, each once."""
        names = self.read(options.file) if options.file else self.expand(options.group)
        return self.without(names, options)

    def without(self, names, options):
        """The names but for those of -x."""
        if options.exclude:
            out = set(self.expand(options.exclude))
            names = [name for name in names if name not in out]
        if not names:
            raise Wrong(f"-x {options.exclude}: it leaves no host")
        return names

    def has(self, names):
        """Whether all are hosts of it."""
        return self._names.issuperset(names)

    def address(self, name):
        """Where a host is: its management address, else its name."""
        return self.addresses.get(name, name)


def check_count(count, names):
    """Whether -n, None: without it, asks for no more than there are."""
    if count and count > len(names):
        raise Wrong(f"-n {count}: there are {len(names)} to choose from")


def fold(names):
    """n[0-3]; in the order of the numbers, each once."""
    from scorectl.words import natural
    return hostlist.fold(sorted(set(names), key=natural))
