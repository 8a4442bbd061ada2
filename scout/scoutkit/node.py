# SPDX-License-Identifier: BSD-3-Clause
"""node - how an agent is got from a host's scnoded: connects, shakes hands, asks for one as soon as that may be, hands
the connection over."""

import errno
import os
import socket

from scorelink import frames, handshake
from scorelink.link import plain
from scorelink.munge import Refused

from . import loop
from .stream import Stream


class Approach:
    """To one host, at its addresses one after the other. ready(stream, head) or failed(why, is_served) is called once;
    is_served: there is a host that answers, but no agent is to be had from its scnoded. is_held: none is asked for
    before go()."""

    def __init__(self, turns, munge, address, port, ready, failed, is_held=False):
        self.loop, self._munge, self._ready, self._failed = turns, munge, ready, failed
        self._port, self._stream, self._socket, self._shake = port, None, None, None
        self._is_known, self._is_held = False, is_held
        try:
            self._addresses = socket.getaddrinfo(plain(address), port, 0, socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as problem:
            # Not before our maker has got us.
            text = f"{address}: {getattr(problem, 'strerror', None) or problem}"
            self._addresses = []
            turns.call_later(0, lambda: self._fail(text, False))
            return
        self._next(None)

    def go(self):
        """It may start an agent."""
        self._is_held = False
        if self._is_known:
            self._ask()

    def close(self):
        """No call comes any more."""
        self._ready = self._failed = lambda *_: None
        self._drop()

    def _drop(self):
        if self._stream:
            self._stream.close()
        if self._socket:
            self.loop.forget(self._socket.fileno())
            self._socket.close()
        self._stream = self._socket = None

    def _fail(self, why, is_served):
        failed = self._failed
        self.close()
        failed(why, is_served)

    # ---- the connection ----

    def _next(self, problem):
        if not self._addresses:
            number = problem or errno.EADDRNOTAVAIL
            text = f"port {self._port}: {os.strerror(number)}"
            self.loop.call_later(0, lambda: self._fail(text, number == errno.ECONNREFUSED))
            return
        family, kind, protocol, _, address = self._addresses.pop(0)
        self._socket = socket.socket(family, kind, protocol)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        number = self._socket.connect_ex(address)
        if number in (0, errno.EINPROGRESS):
            self.loop.watch(self._socket.fileno(), loop.WRITE, self._on_connected)
            return
        self._socket.close()
        self._socket = None
        self._next(number)

    def _on_connected(self, _):
        self.loop.forget(self._socket.fileno())
        taken, self._socket = self._socket, None
        number = taken.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            taken.close()
            self._next(number)
            return
        where = handshake.place(taken.getpeername())
        self._stream = Stream(self.loop, taken, self._hear, lambda why: self._fail(
            f"scnoded there: {why}", self._is_known))
        self._shake = handshake.Connector(self._munge, "scout", where, self._stream.send)
        self._stream.send_raw(frames.preamble())

    # ---- what is said ----

    def _ask(self):
        self._stream.send({"op": "remote"})

    def _hear(self, head, _):
        try:
            if not self._is_known:
                if self._shake.hear(head):
                    self._stream.seal(self._shake.seal)
                    self._is_known = True
                    if not self._is_held:
                        self._ask()
            elif head["op"] == "remote_ready":
                stream, self._stream = self._stream, None
                self._ready(stream, head)
            else:
                self._fail(frames.text(head, "text", "its scnoded gives no agent"), True)
        except Refused as refusal:
            self._fail(f"scnoded there: {refusal}", False)
        except frames.Broken:
            self._fail(f"what listens at port {self._port} is no scnoded", True)
