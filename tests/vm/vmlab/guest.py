# SPDX-License-Identifier: BSD-3-Clause
"""One guest: a QEMU process and the agent in it (guest/agent). Runs commands in the guest and tells how they
ended; the NICs it has were given to it by the lab.
"""
import select
import shlex
import socket
import time

from .monitor import Monitor
from .process import Process
from .trouble import Trouble

GRACE_S = 20                    # beyond a command's own limit: the guest ends it and says so
COMMAND_S = 60
# More than a guest may use, and what it does not use costs nothing. virtio_net gives the device an address
# that it computes for a variable of a module, which is beyond 1 GiB: there must be memory, if only zeros.
MACHINE_MIB = 1536


class Failed(Exception):
    """A command that was expected to succeed did not."""


class Task:
    """A command under way in a guest."""

    def __init__(self, guest, number, command, limit_s):
        self.guest, self.number, self.command = guest, number, command
        self.end = time.monotonic() + limit_s + GRACE_S

    def wait(self):
        """(exit status, all it printed); 124: its time was over."""
        while self.number not in self.guest.statuses:
            self.guest.hear(self.end, f"the end of '{self.command.strip()[:60]}'")
        return self.guest.statuses[self.number], self.text()

    def is_over(self):
        self.guest.hear(time.monotonic(), "")
        return self.number in self.guest.statuses

    def text(self):
        """The output of the command until now."""
        with open(f"{self.guest.directory}/{self.number}.out", encoding="utf-8", errors="replace") as f:
            return f.read()


class Guest:
    def __init__(self, name, directory):
        self.name, self.directory = name, directory
        self.nics = []          # (NAME, MAC)
        self.statuses = {}
        self.heard = b""
        self.count = 0
        self.process = self.port = self.monitor = None
        self.release = ""       # of its kernel, once it is up

    def launch(self, accelerator, kernel, initrd, shared, nic_words, keep, memory_mib, processors, root):
        """Starts QEMU and returns at once. @root: "/", or a directory whose systemd the guest runs."""
        is_whole = root != "/"
        with open(f"{self.directory}/conf", "w", encoding="utf-8") as f:
            f.write(f"modules={'exported' if is_whole else shlex.quote(kernel.modules)}\n"
                    f"keep=({shlex.join(keep)})\n"
                    f"nics=({shlex.join(f'{name}={mac}' for name, mac in self.nics)})\n")
        at = self.directory
        words = [*accelerator, "-m", str(max(MACHINE_MIB, memory_mib)),
                 "-smp", str(processors), "-nodefaults", "-no-user-config", "-display", "none",
                 "-no-reboot", "-kernel", kernel.image, "-initrd", initrd,
                 "-append", "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr "
                            f"mem={memory_mib}M vmlab.name={self.name}" + (" vmlab.systemd" if is_whole else ""),
                 "-serial", f"file:{at}/console", "-qmp", f"unix:{at}/qmp,server=on,wait=off",
                 "-fsdev", f"local,id=root,path={root},security_model=none,readonly=on,multidevs=remap",
                 "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
                 "-fsdev", f"local,id=lab,path={shared},security_model=none",
                 "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab", "-device", "virtio-serial-pci",
                 "-chardev", f"socket,id=agent,path={at}/agent,server=on,wait=off",
                 "-device", "virtserialport,chardev=agent,name=agent", *nic_words]
        if is_whole:
            words += ["-fsdev", f"local,id=modules,path={kernel.modules},security_model=none,readonly=on",
                      "-device", "virtio-9p-pci,fsdev=modules,mount_tag=modules"]
        self.process = Process(f"guest {self.name}", words, f"{at}/qemu", [f"{at}/console"])

    def await_socket(self, path):
        self.process.await_socket(path)

    def await_ready(self, limit_s):
        for name in ("agent", "qmp"):
            self.await_socket(f"{self.directory}/{name}")
        self.port = socket.socket(socket.AF_UNIX)
        try:
            self.port.connect(f"{self.directory}/agent")
            self.monitor = Monitor(f"{self.directory}/qmp")
        except (OSError, Trouble) as e:
            self.gone(str(e))
        end = time.monotonic() + limit_s
        while "ready" not in self.statuses:
            self.hear(end, "the guest to be up")
        self.release = self.statuses["ready"]

    def gone(self, why):
        """QEMU closed what it had open: it has ended, or does in a moment."""
        self.process.await_end()
        self.process.check()
        raise Trouble(f"guest {self.name}: {why}")

    def hear(self, end, what):
        """Takes what the agent says, for at most that long; late only if nothing came and @what is given."""
        ready = select.select([self.port], [], [], max(0, min(1, end - time.monotonic())))[0]
        if not ready:
            self.process.check(what and time.monotonic() > end, what)
            return
        try:
            data = self.port.recv(4096)
        except ConnectionError:
            data = b""
        if not data:
            self.gone("its agent has gone")
        *lines, self.heard = (self.heard + data).split(b"\n")
        for line in lines:
            key, _, value = line.decode().strip().partition(" ")
            self.statuses[key] = int(value) if key.isdigit() else value

    # ---- commands ----

    def start(self, command, limit_s=COMMAND_S):
        """Begins a command (of bash, any number of lines) that may run for that long; 0: for ever."""
        self.count += 1
        number = str(self.count)
        with open(f"{self.directory}/{number}", "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(command)
        with open(f"{self.directory}/{number}.out", "w", encoding="utf-8"):
            pass                # nothing was printed yet
        self.port.sendall(f"{number} {limit_s}\n".encode())
        return Task(self, number, command, limit_s)

    def run(self, command, limit_s=COMMAND_S):
        """(exit status, all it printed)."""
        return self.start(command, limit_s).wait()

    def must(self, command, limit_s=COMMAND_S):
        """The output of the command, which has to succeed."""
        status, text = self.run(command, limit_s)
        if status:
            raise Failed(f"guest {self.name}: '{command.strip()}' ended with {status}: {text.strip()}")
        return text

    # ---- from outside ----

    def set_carrier(self, nic, is_up):
        self.monitor.do("set_link", name=f"net-{nic}", up=is_up)

    def unplug(self, nic):
        """Takes a NIC away; returns when the guest has let it go."""
        self.monitor.do("device_del", id=f"nic-{nic}")
        self.monitor.await_event("DEVICE_DELETED", device=f"nic-{nic}")

    def end(self):
        for channel in (self.port, self.monitor):
            if channel:
                channel.close()
        if self.process:
            self.process.end()
