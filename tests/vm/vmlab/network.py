# SPDX-License-Identifier: BSD-3-Clause
"""Connections of the NICs of guests: a cable between two, a hub between more. Knows QEMU's words for both; the caller
has decided the names and addresses of the NICs.

A hub is a QEMU without a machine: it hands every frame to all other NICs, and needs no port, bridge or
privilege of this machine. One process serves all hubs of a lab. It connects to the guests and not they to it: QEMU
writes without waiting only where it connected. Each hub has a port that leads nowhere and takes everything, else it
would wait when no other port takes more. So frames for a NIC that takes none, as one that its guest has set
down, are kept and then dropped, as by a switch, and no other NIC waits for it.
"""
import dataclasses

HUB_WORDS = ["-machine", "none", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "none"]
# Options of a NIC whose driver maps its buffers itself, which zero copy needs.
MAPPED = "iommu_platform=on,disable-legacy=on"


@dataclasses.dataclass(frozen=True)
class Link:
    """A cable between a NIC of one guest and one of another: eth1, eth2, ... by the order of links."""

    one: str
    other: str
    mtu: int = 1500
    options: str = ""           # more properties of the virtio-net-pci device


@dataclasses.dataclass(frozen=True)
class Nic:
    guest: str
    name: str                   # inside the guest
    mac: str
    address: str                # with the length of the prefix


@dataclasses.dataclass(frozen=True)
class Net:
    """NICs that reach each other."""

    nics: tuple                 # in the order of their guests
    mtu: int = 1500
    options: str = ""           # as those of a Link

    @property
    def is_cable(self):
        return len(self.nics) == 2


def wire(links, guests):
    """The nets of these links, and the lines of /etc/hosts: each link is a network of its own, 10.7.LINK.GUEST;
    a guest's name means its address on the first of its links."""
    nets, lines, counts = [], [], dict.fromkeys(guests, 0)
    for number, link in enumerate(links, 1):
        nics = []
        for name in sorted((link.one, link.other), key=guests.index):
            host = guests.index(name) + 1
            lines.append(f"10.7.{number}.{host} {name}-{number}" + ("" if counts[name] else f" {name}"))
            counts[name] += 1
            nics.append(Nic(name, f"eth{counts[name]}", f"52:54:00:{number:02x}:00:{host:02x}",
                            f"10.7.{number}.{host}/24"))
        nets.append(Net(tuple(nics), link.mtu, link.options))
    return nets, lines


def path(directory, number, position):
    """The socket where NIC number @position of net @number meets the other end of its cable."""
    return f"{directory}/net{number}" + (f".{position}" if position is not None else "")


def stream(name, is_server, at):
    return ["-netdev", f"stream,id={name},server={'on' if is_server else 'off'},addr.type=unix,addr.path={at}"]


def ends(nets, directory):
    """(net, NIC, path, whether the guest listens there) of every NIC."""
    for number, net in enumerate(nets, 1):
        for position, nic in enumerate(net.nics):
            at = path(directory, number, None if net.is_cable else position)
            yield net, nic, at, not net.is_cable or position == 0


def nic_words(nets, directory, guest):
    """QEMU's words for the NICs of a guest."""
    words = []
    for net, nic, at, is_server in ends(nets, directory):
        if nic.guest != guest:
            continue
        words += stream(f"net-{nic.name}", is_server, at)
        words += ["-device", f"virtio-net-pci,id=nic-{nic.name},netdev=net-{nic.name},mac={nic.mac},romfile="
                             + (f",host_mtu={net.mtu}" if net.mtu != 1500 else "")
                             + (f",{net.options}" if net.options else "")]
    return words


def listeners(nets, directory, guest):
    """Paths where the guest listens."""
    return [at for _, nic, at, is_server in ends(nets, directory) if is_server and nic.guest == guest]


def hub_words(nets, directory):
    """QEMU's words for the hubs, none if there is none; all guests have to listen."""
    words = []
    for number, net in enumerate(nets, 1):
        if net.is_cable:
            continue
        for position in range(len(net.nics)):
            words += stream(f"s{number}-{position}", False, path(directory, number, position))
            words += ["-netdev", f"hubport,id=p{number}-{position},hubid={number},netdev=s{number}-{position}"]
        words += ["-netdev", f"hubport,id=nowhere{number},hubid={number}"]
    return HUB_WORDS + words if words else []
