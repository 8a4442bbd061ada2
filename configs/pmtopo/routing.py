# SPDX-License-Identifier: BSD-3-Clause
"""routing - where a frame for a far host goes next: the lines of pm-ethernet/route.h in Python, for tools.

Pure. The caller says which neighbours are open. tests/python/test_scconf_routing.py compares this module with
route.h, which explains the purpose of detours.
"""

from typing import NamedTuple

ASIDE_TRIES = 16   # ETH_ASIDE_TRIES
LATE_ASIDE = 8     # ETH_LATE_ASIDE
_WORD = 0xffffffff


class Way(NamedTuple):
    """The next link: along which dimension, by which of its lanes, to which coordinate."""

    dim: int
    lane: int
    to: int
    late: int      # what the frame says on that link


class Grid(NamedTuple):
    """The shape, and how many lanes (rails) each dimension has."""

    dims: tuple
    lanes: tuple


def salt(src_id, dst_id):
    """Ids as frames have them, from 1. The same for all frames of the pair."""
    return ((src_id * 2654435769 ^ dst_id * 2246822519) & _WORD) >> 8


def _differs(own, dst, late):
    """The first dimension in which we differ, passing over the late one; None: there is none."""
    return next((dim for dim, (a, b) in enumerate(zip(own, dst)) if dim + 1 != late and a != b), None)


def _across(grid, is_open, dim, lane, to, late):
    lanes = grid.lanes[dim]
    for step in range(lanes):
        at = (lane + step) % lanes
        if is_open(dim, at, to):
            return Way(dim, at, to, late)
    return None


def _aside(grid, is_open, own, dim, lane, number):
    for other in range(1, len(grid.dims)):
        aside = (dim + other) % len(grid.dims)
        others = grid.dims[aside] - 1
        for attempt in range(min(ASIDE_TRIES, others)):
            to = (own[aside] + 1 + (number + attempt) % others) % (others + 1)
            way = _across(grid, is_open, aside, lane, to, (aside + 1) | LATE_ASIDE)
            if way:
                return way
    return None


def route(grid, is_open, own, dst, lane, late, number):
    """The Way on from the point own to another point dst, None: none is open.

    is_open(dim, lane, to): does own's neighbour at that coordinate answer by that lane? lane: of the rail
    that the sender chose. late: as the frame says. number: salt() of the pair.
    """
    late &= ~LATE_ASIDE
    dim = _differs(own, dst, late)
    if dim is None:
        dim = late - 1
    if dim < 0 or own[dim] == dst[dim]:
        return None
    way = _across(grid, is_open, dim, lane, dst[dim], late)
    if way or late:
        return way
    other = _differs(own, dst, dim + 1)
    if other is not None:
        way = _across(grid, is_open, other, lane, dst[other], dim + 1)
    return way or _aside(grid, is_open, own, dim, lane, number)


def walk(grid, is_open, src, dst, lane, number):
    """(links, point reached): pairs of a point and the Way by which the frame leaves it. The point reached is
    dst, or where no way is open. is_open(point, dim, lane, to): of any point."""
    links, own, late = [], src, 0
    while own != dst:
        at = own
        way = route(grid, lambda *link: is_open(at, *link), own, dst, lane, late, number)
        if not way:
            break
        if len(links) > len(grid.dims) + 2:
            raise AssertionError(f"frame from {src} to {dst} walks in a circle")
        links.append((own, way))
        late = way.late
        own = own[:way.dim] + (way.to,) + own[way.dim + 1:]
    return links, own
