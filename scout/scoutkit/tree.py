# SPDX-License-Identifier: BSD-3-Clause
"""tree - who passes a file on to whom: two at most from each, so that it takes rounds by the logarithm of the hosts.
Pure."""

WIDTH = 2


def children(hosts, address):
    """The same hosts as the field "children" of a message: the first of each part has the rest of it below."""
    if not hosts:
        return []
    size = -(-len(hosts) // WIDTH)
    parts = [hosts[at:at + size] for at in range(0, len(hosts), size)]
    return [{"host": part[0], "address": address(part[0]), "children": children(part[1:], address)} for part in parts]


def names(nodes):
    """All that are in it."""
    found = []
    for node in nodes:
        found += [node["host"], *names(node["children"])]
    return found


def below(nodes):
    """Names of all that are below each."""
    found = {}
    for node in nodes:
        found[node["host"]] = names(node["children"])
        found |= below(node["children"])
    return found
