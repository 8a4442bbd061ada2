# SPDX-License-Identifier: BSD-3-Clause
"""shake - the handshake at the beginning of a connection (scheduler/proto/link.h), either side of it, as a machine
that is fed heads and says heads. Asks munge; knows no socket."""

import os
import struct

from scorectl.munge import Refused
from scorectl.seal import CIPHER, Keys

from . import frames

MAGIC = b"OSCORE1\n"
PREAMBLE = struct.Struct(">8sQ")


def place(address):
    """The listening side of a connection, as both ends name it."""
    host, port = address[:2]
    host = host.removeprefix("::ffff:") if "." in host else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def payload(side, role, job, to, of, key, cipher, where):
    """The text of a credential that side ("connect" or "accept") makes: to and of are the other's nonce and its own."""
    return f"{side} {role} {job} {to} {of} {key} {cipher} {where}"


def _nonce():
    return os.urandom(16).hex()


class Connector:
    """Our side when we connected. hear() answers True when both know each other, and all that follows is of seal;
    Refused."""

    def __init__(self, munge, role, where, say):
        self._munge, self._role, self._where, self._say = munge, role, where, say
        self._mine, self._theirs, self._keys, self.seal = _nonce(), None, Keys(), None

    @staticmethod
    def preamble():
        """The bytes that are sent first: no job is asked for."""
        return PREAMBLE.pack(MAGIC, 0)

    def hear(self, head):
        """Takes a message of the listener."""
        if head["op"] == "refused":
            raise Refused(f"it refuses us: {frames.text(head, 'text', 'it does not say why')}")
        if self._theirs is None:
            self._hello(head)
            return False
        if head["op"] != "welcome":
            raise frames.Broken("no welcome")
        said, uid = self._munge.read(frames.text(head, "credential"))
        key = frames.text(head, "key")
        if (said != payload("accept", self._role, 0, self._mine, self._theirs, key, CIPHER, self._where)
                or uid not in (0, os.geteuid())):
            raise Refused(f"user {uid} answers there, who is neither root nor you")
        self.seal = self._keys.seal(key, False)
        return True

    def _hello(self, head):
        uid = frames.number(head, "uid", high=(1 << 32) - 2)
        if head["op"] != "hello" or uid not in (0, os.geteuid()):
            raise Refused(f"a program of user {uid} listens there, who is neither root nor you")
        self._theirs = frames.text(head, "nonce")
        text = payload("connect", self._role, 0, self._theirs, self._mine, self._keys.public, CIPHER, self._where)
        self._say({"op": "hello", "nonce": self._mine, "role": self._role, "key": self._keys.public,
                   "cipher": CIPHER, "credential": self._munge.make(text, uid)})


class Listener:
    """Our side when we were connected to: only by ourselves. hear() as above."""

    def __init__(self, munge, where, say):
        self._munge, self._where, self._say = munge, where, say
        self._mine, self._keys, self.seal = _nonce(), Keys(), None
        say({"op": "hello", "nonce": self._mine, "uid": os.geteuid()})

    def hear(self, head):
        """Takes a message of the connector, whose preamble was read already."""
        if head["op"] != "hello":
            raise frames.Broken("no hello")
        role, theirs, key, offer = (frames.text(head, name) for name in ("role", "nonce", "key", "cipher"))
        said, uid = self._munge.read(frames.text(head, "credential"))
        if said != payload("connect", role, 0, self._mine, theirs, key, offer, self._where) or role != "remote":
            self._refuse("the credential was made for another connection")
        if uid != os.geteuid():
            self._refuse(f"you are user {uid}, and only user {os.geteuid()} is served")
        text = payload("accept", role, 0, theirs, self._mine, self._keys.public, CIPHER, self._where)
        self._say({"op": "welcome", "key": self._keys.public, "cipher": CIPHER,
                   "credential": self._munge.make(text, uid)})
        self.seal = self._keys.seal(key, True)
        return True

    def _refuse(self, why):
        self._say({"op": "refused", "text": why})
        raise Refused(why)
