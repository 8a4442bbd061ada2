# SPDX-License-Identifier: BSD-3-Clause
"""values - the kinds of single values a cluster.toml may hold.

Each function makes a reader: it takes the value as parsed from TOML and returns the value to use,
or raises Wrong with what to write instead. Knows no keys and no hosts.
"""

import ipaddress
import re

from . import hostlist
from .problems import Wrong, quote

RAILS_MAX = 8
RAIL_TEXT_MAX = 47
AXES = "xyzuvw"
# EtherTypes that belong to what a kernel itself sends.
_TAKEN_TYPES = {0x0800: "IPv4", 0x0806: "ARP", 0x8100: "VLAN tags", 0x86dd: "IPv6",
                0x8809: "link aggregation", 0x88a8: "VLAN tags", 0x88cc: "LLDP"}
# Ports the library may use from the first on; PORT_SPAN in pm-udp/socket.c.
PORT_SPAN = 1024

_SIZES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_DURATIONS_US = {"us": 1, "ms": 1000, "s": 1000000, "min": 60000000}
_QUANTITY = re.compile(r"([0-9]{1,15}) ?([A-Za-z]*)\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@-]{0,14}\Z")
_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}\Z")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\Z")
_PATH = re.compile(r"/[A-Za-z0-9._/-]{0,120}\Z")
SOCKET_MAX = 107  # sun_path of unix(7), without the final zero
_PORTS = re.compile(r"([0-9]{1,5})-([0-9]{1,5})\Z")


def _type_name(value):
    for kind, name in ((bool, "true or false"), (int, "a number"), (float, "a number with a point"),
                       (str, "text"), (list, "an array"), (dict, "a table")):
        if isinstance(value, kind):
            return name
    return "a date or time"


def _need_text(value, example):
    if not isinstance(value, str):
        raise Wrong(f'is {_type_name(value)}; write text in quotes, such as "{example}"')
    return value


def _need_number(value, low):
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        raise Wrong(f"is text; write the number without quotes: {value.strip()}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"is {_type_name(value)}; write a whole number, such as {low}")
    return value


def _in_range(value, low, high, power_of_two):
    if not low <= value <= high:
        raise Wrong(f"{quote(value)} is out of range; write a number from {low} to {high}")
    if power_of_two and value & (value - 1):
        below = 1 << (value.bit_length() - 1)
        near = [number for number in (below, below * 2) if low <= number <= high]
        raise Wrong(f"{value} is no power of two; write {' or '.join(map(str, near))}")
    return value


def number(low, high, power_of_two=False, zero=None):
    """zero: what the number 0, outside of low..high, stands for; None: 0 is nothing special."""
    def read(value):
        value = _need_number(value, low)
        if value == 0 and zero:
            return 0
        return _in_range(value, low, high, power_of_two)
    return read


def boolean(value):
    """true or false."""
    if not isinstance(value, bool):
        raise Wrong(f"is {_type_name(value)}; write true or false, without quotes")
    return value


def choice(*words):
    def read(value):
        value = _need_text(value, words[0])
        if value not in words:
            listed = ", ".join(f'"{word}"' for word in words)
            raise Wrong(f"{quote(value)} is not known; write {'one of ' * (len(words) > 1)}"
                        f"{listed}")
        return value
    return read


def size(low, high, power_of_two=False):
    """Bytes, as a number or as text with KiB, MiB, GiB."""
    def read(value):
        if isinstance(value, str):
            match = _QUANTITY.match(value)
            if not match or match.group(2) not in _SIZES:
                raise Wrong(f'{quote(value)} is no size; write bytes such as {low}, or "64KiB", '
                            '"1MiB"')
            value = int(match.group(1)) * _SIZES[match.group(2)]
        return _in_range(_need_number(value, low), low, high, power_of_two)
    return read


def duration(unit, low, high, zero=None):
    """A time as text with a unit; gives a number in unit. zero: what 0 means, None: not allowed."""
    scale = _DURATIONS_US[unit]
    hint = ' or 0 for ' + zero if zero else ""

    def read(value):
        if isinstance(value, int) and not isinstance(value, bool):
            if value == 0 and zero:
                return 0
            raise Wrong(f'{quote(value)} has no unit; write "{quote(value)}ms" or '
                        f'"{quote(value)}s"{hint}')
        match = _QUANTITY.match(_need_text(value, f"{low}{unit}"))
        if not match or match.group(2) not in _DURATIONS_US:
            raise Wrong(f'{quote(value)} is no time; write a number with us, ms, s or min, '
                        f'such as "{low}{unit}"{hint}')
        micros = int(match.group(1)) * _DURATIONS_US[match.group(2)]
        if micros == 0 and zero:
            return 0
        if micros % scale or not low <= micros // scale <= high:
            raise Wrong(f'{quote(value)} is out of range; write "{low}{unit}" to "{high}{unit}" '
                        f"in whole {unit}{hint}")
        return micros // scale
    return read


def name(value):
    """The name of a cluster, group or network."""
    if not _NAME.match(_need_text(value, "lab")):
        raise Wrong(f"{quote(value)} is no name; use 1-63 letters, digits, . _ - and begin with a "
                    "letter or digit")
    return value


def server(value):
    """A host that programs connect to: its name or IP address, without port."""
    text = _need_text(value, "head")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    host, _, port = text.rpartition(":")
    if port.isdecimal() and _SERVER.match(host):
        raise Wrong(f'{quote(text)} has a port; write server = "{host}" and port = {port}')
    if not _SERVER.match(text):
        raise Wrong(f'{quote(text)} is no host; write its name or IP address, such as "head"')
    return text


def user(value):
    """The name of a user."""
    if not _USER.match(_need_text(value, "alice")):
        raise Wrong(f'{quote(value)} is no user name; write what "id -un" shows')
    return value


def path(value):
    """An absolute path that needs no quoting anywhere."""
    if not _PATH.match(_need_text(value, "/dev/shm")):
        raise Wrong(f"{quote(value)} is no usable path; write an absolute path of at most 120 "
                    "letters, digits, . _ - /")
    return value


def socket_path(value):
    """The path of a unix socket."""
    if len(path(value)) > SOCKET_MAX:
        raise Wrong(f"the path has {len(value)} characters; a unix socket has at most {SOCKET_MAX}")
    return value


def ethertype(value):
    """The type field of Ethernet frames."""
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-fA-F]{1,4}", value):
        raise Wrong(f"is text; write the number without quotes: {value}")
    value = _need_number(value, "0x88b5")
    if not 0x0600 <= value <= 0xffff:
        raise Wrong(f"{quote(value)} is no EtherType; write one from 0x0600 to 0xffff, such as "
                    "0x88b5")
    if value in _TAKEN_TYPES:
        raise Wrong(f"0x{value:04x} is that of {_TAKEN_TYPES[value]}; write another, such as 0x88b5")
    return value


def device_name(value):
    """The name of a network interface."""
    if not _DEVICE.match(_need_text(value, "eth1")):
        raise Wrong(f'{quote(value)} is no interface name; write what "ip link" shows, '
                    'such as "eth1"')
    return value


def subnet(value):
    """An IP subnet; gives an ipaddress network."""
    text = _need_text(value, "10.1.0.0/24")
    try:
        network = ipaddress.ip_network(text if "/" in text else text + "/24", strict=False)
    except ValueError:
        raise Wrong(f'{quote(text)} is no subnet; write one such as "10.1.0.0/24"') from None
    if network.version != 4:
        raise Wrong(f'{quote(text)} is IPv6, rails use IPv4; write a subnet such as "10.1.0.0/24"')
    if "/" not in text:
        raise Wrong(f'{quote(text)} lacks the length of the subnet; write it as "{network}"')
    if len(text) > RAIL_TEXT_MAX:
        raise Wrong(f"{quote(text)} is longer than {RAIL_TEXT_MAX} characters; "
                    f'write "{network}"')
    if ipaddress.ip_interface(text).ip != network.network_address:
        raise Wrong(f'{quote(text)} is an address in a subnet, not a subnet; write "{network}"')
    return network


def rail_text(value):
    """An interface name or a subnet, told apart by what they look like; gives its text."""
    text = _need_text(value, "eth1")
    if "/" in text or re.match(r"[0-9]+\.[0-9]+\.|[0-9a-fA-F]*:[0-9a-fA-F]*:", text):
        return str(subnet(text))
    return device_name(text)


def ports(value):
    """"47000-48023"; gives (first, last)."""
    match = _PORTS.match(_need_text(value, "47000-48023"))
    if not match:
        raise Wrong(f'{quote(value)} is no port range; write it as "47000-48023"')
    first, last = map(int, match.groups())
    if not 1 <= first <= last <= 65535:
        raise Wrong(f'{quote(value)} is no port range; write two numbers from 1 to 65535, the '
                    'smaller first, such as "47000-48023"')
    if last - first + 1 < PORT_SPAN:
        first = min(first, 65536 - PORT_SPAN)
        raise Wrong(f"{quote(value)} is too short: processes of a host take up to {PORT_SPAN} "
                    f'ports; write "{first}-{first + PORT_SPAN - 1}"')
    return first, last


def text_of(example):
    """Any text; what it means is judged later."""
    def read(value):
        return _need_text(value, example)
    return read


def host_list(value):
    """Text that is a host list; gives the parsed items."""
    text = _need_text(value, "n[000-031]")
    try:
        return hostlist.parse(text)
    except hostlist.HostlistError as error:
        raise Wrong(f"{quote(text)}: at character {error.at + 1}: {error.why}") from None


def listed_hosts(value):
    """Text that is a host list; gives the names."""
    host_list(value)
    return hostlist.expand(value)


def axis(value):
    """A dimension by its letter; gives its number from 0."""
    text = _need_text(value, "x")
    if len(text) != 1 or text not in AXES:
        raise Wrong(f"{quote(text)} is no dimension; write one of " +
                    ", ".join(f'"{letter}"' for letter in AXES))
    return AXES.index(text)
