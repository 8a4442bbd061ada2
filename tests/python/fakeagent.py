# SPDX-License-Identifier: BSD-3-Clause
"""Agents for tests, on socket pairs: each speaks scremote's messages as a thread that runs a script of the test."""

import hashlib
import os
import pathlib
import socket
import sys
import threading

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scout"), str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scorelink import frames  # noqa: E402
from scoutkit import agents, loop, stream  # noqa: E402

TIME_LIMIT = 20


class Fake:
    """The agent's end. script(fake, head, body) is called with each message."""

    def __init__(self, host, script):
        self.host, self.script, self.heard = host, script, []
        self.ours, self._socket = socket.socketpair()
        self._socket.settimeout(TIME_LIMIT)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        decoder = frames.Decoder()
        try:
            while True:
                data = self._socket.recv(1 << 16)
                if not data:
                    return
                decoder.feed(data)
                for head, body in decoder.messages():
                    self.heard.append((head, body))
                    self.script(self, head, body)
        except OSError:
            return

    def say(self, head, body=b""):
        """One message to scout."""
        self._socket.sendall(frames.encode(head, body))

    def raw(self, data):
        """Bytes that need be no message."""
        self._socket.sendall(data)

    def die(self):
        """As of a host that is gone."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def ended(self, head, status=0, **more):
        """The end of a run."""
        self.say({"op": "ended", "id": head["id"], "status": status, **more})

    def ops(self):
        """The operations of the messages received so far, in order."""
        return [head["op"] for head, _ in self.heard]


def prints(out=b"", err=b"", status=0):
    """A script: each run prints this and ends."""
    def script(fake, head, _):
        if head["op"] == "run":
            for number, data in ((1, out), (2, err)):
                for at in range(0, len(data), frames.CHUNK):
                    fake.say({"op": "out", "id": head["id"], "stream": number}, data[at:at + frames.CHUNK])
            fake.ended(head, status)
    return script


def cat():
    """A script: each run prints what it is fed, and gives room for more."""
    def script(fake, head, body):
        if head["op"] == "in" and body:
            fake.say({"op": "out", "id": head["id"], "stream": 1}, body)
            fake.say({"op": "in_room", "id": head["id"], "bytes": len(body)})
        elif head["op"] == "in":
            fake.ended(head)
    return script


def files(directory):
    """A script: keeps what is put in a directory, gives what is asked for from it."""
    kept = {}

    def script(fake, head, body):
        number = head.get("id")
        if head["op"] == "put":
            kept[number] = (head, bytearray())
        elif head["op"] == "data" and body:
            kept[number][1].extend(body)
            fake.say({"op": "in_room", "id": number, "bytes": len(body)})
        elif head["op"] == "data":
            order, data = kept.pop(number)
            digest = hashlib.sha256(data).hexdigest()
            if digest != order["sha256"]:
                fake.say({"op": "failed", "id": number, "error": "EIO", "text": "another checksum"})
                return
            (directory / os.path.basename(order["path"])).write_bytes(data)
            fake.say({"op": "file_done", "id": number, "sha256": digest})
        elif head["op"] == "get":
            give(fake, directory, head)
    return script


def give(fake, directory, head):
    """Answers "get"."""
    try:
        data = (directory / os.path.basename(head["path"])).read_bytes()
    except FileNotFoundError:
        fake.say({"op": "failed", "id": head["id"], "error": "ENOENT", "text": f"{head['path']}: it is not there"})
        return
    fake.say({"op": "file", "id": head["id"], "size": len(data), "mode": 0o640, "mtime_ns": 10**18})
    fake.say({"op": "data", "id": head["id"]}, data)
    fake.say({"op": "data", "id": head["id"]})
    fake.say({"op": "file_done", "id": head["id"], "sha256": hashlib.sha256(data).hexdigest()})


class FakeAgents:
    """Agents that talk to fakes, for the life of a `with`; scripts {host: script}, None: a host that is not reached."""

    def __init__(self, scripts):
        self.loop = loop.Loop()
        self.agents = agents.Agents(self.loop, list(scripts))
        self.fakes = {host: Fake(host, script) for host, script in scripts.items() if script}

    def __enter__(self):
        for agent in self.agents.all:
            fake = self.fakes.get(agent.host)
            if not fake:
                self.agents.gone(agent, "not reached: no route to host")
                continue
            link = stream.Stream(self.loop, fake.ours, lambda *_: None, lambda _: None)
            self.agents.ready(agent, link.send, link)
        return self

    def __exit__(self, *_):
        self.agents.close()
        self.loop.close()
