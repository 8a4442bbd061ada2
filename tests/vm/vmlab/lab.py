# SPDX-License-Identifier: BSD-3-Clause
"""Guests and the links between them: makes them, waits until they are up, and ends them whatever happened.
When it ended by an exception, or keep() was called, the directory with the consoles stays.
"""
import dataclasses
import os
import shutil
import signal
import sys
import tempfile

from . import initrd
from .guest import QEMU, Guest
from .kernels import find_kernels
from .trouble import Trouble

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
READY_S = 120
MEMORY_MIB = 320
HIDDEN = ("/tmp/", "/run/", "/dev/")    # a guest has its own of these


@dataclasses.dataclass(frozen=True)
class Link:
    """A cable between a NIC of one guest and one of another: eth1, eth2, ... by the order of links."""

    one: str
    other: str
    mtu: int = 1500
    options: str = ""           # more properties of the virtio-net-pci device


def skip_reason(build):
    """Why guests can't be started here, or ''."""
    if os.uname().machine != "x86_64":
        return "guests are made for x86_64 only"
    tools = {QEMU: "qemu-system-x86", "busybox": "busybox-static", "setpriv": "util-linux"}
    if missing := [package for tool, package in tools.items() if not shutil.which(tool)]:
        return f"no virtual machines here (install {' '.join(missing)})"
    if not find_kernels(build):
        return f"no kernel for guests; run tests/vm/kernel-fetch {build}/vm/kernel"
    return ""


class Lab:
    """@guests names (or how many: a, b, ...), @links in pairs of names or as Link."""

    def __init__(self, build, guests=2, links=(("a", "b"),), kernel=None, memory_mib=MEMORY_MIB,
                 processors=1):
        names = [chr(ord("a") + n) for n in range(guests)] if isinstance(guests, int) else guests
        self.build = os.path.realpath(build)
        self.links = [link if isinstance(link, Link) else Link(*link) for link in links]
        self.kernel = kernel or find_kernels(self.build)[0]
        self.memory_mib, self.processors = memory_mib, processors
        self.directory = tempfile.mkdtemp(prefix="vmlab-")
        self.is_kept = False
        self.guests = []
        for name in names:
            os.mkdir(f"{self.directory}/{name}")
            self.guests.append(Guest(name, f"{self.directory}/{name}"))

    def guest(self, name):
        return next(guest for guest in self.guests if guest.name == name)

    # ---- links ----

    def nic_words(self, guest):
        """QEMU's words for the NICs of a guest; the first guest of a link listens."""
        words = []
        for number, link in enumerate(self.links, 1):
            if guest.name not in (link.one, link.other):
                continue
            is_server = self.is_first(guest, link)
            mac = f"52:54:00:{number:02x}:00:{self.guests.index(guest) + 1:02x}"
            nic = f"eth{len(guest.nics) + 1}"
            guest.nics.append((nic, mac))
            words += ["-netdev", f"stream,id=net-{nic},server={'on' if is_server else 'off'},"
                                 f"addr.type=unix,addr.path={self.directory}/link{number}",
                      "-device", f"virtio-net-pci,id=nic-{nic},netdev=net-{nic},mac={mac},romfile="
                                 + (f",host_mtu={link.mtu}" if link.mtu != 1500 else "")
                                 + (f",{link.options}" if link.options else "")]
        return words

    def is_first(self, guest, link):
        other = self.guest(link.other if guest.name == link.one else link.one)
        return self.guests.index(guest) < self.guests.index(other)

    def network_script(self, guest):
        """Each link is a network of its own, 10.7.LINK.GUEST; a name means its address on the first link."""
        lines, known, nics = [], set(), iter(guest.nics)
        for number, link in enumerate(self.links, 1):
            for name in (link.one, link.other):
                host = self.guests.index(self.guest(name)) + 1
                address = f"10.7.{number}.{host}"
                lines.append(f"echo {address} {name}-{number} "
                             + ("" if name in known else name) + " >>/etc/hosts")
                known.add(name)
                if name == guest.name:
                    nic, _ = next(nics)
                    lines.append(f"ip addr add {address}/24 dev {nic}; ip link set {nic} up")
        return "set -e\n" + "\n".join(lines)

    # ---- life ----

    def up(self):
        image = f"{self.directory}/initrd"
        initrd.write(self.kernel, image)
        for program in ("agent", "rsh"):
            shutil.copy(f"{ROOT}/tests/vm/guest/{program}", f"{self.directory}/{program}")
        keep = sorted({d for d in (ROOT, self.build, self.kernel.modules) if d.startswith(HIDDEN)})
        for guest in self.guests:
            words = self.nic_words(guest)
            guest.launch(self.kernel, image, self.directory, words, keep, self.memory_mib,
                         self.processors)
            for number, link in enumerate(self.links, 1):
                if guest.name in (link.one, link.other) and self.is_first(guest, link):
                    guest.await_socket(f"{self.directory}/link{number}")
        for guest in self.guests:
            guest.await_ready(READY_S)
        for task in [guest.start(self.network_script(guest)) for guest in self.guests]:
            status, text = task.wait()
            if status:
                raise Trouble(f"guest {task.guest.name}: no network: {text}")

    def serve_rsh(self, limit_s):
        """For that long commands can be sent from guest to guest; the remote shell for mpirun."""
        for guest in self.guests:
            guest.start("exec busybox nc -ll -p 7000 -e /bin/bash", limit_s)
        return "/run/lab/rsh"

    def keep(self):
        self.is_kept = True

    def down(self):
        for guest in self.guests:
            guest.end()
        if self.is_kept:
            print(f"# consoles and outputs of the guests are kept in {self.directory}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory)

    def __enter__(self):
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            # as an interrupt, so that nothing is left behind
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        try:
            self.up()
        except BaseException as e:
            self.__exit__(type(e))
            raise
        return self

    def __exit__(self, kind, *_):
        if kind and issubclass(kind, Exception):
            self.keep()
        self.down()
