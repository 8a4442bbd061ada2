# SPDX-License-Identifier: BSD-3-Clause
"""detect - the cluster.toml of what is there, from what hosts hear of each other.

Owns how a Grid of wiring.py is told in a Draft: order of hosts, holes, names of interfaces, addresses.
"""

import collections
import itertools

from .draft import Draft, fold_macs
from .heard import Port
from .problems import Wrong
from .wiring import NoGrid, grid, natural, suspects, wiring


def _devices(wires, count):
    """Name of each rail's interface: that of most hosts; None for a rail that nobody was heard on."""
    names = [collections.Counter() for _ in range(count)]
    for port, rail in wires.rail_of.items():
        if rail < count:
            names[rail][port.device] += 1
    return [name.most_common(1)[0][0] if name else None for name in names]


def _overrides(wires, devices):
    """(hosts, devices) of hosts whose interfaces have other names."""
    own = {}
    for port, rail in wires.rail_of.items():
        if rail < len(devices) and port.device != devices[rail]:
            own.setdefault(port.host, {})[rail] = port.device
    runs = {}
    for host in sorted(own, key=natural):
        names = tuple(own[host].get(rail, device) for rail, device in enumerate(devices))
        runs.setdefault(names, []).append(host)
    return [(hosts, list(names)) for names, hosts in runs.items()]


def _no_grid(wires, why):
    """The sentence about wiring that is no hypercrossbar."""
    blamed = suspects(wires)
    if not blamed:
        return f"the wiring is no hypercrossbar: {why}; if there is a cluster.toml, scconf diff names each cable"
    ports = ", ".join(f"{port.device} of {port.host}" for port in blamed[:8])
    one = "it is" if len(blamed) == 1 else "one of these is"
    return (f"the wiring is no hypercrossbar: {why}; {one} on the wrong switch: {ports}; put that right, or name it by "
            "scconf diff if there is a cluster.toml")


def _hosts(shape, silent):
    """(name, is_defect) of all points, those of unknown hosts as defect. silent: asked, and not heard of."""
    at = {coords: host for host, coords in shape.coords.items()}
    points = list(itertools.product(*map(range, shape.dims)))
    holes = [point for point in points if point not in at]
    names = {point: "missing-" + "-".join(map(str, point)) for point in holes}
    if len(holes) == len(silent) == 1:
        names[holes[0]] = silent[0]
    return [(at[point], False) if point in at else (names[point], True) for point in points]


def draft(heard, name):
    """The Draft of what was heard. Raises Wrong where it is nothing that cluster.toml can tell."""
    wires = wiring(heard)
    try:
        shape = grid(wires)
    except NoGrid as why:
        raise Wrong(_no_grid(wires, why)) from None
    lost = [host for host in heard.silent if host not in shape.coords]
    new = Draft(name)
    new.hosts = _hosts(shape, lost)
    is_flat = len(shape.dims) == 1
    new.dims = None if is_flat else shape.dims
    devices = _devices(wires, len(shape.rails))
    rails = [(device, None if is_flat else dim) for device, dim in zip(devices, shape.rails)]
    if None in devices:
        raise Wrong(f"nobody hears anybody on rail {devices.index(None)}; plug its cables in, or take its interface "
                    "from pm-ethernetd")
    new.rails = rails
    new.overrides = _overrides(wires, devices)
    _add_macs(new, wires, devices)
    new.head = [f"Written by scconf detect from the reports of {len(heard.ears)} hosts: who heard whom by which rail.",
                *(f"No report of {host}: {why}" for host, why in heard.silent.items())]
    remarks = [] if is_flat else ["In the order of their coordinates, counted; the last one changes fastest."]
    missing = sum(is_defect for _, is_defect in new.hosts)
    if missing:
        remarks.append(f"Of {missing} point{'s' if missing > 1 else ''} no host was heard: marked with ~ as defect; "
                       "write the true name where it begins with missing.")
    new.host_remark = "\n".join(remarks)
    return new


def _add_macs(new, wires, devices):
    """Of the rails whose address is known of every host."""
    own = {host: names for hosts, names in new.overrides for host in hosts}
    for rail, device in enumerate(devices):
        macs = [wires.macs.get(Port(host, own.get(host, devices)[rail])) for host, _ in new.hosts]
        if all(macs):
            new.macs[device] = fold_macs(macs)
