# SPDX-License-Identifier: BSD-3-Clause
"""show - tables of a cluster for people. Big clusters are shown by ranges of hosts."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import hostlist

_MOST_ROWS = 64
_LONGEST = 200


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
    if len(cluster.hosts) <= _MOST_ROWS:
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


def _heading(cluster):
    states = [host.state for host in cluster.hosts]
    parts = [f"cluster {cluster.name}", f"{len(states)} hosts"]
    parts += [f"{states.count(state)} {state}" for state in ("defect", "spare") if state in states]
    if cluster.topology:
        parts.append(f"{cluster.topology.kind} {'x'.join(map(str, cluster.topology.dims))}")
    return ", ".join(parts)


def show(cluster):
    """Prints the cluster to standard output."""
    console = Console(highlight=False)
    console.print(Text(_heading(cluster), style="bold"))
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
