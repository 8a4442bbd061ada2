# SPDX-License-Identifier: BSD-3-Clause
"""schema - which keys a cluster.toml may hold and of what kind their values are.

This is the one list of keys, where those of [pm] come from the library's table; cluster.toml(5) tells them in prose.
resolve and the modules that it calls check values against each other (hosts against groups, addresses against subnets).
"""

import difflib

from . import optiontable, values
from .problems import Wrong, key_text, quote

CLUSTER_HOSTS_MAX = 1 << 20
# ETH_DIMS, ETH_LINE_MAX and ETH_POINTS_MAX of pm-ethernet/grid.h.
DIMENSIONS_MAX = 6
POINTS_MAX = 1024         # of a dimension
GRID_HOSTS_MAX = 65536

DEVICES = ("self", "shmem", "verbs", "verbs-datagram", "ethernet", "udp")
NETWORK_TYPES = ("ethernet", "udp", "shmem")


class Value:
    """A single value; read is one of the readers of values.py."""

    def __init__(self, read):
        self.read = read


class Array:
    """An array of 1 to most items of one kind; is_lone_ok: one item may stand without [ ]."""

    def __init__(self, item, most, is_lone_ok=False):
        self.item = item
        self.most = most
        self.is_lone_ok = is_lone_ok


class Table:
    """A table. keys: name -> kind; required: names; free: (reader of names, kind) for any other."""

    def __init__(self, keys=None, required=(), free=None, example=None):
        self.keys = keys or {}
        self.required = required
        self.free = free
        self.example = example or {}


class Either:
    """A kind for tables, another one for everything else."""

    def __init__(self, table, other):
        self.table = table
        self.other = other


_DEVICES = Array(Value(values.device_name), values.RAILS_MAX)

# How values of the library's options are written in TOML, by the kinds of its table.
_KINDS = {
    "NUMBER": lambda option: Value(values.number(option.low, option.high, zero=option.zero)),
    "POWER": lambda option: Value(values.number(option.low, option.high, power_of_two=True, zero=option.zero)),
    "BYTES": lambda option: Value(values.size(option.low, option.high)),
    "POWER_BYTES": lambda option: Value(values.size(option.low, option.high, power_of_two=True)),
    "MILLISECONDS": lambda option: Value(values.duration("ms", option.low, option.high, zero=option.zero)),
    "MICROSECONDS": lambda option: Value(values.duration("us", option.low, option.high, zero=option.zero)),
    "SWITCH": lambda _: Value(values.boolean),
    "CHOICE": lambda option: Value(values.choice(*option.words)),
    "PATH": lambda _: Value(values.path),
    "SOCKET": lambda _: Value(values.socket_path),
    "DEVICES": lambda _: Array(Value(values.choice(*DEVICES)), 8),
    "RAILS": lambda _: Array(Value(values.rail_text), values.RAILS_MAX),
    "INTERFACES": lambda _: _DEVICES,
    "PORTS": lambda _: _DEVICES,
}


def _tables(*scopes):
    """The options of these scopes, a.b in the table a."""
    keys = {}
    for option in optiontable.TABLE:
        if option.scope in scopes:
            home, _, key = option.name.rpartition(".")
            (keys.setdefault(home, Table()).keys if home else keys)[key] = _KINDS[option.kind](option)
    return Table(keys)


PM = _tables("HOST", "JOB")
OVERRIDES = _tables("HOST")

SCHEDULER = Table({
    "server": Value(values.server),
    "port": Value(values.number(1, 65535)),
    "node_port": Value(values.number(1, 65535)),
    "quantum": Value(values.duration("ms", 10, 10000)),
    "rows": Value(values.number(1, 64)),
    "memory": Value(values.number(1, 100)),
    "operators": Array(Value(values.user), 256),
    "state": Value(values.path),
    "checkpoints": Value(values.path),
}, required=("server",), example={"server": '"head"'})

_RAIL = Either(Table({
    "device": Value(values.device_name),
    "subnet": Value(values.subnet),
    "dim": Value(values.axis),
}), Value(values.rail_text))

_PER_DEVICE = Table(free=(values.device_name, Array(Value(values.text_of("10.1.0.[1-32]")),
                                                    CLUSTER_HOSTS_MAX, is_lone_ok=True)))

ROOT = Table({
    "cluster": Table({
        "name": Value(values.name),
        "spares": Value(values.listed_hosts),
    }),
    "hosts": Array(Table({
        "range": Value(values.text_of("n[000-031]")),
        "address": Array(Value(values.text_of("10.0.0.[1-32]")), CLUSTER_HOSTS_MAX,
                         is_lone_ok=True),
        "addresses": _PER_DEVICE,
        "macs": _PER_DEVICE,
        "coords": Array(Value(values.text_of("[0-15]")), DIMENSIONS_MAX),
    }, required=("range",), example={"range": '"n[000-031]"'}), CLUSTER_HOSTS_MAX),
    "groups": Table(free=(values.name, Array(Value(values.text_of("n[000-015]")), 4096,
                                             is_lone_ok=True))),
    "networks": Table(free=(values.name, Table({
        "type": Value(values.choice(*NETWORK_TYPES)),
        "rails": Array(_RAIL, values.RAILS_MAX),
        "mtu": Value(values.number(576, 65535)),
        "ports": Value(values.ports),
        "ethertype": Value(values.ethertype),
        "mode": Value(values.choice("auto", "native", "generic", "tc")),
        "direct": Value(values.choice("any", "root", "never")),
        "watch": Value(values.duration("ms", 1, 1000, zero="watching nobody")),
    }, required=("type",), example={"type": '"udp"'}))),
    "topology": Table({
        "kind": Value(values.choice("hypercrossbar")),
        "dims": Array(Value(values.number(1, POINTS_MAX)), DIMENSIONS_MAX),
    }, required=("kind", "dims"), example={"kind": '"hypercrossbar"', "dims": "[4, 4, 4]"}),
    "pm": PM,
    "scheduler": SCHEDULER,
    "overrides": Table(free=(values.listed_hosts, OVERRIDES)),
}, required=("hosts",), example={"hosts": '[[hosts]] with range = "n[0-3]"'})

_BAD = object()


def _homes(table, key, trail=""):
    """Where in the schema does a key of this name exist?"""
    out = []
    for name, kind in table.keys.items():
        if name == key:
            out.append(trail or "the top of the file")
        inner = kind.item if isinstance(kind, Array) else kind
        below = f"{trail}.{name}" if trail else name
        if isinstance(inner, Table) and inner.free:
            inner, below = inner.free[1], f"{below}.NAME"
        if isinstance(inner, Table):
            out += _homes(inner, key, below)
    return out


def _unknown_key(table, key):
    near = difflib.get_close_matches(key[:60], table.keys, n=1, cutoff=0.6)
    if near:
        return f'unknown key; did you mean "{near[0]}"?'
    homes = _homes(ROOT, key)
    if homes:
        return f"unknown key here; it belongs in {' or in '.join(homes[:3])}"
    return f"unknown key; known here: {', '.join(sorted(table.keys))}"


def _read_table(kind, value, path, problems):
    if not isinstance(value, dict):
        heading = key_text(tuple(part for part in path if isinstance(part, str)))
        problems.add(path, f"must be a table; write it under a heading [{heading}]")
        return _BAD
    out = {}
    for key, item in value.items():
        inner = kind.keys.get(key)
        if inner is None and kind.free:
            try:
                kind.free[0](key)
                inner = kind.free[1]
            except Wrong as wrong:
                problems.add(path + (key,), str(wrong))
                continue
        if inner is None:
            problems.add(path + (key,), _unknown_key(kind, key))
            continue
        read = _read(inner, item, path + (key,), problems)
        if read is not _BAD:
            out[key] = read
    for key in kind.required:
        if key not in value:
            problems.add(path, f'the key "{key}" is missing; write {key} = {kind.example[key]}'
                         if path else f"no {key} given; write {kind.example[key]}")
    return out


def _read_array(kind, value, path, problems):
    if kind.is_lone_ok and not isinstance(value, list):
        item = _read(kind.item, value, path, problems)
        return _BAD if item is _BAD else [item]
    if not isinstance(value, list):
        problems.add(path, f"write [[{path[-1]}]] with double brackets"
                     if isinstance(value, dict) and isinstance(kind.item, Table)
                     else f"must be an array; write it in brackets: [{quote(value)}]")
        return _BAD
    if not value:
        problems.add(path, "the array is empty; name at least one item or remove the key")
        return _BAD
    if len(value) > kind.most:
        problems.add(path, f"has {len(value)} items; at most {kind.most} are possible")
        return _BAD
    items = [_read(kind.item, item, path + (index,), problems) for index, item in enumerate(value)]
    if isinstance(kind.item, Table):  # places matter: problems name them later
        return [{} if item is _BAD else item for item in items]
    return _BAD if any(item is _BAD for item in items) else items


def _read(kind, value, path, problems):
    if isinstance(kind, Either):
        kind = kind.table if isinstance(value, dict) else kind.other
    if isinstance(kind, Table):
        return _read_table(kind, value, path, problems)
    if isinstance(kind, Array):
        return _read_array(kind, value, path, problems)
    try:
        return kind.read(value)
    except Wrong as wrong:
        problems.add(path, str(wrong))
        return _BAD


def read(tree, problems):
    """The tree with every value read; keys that are wrong are reported and left out."""
    return _read_table(ROOT, tree, (), problems)
