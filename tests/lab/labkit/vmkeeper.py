# SPDX-License-Identifier: BSD-3-Clause
#
# The process that has a lab's virtual machines: it builds them for `sclab --vm up`, then does what other sclabs
# ask on its socket, a line of JSON each, until one says down. QEMU ends with it however it ends; and it ends
# with `sclab --vm up` until the lab is up. Knows no command line.

import contextlib
import json
import os
import select
import signal
import socket
import sys

from . import kernel, vmstate
from .errors import LabError

REQUEST_BYTES = 4 << 20
KILL_S = 10

# Of the command that runs in a guest: where it is told what, and which processes are to end with it.
SCRIPT = """
echo $PPID >"$0.group"
{command} 2>"$0.err"
"""
KILLER = """
until [ -s "{at}.group" ]; do sleep 0.1; done
kill -KILL -- "-$(cat "{at}.group")"
"""


class Client:
    """Another sclab, from its connection to its end; the task is the command that runs for it."""

    def __init__(self, connection):
        self.connection = connection
        self.heard = b""
        self.guest = self.task = None

    def fileno(self):
        return self.connection.fileno()

    def tell(self, **answer):
        with contextlib.suppress(OSError):      # it has gone, which is seen where it is heard
            self.connection.sendall(json.dumps(answer).encode() + b"\n")

    def hear(self):
        """A request that is whole, else None; EOFError when the other end has gone."""
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self.connection.recv(65536)
        if not data or len(self.heard) > REQUEST_BYTES:
            raise EOFError
        self.heard += data
        if not self.heard.endswith(b"\n"):
            return
        request, self.heard = json.loads(self.heard), b""
        return request


class Keeper:
    def __init__(self, lab, description, listener, trouble):
        self.lab, self.description, self.listener = lab, description, listener
        self.trouble = trouble          # the exceptions of guests
        self.ended = {}                 # guest: its last words
        self.clients = []
        self.is_wanted = True

    # ---- requests ----

    def guest(self, name):
        guest = self.lab.guest(name)
        if guest in self.ended:
            raise LabError(self.ended[guest])
        return guest

    def do_describe(self, client, _):
        client.tell(**self.description, ended={guest.name: why for guest, why in self.ended.items()})

    def do_exec(self, client, request):
        guest = client.guest = self.guest(request["host"])
        client.task = guest.start(SCRIPT.format(command=request["command"]), 0)
        at = f"{guest.directory}/{client.task.number}"
        with open(f"{at}.err", "w", encoding="utf-8"):
            pass
        client.tell(at=at)

    def do_link(self, client, request):
        self.guest(request["host"]).set_carrier(request["nic"], request["up"])
        client.tell(done=True)

    def do_down(self, _, __):
        self.is_wanted = False          # the end of our process is the answer

    def obey(self, client, request):
        try:
            getattr(self, f"do_{request['do']}")(client, request)
        except (LabError, *self.trouble, OSError) as e:
            client.tell(error=str(e))

    # ---- what happens ----

    def hear_client(self, client):
        try:
            request = client.hear()
        except (EOFError, ValueError):
            self.forget(client)
            return
        if request:
            self.obey(client, request)

    def forget(self, client):
        """A command without the sclab that asked for it ends."""
        self.clients.remove(client)
        client.connection.close()
        if not client.task:
            return
        guest, number = client.guest, client.task.number
        if number not in guest.statuses and guest not in self.ended:
            guest.start(KILLER.format(at=f"/run/lab/{guest.name}/{number}"), KILL_S)
            return
        for suffix in ("", ".out", ".err", ".group"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{guest.directory}/{number}{suffix}")

    def hear_guest(self, guest):
        try:
            guest.hear(0, "")
        except self.trouble as e:
            self.ended[guest] = str(e)
        for client in self.clients:
            if client.guest is not guest or not client.task:
                continue
            if client.task.number in guest.statuses:
                client.tell(status=guest.statuses[client.task.number])
            elif guest in self.ended:
                client.tell(error=self.ended[guest])

    def serve(self):
        while self.is_wanted:
            ports = {guest.port: guest for guest in self.lab.guests if guest not in self.ended}
            for ready in select.select([self.listener, *self.clients, *ports], [], [])[0]:
                if ready is self.listener:
                    self.clients.append(Client(self.listener.accept()[0]))
                elif ready in ports:
                    self.hear_guest(ports[ready])
                else:
                    self.hear_client(ready)


# ---- the process ----

def detach(log, kept):
    """From the terminal and the descriptors of who called."""
    os.setsid()
    os.chdir("/")
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 1024)


def leave(number, _):
    raise SystemExit(128 + number)


def answer_with(tell, **said):
    os.write(tell, json.dumps(said).encode())
    os.close(tell)


def live(lab, make, claimed, tell):
    """Body of the forked process. @make() gives the vmlab.Lab, its description once it is up, and the exceptions that
    guests raise."""
    detach(f"{vmstate.directory(lab)}/log", (claimed, tell))
    machines, describe, trouble = make()
    try:
        try:
            machines.up()
            description = describe()
        except (*trouble, OSError) as e:
            answer_with(tell, error=str(e))
            return
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(vmstate.control_path(lab))
            listener.listen()
            kernel.outlive_parent()
            answer_with(tell, **description)
            Keeper(machines, description, listener, trouble).serve()
    finally:
        for number in kernel.STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        machines.down()


def be_keeper(lab, make, parent, claimed, tell):
    """Does not return. An unexpected exception is written to the log, and the lab's files stay."""
    try:
        for number in kernel.STOP_SIGNALS:
            signal.signal(number, leave)
        kernel.end_with_parent(parent, signal.SIGTERM)
        with contextlib.suppress(SystemExit):
            live(lab, make, claimed, tell)
        vmstate.remove(lab)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(0)


def start(lab, make):
    """Builds the lab; its description. The keeper goes on when we end."""
    claimed = vmstate.claim(lab)
    answer, tell = os.pipe()
    parent = os.getpid()
    pid = kernel.fork()
    if pid == 0:
        os.close(answer)
        be_keeper(lab, make, parent, claimed, tell)
    os.close(tell)
    os.close(claimed)
    try:
        with open(answer, "rb") as f:
            said = f.read()
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    if not said:
        raise LabError(f"the keeper of lab '{lab}' has ended early: see {vmstate.directory(lab)}/log")
    description = json.loads(said)
    if "error" in description:
        os.waitpid(pid, 0)
        raise LabError(description["error"])
    return description
