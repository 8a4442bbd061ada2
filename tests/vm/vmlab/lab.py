# SPDX-License-Identifier: BSD-3-Clause
"""Guests and the links between them: makes them, waits until they are up, and ends them whatever happened.
When it ended by an exception, or keep() was called, the directory with the consoles stays.
"""
import os
import shlex
import shutil
import signal
import sys
import tempfile

from . import accelerator, initrd, network
from .guest import Guest
from .kernels import find_kernels
from .network import Link
from .process import QEMU, Process
from .trouble import Trouble

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
READY_S = 120
MEMORY_MIB = 320
HIDDEN = ("/tmp/", "/run/", "/dev/")    # a guest has its own of these


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
    """@guests names (or how many: a, b, ...), @links in pairs of names or as Link; or instead of them @nets, with
    the lines of /etc/hosts. The files lie in @directory, which is made, unless given one of its own. @root: a directory
    with a whole system, whose systemd runs in the guests; by default they have this machine's root and no systemd."""

    def __init__(self, build, guests=2, links=(("a", "b"),), kernel=None, memory_mib=MEMORY_MIB,
                 processors=1, nets=None, hosts=(), keep=(), directory=None, root="/"):
        names = [chr(ord("a") + n) for n in range(guests)] if isinstance(guests, int) else guests
        self.build = os.path.realpath(build)
        self.nets, self.hosts = nets, list(hosts)
        if nets is None:
            self.nets, self.hosts = network.wire(
                [link if isinstance(link, Link) else Link(*link) for link in links], names)
        self.kernel = kernel or find_kernels(self.build)[0]
        self.memory_mib, self.processors = memory_mib, processors
        self.kept = {d for d in (ROOT, self.build, self.kernel.modules) if d.startswith(HIDDEN)} | set(keep)
        self.root = root
        self.directory = directory or tempfile.mkdtemp(prefix="vmlab-")
        self.is_kept = False
        self.accelerator = ()
        self.hub = None
        self.guests = []
        for name in names:
            os.makedirs(f"{self.directory}/{name}")
            self.guests.append(Guest(name, f"{self.directory}/{name}"))

    def guest(self, name):
        return next(guest for guest in self.guests if guest.name == name)

    def nics(self, guest):
        return [nic for net in self.nets for nic in net.nics if nic.guest == guest.name]

    # ---- life ----

    def network_script(self, guest):
        lines = [f"echo {shlex.quote(line)} >>/etc/hosts" for line in self.hosts]
        for nic in self.nics(guest):
            lines.append(f"ip addr add {nic.address} dev {nic.name}; ip link set {nic.name} up")
        return "set -e\n" + "\n".join(lines)

    def start_hub(self):
        words = network.hub_words(self.nets, self.directory)
        if words:
            self.hub = Process("hub", words, f"{self.directory}/hub")

    def up(self):
        image = f"{self.directory}/initrd"
        initrd.write(self.kernel, image)
        for program in ("agent", "rsh"):
            shutil.copy(f"{ROOT}/tests/vm/guest/{program}", f"{self.directory}/{program}")
        self.accelerator = accelerator.choose(self.build, self.kernel, image)
        for guest in self.guests:
            guest.nics = [(nic.name, nic.mac) for nic in self.nics(guest)]
            guest.launch(self.accelerator, self.kernel, image, self.directory,
                         network.nic_words(self.nets, self.directory, guest.name), sorted(self.kept),
                         self.memory_mib, self.processors, self.root)
            for path in network.listeners(self.nets, self.directory, guest.name):
                guest.await_socket(path)
        self.start_hub()
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
        if self.hub:
            self.hub.end()
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
