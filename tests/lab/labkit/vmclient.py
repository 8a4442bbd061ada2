# SPDX-License-Identifier: BSD-3-Clause
#
# Asks the keeper of a lab of virtual machines, and is the terminal of a command in a guest: passes on what it
# prints until it ends, and ends it when it is ended itself.

import contextlib
import io
import json
import os
import select
import signal
import socket
import struct
import sys

from . import vmstate
from .errors import EXIT_NO_LAB, EXIT_REFUSED, LabError

DOWN_S = 60
PRINT_S = 0.05          # a guest writes into files, which tell nobody


class Connection:
    """To the keeper, for one request."""

    def __init__(self, lab):
        self.socket = socket.socket(socket.AF_UNIX)
        self.heard = b""
        try:
            self.socket.connect(vmstate.control_path(lab))
        except (FileNotFoundError, ConnectionRefusedError):
            others = [n for n in vmstate.names() if n != lab]
            hint = f"name one of those that are, with --name: {', '.join(others)}" if others \
                else "run 'sclab --vm up' first"
            raise LabError(f"lab '{lab}' of virtual machines is not up: {hint}", EXIT_NO_LAB) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def answer(self, limit_s=None):
        """The next, {} if none came in that time."""
        while b"\n" not in self.heard:
            if not select.select([self.socket], [], [], limit_s)[0]:
                return {}
            data = self.socket.recv(65536)
            if not data:
                raise LabError("the lab has ended: its keeper was killed, or another sclab said down")
            self.heard += data
        line, _, self.heard = self.heard.partition(b"\n")
        answer = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def ask(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return self.answer()


def describe(lab):
    with Connection(lab) as connection:
        return connection.ask(do="describe")


def set_link(lab, host, nic, is_up):
    with Connection(lab) as connection:
        connection.ask(do="link", host=host, nic=nic, up=is_up)


class Output:
    """A growing file, passed on; with a name, in whole lines that bear it."""

    def __init__(self, path, out, name=""):
        self.file = open(path, "rb")
        self.out, self.mark = out, f"{name}: ".encode() if name else b""
        self.rest = b""

    def pump(self, is_last=False):
        data = self.file.read()
        if self.mark:
            *lines, self.rest = (self.rest + data).split(b"\n")
            if is_last and self.rest:
                lines.append(self.rest)
            data = b"".join(self.mark + line + b"\n" for line in lines)
        if data:
            self.out.write(data)
            self.out.flush()
        if is_last:
            self.file.close()


class Command:
    """One in a guest, under way."""

    def __init__(self, lab, host, command, name="", out=None):
        self.connection = Connection(lab)
        at = self.connection.ask(do="exec", host=host, command=command)["at"]
        self.outputs = [Output(f"{at}.out", out or sys.stdout.buffer, name),
                        Output(f"{at}.err", sys.stderr.buffer, name)]

    def pump(self, limit_s=PRINT_S):
        """Passes on what was printed; the exit status once it has ended."""
        status = self.connection.answer(limit_s).get("status")
        for output in self.outputs:
            output.pump(status is not None)
        if status is not None:
            self.connection.socket.close()
        return status

    def wait(self):
        while (status := self.pump()) is None:
            pass
        return status


def text_of(lab, host, command):
    """The standard output of a command that sclab itself runs in a host."""
    out = io.BytesIO()
    Command(lab, host, command, out=out).wait()
    return out.getvalue().decode(errors="replace")


def run_in_all(lab, hosts, command_of):
    """Runs command_of(host) in these hosts at once; the highest exit status is the result."""
    running = [Command(lab, host, command_of(host), host) for host in hosts]
    statuses = []
    while running:
        ended = {command: command.pump(PRINT_S / len(running)) for command in running}
        statuses += [status for status in ended.values() if status is not None]
        running = [command for command, status in ended.items() if status is None]
    return max(statuses)


def keeper_of(connection):
    """A pidfd. It is the process which listens, so it lives while the connection does."""
    credentials = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return os.pidfd_open(struct.unpack("iII", credentials)[0])


def end_keeper(lab):
    """Asks it, then kills it; returns when it has ended, and all guests with it."""
    try:
        connection = Connection(lab)
    except LabError:
        raise LabError(f"lab '{lab}' is being built or removed: wait for it, or end the sclab that does it",
                       EXIT_REFUSED) from None
    with connection:
        keeper = keeper_of(connection)
        connection.socket.sendall(b'{"do": "down"}\n')
        if not select.select([keeper], [], [], DOWN_S)[0]:
            signal.pidfd_send_signal(keeper, signal.SIGKILL)
            select.select([keeper], [], [], DOWN_S)
        os.close(keeper)


def down(lab):
    """Ends the lab, and removes what a killed keeper has left."""
    path = vmstate.directory(lab)
    if not os.path.isdir(path):
        raise LabError(f"lab '{lab}' of virtual machines is not up", EXIT_NO_LAB)
    with contextlib.suppress(FileNotFoundError):        # the keeper has removed it
        fd = vmstate.try_lock(path)
        if fd is None:
            end_keeper(lab)
            fd = vmstate.try_lock(path)
        if fd is None:
            raise LabError(f"the keeper of lab '{lab}' does not end after SIGKILL: see {path}/log")
        vmstate.remove(lab)
        os.close(fd)
