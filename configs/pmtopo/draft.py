# SPDX-License-Identifier: BSD-3-Clause
"""draft - a cluster.toml(5) that a program writes for a person to go on with.

Owns the layout and the comments; each remark stands above the entry that it is about. The written file passes
`scconf check`; writers make sure of this by checked().
"""

import json
import math

from . import document, hostlist
from .hosts import split_items
from .problems import Wrong
from .resolve import resolve
from .values import AXES

_WIDTH = 100


class Draft:
    """The description of a cluster, as far as it is known. Remarks are lines without the "#"."""

    def __init__(self, name):
        self.name = name
        self.head = []            # remarks on the whole
        self.spares = []          # names of hosts
        self.dims = None          # points per dimension, None: flat
        self.hosts = []           # (name, is_defect) in the order of their coordinates, the last fastest
        self.host_remark = ""
        self.address = None       # pattern or list of patterns, None: by name
        self.macs = {}            # device -> list of one address per host, or of patterns
        self.groups = {}          # name -> list of hosts
        self.kind = "ethernet"    # of the network
        self.keys = {}            # further keys of the network: name -> TOML text
        self.rails = []           # (device, dimension or None)
        self.rails_remark = ""
        self.overrides = []       # (hosts, devices of their rails)
        self.pm = {}              # "channel" -> {key: TOML text}


def quoted(text):
    """As a string of TOML; what names and addresses hold needs no more than JSON's escapes."""
    return json.dumps(text)


def _array(items):
    """One line if it fits, else a line for as many as fit."""
    lone = f"[{', '.join(items)}]"
    if len(lone) <= _WIDTH:
        return lone
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + 2 > _WIDTH - 8:
            lines.append(line)
            line = ""
        line += (" " if line else "") + item + ","
    return "[\n" + "".join(f"\t{each}\n" for each in [*lines, line]) + "]"


def _texts(values):
    values = [values] if isinstance(values, str) else values
    return quoted(values[0]) if len(values) == 1 else _array([quoted(value) for value in values])


def _range(hosts):
    """Names with ~ before the defect ones, folded."""
    parts, run = [], []
    for at, (name, is_defect) in enumerate(hosts):
        run.append(name)
        if at + 1 == len(hosts) or hosts[at + 1][1] != is_defect:
            parts += [("~" if is_defect else "") + item for _, item in split_items(hostlist.fold(run))]
            run = []
    return ",".join(parts)


def fold_macs(macs):
    """Addresses that count up in the last byte, as patterns."""
    out, at = [], 0
    while at < len(macs):
        head, first = macs[at][:-2], int(macs[at][-2:], 16)
        end = at + 1
        while end < len(macs) and macs[end] == f"{head}{first + end - at:02x}":
            end += 1
        out.append(f"{head}[{first:02x}-{first + end - at - 1:02x}]" if end - at > 1 else macs[at])
        at = end
    return out


def _remarks(text):
    return [f"# {line}".rstrip() for line in text.splitlines()]


def _rail_lines(draft):
    if all(dim is None for _, dim in draft.rails):
        return [f"rails = {_array([quoted(device) for device, _ in draft.rails])}"]
    return ["rails = [", *(f'\t{{ device = {quoted(device)}, dim = "{AXES[dim]}" }},' for device, dim in draft.rails),
            "]"]


def text(draft):
    """The file."""
    lines = [line for remark in draft.head for line in _remarks(remark)] + [""] * bool(draft.head)
    lines += ["[cluster]", f"name = {quoted(draft.name)}"]
    if draft.spares:
        lines.append(f"spares = {quoted(hostlist.fold(draft.spares))}")
    if draft.dims:
        lines += ["", *_remarks("Hosts that differ in one coordinate only share a switch per rail of that dimension."),
                  "[topology]", 'kind = "hypercrossbar"', f"dims = {list(draft.dims)}"]
    lines += ["", *_remarks(draft.host_remark), "[[hosts]]", f"range = {quoted(_range(draft.hosts))}"]
    if draft.address:
        lines.append(f"address = {_texts(draft.address)}")
    if draft.macs:
        lines += ["", "[hosts.macs]", *(f"{device} = {_texts(macs)}" for device, macs in draft.macs.items())]
    if draft.groups:
        lines += ["", "[groups]"]
        lines += [f"{name} = {quoted(hostlist.fold(hosts))}" for name, hosts in draft.groups.items()]
    lines += ["", *_remarks("Networks in order of preference: processes of one host meet in shared memory."),
              "[networks.local]", 'type = "shmem"']
    lines += ["", *_remarks(draft.rails_remark), f"[networks.{'raw' if draft.kind == 'ethernet' else 'data'}]",
              f"type = {quoted(draft.kind)}", *(f"{key} = {value}" for key, value in draft.keys.items()),
              *_rail_lines(draft)]
    for section, keys in draft.pm.items():
        lines += ["", f"[pm.{section}]", *(f"{key} = {value}" for key, value in keys.items())]
    for hosts, devices in draft.overrides:
        lines += ["", f"[overrides.{quoted(hostlist.fold(hosts))}.{draft.kind}]",
                  f"rails = {_array([quoted(device) for device in devices])}"]
    return "\n".join(lines) + "\n"


def checked(draft):
    """The file, and the cluster that it describes. Raises Wrong with what `scconf check` would say."""
    if draft.dims and math.prod(draft.dims) != len(draft.hosts):
        raise Wrong(f"{len(draft.hosts)} hosts do not fill {'x'.join(map(str, draft.dims))}")
    written = text(draft)
    cluster, problems = resolve(document.parse("cluster.toml", written))
    if cluster is None:
        raise Wrong("\n".join(problems.lines()))
    return written, cluster
