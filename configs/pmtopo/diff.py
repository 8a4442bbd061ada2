# SPDX-License-Identifier: BSD-3-Clause
"""diff - where a cluster's wiring is not as configured, from what hosts hear of each other.

A switch belongs to the line that most of its ports are configured for; the other ports are on the wrong switch.
A difference that follows from one already reported is not reported again.
"""

import collections
from typing import NamedTuple, Optional

from .heard import Port
from .path import ethernet, place
from .values import AXES
from .wiring import natural, wiring


class Finding(NamedTuple):
    """One difference."""

    kind: str
    host: str
    device: Optional[str]
    text: str


class Line(NamedTuple):
    """The ports that are to share a switch: a rail, and the coordinates in the other dimensions."""

    rail: int
    dim: Optional[int]
    at: tuple

    def words(self):
        if self.dim is None:
            return f"rail {self.rail}"
        axes = [axis for axis in range(len(self.at) + 1) if axis != self.dim]
        where = ",".join(f"{AXES[axis]}={value}" for axis, value in zip(axes, self.at))
        return f"rail {self.rail}, {AXES[self.dim]} line" + (f" at {where}" if where else "")


def _listed(hosts):
    names = sorted(hosts, key=natural)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class Comparison:
    """Gathers the findings of one cluster and one Heard."""

    def __init__(self, cluster, heard):
        self._cluster = cluster
        self._heard = heard
        self._wires = wiring(heard)
        self._present = set(self._wires.hosts)
        self.findings = []
        network = ethernet(cluster).name
        self._line_of = {}         # configured Port -> Line
        self._mac_of = {}
        for host in cluster.hosts:
            for rail in host.rails:
                if rail.network == network:
                    port = Port(host.name, rail.device)
                    at = tuple(value for axis, value in enumerate(host.coords or ()) if axis != rail.dim)
                    self._line_of[port] = Line(rail.rail, rail.dim, at)
                    self._mac_of[port] = rail.mac
        self._ports_of = collections.defaultdict(list)
        for port, line in self._line_of.items():
            self._ports_of[line].append(port)
        self._explained = set()    # ports that a finding is about

    def _add(self, kind, host, device, text):
        self.findings.append(Finding(kind, host, device, text))
        self._explained.add(Port(host, device))

    def run(self):
        """The findings, by host."""
        self._hosts()
        self._ports()
        switches = self._wires.switches()
        for ports in switches:
            self._switch([port for port in ports if port in self._line_of])
        self._silent({port: number for number, ports in enumerate(switches) for port in ports})
        self._one_way()
        self._mtus(switches)
        return sorted(self.findings, key=lambda found: (natural(found.host), found.device or "", found.kind))

    # ---- hosts and ports ----

    def _hosts(self):
        for host in self._cluster.hosts:
            if host.state == "defect" and host.name in self._present:
                self._add("defect", host.name, None, "is marked as defect, and answers; take the ~ away if it works")
            elif host.state != "defect" and host.name not in self._present:
                why = self._heard.silent.get(host.name)
                self._add("absent", host.name, None, "is heard by nobody" + (f" ({why})" if why else "")
                          + "; start pm-ethernetd there, or mark it with ~")
        for name in self._present - set(self._cluster.by_name):
            self._add("unknown", name, None, "is there and not among the [[hosts]]; add it, or give it the right name")

    def _ports(self):
        for port, rail in self._wires.rail_of.items():
            line = self._line_of.get(port)
            if port.host in self._cluster.by_name and line is None:
                self._add("interface", *port, "is in use there and no rail of it; add it to the rails, or start "
                          "pm-ethernetd with --config")
            elif line and line.rail != rail:
                self._add("rail", *port, f"is rail {rail} there and configured as rail {line.rail}; start pm-ethernetd "
                          "with --config and the compiled file")
            mac = self._mac_of.get(port)
            if mac and self._wires.macs.get(port, mac) != mac:
                self._add("mac", *port, f"has the address {self._wires.macs[port]}, configured is {mac}; correct macs")

    # ---- switches ----

    def _switch(self, ports):
        counts = collections.Counter(self._line_of[port] for port in ports)
        if len(counts) < 2:
            return
        (line, most), (_, second) = counts.most_common(2)
        wrong = [port for port in ports if self._line_of[port] != line]
        if most == second:
            for port in ports:
                others = _listed(f"{other.host} {other.device}" for other in ports
                                 if self._line_of[other] != self._line_of[port])
                self._add("wiring", *port, f"shares a switch with {others}, and belongs to that of "
                          f"{self._expected(port)}; one of them is plugged in wrongly")
            return
        right = _listed({port.host for port in ports if self._line_of[port] == line})
        for port in wrong:
            self._add("wiring", *port, f"is on the switch of {line.words()} (with {right}); plug it into that of "
                      f"{self._expected(port)}")

    def _expected(self, port):
        """The line of a port in words."""
        line = self._line_of[port]
        others = [other.host for other in self._ports_of[line] if other != port]
        return line.words() + (f" (with {_listed(others)})" if others else "")

    def _is_usable(self, port):
        host = self._cluster.by_name.get(port.host)
        return host is not None and host.name in self._present and host.state != "defect" \
            and port not in self._explained

    def _silent(self, switch_of):
        """Ports that hear nobody where somebody is, and lines in parts."""
        for ports in self._ports_of.values():
            there = [port for port in ports if self._is_usable(port)]
            if len(there) < 2:
                continue
            parts = collections.defaultdict(list)
            for port in there:
                parts[switch_of.get(port, port)].append(port)
            whole = max(parts.values(), key=len)
            for part in parts.values():
                if part is whole and len(part) > 1:
                    continue
                rest = _listed(port.host for port in there if port not in part)
                for port in part:
                    self._add("silent", *port, f"does not hear {rest} on its switch, {self._line_of[port].words()}; "
                              "look at cable, port and switch")

    def _one_way(self):
        heard = {(Port(host, ear.device), ear.other) for host, ears in self._heard.ears.items() for ear in ears
                 if ear.is_alive}
        for own, other in sorted(heard):
            if other.host in self._heard.ears and (other, own) not in heard and self._is_usable(other) \
                    and self._is_usable(own):
                self._add("one-way", *other, f"does not hear {own.device} of {own.host}, which hears it; look at the "
                          "port of the switch, and at what else runs XDP on the interface")

    def _mtus(self, switches):
        mtu_of = {}
        for host, ears in self._heard.ears.items():
            for ear in ears:
                mtu_of.setdefault(Port(host, ear.device), ear.own_mtu)
                mtu_of.setdefault(ear.other, ear.mtu)
        for ports in switches:
            counts = collections.Counter(mtu_of[port] for port in ports if mtu_of.get(port))
            if len(counts) < 2:
                continue
            usual = counts.most_common(1)[0][0]
            for port in ports:
                if mtu_of.get(port) not in (None, usual):
                    self._add("mtu", *port, f"has MTU {mtu_of[port]}, its switch {usual}; write ip link set "
                              f"{port.device} mtu {usual}")


def compare(cluster, heard):
    """The findings. Raises Wrong: no network of type ethernet."""
    return Comparison(cluster, heard).run()


def line(cluster, document, found):
    """A finding for people, with the line where the host is described."""
    host = cluster.by_name.get(found.host)
    where = f"{document.name}:{document.line(('hosts', host.entry, 'range'))}" if host else document.name
    return f"{where}: {place(host) if host else found.host}: {found.device + ': ' if found.device else ''}{found.text}"
