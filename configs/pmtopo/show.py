# SPDX-License-Identifier: BSD-3-Clause
"""show - a cluster for people: a drawing and tables. Big clusters are shown by ranges of hosts, and only those of
their planes and rows are drawn that differ from all others."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import hostlist, planes
from .heading import heading
from .values import AXES

_MOST_SINGLE = 32      # hosts that have a row each
_MOST_ROWS = 64
_LONGEST = 200
_DRAWN_ROWS = 32       # of a plane; of larger ones those that have marks
_DRAWN_LINES = 40
_MARKS = {planes.UP: (".", ""), planes.DEFECT: ("x", "bold red"), planes.SPARE: ("s", "yellow"),
          planes.NONE: (" ", "")}


def _cell(text):
    return Text(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")


def _add(console, title, columns, rows):
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    console.print(table)


def _span(values):
    values = [value for value in values if value]
    if not values:
        return "-"
    return values[0] if len(values) == 1 else f"{values[0]} .. {values[-1]}"


def _coords(host):
    return ",".join(map(str, host.coords)) if host.coords else ""


def _entries(cluster):
    """Runs of hosts that one row shows: single hosts, or all of one [[hosts]] table and state."""
    if len(cluster.hosts) <= _MOST_SINGLE:
        return [[host] for host in cluster.hosts]
    runs = {}
    for host in cluster.hosts:
        runs.setdefault((host.entry, host.state), []).append(host)
    return list(runs.values())


def _addressed(cluster):
    """Places of the rails that have an address of their own per host, in the order shown."""
    found = set()
    for host in cluster.hosts:
        found.update(place for place, rail in enumerate(host.rails) if rail.address or rail.mac)
    return sorted(found)


def _host_rows(cluster, places):
    for run in _entries(cluster)[:_MOST_ROWS]:
        row = [_span([str(host.id) for host in run]), hostlist.fold([host.name for host in run]),
               run[0].state, _span([host.address for host in run])]
        if cluster.topology:
            row.append(_span([_coords(host) for host in run]))
        for place in places:
            rails = [host.rails[place] for host in run if place < len(host.rails)]
            row.append(_span([rail.address or rail.mac for rail in rails]))
        yield row


def _rail_rows(cluster):
    for network in cluster.networks:
        for place, rail in enumerate(network.rails):
            yield [network.name, str(place), rail.device or "-", rail.subnet or "-",
                   "xyzuvw"[rail.dim] if rail.dim is not None else "-"]


# ---- the drawing ----

def _row(host_row, label):
    text = Text(label)
    for host in host_row:
        text.append(*_MARKS[planes.state(host)])
    return text


def _block(plane, axis):
    """Lines of text of one plane."""
    lines = [Text(plane.title(), style="bold")] if plane.at else []
    if len(plane.rows) <= _DRAWN_ROWS:
        return lines + [_row(row, "") for row in plane.rows]
    rows = [(number, row) for number, row in enumerate(plane.rows) if not planes.is_whole(row)]
    width = len(f"{axis}={len(plane.rows) - 1} ")
    lines += [_row(row, f"{axis}={number} ".ljust(width)) for number, row in rows[:_DRAWN_ROWS]]
    rest = len(plane.rows) - min(len(rows), _DRAWN_ROWS)
    return lines + [Text(f"{rest} more rows" + (", all up" if len(rows) <= _DRAWN_ROWS else ""))]


def _side_by_side(blocks, width):
    """Lines that show the blocks in bands that fit the width."""
    wide = max(len(line) for block in blocks for line in block) + 3
    across = max(1, width // wide)
    for at in range(0, len(blocks), across):
        band = blocks[at:at + across]
        for number in range(max(map(len, band))):
            line = Text()
            for block in band:
                piece = block[number].copy() if number < len(block) else Text()
                piece.pad_right(wide - len(piece))
                line.append_text(piece)
            line.rstrip()
            yield line
        yield Text()


def _rest(layout, drawn):
    """The planes that are not drawn, in words."""
    left = [plane for plane in layout.planes if plane not in drawn]
    if not left:
        return None
    count = f"{len(left)} more plane{'s' if len(left) > 1 else ''}"
    if not all(plane.is_whole() for plane in left):
        return f"{count}, some with marks; --svg draws them all"
    if len(left[0].at) > 1:
        return f"{count}, all up"
    values = hostlist.fold([str(plane.at[0]) for plane in left]).strip("[]")
    return f"{count}, all up: {AXES[0]}={values}"


def _draw(console, cluster):
    layout = planes.layout(cluster)
    for text in planes.along(cluster):
        console.print(Text(text))
    if layout.row_axis:
        console.print(Text(f"rows are {layout.row_axis}, columns {layout.column_axis}; . up, x defect, s spare"))
    drawn = [plane for plane in layout.planes if not plane.is_whole()] or layout.planes[:1]
    blocks = []
    for plane in drawn:
        block = _block(plane, layout.row_axis)
        across = max(1, console.width // (max(map(len, block)) + 3))
        if blocks and (len(blocks) // across + 1) * (len(block) + 1) > _DRAWN_LINES:
            break
        blocks.append(block)
    if max(map(len, blocks[0])) <= console.width:
        console.print()
        for line in _side_by_side(blocks, console.width):
            console.print(line)
        rest = _rest(layout, drawn[:len(blocks)])
        if rest:
            console.print(Text(rest))
    for text in planes.marked(cluster):
        console.print(_cell(text))
    console.print()


def show(cluster):
    """Prints the cluster to standard output."""
    console = Console(highlight=False)
    console.print(Text(heading(cluster), style="bold"))
    if cluster.topology:
        _draw(console, cluster)
    rails = list(_rail_rows(cluster))
    columns = ["id", "host", "state", "address"] + (["coords"] if cluster.topology else [])
    places = _addressed(cluster)
    names = [f"{rails[place][0]} {rails[place][2]}" for place in places]
    rows = list(_host_rows(cluster, places))
    _add(console, "hosts", columns + names, rows)
    hidden = len(_entries(cluster)) - len(rows)
    if hidden > 0:
        console.print(Text(f"and {hidden} more ranges; --json prints all hosts"))
    if cluster.groups:
        _add(console, "groups", ["group", "hosts", "members"],
             [[name, str(len(ids)), hostlist.fold([cluster.hosts[i].name for i in ids])]
              for name, ids in cluster.groups.items()])
    if cluster.networks:
        _add(console, "networks", ["network", "type", "mtu", "ports", "ethertype", "rails"],
             [[network.name, network.type, str(network.mtu or "-"),
               "-".join(map(str, network.ports)) if network.ports else "-",
               f"0x{network.ethertype:04x}" if network.ethertype else "-",
               str(len(network.rails)) if network.rails else "-"]
              for network in cluster.networks])
    if rails:
        _add(console, "rails", ["network", "rail", "device", "subnet", "dim"], rails)
    if cluster.pm:
        _add(console, "library options", ["key", "value"], list(cluster.pm.items()))
