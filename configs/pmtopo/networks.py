# SPDX-License-Identifier: BSD-3-Clause
"""networks - from the [networks.NAME] tables to networks with rails."""

import ipaddress

from .model import Network, Rail
from .problems import quote

# Keys that only some types of network have.
_KEYS_OF = {"udp": {"type", "rails", "mtu", "ports"}, "shmem": {"type"},
            "ethernet": {"type", "rails", "ethertype", "mode", "direct", "watch"}}


def _rail(item):
    if isinstance(item, str):
        return Rail(None, item, None) if "/" in item else Rail(item, None, None)
    subnet = item.get("subnet")
    return Rail(item.get("device"), subnet and str(subnet), item.get("dim"))


def _check_overlap(rails, place, path, problems):
    rail = rails[place]
    for other_place, other in enumerate(rails[:place]):
        if rail.device and rail.device == other.device:
            problems.add(path, f"{quote(rail.device)} is rail {other_place} already; name each "
                         "interface once")
        elif rail.subnet and other.subnet:
            mine, theirs = ipaddress.ip_network(rail.subnet), ipaddress.ip_network(other.subnet)
            if mine.version == theirs.version and mine.overlaps(theirs):
                problems.add(path, f"the subnet {mine} overlaps with {theirs} of rail "
                             f"{other_place}; give each rail a subnet of its own")


def _resolve_rails(name, kind, items, problems):
    rails = tuple(_rail(item) for item in items)
    for place, rail in enumerate(rails):
        path = ("networks", name, "rails", place)
        if kind == "ethernet" and rail.subnet:
            problems.add(path, f"a network of type ethernet knows no subnet such as {rail.subnet}; "
                         'write the name of the interface only, such as "eth1"')
        elif not rail.device and not rail.subnet:
            problems.add(path, 'the rail has neither device nor subnet; write device = "eth1"')
        _check_overlap(rails, place, path, problems)
    return rails


def resolve_networks(tables, problems):
    """The networks in the order of the file; a network of unknown type is left out."""
    networks, first_of = [], {}
    for name, table in tables.items():
        kind = table.get("type")
        if kind is None:
            continue
        for key in table:
            if key not in _KEYS_OF[kind]:
                problems.add(("networks", name, key), f"a network of type {kind} has no {key}; "
                             "remove the key")
        if kind in first_of:
            problems.add(("networks", name, "type"), f"networks.{first_of[kind]} is of type {kind} "
                         "already; join the two, a network may have several rails")
        first_of.setdefault(kind, name)
        rails = _resolve_rails(name, kind, table.get("rails", ()), problems)
        networks.append(Network(name, kind, rails, table.get("mtu"), table.get("ports"),
                                table.get("ethertype"), table.get("mode"), table.get("direct"), table.get("watch")))
    return networks


def rail_devices(config, networks, document):
    """Interface name -> its Rail, over all networks; None if some rails were not understood."""
    tables = config.get("networks", {})
    written = document.tree.get("networks", {})
    if not isinstance(written, dict) or len(tables) < len(written):
        return None
    for name, table in tables.items():
        if document.has(("networks", name, "rails")) and "rails" not in table:
            return None
    rails = [rail for network in networks for rail in network.rails if rail.device]
    # of networks that share an interface, the one whose subnet can be checked wins
    return {rail.device: rail for rail in sorted(rails, key=lambda rail: bool(rail.subnet))}
