# SPDX-License-Identifier: BSD-3-Clause
"""wiring - from who hears whom to switches, dimensions and coordinates. Pure.

A switch is a set of ports that hear each other. The lines of dimension d are the sets of hosts on its switches;
the hosts of one coordinate c in dimension d are those that reach each other by lines of all other dimensions.
So coordinates need no names and no order of hosts, and a host whose port is dead in one dimension is still
placed by the others.
"""

import math
import re
from typing import NamedTuple

from .heard import Port
from .schema import DIMENSIONS_MAX

_TRIED_MAX = 512       # ports taken out one by one in search of a wrong cable


class Sets:
    """Disjoint sets that grow together."""

    def __init__(self, items):
        self._up = {item: item for item in items}

    def top(self, item):
        while self._up[item] != item:
            self._up[item] = self._up[self._up[item]]
            item = self._up[item]
        return item

    def join(self, a, b):
        self._up[self.top(a)] = self.top(b)

    def sets(self):
        found = {}
        for item in self._up:
            found.setdefault(self.top(item), []).append(item)
        return list(found.values())


def natural(name):
    """Sorts n2 before n10."""
    return [(1, int(part), part) if part.isdecimal() else (0, 0, part) for part in re.split(r"([0-9]+)", name)]


class Wiring(NamedTuple):
    """Ports and who hears whom."""

    hosts: list        # names in their natural order, of those that reported and those that were heard
    rail_of: dict      # Port -> rail
    links: set         # pairs of Ports of which one hears the other, and none says that it does not any more
    macs: dict         # Port -> address, of those that were heard

    def switches(self, without=None):
        """Lists of Ports; a port that hears nobody is alone."""
        sets = Sets(self.rail_of)
        for a, b in self.links:
            if without not in (a, b):
                sets.join(a, b)
        return sets.sets()


def wiring(heard):
    """The Wiring of reports."""
    rail_of, links, dead, macs = {}, set(), set(), {}
    for host, ears in heard.ears.items():
        for ear in ears:
            own = Port(host, ear.device)
            rail_of[own] = ear.rail
            rail_of.setdefault(ear.other, ear.other_rail)
            macs[ear.other] = ear.mac
            # a host that has moved is remembered for a while by those it has left
            (links if ear.is_alive else dead).add((min(own, ear.other), max(own, ear.other)))
    names = {port.host for port in rail_of} | set(heard.ears)
    return Wiring(sorted(names, key=natural), rail_of, links - dead, macs)


class Grid(NamedTuple):
    """The wiring as a hypercrossbar."""

    dims: tuple        # points per dimension; one entry: flat
    rails: list        # dimension of each rail, by its number
    coords: dict       # host -> coordinates


class NoGrid(Exception):
    """The wiring is no hypercrossbar; the text says in what way."""


def _lines_by_rail(wires, without):
    """rail -> host -> the set of hosts on its switch."""
    lines = {rail: {} for rail in sorted(set(wires.rail_of.values()))}
    for ports in wires.switches(without):
        hosts = frozenset(port.host for port in ports)
        for port in ports:
            own = lines[wires.rail_of[port]].setdefault(port.host, frozenset({port.host}))
            lines[wires.rail_of[port]][port.host] = own | hosts
    return lines


def _dimensions(lines, hosts):
    """Lists of rails that join the same hosts."""
    groups = []
    for rail, line_of in lines.items():
        for group in groups:
            first = lines[group[0]]
            both = [host for host in hosts if len(first.get(host, ())) > 1 and len(line_of.get(host, ())) > 1]
            if 2 * sum(len(first[host] & line_of[host]) > 1 for host in both) > len(both):
                group.append(rail)
                break
        else:
            groups.append([rail])
    return groups


def _joined(hosts, lines, rails):
    sets = Sets(hosts)
    for rail in rails:
        for host, line in lines[rail].items():
            for other in line:
                sets.join(host, other)
    return sets.sets()


def _values(hosts, layers, lines):
    """Numbers the layers of one dimension, the hosts that share a coordinate: host -> coordinate.

    Where failures cut a layer into pieces, a piece gets the one number that its lines leave free.
    """
    layer_of = {host: number for number, layer in enumerate(layers) for host in layer}
    count = max(map(len, lines))
    full = max((line for line in lines if len(line) == count), key=lambda line: sum(len(layers[layer_of[host]])
                                                                                  for host in line))
    value = {}
    for host in sorted(full, key=natural):
        if layer_of[host] in value:
            raise NoGrid(f"{host} shares a switch with a host of its own layer")
        value[layer_of[host]] = len(value)
    left = set(range(len(layers))) - set(value)
    while left:
        placed = set()
        for layer in left:
            taken = {value.get(layer_of[other]) for line in lines for host in line if layer_of[host] == layer
                     for other in line}
            free = set(range(count)) - taken
            if len(free) == 1:
                value[layer] = free.pop()
                placed.add(layer)
        if not placed:
            name = min((host for layer in left for host in layers[layer]), key=natural)
            raise NoGrid(f"{name} cannot be placed: too little is heard of it")
        left -= placed
    # the host that comes first by name stands at 0
    order = {}
    for host in hosts:
        order.setdefault(value[layer_of[host]], len(order))
    return {host: order[value[layer_of[host]]] for host in hosts}, count


def _check(hosts, coords, lines, groups):
    """Every host has a place of its own, and each switch only hosts that differ in its dimension."""
    at = {}
    for host in hosts:
        if coords[host] in at:
            raise NoGrid(f"{at[coords[host]]} and {host} would stand at the same place")
        at[coords[host]] = host
    for dim, rails in enumerate(groups):
        for rail in rails:
            for host, line in lines[rail].items():
                for other in line:
                    differ = [a for a, (x, y) in enumerate(zip(coords[host], coords[other])) if x != y]
                    if differ not in ([], [dim]):
                        raise NoGrid(f"{host} and {other} share a switch of rail {rail} and differ in more than one "
                                     "coordinate")


def grid(wires, without=None):
    """The Grid, as if the port without heard nobody. Raises NoGrid."""
    lines = _lines_by_rail(wires, without)
    if not lines:
        raise NoGrid("no host hears another one; is pm-ethernetd running, are the cables plugged in?")
    dead = [rail for rail, line_of in lines.items() if all(len(line) == 1 for line in line_of.values())]
    if dead:
        raise NoGrid(f"nobody hears anybody on rail {dead[0]}; plug in its cables and switches")
    groups = _dimensions(lines, wires.hosts)
    if len(groups) > DIMENSIONS_MAX:
        raise NoGrid(f"the rails join {len(groups)} different sets of hosts, and a hypercrossbar has at most "
                     f"{DIMENSIONS_MAX} dimensions")
    parts = _joined(wires.hosts, lines, lines)
    if len(parts) > 1:
        least = min(parts, key=len)
        raise NoGrid(f"{', '.join(sorted(least, key=natural)[:4])}{' ...' if len(least) > 4 else ''} and "
                     f"{len(wires.hosts) - len(least)} other hosts do not hear each other on any rail")
    rails = [next(dim for dim, group in enumerate(groups) if rail in group) if rail in lines else None
             for rail in range(max(lines) + 1)]
    axes = []
    for dim, group in enumerate(groups):
        others = [rail for rail in lines if rail not in group]
        layers = _joined(wires.hosts, lines, others)
        axes.append(_values(wires.hosts, layers, _joined(wires.hosts, lines, group)))
    coords = {host: tuple(value[host] for value, _ in axes) for host in wires.hosts}
    _check(wires.hosts, coords, lines, groups)
    return Grid(tuple(count for _, count in axes), rails, coords)


def suspects(wires):
    """Ports of which one on the wrong switch would explain all: without it the rest is a grid, and the smallest one.
    Two are found where either could have taken the other's place on a line."""
    if len(wires.rail_of) > _TRIED_MAX:
        return []
    found = {}
    for port in sorted(wires.rail_of, key=lambda port: (natural(port.host), port.device)):
        try:
            shape = grid(wires, port)
        except NoGrid:
            continue
        if math.prod(shape.dims) >= len(wires.hosts):
            found.setdefault(math.prod(shape.dims), []).append(port)
    return found[min(found)] if found else []
