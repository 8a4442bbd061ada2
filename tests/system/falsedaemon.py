# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that lies: it proves by munge that root runs it, as scored or a host's scnoded does, and then says what a
test wants. For tests of the programs that believe their daemons."""
import contextlib
import os
import socket
import struct
import sys
import threading

sys.path[:0] = [f"{os.path.dirname(os.path.realpath(__file__))}/../../{part}"
                for part in ("scheduler/ctl", "configs")]
from scorelink import frames, handshake                               # noqa: E402
from scorelink.munge import Munge                                     # noqa: E402

SILENCE_S = 20


class Ended(Exception):
    """The other side has closed."""


class Caller:
    """One connection whose other side is known. role, job: as it has said; hear() takes its messages."""

    def __init__(self, sock, munge):
        self._socket, self._munge, self._seal = sock, munge, None
        self._decoder, self._heard = frames.Decoder(), []
        self.role = self.job = None
        sock.settimeout(SILENCE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _receive(self):
        data = self._socket.recv(1 << 16)
        if not data:
            raise Ended
        return data

    def hear(self):
        """(head, body) of its next message; Ended."""
        while not self._heard:
            self._decoder.feed(self._receive())
            self._heard += self._decoder.messages()
        return self._heard.pop(0)

    def say(self, head, body=b""):
        """One message."""
        self.send(frames.encode(head, body))

    def send(self, data):
        """Bytes that need be no message; Ended."""
        try:
            self._socket.sendall(self._seal.push(data) if self._seal else data)
        except OSError as problem:
            raise Ended from problem

    def greet(self):
        """The listener's side of link.h's handshake."""
        data = b""
        while len(data) < frames.PREAMBLE.size:
            data += self._receive()
        _, self.job = frames.PREAMBLE.unpack(data[:frames.PREAMBLE.size])
        self._decoder.feed(data[frames.PREAMBLE.size:])
        shake = handshake.Listener(self._munge, handshake.place(self._socket.getsockname()), self.say, self.job, None)
        shake.hear(self.hear()[0])
        self.role = shake.role
        self._socket.sendall(shake.seal.opening)
        self._seal = shake.seal
        self._decoder.seal(self._seal)

    def end(self):
        """As of a program that was killed, if what it has sent was read."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class FalseDaemon:
    """A listener, as a context. script(caller) says everything; address: "127.0.0.1:PORT". failed: what went wrong
    here, None: nothing."""

    def __init__(self, munge, script):
        self._munge, self._script = munge, script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.failed = None

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        caller = Caller(sock, Munge(self._munge))
        try:
            caller.greet()
            self._script(caller, self)
        except (Ended, OSError):
            pass    # whoever had enough of it
        except Exception as problem:    # told by the test
            self.failed = problem
        finally:
            caller.end()


def frame_of(length, head_length, rest=b""):
    """A frame with these lengths, true or not."""
    return struct.pack(">II", length, head_length) + rest
