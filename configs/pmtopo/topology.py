# SPDX-License-Identifier: BSD-3-Clause
"""topology - the shape of the cluster: dimensions, coordinates of hosts, rails per dimension.

Coordinates not given are counted: the last dimension changes fastest, as in a bracket range with
several brackets and as in MPI_Cart_create.
"""

import itertools
import math

from . import hostlist
from .hosts import split_items
from .model import Topology
from .problems import Wrong, quote
from .schema import GRID_HOSTS_MAX
from .values import AXES


KIND = "hypercrossbar"


def _shape(dims):
    return "x".join(map(str, dims))


def _numbers(text):
    out = []
    for _, item in split_items(text):
        try:
            names = hostlist.expand(item)
        except hostlist.HostlistError as error:
            raise Wrong(f"{quote(text)}: at character {error.at + 1}: {error.why}") from None
        if not all(name.isdecimal() for name in names):
            raise Wrong(f'{quote(text)} is no list of numbers; write "0" or "[0-15]"')
        out.extend(map(int, names))
    return out


def _axis_numbers(text, axis, points):
    numbers = _numbers(text)
    if max(numbers) >= points:
        raise Wrong(f"{max(numbers)} is outside of dimension {AXES[axis]}, which has {points} "
                    f"points; write 0 to {points - 1}")
    return numbers


def _entry_coords(texts, dims, count, path, problems):
    """The coordinates of a [[hosts]] table in the order of its hosts; None after a report."""
    if len(texts) != len(dims):
        problems.add(path, f"has {len(texts)} items for {len(dims)} dimensions; write one per "
                     "dimension")
        return None
    axes = []
    for axis, (text, points) in enumerate(zip(texts, dims)):
        try:
            axes.append(_axis_numbers(text, axis, points))
        except Wrong as wrong:
            problems.add(path + (axis,), str(wrong))
    if len(axes) < len(dims) or count is None:
        return None
    total = math.prod(map(len, axes))
    if total != count:
        problems.add(path, f"gives {total} points for {count} host{'s' if count != 1 else ''}; "
                     "give one per host, the last dimension changes fastest")
        return None
    return itertools.product(*axes)


def _place(tables, inventory, dims, document, problems):
    """Gives hosts the coordinates written in the file."""
    taken = {}
    for index, (table, hosts) in enumerate(zip(tables, inventory.ranges)):
        path = ("hosts", index, "coords")
        if "coords" not in table:
            problems.add(("hosts", index), "coords are missing, other hosts have them; give them "
                         "to all hosts or to none")
            continue
        points = _entry_coords(table["coords"], dims, None if hosts is None else len(hosts), path,
                               problems)
        for host, point in zip(hosts or (), points or ()):
            other = taken.setdefault(point, host)
            if other is not host:
                line = document.line(("hosts", other.entry, "coords"))
                problems.add(path, f"{host.name} stands at {_shape(point)}, where {other.name} of "
                             f"line {line} stands; give each its own point")
                break
            host.coords = point


def _count(inventory, dims, problems):
    """Gives hosts coordinates in the order of the file."""
    if not inventory.is_complete:
        return
    total = math.prod(dims)
    if total != len(inventory.hosts):
        problems.add(("topology", "dims"), f"{_shape(dims)} has {total} points for "
                     f"{len(inventory.hosts)} hosts; correct one of them (write missing hosts as "
                     '"~name") or give coords to all [[hosts]]')
        return
    for host, point in zip(inventory.hosts, itertools.product(*map(range, dims))):
        host.coords = point


def _check_rails(networks, dims, problems):
    axes = AXES[:len(dims)]
    for network in networks:
        if not network.rails:
            continue
        for place, rail in enumerate(network.rails):
            path = ("networks", network.name, "rails", place)
            if rail.dim is None:
                problems.add(path, "the rail serves no dimension of the topology; write "
                             f'{{ {"device" if rail.device else "subnet"} = "{rail.label()}", '
                             f'dim = "x" }}')
            elif rail.dim >= len(dims):
                problems.add(path, f'the topology has no dimension "{AXES[rail.dim]}"; write one '
                             f"of {', '.join(axes)}")
        missing = set(range(len(dims))) - {rail.dim for rail in network.rails}
        if missing and all(rail.dim is not None for rail in network.rails):
            problems.add(("networks", network.name, "rails"), "no rail serves dimension "
                         f"{', '.join(AXES[dim] for dim in sorted(missing))}; add one")


def _refuse_without_topology(tables, networks, problems):
    remedy = 'add [topology] with kind = "hypercrossbar" and dims, or remove the key'
    for index, table in enumerate(tables):
        if "coords" in table:
            problems.add(("hosts", index, "coords"), f"there is no [topology]; {remedy}")
    for network in networks:
        for place, rail in enumerate(network.rails):
            if rail.dim is not None:
                problems.add(("networks", network.name, "rails", place, "dim"),
                             f"there is no [topology]; {remedy}")


def resolve_topology(config, inventory, networks, document, problems):
    """The Topology, None without one; hosts get their coordinates."""
    tables = config.get("hosts", [])
    if "topology" not in config:
        if "topology" not in document.tree:
            _refuse_without_topology(tables, networks, problems)
        return None
    dims = config["topology"].get("dims")
    if dims is None:
        return None
    dims = tuple(dims)
    if len(inventory.hosts) > GRID_HOSTS_MAX:
        problems.add(("topology",), f"{len(inventory.hosts)} hosts, and a {KIND} has at most {GRID_HOSTS_MAX}; "
                     "list fewer hosts, or describe two clusters")
        return None
    if any("coords" in table for table in tables):
        _place(tables, inventory, dims, document, problems)
    else:
        _count(inventory, dims, problems)
    _check_rails(networks, dims, problems)
    return Topology(KIND, dims)
