# SPDX-License-Identifier: BSD-3-Clause
"""path - the way of frames between two hosts of a cluster, hop by hop, as pm-ethernet's relays take it.

Owns what hosts, rails and failures mean to routing.py, and the sentences about a way. The network is that
of type ethernet: udp has no relays.
"""

import itertools
import math
from typing import NamedTuple, Optional

from . import routing
from .model import Host
from .problems import Wrong, quote
from .values import AXES


_WALKS_MAX = 1 << 20


class Hop(NamedTuple):
    """One link: a host sends by one of its rails to the next host."""

    host: Host
    rail: int              # number, equal on both hosts
    device: str            # of the sender
    mac: Optional[str]     # of the sender, None: not in the description
    dim: Optional[int]     # None: no topology
    to: Host
    to_device: str
    to_mac: Optional[str]
    note: str              # why this link is not the usual one, or ""


class Path(NamedTuple):
    """A way from src as far as it goes."""

    src: Host
    dst: Host
    hops: list
    stuck: Optional[str]   # why it does not reach dst, None: it does
    is_detour: bool


def place(host):
    """A host with its coordinates, for people."""
    return f"{host.name} ({','.join(map(str, host.coords))})" if host.coords else host.name


def ethernet(cluster):
    """The network of type ethernet. Raises Wrong."""
    for network in cluster.networks:
        if network.type == "ethernet" and network.rails:
            return network
    raise Wrong("no network of type ethernet has rails, and others have no relays; add [networks.raw] with "
                'type = "ethernet" and rails')


def _host(cluster, name):
    if name not in cluster.by_name:
        raise Wrong(f'there is no host {quote(name)}; "scconf show" lists the hosts')
    return cluster.by_name[name]


class Dead:
    """Hosts and NICs that do not work: defect hosts, and those that the caller names: HOST, or HOST:DEVICE."""

    def __init__(self, cluster, network, texts):
        self._network = network.name
        self.hosts = {host.id: "is marked as defect" for host in cluster.hosts if host.state == "defect"}
        self.nics = set()      # (host id, rail)
        for text in texts:
            name, colon, device = text.partition(":")
            host = _host(cluster, name)
            if not colon:
                self.hosts.setdefault(host.id, "is dead (--dead)")
                continue
            rail = next((rail.rail for rail in self.rails(host) if rail.device == device), None)
            if rail is None:
                known = ", ".join(rail.device for rail in self.rails(host))
                raise Wrong(f"--dead {text}: {name} has no rail {quote(device)}; it has {known}")
            self.nics.add((host.id, rail))

    def rails(self, host):
        return [rail for rail in host.rails if rail.network == self._network]

    def is_open(self, a, b, rail):
        return not any(host.id in self.hosts or (host.id, rail) in self.nics or rail >= len(self.rails(host))
                       for host in (a, b))


def _note(way, lane, lanes):
    if way.late & routing.LATE_ASIDE:
        return f"detour: a step aside along {AXES[way.dim]}"
    if way.late:
        last = AXES[way.late - 1]
        return f"detour: {last}, put last" if way.dim + 1 == way.late else f"detour: {last} comes last"
    return "other lane: the usual one is dead" if way.lane != lane % lanes else ""


class Finder:
    """Ways through a cluster. lane: the sender's choice among the rails of a dimension."""

    def __init__(self, cluster, dead=(), lane=0):
        self._network = ethernet(cluster)
        self._cluster = cluster
        self._dead = Dead(cluster, self._network, dead)
        dims = cluster.topology.dims if cluster.topology else ()
        self._rails = [[number for number, rail in enumerate(self._network.rails) if rail.dim == dim]
                       for dim in range(len(dims))] or [list(range(len(self._network.rails)))]
        most = max(map(len, self._rails))
        if lane >= most:
            raise Wrong(f"--lane {lane}: a dimension has {most} rail{'s' if most > 1 else ''}; write 0"
                        + (f" to {most - 1}" if most > 1 else ""))
        self._lane = lane
        self._dims = dims or (len(cluster.hosts),)
        self._at = {self._point(host): host for host in cluster.hosts}

    def _point(self, host):
        return host.coords if self._cluster.topology else (host.id,)

    def _is_open(self, point, dim, lane, to):
        other = self._at.get(point[:dim] + (to,) + point[dim + 1:])
        return other is not None and self._dead.is_open(self._at[point], other, self._rails[dim][lane])

    def _hop(self, host, to, way):
        rail = self._rails[way.dim][way.lane]
        ours, theirs = self._dead.rails(host)[rail], self._dead.rails(to)[rail]
        return Hop(host, rail, ours.device, ours.mac, way.dim if self._cluster.topology else None, to,
                   theirs.device, theirs.mac, _note(way, self._lane, len(self._rails[way.dim])))

    def _stuck(self, at, dst):
        """Why no way is open from there."""
        for host in (at, dst):
            if host.id in self._dead.hosts:
                return f"{place(host)} {self._dead.hosts[host.id]}"
        return f"no way on from {place(at)}: the next hosts and the detours around them are dead or defect"

    def find(self, src_name, dst_name):
        """The Path between two hosts of these names. Raises Wrong."""
        return self._find(_host(self._cluster, src_name), _host(self._cluster, dst_name))

    def _blocked(self):
        """Points of dead hosts and NICs; with each, the numbers of coordinates corrected where a frame meets it."""
        dims = len(self._dims)
        for point in itertools.product(*map(range, self._dims)):
            if point not in self._at or self._at[point].id in self._dead.hosts:
                yield point, range(1, dims)
        for host_id, rail in self._dead.nics:
            dim = next(dim for dim, rails in enumerate(self._rails) if rail in rails)
            yield self._point(self._cluster.hosts[host_id]), (dim, dim + 1)

    def parted(self):
        """The Paths that do not reach their ends, of hosts that are not dead. Raises Wrong.

        The usual way from a to b meets a point that has the first coordinates of b and the others of a: only
        such pairs have to be looked at."""
        blocked = list(self._blocked())
        walks = math.prod(self._dims) * sum(len(numbers) for _, numbers in blocked)
        if walks > _WALKS_MAX:
            raise Wrong(f"too much is dead to look at all {walks} ways that meet it; ask for single pairs")
        found = {}
        for point, numbers in blocked:
            for number in numbers:
                for values in itertools.product(*map(range, self._dims)):
                    ends = [self._at.get(end) for end in (values[:number] + point[number:],
                                                          point[:number] + values[number:])]
                    if None in ends or ends[0] is ends[1] or {end.id for end in ends} & self._dead.hosts.keys():
                        continue
                    path = self._find(*ends)
                    if path.stuck:
                        found[path.src.id, path.dst.id] = path
        return [found[key] for key in sorted(found)]

    def _find(self, src, dst):
        grid = routing.Grid(tuple(self._dims), tuple(map(len, self._rails)))
        # ids in frames begin with 1
        number = routing.salt(src.id + 1, dst.id + 1)
        links, end = [], self._point(src)
        if not {src.id, dst.id} & self._dead.hosts.keys():
            links, end = routing.walk(grid, self._is_open, self._point(src), self._point(dst), self._lane, number)
        hosts = [self._at[point] for point, _ in links] + [self._at[end]]
        hops = [self._hop(host, to, way) for host, to, (_, way) in zip(hosts, hosts[1:], links)]
        stuck = None
        if end != self._point(dst) or dst.id in self._dead.hosts:
            stuck = self._stuck(self._at[end], dst)
        return Path(src, dst, hops, stuck, any(way.late for _, way in links))


def tree(path):
    """For JSON."""
    hops = [{"host": hop.host.name, "rail": hop.rail, "device": hop.device, "mac": hop.mac,
             "dim": None if hop.dim is None else AXES[hop.dim], "to": hop.to.name, "to_device": hop.to_device,
             "to_mac": hop.to_mac, "note": hop.note or None} for hop in path.hops]
    return {"from": path.src.name, "to": path.dst.name, "is_reached": path.stuck is None,
            "is_detour": path.is_detour, "why_not": path.stuck, "hops": hops}


def lines(path):
    """For people."""
    count = len(path.hops)
    head = f"{place(path.src)} to {place(path.dst)}: "
    if path.src is path.dst:
        return [head + "the same host, no network is used"]
    usual = sum(a != b for a, b in zip(path.src.coords or (0,), path.dst.coords or (1,)))
    head += f"{count} link{'s' if count != 1 else ''}"
    if path.is_detour:
        head += f", a detour: {usual} without failures"
    rows = []
    for number, hop in enumerate(path.hops, 1):
        dim = f"{AXES[hop.dim]}, " if hop.dim is not None else ""
        rows.append((f"{number}", place(hop.host), f"{hop.device} ({dim}rail {hop.rail})", hop.mac or "-", "->",
                     place(hop.to), hop.to_device, hop.to_mac or "-", hop.note))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [head] + ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
