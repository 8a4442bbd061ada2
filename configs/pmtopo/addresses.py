# SPDX-License-Identifier: BSD-3-Clause
"""addresses - IP and MAC addresses of hosts, given by pattern, range or list.

Owns expansion, validity, uniqueness and membership in the rail's subnet. The number of addresses
must be the number of hosts of the table: the first belongs to the first host.
"""

import ipaddress
import re

from . import hostlist
from .problems import Wrong, quote

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\Z")
_MAC_EXAMPLE = '"02:00:00:00:00:01"'


def _ip(text):
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise Wrong(f'{quote(text)} is no IP address; write one such as "10.1.0.1"') from None


def _mac(text):
    text = text.lower().replace("-", ":")
    if not _MAC.match(text):
        raise Wrong(f"{quote(text)} is no MAC address; write six pairs of hex digits such as "
                    f"{_MAC_EXAMPLE}")
    if int(text[:2], 16) & 1:
        raise Wrong(f"{quote(text)} is a group address (odd first pair); write the address that "
                    '"ip link" shows for the interface')
    if text == "00:00:00:00:00:00":
        raise Wrong(f"{quote(text)} is no interface's address; write the one that "
                    '"ip link" shows')
    return text


def _expand(text, base, example):
    try:
        return hostlist.expand(text, base)
    except hostlist.HostlistError as error:
        raise Wrong(f"{quote(text)}: at character {error.at + 1}: {error.why}; write a pattern "
                    f"such as {example}") from None


def _ip_span(first, last, text):
    if first.version != last.version:
        raise Wrong(f"{quote(text)} mixes IPv4 and IPv6; give both ends the same kind")
    if int(last) < int(first):
        raise Wrong(f'{quote(text)} runs backwards; write "{last}-{first}"')
    if int(last) - int(first) >= hostlist.MAX_NAMES:
        raise Wrong(f"{quote(text)} has more than {hostlist.MAX_NAMES} addresses")
    return [first + step for step in range(int(last) - int(first) + 1)]


def _ips(text):
    """ "10.1.0.[1-32]", "10.1.0.1-10.1.0.32" or one address."""
    ends = text.split("-")
    if len(ends) == 2 and "[" not in text and "," not in text:
        return _ip_span(_ip(ends[0].strip()), _ip(ends[1].strip()), text)
    base = 16 if ":" in text else 10
    return [_ip(part) for part in _expand(text, base, '"10.1.0.[1-32]"')]


def _macs(text):
    """ "02:00:00:00:00:[01-20]" (hexadecimal) or one address."""
    if "[" not in text and "," not in text:
        return [_mac(text.strip())]
    return [_mac(part) for part in _expand(text, 16, '"02:00:00:00:00:[01-20]"')]


class Registry:
    """The owner of each address. One object per file and kind (IP, MAC)."""

    def __init__(self, document, problems):
        self._owners = {}
        self._document = document
        self._problems = problems

    def claim(self, path, hosts, addresses):
        """Reports addresses that another host, or this one on another interface, already has."""
        clashes = {}
        for host, address in zip(hosts, addresses):
            owner, owner_path = self._owners.setdefault(address, (host, path))
            if self._is_allowed(owner, host, owner_path, path):
                continue
            clashes.setdefault(owner_path, []).append((address, host, owner))
        for owner_path, found in clashes.items():
            address, host, owner = found[0]
            more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
            line = self._document.line(owner_path)
            self._problems.add(path, f'"{address}" of {host.name} is also given to {owner.name} on '
                               f"line {line}{more}; give each its own")

    @staticmethod
    def _is_allowed(owner, host, owner_path, path):
        """First claim, or a host with one interface: one address for management and data."""
        is_management = "address" in (owner_path[-1], path[-1])
        return owner is host and (owner_path == path or is_management)


def _check_subnet(addresses, hosts, subnet, path, problems):
    if subnet is None:
        return
    network = ipaddress.ip_network(subnet)
    outside = [(address, host) for address, host in zip(addresses, hosts)
               if address not in network]
    if outside:
        address, host = outside[0]
        more = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
        problems.add(path, f'"{address}" of {host.name}{more} is outside of the subnet {network} '
                     "of the rail; correct the address or the subnet")
    ends = set()
    if network.version == 4 and network.prefixlen < 31:
        ends = {network.network_address, network.broadcast_address}
    for address, host in zip(addresses, hosts):
        if address in ends:
            problems.add(path, f'"{address}" of {host.name} is the first or last address of '
                         f"{network} and cannot belong to a host; use those between")


class AddressBook:
    """Addresses of all hosts; ip() and mac() answer after read_entry of each table."""

    def __init__(self, devices, document, problems):
        """devices: interface name -> its Rail; None: rails could not be understood."""
        self._devices = devices or {}
        self._is_device_known = devices is not None
        self._document = document
        self._problems = problems
        self._ip_owners = Registry(document, problems)
        self._mac_owners = Registry(document, problems)
        self._ip_of = {}
        self._mac_of = {}

    def ip(self, host, device):
        return self._ip_of.get((host.id, device))

    def mac(self, host, device):
        return self._mac_of.get((host.id, device))

    def read_entry(self, index, table, hosts):
        """Reads address, addresses and macs of a [[hosts]] table; hosts None: range not known."""
        if "address" in table:
            path = ("hosts", index, "address")
            found = self._read(path, _ips, table["address"], hosts, "addresses")
            if found:
                self._ip_owners.claim(path, hosts, found)
                for host, address in zip(hosts, found):
                    host.address = str(address)
        for device, texts in table.get("addresses", {}).items():
            path = ("hosts", index, "addresses", device)
            self._check_device(path, device)
            found = self._read(path, _ips, texts, hosts, "addresses")
            if found:
                rail = self._devices.get(device)
                foreign = next((address for address in found if address.version != 4), None)
                if foreign:
                    self._problems.add(path, f'"{foreign}" is IPv6, rails use IPv4; write '
                                       'addresses such as "10.1.0.[1-32]"')
                    continue
                _check_subnet(found, hosts, rail and rail.subnet, path, self._problems)
                self._ip_owners.claim(path, hosts, found)
                self._ip_of.update(((host.id, device), str(address))
                                   for host, address in zip(hosts, found))
        for device, texts in table.get("macs", {}).items():
            path = ("hosts", index, "macs", device)
            self._check_device(path, device)
            found = self._read(path, _macs, texts, hosts, "MAC addresses")
            if found:
                self._mac_owners.claim(path, hosts, found)
                self._mac_of.update(((host.id, device), mac) for host, mac in zip(hosts, found))

    def _check_device(self, path, device):
        if device in self._devices or not self._is_device_known:
            return
        known = ", ".join(sorted(self._devices))
        remedy = f"rails are: {known}" if known else "add the interface to the rails of a network"
        self._problems.add(path, f"no network has a rail on {quote(device)}; {remedy}")

    def _read(self, path, read, texts, hosts, what):
        """The addresses, None after a report. With hosts unknown only the texts are judged."""
        out = []
        is_good = True
        for place, text in enumerate(texts):
            try:
                out.extend(read(text))
            except Wrong as wrong:
                is_item = self._document.has(path + (place,))
                self._problems.add(path + (place,) if is_item else path, str(wrong))
                is_good = False
            if len(out) > hostlist.MAX_NAMES:
                break
        if not is_good or hosts is None:
            return None
        if len(out) != len(hosts):
            self._problems.add(path, f"gives {len(out)} {what} for {len(hosts)} "
                               f"host{'s' if len(hosts) != 1 else ''}; give one per host, in the "
                               "order of the range")
            return None
        return out
