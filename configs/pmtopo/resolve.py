# SPDX-License-Identifier: BSD-3-Clause
"""resolve - from a document to the cluster it describes, or to the list of all its problems."""

import difflib

from . import hostlist, options
from .addresses import AddressBook
from .groups import resolve_groups
from .hosts import mark_spares, resolve_hosts
from .model import Cluster, HostRail
from .networks import rail_devices, resolve_networks
from .problems import Problems, quote
from .scheduler import resolve_scheduler
from .schema import read
from .topology import resolve_topology


# The library's own default of channel.window; conf_defaults in pmcore/util/conf.c.
DEFAULT_WINDOW = 1024


def _check_credit(path, table, common, document, problems):
    if "channel" not in table:
        return
    channel = {**common.get("channel", {}), **table["channel"]}
    is_refused = document.has(path + ("channel", "window")) and "window" not in table["channel"]
    window = channel.get("window", DEFAULT_WINDOW)
    if channel.get("credit", 0) <= window or is_refused:
        return
    key = "credit" if "credit" in table["channel"] else "window"
    problems.add(path + ("channel", key), f'the credit {channel["credit"]} is more than the '
                 f"window {window}; raise the window or lower pm.channel.credit")


def _check_options(path, table, common, document, problems):
    """Reports errors that no single value shows: repeated devices and rails, credit above the window.

    common: the [pm] table that this one is laid over.
    """
    for keys in (("devices",), ("ethernet", "rails"), ("udp", "rails")):
        items = table
        for key in keys:
            items = items.get(key, {})
        for place, item in enumerate(items):
            if item in items[:place]:
                problems.add(path + keys, f"{quote(item)} is named twice; name each once")
                break
    _check_credit(path, table, common, document, problems)


def _check_rail_subset(config, networks, problems):
    for network in networks:
        labels = [rail.label() for rail in network.rails if rail.label()]
        wanted = config.get("pm", {}).get(network.type, {}).get("rails", ()) if labels else ()
        for item in wanted:
            if item not in labels:
                problems.add(("pm", network.type, "rails"), f"{quote(item)} is no rail of networks."
                             f"{network.name}; write some of: {', '.join(map(str, labels))}")


def _check_attach(path, table, networks, problems):
    """A NIC's queue may not be asked for where nobody gets one."""
    for network in networks:
        if network.direct == "never" and table.get("ethernet", {}).get("attach") == "direct":
            problems.add(path + ("ethernet", "attach"), "\"direct\" is not given out by networks."
                         f'{network.name}, where direct is "never"; write "port" here or "any" '
                         "there")


def _check_watch(config, networks, problems):
    """Only a hypercrossbar has neighbours to watch."""
    for network in networks:
        if network.watch_ms is not None and "topology" not in config:
            problems.add(("networks", network.name, "watch"), "nobody is watched without [topology]; remove the key, "
                         "or describe the topology")


def _unknown_hosts(names, inventory):
    unknown = [name for name in names if name not in inventory.by_name]
    near = difflib.get_close_matches(unknown[0], list(inventory.by_name)[:5000], n=1)
    hint = f'did you mean "{near[0]}"?' if near else "correct the name or add the host"
    return f"{quote(hostlist.fold(unknown))} is not among the [[hosts]]; {hint}"


def _first_conflict(names, flat, path, set_by):
    """The first (host, key) that another table has set: (name, key, path of the other) or None."""
    for name in names:
        for key in flat:
            mine = path + tuple(key.split("."))
            other = set_by.setdefault((name, key), mine)
            if other != mine:
                return name, key, other
    return None


def _lay_overrides(tables, common, networks, inventory, document, problems):
    """Gives hosts their own options; two tables may not set one key of one host."""
    set_by = {}
    for text, table in tables.items():
        path = ("overrides", text)
        _check_options(path, table, common, document, problems)
        _check_attach(path, table, networks, problems)
        names = hostlist.expand(text)
        if not all(name in inventory.by_name for name in names):
            if inventory.is_complete:
                problems.add(path, _unknown_hosts(names, inventory))
            continue
        flat = options.flatten(table)
        conflict = _first_conflict(names, flat, path, set_by)
        if conflict:
            name, key, other = conflict
            problems.add(path + tuple(key.split(".")), f"{name} has got {key} on line "
                         f"{document.line(other)} already; set it in one place")
        for name in names:
            inventory.by_name[name].pm.update(flat)


def _host_rails(host, networks, book):
    """The rails of a host; an override of a network's rails renames them in order."""
    out = []
    for network in networks:
        own = host.pm.get(f"{network.type}.rails")
        labels = own.split("+") if own else None
        for place, rail in enumerate(network.rails):
            if labels and place >= len(labels):
                break
            label = labels[place] if labels else rail.label()
            is_subnet = "/" in label
            out.append(HostRail(network.name, place, None if is_subnet else label,
                                label if is_subnet else None, book.ip(host, rail.device),
                                book.mac(host, rail.device), rail.dim))
    return tuple(out)


def resolve(document):
    """(Cluster, Problems) of a document; the Cluster is None if there are problems."""
    problems = Problems(document)
    config = read(document.tree, problems)
    tables = config.get("hosts", [])
    if not tables and "hosts" in document.tree and not len(problems):
        problems.add(("hosts",), 'no hosts given; write [[hosts]] and range = "n[0-3]"')
    networks = resolve_networks(config.get("networks", {}), problems)
    inventory = resolve_hosts(tables, document, problems)
    if "hosts" not in config:
        inventory.is_complete = False
    mark_spares(config.get("cluster", {}).get("spares", []), inventory, problems)
    book = AddressBook(rail_devices(config, networks, document), document, problems)
    for index, table in enumerate(tables):
        book.read_entry(index, table, inventory.ranges[index])
    groups = resolve_groups(config.get("groups", {}), inventory, problems)
    topology = resolve_topology(config, inventory, networks, document, problems)
    common = config.get("pm", {})
    _check_options(("pm",), common, {}, document, problems)
    _check_rail_subset(config, networks, problems)
    _check_attach(("pm",), common, networks, problems)
    _check_watch(document.tree, networks, problems)
    _lay_overrides(config.get("overrides", {}), common, networks, inventory, document, problems)
    scheduler = resolve_scheduler(config.get("scheduler"), inventory, problems)
    if len(problems):
        return None, problems
    for host in inventory.hosts:
        host.rails = _host_rails(host, networks, book)
    shared = {**options.of_networks(networks), **options.flatten(common)}
    name = config.get("cluster", {}).get("name", "cluster")
    return Cluster(name, inventory.hosts, inventory.by_name, groups, networks, topology,
                   shared, scheduler), problems
