# SPDX-License-Identifier: BSD-3-Clause
"""handshake - the beginning of a connection (scheduler/proto/link.h), either side of it, as a machine that is fed heads
and says heads. Asks munge; knows no socket."""

import os

from . import frames
from .munge import Refused
from .seal import CIPHER, Keys


class Denied(Refused):
    """The listener refuses us. why: its words, None: it has none."""

    def __init__(self, why):
        super().__init__(f"it refuses us: {why or 'it does not say why'}")
        self.why = why


class Foreign(Refused):
    """The listener is another user's, uid, who is neither root nor we. is_proven: by its credential."""

    def __init__(self, uid, is_proven):
        there = f"user {uid} answers there" if is_proven else f"a program of user {uid} listens there"
        super().__init__(f"{there}, who is neither root nor you")
        self.uid, self.is_proven = uid, is_proven


def place(address):
    """The listening side of a connection, as both ends name it: a credential that somebody passes on is for another."""
    host, port = address[:2]
    host = host.removeprefix("::ffff:") if "." in host else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def payload(side, role, job, to, of, key, cipher, where):
    """The text of a credential that side ("connect" or "accept") makes: to and of are the other's nonce and its own."""
    return f"{side} {role} {job} {to} {of} {key} {cipher} {where}"


def _nonce():
    return os.urandom(16).hex()


class Connector:
    """Our side when we connected and have sent frames.preamble(job). hear() answers True when both know each other, and
    all that follows is of seal; Refused, Broken."""

    def __init__(self, munge, role, where, say, job=0):
        self._munge, self._role, self._where, self._say, self._job = munge, role, where, say, job
        self._mine, self._theirs, self._keys, self.seal = _nonce(), None, Keys(), None

    def hear(self, head):
        """Takes a message of the listener."""
        if head["op"] == "refused":
            raise Denied(frames.text(head, "text", ""))
        if self._theirs is None:
            self._hello(head)
            return False
        if head["op"] != "welcome":
            raise frames.Broken("no welcome")
        said, uid = self._munge.read(frames.text(head, "credential"))
        key = frames.text(head, "key")
        if (said != payload("accept", self._role, self._job, self._mine, self._theirs, key, CIPHER, self._where)
                or uid not in (0, os.geteuid())):
            raise Foreign(uid, True)
        self.seal = self._keys.seal(key, False)
        return True

    def _hello(self, head):
        uid = frames.number(head, "uid", high=(1 << 32) - 2)
        if head["op"] != "hello" or uid not in (0, os.geteuid()):
            raise Foreign(uid, False)
        self._theirs = frames.text(head, "nonce")
        text = payload("connect", self._role, self._job, self._theirs, self._mine, self._keys.public, CIPHER,
                       self._where)
        self._say({"op": "hello", "nonce": self._mine, "role": self._role, "key": self._keys.public,
                   "cipher": CIPHER, "credential": self._munge.make(text, uid)})


class Listener:
    """Our side when we were connected to, and have read the preamble. hear() as above. serves: this role of our own
    user; None: all. role: theirs, when it is known."""

    def __init__(self, munge, where, say, job=0, serves="remote"):
        self._munge, self._where, self._say, self._job, self._serves = munge, where, say, job, serves
        self.role, self._mine, self._keys, self.seal = None, _nonce(), Keys(), None
        say({"op": "hello", "nonce": self._mine, "uid": os.geteuid()})

    def hear(self, head):
        """Takes a message of the connector."""
        if head["op"] != "hello":
            raise frames.Broken("no hello")
        role, theirs, key, offer = (frames.text(head, name) for name in ("role", "nonce", "key", "cipher"))
        said, uid = self._munge.read(frames.text(head, "credential"))
        if (said != payload("connect", role, self._job, self._mine, theirs, key, offer, self._where)
                or self._serves not in (None, role)):
            self._refuse("the credential was made for another connection")
        if self._serves and uid != os.geteuid():
            self._refuse(f"you are user {uid}, and only user {os.geteuid()} is served")
        self.role = role
        text = payload("accept", role, self._job, theirs, self._mine, self._keys.public, CIPHER, self._where)
        self._say({"op": "welcome", "key": self._keys.public, "cipher": CIPHER,
                   "credential": self._munge.make(text, uid)})
        self.seal = self._keys.seal(key, True)
        return True

    def _refuse(self, why):
        self._say({"op": "refused", "text": why})
        raise Refused(why)
