# SPDX-License-Identifier: BSD-3-Clause
"""planes - a cluster laid out flat for drawing: planes of rows and columns of hosts. Knows no terminal and no SVG.

The last dimension runs along columns, the one before along rows, all others choose the plane. Hosts without a
topology fill rows of one plane.
"""

import itertools
import math
from typing import NamedTuple

from .hostlist import fold
from .values import AXES

FLAT_COLUMNS = 32
UP, DEFECT, SPARE, NONE = "up", "defect", "spare", "none"


class Plane(NamedTuple):
    """rows: of Host or None. at: the coordinates that all its hosts share."""

    at: tuple
    rows: list

    def is_whole(self):
        return all(map(is_whole, self.rows))

    def title(self):
        return ", ".join(f"{AXES[axis]}={value}" for axis, value in enumerate(self.at))


class Layout(NamedTuple):
    """All planes, and what rows and columns are called; "" where they mean nothing."""

    planes: list
    row_axis: str
    column_axis: str


class Dimension(NamedTuple):
    """The lines of hosts along one dimension; without a topology the one line of all."""

    axis: str
    points: int
    lines: int
    rails: list            # of (network, label)

    def switches(self):
        return self.lines * len(self.rails)


def state(host):
    return host.state if host else NONE


def is_whole(row):
    return all(state(host) == UP for host in row)


def layout(cluster):
    """The Layout of a cluster."""
    if not cluster.topology:
        hosts = cluster.hosts
        rows = [hosts[at:at + FLAT_COLUMNS] for at in range(0, len(hosts), FLAT_COLUMNS)]
        return Layout([Plane((), rows)], "", "")
    dims = cluster.topology.dims
    at = {host.coords: host for host in cluster.hosts}
    rows, columns = (dims[-2] if len(dims) > 1 else 1), dims[-1]
    planes = []
    for lead in itertools.product(*map(range, dims[:-2])):
        keys = [lead + ((row,) if len(dims) > 1 else ()) for row in range(rows)]
        planes.append(Plane(lead, [[at.get(key + (column,)) for column in range(columns)] for key in keys]))
    return Layout(planes, AXES[len(dims) - 2] if len(dims) > 1 else "", AXES[len(dims) - 1])


def dimensions(cluster):
    """Of the networks that have rails."""
    dims = cluster.topology.dims if cluster.topology else (len(cluster.hosts),)
    rails = [(network.name, rail.label(), rail.dim) for network in cluster.networks for rail in network.rails]
    if not cluster.topology:
        return [Dimension("", dims[0], 1, [rail[:2] for rail in rails])]
    return [Dimension(AXES[dim], points, math.prod(dims) // points, [rail[:2] for rail in rails if rail[2] == dim])
            for dim, points in enumerate(dims)]


def along(cluster):
    """Sentences about the dimensions."""
    out = []
    for dim in dimensions(cluster):
        names = []
        for network in dict.fromkeys(network for network, _ in dim.rails):
            labels = [label for name, label in dim.rails if name == network]
            names.append(f"{network} {' '.join(labels)}")
        what = f"{dim.axis}: {dim.lines} line{'s' if dim.lines > 1 else ''} of {dim.points}" if dim.axis \
            else f"all {dim.points} hosts on one line"
        out.append(what + (f", rails {', '.join(names)}" if names else ""))
    return out


def marked(cluster):
    """Sentences that name the hosts that are not up, and points without a host."""
    out = []
    for word in (DEFECT, SPARE):
        hosts = [host.name for host in cluster.hosts if host.state == word]
        if hosts:
            out.append(f"{word}: {fold(hosts)}")
    if cluster.topology:
        empty = math.prod(cluster.topology.dims) - len(cluster.hosts)
        if empty:
            out.append(f"points without a host: {empty}")
    return out
