# SPDX-License-Identifier: BSD-3-Clause
"""link - a connection to scored, authenticated both ways and sealed (scheduler/proto/link.h), one message after the
other."""

import os
import struct

from . import bare, jsontext
from .munge import Munge, Refused
from .seal import CIPHER, Broken, Keys

MAGIC = b"OSCORE1\n"
PORT = 7710
HANDSHAKE_S = 5
SILENCE_S = 15  # a scored that lives answers at once
FRAME_MAX = 16 << 20


class Unreachable(Exception):
    """Nobody to talk to, or no longer."""


def _said(problem):
    """The system's text for an error, without the error number that Python puts in front."""
    return getattr(problem, "strerror", None) or str(problem)


def address_of(text):
    """(host, port) of "HOST", "HOST:PORT" or "[IPv6]:PORT"."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, int(port[1:] or PORT)
    host, _, port = text.rpartition(":") if text.count(":") == 1 else (text, "", "")
    return host, int(port or PORT)


class Link:
    """Raises Unreachable and Refused."""

    def __init__(self, server, role="tool", job=0, munge_socket=None):
        self.server = server
        self.munge = Munge(munge_socket)
        self.buffer = self.body = b""
        self.seal = None
        try:
            self.socket = bare.connected(address_of(server), HANDSHAKE_S)
        except (OSError, ValueError) as problem:
            raise Unreachable(f"scored at {server}: {_said(problem)}; start it there, or name it with --server or "
                              "$SCORE_SERVER") from None
        try:
            self.socket.sendall(MAGIC + struct.pack(">Q", job))
            self._greet(role, job)
        except OSError as problem:
            raise Unreachable(f"scored at {server}: {_said(problem)}") from None
        except (KeyError, TypeError, UnicodeError):
            raise self._stranger() from None
        self.socket.settimeout(SILENCE_S)

    def _stranger(self):
        return Unreachable(f"scored at {self.server}: what answers there is no scored; name its host with --server or "
                           "$SCORE_SERVER")

    def _greet(self, role, job):
        hello = self.receive()
        if hello["uid"] not in (0, os.geteuid()):
            raise Refused(f"scored at {self.server}: a program of user {hello['uid']} listens there, neither root nor "
                          "ourselves")
        nonce, keys, place = os.urandom(16).hex(), Keys(), self._place()
        said = f"connect {role} {job} {hello['nonce']} {nonce} {keys.public} {CIPHER} {place}"
        self.send({"op": "hello", "nonce": nonce, "role": role, "key": keys.public, "cipher": CIPHER,
                   "credential": self.munge.make(said, hello["uid"])})
        answer = self.receive()
        if answer["op"] != "welcome":
            raise Refused(f"scored at {self.server}: {answer.get('text', 'refused')}")
        text, uid = self.munge.read(answer["credential"])
        if (text != f"accept {role} {job} {nonce} {hello['nonce']} {answer['key']} {CIPHER} {place}"
                or uid not in (0, os.geteuid())):
            raise Refused(f"scored at {self.server}: who answers there is user {uid}, neither root nor ourselves")
        self._start(keys.seal(answer["key"], False))

    def _start(self, seal):
        self.socket.sendall(seal.opening)
        self.seal, came, self.buffer = seal, self.buffer, b""
        self._came(came)

    def _came(self, data):
        try:
            self.buffer += self.seal.pull(data) if self.seal else data
        except Broken as problem:
            raise Unreachable(f"scored at {self.server}: it sends {problem}") from None

    def _place(self):
        """The listener as both ends know it: a credential that somebody passes on is for another place."""
        host, port = self.socket.getpeername()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def send(self, head, body=b""):
        """One message."""
        data = jsontext.made(head).encode()
        data = struct.pack(">II", 4 + len(data) + len(body), len(data)) + data + body
        try:
            self.socket.sendall(self.seal.push(data) if self.seal else data)
        except OSError as problem:
            raise Unreachable(f"scored at {self.server}: {_said(problem)}") from None

    def _take(self, size):
        while len(self.buffer) < size:
            try:
                data = self.socket.recv(1 << 16)
            except OSError as problem:
                raise Unreachable(f"scored at {self.server}: {_said(problem)}") from None
            if not data:
                raise Unreachable(f"scored at {self.server}: it closed the connection")
            self._came(data)
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def receive(self):
        """The next message's head; what stands behind it is in self.body."""
        length, head_length = struct.unpack(">II", self._take(8))
        if not head_length + 4 <= length <= FRAME_MAX:
            raise self._stranger()
        data = self._take(length - 4)
        self.body = data[head_length:]
        try:
            head = jsontext.read(data[:head_length].decode())
        except (ValueError, RecursionError):
            raise self._stranger() from None
        if not isinstance(head, dict) or not isinstance(head.get("op"), str):
            raise self._stranger()
        return head

    def ask(self, head):
        """A request's answer; Refused if it is refused."""
        self.send(head)
        answer = self.receive()
        if answer["op"] == "error":
            raise Refused(str(answer.get("text", "refused without a reason")))
        return answer
