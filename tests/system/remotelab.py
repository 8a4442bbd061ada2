# SPDX-License-Identifier: BSD-3-Clause
"""A scremote of a test's own, from scout's side: through scnoded's Link, or as one that connects to us."""
import os
import secrets
import socket
import subprocess
import sys

from systest import BUILD, ROOT

sys.path[:0] = [f"{ROOT}/scheduler/ctl", f"{ROOT}/configs"]
from scorelink import frames                                            # noqa: E402
from scorelink.link import Link, Unreachable                            # noqa: E402
from scorelink.seal import CIPHER, Keys                                 # noqa: E402

__all__ = ["Agent", "Guest", "Link", "Unreachable", "connect"]
SILENCE_S = 20


class Agent:
    """A scremote at the other end of a connection, which is a Link or has its functions."""

    def __init__(self, link):
        self.link = link
        self.ids = 0

    def run(self, *words, **more):
        """The command's id; it is under way."""
        self.ids += 1
        self.link.send({"op": "run", "id": self.ids, "argv": list(words), **more})
        return self.ids

    def end_of(self, number):
        """(status, standard output) of one that says less than its credit."""
        said = b""
        while True:
            head = self.link.receive()
            if head["op"] == "out" and head["id"] == number:
                said += self.link.body
            elif head["op"] == "ended":
                return head["status"], said.decode()

    def do(self, *words, **more):
        return self.end_of(self.run(*words, **more))


class Guest(Link):
    """A Link from its listening side."""

    def __init__(self, connection, munge):      # pylint: disable=super-init-not-called
        self._adopt(connection, "listener", munge)
        self.socket.settimeout(SILENCE_S)

    def welcome(self):
        """(role, uid) of who has connected, by the handshake of link.h."""
        self._decoder.expect(frames.preamble())
        mine = secrets.token_hex(16)
        self.send({"op": "hello", "nonce": mine, "uid": os.geteuid()})
        hello = self.receive()
        role, nonce, keys = hello["role"], hello["nonce"], Keys()
        place = "%s:%d" % self.socket.getsockname()
        text, uid = self.munge.read(hello["credential"])
        if text != f"connect {role} 0 {mine} {nonce} {hello['key']} {hello['cipher']} {place}":
            return text, uid
        said = f"accept {role} 0 {nonce} {mine} {keys.public} {CIPHER} {place}"
        self.send({"op": "welcome", "key": keys.public, "cipher": CIPHER, "credential": self.munge.make(said, uid)})
        self._decoder.trust()
        self._start(keys.seal(hello["key"], True))
        return role, uid


def connect(munge, *words, **environment):
    """(Agent, its child) of a scremote that has connected to us."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        child = subprocess.Popen([f"{BUILD}/bin/scremote", "--connect", "%s:%d" % door.getsockname(), "--munge-socket",
                                  munge, *words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
        guest = Guest(door.accept()[0], munge)
    guest.welcome()
    guest.receive()
    return Agent(guest), child
