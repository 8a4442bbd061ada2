# SPDX-License-Identifier: BSD-3-Clause
"""stream - a connection that carries messages, in a loop: nothing here waits. Owns the socket; knows no message."""

import errno
import os

from scorelink import frames

from . import loop

_AT_ONCE = 64 << 10  # a buffer that need not be mapped and unmapped for each message


class Stream:
    """message(head, body) for each that comes; ended(why) once, when the other side or the connection has ended."""

    def __init__(self, turns, sock, message, ended):
        self.loop, self.socket, self.message, self.ended = turns, sock, message, ended
        self.queued = 0     # bytes that wait to be sent
        self.heard = turns.now()
        self.drained = None  # called when all is sent
        self._queue = []
        self._decoder = frames.Decoder()
        self._seal = None
        sock.setblocking(False)
        turns.watch(sock.fileno(), loop.READ, self._on_events)

    @property
    def is_open(self):
        """Whether it was neither closed nor ended."""
        return self.socket is not None

    def send(self, head, body=b""):
        """One message; what does not go now waits."""
        data = frames.encode(head, body)
        self.send_raw(self._seal.push(data) if self._seal else data)

    def send_raw(self, data):
        """Bytes that are frames, or what stands before them."""
        if not self.socket:
            return
        if not self._queue:
            try:
                sent = self.socket.send(data)
            except OSError as problem:
                if problem.errno != errno.EAGAIN:
                    return  # reading will tell
                sent = 0
            if sent == len(data):
                return
            data = data[sent:]
            self.loop.watch(self.socket.fileno(), loop.READ | loop.WRITE, self._on_events)
        self._queue.append(data)
        self.queued += len(data)

    def expect(self, preamble):
        """A stranger: what it sends before its messages, which are short until trust()."""
        self._decoder.expect(preamble)

    def seal(self, sealed):
        """All from now on, both ways, is of a scorelink.seal.Seal; frames.Broken."""
        self.send_raw(sealed.opening)
        self._seal = sealed
        self._decoder.seal(sealed)

    def trust(self):
        """The other side is known now."""
        self._decoder.trust()

    def close(self):
        """No call comes any more."""
        if self.socket:
            if self._seal and not self._queue:
                self.send_raw(self._seal.last())
            self.loop.forget(self.socket.fileno())
            self.socket.close()
            self.socket = None
        self._queue.clear()

    def _fail(self, why):
        if self.socket:
            self.close()
            self.ended(why)

    def _on_events(self, events):
        if events & loop.WRITE:
            self._flush()
        if self.socket and events & ~loop.WRITE:
            self._receive()

    def _flush(self):
        while self._queue:
            data = self._queue[0]
            try:
                sent = self.socket.send(data)
            except OSError as problem:
                if problem.errno != errno.EAGAIN:
                    self._queue.clear()  # reading will tell
                return
            self.queued -= sent
            if sent < len(data):
                self._queue[0] = data[sent:]
                return
            self._queue.pop(0)
        self.loop.watch(self.socket.fileno(), loop.READ, self._on_events)
        if self.drained:
            self.drained()

    def _receive(self):
        try:
            data = self.socket.recv(_AT_ONCE)
        except OSError as problem:
            if problem.errno != errno.EAGAIN:
                self._fail(os.strerror(problem.errno))
            return
        if not data:
            self._fail("the connection was closed")
            return
        self.heard = self.loop.now()
        try:
            self._decoder.feed(data)
            for head, body in self._decoder.messages():
                self.message(head, body)
                if not self.socket:
                    return
        except frames.Broken as problem:
            self._fail(f"it sends {problem}")
