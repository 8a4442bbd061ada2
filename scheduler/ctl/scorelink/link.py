# SPDX-License-Identifier: BSD-3-Clause
"""link - a connection to scored for those who wait: owns the socket, and says one message after the other."""

import socket

from . import frames, handshake, seal
from .munge import Munge, Refused

PORT = 7710
HANDSHAKE_S = 5
SILENCE_S = 15  # a scored that lives answers at once
_AT_ONCE = 64 << 10


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


def plain(host):
    """The host for socket's functions: a text takes tables of letters to load, which no ASCII name needs."""
    return host.encode() if host.isascii() else host


class Link:
    """Raises Unreachable and Refused."""

    def __init__(self, server, role="tool", job=0, munge_socket=None):
        self._adopt(None, server, munge_socket)
        try:
            host, port = address_of(server)
            self.socket = socket.create_connection((plain(host), port), HANDSHAKE_S)
            # Otherwise the second of two small messages waits for the first one's acknowledgement, which the other side
            # holds back for 40 ms.
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, ValueError) as problem:
            raise Unreachable(f"scored at {server}: {_said(problem)}; start it there, or name it with --server or "
                              "$SCORE_SERVER") from None
        try:
            self._greet(role, job)
        except OSError as problem:
            raise self._lost(_said(problem)) from None
        except frames.Broken as problem:
            raise self._senseless(problem) from None
        self.socket.settimeout(SILENCE_S)

    def _adopt(self, connected, server, munge_socket):
        self.socket, self.server, self.munge = connected, server, Munge(munge_socket)
        self.body, self.seal, self._decoder = b"", None, frames.Decoder()

    def _lost(self, why):
        return Unreachable(f"scored at {self.server}: {why}")

    def _senseless(self, problem):
        if isinstance(problem, seal.Broken):
            return self._lost(f"it sends {problem}")
        return self._lost("what answers there is no scored; name its host with --server or $SCORE_SERVER")

    def _greet(self, role, job):
        shake = handshake.Connector(self.munge, role, handshake.place(self.socket.getpeername()), self.send, job)
        self.socket.sendall(frames.preamble(job))
        try:
            while not shake.hear(self.receive()):
                pass
        except handshake.Denied as denial:
            raise Refused(f"scored at {self.server}: {denial.why or 'refused'}") from None
        except handshake.Foreign as other:
            there = "who answers there is user {}" if other.is_proven else "a program of user {} listens there"
            raise Refused(f"scored at {self.server}: {there.format(other.uid)}, neither root nor ourselves") from None
        self._start(shake.seal)

    def _start(self, sealed):
        self.socket.sendall(sealed.opening)
        self.seal = sealed
        self._decoder.seal(sealed)

    @property
    def waiting(self):
        """Bytes that have come and were not received."""
        return self._decoder.waiting

    def send(self, head, body=b""):
        """One message."""
        data = frames.encode(head, body)
        try:
            self.socket.sendall(self.seal.push(data) if self.seal else data)
        except OSError as problem:
            raise self._lost(_said(problem)) from None

    def _more(self):
        try:
            data = self.socket.recv(_AT_ONCE)
        except OSError as problem:
            raise self._lost(_said(problem)) from None
        if not data:
            raise self._lost("it closed the connection")
        return data

    def receive(self):
        """The next message's head; what stands behind it is in self.body."""
        try:
            message = self._decoder.message()
            while not message:
                self._decoder.feed(self._more())
                message = self._decoder.message()
        except frames.Broken as problem:
            raise self._senseless(problem) from None
        head, self.body = message
        return head

    def ask(self, head):
        """A request's answer; Refused if it is refused."""
        self.send(head)
        answer = self.receive()
        if answer["op"] == "error":
            raise Refused(str(answer.get("text", "refused without a reason")))
        return answer
