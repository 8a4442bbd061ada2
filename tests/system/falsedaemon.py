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
                for part in ("scheduler/ctl", "scout", "configs")]
from scorectl.munge import Munge                                       # noqa: E402
from scorectl.seal import CIPHER, Keys                                         # noqa: E402
from scoutkit import frames, shake                                     # noqa: E402

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
        while len(data) < shake.PREAMBLE.size:
            data += self._receive()
        _, self.job = shake.PREAMBLE.unpack(data[:shake.PREAMBLE.size])
        self._decoder.feed(data[shake.PREAMBLE.size:])
        nonce, keys = os.urandom(16).hex(), Keys()
        self.say({"op": "hello", "nonce": nonce, "uid": os.geteuid()})
        head, _ = self.hear()
        said, uid = self._munge.read(head["credential"])
        place = shake.place(self._socket.getsockname())
        if said != shake.payload("connect", head["role"], self.job, nonce, head["nonce"], head["key"], head["cipher"],
                                 place):
            raise RuntimeError(f"a credential for another connection: {said}")
        self.role = head["role"]
        text = shake.payload("accept", self.role, self.job, head["nonce"], nonce, keys.public, CIPHER, place)
        self.say({"op": "welcome", "key": keys.public, "cipher": CIPHER, "credential": self._munge.make(text, uid)})
        self._seal = keys.seal(head["key"], True)
        self._socket.sendall(self._seal.opening)
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
