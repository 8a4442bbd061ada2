# SPDX-License-Identifier: BSD-3-Clause
"""legacy - a Draft from the files of SCore: a scorehosts.db, the pm-ethernet.conf of each unit, or both.

Records and settings that have no meaning here are not dropped silently: remarks at the head of the file name them.
"""

import os

from . import etherconf, scorehosts
from .draft import Draft, fold_macs
from .problems import Wrong, quote
from .schema import DEVICES
from .values import RAILS_MAX

_HOST_KEYS = ("network", "group", "cpugen", "speed", "smp", "cores", "socks", "msgb", "MSGB", "spare")
# Keys that PM/Ethernet was tuned by; PM finds out these values by itself.
_TUNING = ("nsend", "minnsend", "maxnsend", "ackskip", "maxpkt", "maxctrl", "backoff", "mtu", "sendbufsize",
           "recvbufsize", "senddesc", "recvdesc", "channel")


class Sources:
    """The files that were named, told apart by their content."""

    def __init__(self, paths):
        self.records, self.path = None, None
        self.units = []
        for path in paths:
            text = scorehosts.read(path)
            if etherconf.is_like(text):
                self.units.append(etherconf.parse(path, text))
            elif self.records is not None:
                raise Wrong(f"{path}: is a second scorehosts.db beside {self.path}; give one, and those of the units")
            else:
                self.records, self.path = scorehosts.parse(path), path


def _number(record, key, default, low):
    """A number among a record's attributes."""
    text = record.first(key, str(default))
    if not text.isdecimal() or int(text) < low:
        raise Wrong(f"{record.attributes[key].where}: {record.name} {key}={text}: write a number from {low}")
    return int(text)


def _is_trunk_key(key):
    return key.startswith("-trunk") and key[6:].lstrip(":").isdecimal()


def _own_units(record, path):
    """The units whose files an SCore 5 or 6 network record names, the first one's first."""
    keys = [key for key in record.attributes if key == "-config"]
    keys += sorted(filter(_is_trunk_key, record.attributes), key=lambda key: int(key[6:].lstrip(":")))
    units = []
    for key in keys:
        named = record.first(key)
        places = [named, os.path.join(os.path.dirname(path), named),
                  os.path.join(os.path.dirname(path), os.path.basename(named))]
        found = next(filter(os.path.isfile, places), None)
        if found is None:
            raise Wrong(f"{record.attributes[key].where}: {record.name} {key}: there is no file {named}, nor one of "
                        f"that name beside {path}; put it there")
        units.append(etherconf.parse(found, scorehosts.read(found)))
    return units


class Import:
    """One run: gathers in self.new."""

    def __init__(self, sources, name, dims, devices):
        self.new = Draft(name)
        self._sources = sources
        self._dims = dims
        self._devices = devices
        self._left = []        # words about what is left out
        self._units = sources.units
        self._hosts = {}       # name as in the files -> short name

    def run(self):
        """The Draft. Raises Wrong."""
        self.new.head = ["Written by scconf import; see cluster.toml(5)."]
        if self._sources.records is None:
            self._hosts_of_units()
            rails = [f"eth{unit.number}" for unit in self._units]
        else:
            rails = self._database()
        self._rails(rails)
        self._macs()
        if self._left:
            self.new.head.append("Left out, as nothing here needs it: " + "; ".join(self._left) + ".")
        return self.new

    # ---- hosts ----

    def _take_hosts(self, names, defect):
        domains = {name.partition(".")[2] for name in names}
        is_common = len(domains) == 1 and domains != {""}
        self._hosts = {name: name.partition(".")[0] if is_common else name for name in names}
        if is_common:
            self.new.head.append(f"Names of hosts without their domain, {domains.pop()}.")
        self.new.hosts = [(self._hosts[name], name in defect) for name in names]

    def _hosts_of_units(self):
        self._take_hosts([node.host for node in self._units[0].nodes], ())

    def _database(self):
        """Hosts, groups and spares of the database; names of the rails."""
        records = self._sources.records
        networks = {name: record for name, record in records.items() if "type" in record.attributes}
        own = {name: record for name, record in records.items() if "/" in name}
        hosts = {name: record for name, record in records.items() if name not in networks and name not in own
                 and (set(record.attributes) & set(_HOST_KEYS) or not record.attributes)}
        if not hosts:
            raise Wrong(f"{self._sources.path}:1: has no host record; write for example comp0 network=ethernet "
                        "group=all")
        self._take_hosts(list(hosts), {name for name, record in hosts.items() if record.is_defect})
        for name in records.keys() - networks.keys() - own.keys() - hosts.keys():
            self._left.append(f"record {name}")
        self._groups_and_spares(hosts)
        return self._networks(networks, own)

    def _groups_and_spares(self, hosts):
        spares = {}
        for name, record in hosts.items():
            for group in record.values("group"):
                # the group of all hosts is built in
                if group != "all":
                    self.new.groups.setdefault(group, []).append(self._hosts[name])
            for spare in record.values("spare"):
                if spare not in hosts:
                    raise Wrong(f"{record.attributes['spare'].where}: {name} spare={spare}: there is no record of that "
                                "host; add it, or take it out")
                spares[self._hosts[spare]] = hosts[spare].is_defect
        self.new.spares = [name for name, is_defect in spares.items() if not is_defect]
        used = {key for record in hosts.values() for key in record.attributes} - {"network", "group", "spare"}
        if used:
            self._left.append(f"{' '.join(sorted(used))} of hosts")

    # ---- networks ----

    def _networks(self, networks, own):
        chosen = None
        for name, record in networks.items():
            kind = record.first("type", "")
            if kind in ("ethernet", "etherhxb") and chosen is None:
                chosen = record
            elif kind not in DEVICES or kind in ("ethernet", "udp"):
                self._left.append(f"network {name} of type {kind}")
        if chosen is None:
            if not self._units:
                raise Wrong(f"{self._sources.path}:1: has no network of type ethernet or etherhxb; give the "
                            "pm-ethernet.conf of each unit as well")
            return [f"eth{unit.number}" for unit in self._units]
        if chosen.first("checksum") == "1":
            self.new.pm["channel"] = {"crc": "true"}
        tuned = [key for key in _TUNING if key in chosen.attributes]
        if tuned:
            self._left.append(f"{' '.join(tuned)} of network {chosen.name}")
        if not self._units:
            self._units = _own_units(chosen, self._sources.path)
        rails = self._device_names(chosen)
        self._own_names(chosen, own, len(rails))
        return rails

    def _device_names(self, record):
        if self._units:
            return [f"eth{unit.number}" for unit in self._units]
        if record.first("type") == "ethernet":
            return [record.first("netdev", "eth0")]
        first, count = _number(record, "slot", 0, 0), _number(record, "trunk", 1, 1)
        return [f"eth{first + at}" for at in range(count * len(self._dims or (1,)))]

    def _own_names(self, network, own, count):
        """Records NETWORK/HOST: interfaces that are called otherwise there."""
        for name, record in own.items():
            of, _, host = name.partition("/")
            if of != network.name or host not in self._hosts:
                self._left.append(f"record {name}")
                continue
            if "netdev" in record.attributes and count == 1:
                self.new.overrides.append(([self._hosts[host]], record.values("netdev")[:1]))
            other = sorted(set(record.attributes) - {"netdev"})
            if other:
                self._left.append(f"{' '.join(other)} of {name}")

    def _rails(self, names):
        if self._devices is not None:
            if len(self._devices) != len(names):
                raise Wrong(f"--devices names {len(self._devices)} interfaces for {len(names)} rails; give one per "
                            "unit, in order")
            names = self._devices
        if len(names) > RAILS_MAX:
            raise Wrong(f"{len(names)} rails of a host; at most {RAILS_MAX} are possible")
        each = len(names) // len(self._dims) if self._dims else 0
        if self._dims and len(names) % len(self._dims):
            raise Wrong(f"{len(names)} rails do not serve {len(self._dims)} dimensions alike; give units for each of "
                        "them")
        self.new.dims = self._dims
        self.new.rails = [(name, at // each if self._dims else None) for at, name in enumerate(names)]
        if self._units:
            if self._devices is None:
                self.new.rails_remark = ("Unit N of pm-ethernet.conf is taken to be interface ethN: put that right, or "
                                         "import with --devices.")
            if any(unit.options.get("checksum") for unit in self._units):
                self.new.pm["channel"] = {"crc": "true"}
            tuned = sorted({key for unit in self._units for key in unit.options} - {"checksum"})
            if tuned:
                self._left.append(f"{' '.join(tuned)} of pm-ethernet.conf")

    def _macs(self):
        """Of units that name every host; what they name must be known."""
        for (device, _), unit in zip(self.new.rails, self._units):
            mac_of = {}
            for node in unit.nodes:
                if node.host not in self._hosts:
                    place = self._sources.path or self._units[0].path
                    raise Wrong(f"{node.where}: {quote(node.host)} is not in {place}; add it there, or take it out "
                                "here")
                mac_of[node.host] = node.mac
            macs = [mac_of.get(name) for name in self._hosts]
            if all(macs):
                self.new.macs[device] = fold_macs(macs)
            else:
                missing = [name for name in self._hosts if name not in mac_of]
                self._left.append(f"addresses of unit {unit.number}, which has none of {', '.join(missing[:3])}")


def draft(paths, name, dims=None, devices=None):
    """The Draft of the files. Raises Wrong."""
    sources = Sources(paths)
    numbers = [unit.number for unit in sources.units]
    for unit in sources.units:
        if numbers.count(unit.number) > 1:
            raise Wrong(f"{unit.path}: unit {unit.number} is given by another file too; each unit has one")
    sources.units.sort(key=lambda unit: unit.number)
    return Import(sources, name, dims, devices).run()
