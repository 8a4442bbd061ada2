# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo.routing against pm-ethernet/route.h, and what both promise."""

import itertools
import os
import pathlib
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import routing  # noqa: E402

BUILD = pathlib.Path(os.environ.get("PM_BUILD", TREE / "build")).resolve()
ROUTE_TABLE = BUILD / "tests" / "tools" / "route_table"


class Net:
    """Hosts 1, 2, ... at all points of a grid, and what of them is dead."""

    def __init__(self, dims, lanes, hosts=(), nics=(), lines=()):
        self.grid = routing.Grid(tuple(dims), tuple(lanes))
        self.points = list(itertools.product(*map(range, dims)))
        self.id_of = {point: number for number, point in enumerate(self.points, 1)}
        self.hosts, self.nics = set(hosts), set(nics)
        self.lines = {(rail, self.line(rail, self.points[host - 1])) for rail, host in lines}

    def rail(self, dim, lane):
        return sum(self.grid.lanes[:dim]) + lane

    def dim(self, rail):
        return next(dim for dim in range(6) if rail < sum(self.grid.lanes[:dim + 1]))

    def line(self, rail, point):
        dim = self.dim(rail)
        return point[:dim] + point[dim + 1:]

    def is_open(self, point, dim, lane, to):
        rail = self.rail(dim, lane)
        ends = self.id_of[point], self.id_of[point[:dim] + (to,) + point[dim + 1:]]
        return not (self.hosts & set(ends) or any((end, rail) in self.nics for end in ends)
                    or (rail, self.line(rail, point)) in self.lines)

    def walk(self, src, dst, lane=0):
        return routing.walk(self.grid, self.is_open, self.points[src - 1], self.points[dst - 1], lane,
                            routing.salt(src, dst))

    def told(self, src, dst, lane):
        """As route_table prints it."""
        links, end = self.walk(src, dst, lane)
        if self.id_of[end] != dst:
            return f"{src} {dst}: none"
        hops = [f"{self.id_of[point]}/{self.rail(way.dim, way.lane)}" + (f"/{way.late}" if way.late else "")
                for point, way in links]
        return f"{src} {dst}: {' '.join(hops)} {dst}"


def c_table(net, lane, hosts, nics, lines):
    words = [ROUTE_TABLE, "x".join(map(str, net.grid.dims)), ",".join(map(str, net.grid.lanes)),
             "--lane", str(lane)]
    words += [word for host in hosts for word in ("--dead-host", str(host))]
    words += [word for host, rail in nics for word in ("--dead-nic", f"{host}:{rail}")]
    words += [word for rail, host in lines for word in ("--dead-line", f"{rail}:{host}")]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()


@st.composite
def nets(draw):
    dims = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5).filter(
        lambda shape: 2 <= len(list(itertools.product(*map(range, shape)))) <= 48))
    lanes = [draw(st.integers(1, 2)) for _ in dims]
    while sum(lanes) > 8:
        lanes[lanes.index(2)] = 1
    count = len(list(itertools.product(*map(range, dims))))
    host, rail = st.integers(1, count), st.integers(0, sum(lanes) - 1)
    dead = (draw(st.lists(host, max_size=3)), draw(st.lists(st.tuples(host, rail), max_size=4)),
            draw(st.lists(st.tuples(rail, host), max_size=2)))
    return dims, lanes, draw(st.integers(0, lanes[0] - 1)), dead


@pytest.mark.skipif(not ROUTE_TABLE.exists(), reason="route_table is not built here: run make")
@settings(max_examples=150, deadline=None)
@given(nets())
def test_walk__equals_that_of_the_c_code(case):
    dims, lanes, lane, dead = case
    net = Net(dims, lanes, *dead)
    pairs = itertools.permutations(range(1, len(net.points) + 1), 2)
    assert [net.told(src, dst, lane) for src, dst in pairs] == c_table(net, lane, *dead)


@settings(max_examples=50, deadline=None)
@given(nets())
def test_walk__without_failures_is_shortest(case):
    dims, lanes, lane, _ = case
    net = Net(dims, lanes)
    for src, dst in itertools.permutations(range(1, len(net.points) + 1), 2):
        links, end = net.walk(src, dst, lane)
        a, b = net.points[src - 1], net.points[dst - 1]
        assert end == b
        assert [way.dim for _, way in links] == [dim for dim in range(len(dims)) if a[dim] != b[dim]]
        assert not any(way.late for _, way in links)


@pytest.mark.parametrize("dims", [(2, 2), (3, 2), (2, 3, 2), (4, 4, 4)])
def test_walk__one_dead_host_parts_no_two_others(dims):
    count = len(Net(dims, [1] * len(dims)).points)
    for dead in {1, count // 2, count}:
        net = Net(dims, [1] * len(dims), hosts=[dead])
        for src, dst in itertools.permutations(sorted(set(range(1, count + 1)) - {dead}), 2):
            links, end = net.walk(src, dst)
            assert net.id_of[end] == dst and len(links) <= len(dims) + 2


def test_walk__ends_where_nothing_is_open():
    net = Net((2, 2), (1, 1), hosts=[2, 3])
    links, end = net.walk(1, 4)
    assert (links, net.id_of[end]) == ([], 1)


def test_salt__as_the_c_code_wraps():
    assert routing.salt(1, 2) == ((2654435769 ^ (2246822519 * 2) % 2**32) >> 8)
    assert all(0 <= routing.salt(a, 65536) < 1 << 24 for a in (1, 255, 65535))
