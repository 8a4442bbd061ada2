# SPDX-License-Identifier: BSD-3-Clause
"""put - "scout -put": files to all hosts. Two hosts get a file from us and pass each piece on, so that all have it soon
after the first; whoever was cut off by another's failure gets it from us afterwards."""

import os
import stat

from scorelink import frames

from . import agents as states
from . import result, staged, tree
from .shell import raise_when_interrupted
from .terminal import say

_PARENT_LOST = ("ECONNRESET", "EPIPE")  # as a host says that lost the one it got the file from
_DOOR_S = 5     # for a host to open its door; else it gets the file from us


class Trouble(Exception):
    """A file that can't be sent."""


class File:
    """One that is to be sent: open, measured."""

    def __init__(self, path, target):
        import hashlib
        self.path, self.target = path, target
        try:
            found = os.stat(path)
            if stat.S_ISDIR(found.st_mode):
                raise Trouble(f"{path}: it is a directory; send it so: tar c {path} | scout -g ... tar x -C "
                              f"{os.path.dirname(target) or '.'}")
            if not stat.S_ISREG(found.st_mode):
                raise Trouble(f"{path}: it is no regular file")
            self.handle = open(path, "rb", buffering=0)
            digest = hashlib.file_digest(self.handle, "sha256")
        except OSError as problem:
            raise Trouble(f"{path}: {problem.strerror}") from None
        self.size, self.sha256 = found.st_size, digest.hexdigest()
        self.mode, self.mtime_ns = stat.S_IMODE(found.st_mode), found.st_mtime_ns

    def order(self):
        """The message that orders the file from an agent."""
        return {"op": "put", "path": self.target, "mode": self.mode, "size": self.size, "sha256": self.sha256,
                "mtime_ns": self.mtime_ns}

    def read(self, at):
        """A piece; empty at the end."""
        return os.pread(self.handle.fileno(), min(frames.CHUNK, self.size - at), at)


def targets(words):
    """(file, where it goes) of FILE... DEST; one that ends in / or gets several files is a directory."""
    *paths, destination = words
    is_directory = len(paths) > 1 or destination.endswith("/") or os.path.basename(destination) in (".", "..")
    for path in paths:
        name = os.path.basename(os.path.normpath(path))
        yield path, os.path.join(destination, name) if is_directory else destination


class Sending:
    """One file to some hosts: first by the tree, then once more to those who were cut off."""

    def __init__(self, agents, file, address, limit):
        self.agents, self.loop, self.file, self._address, self._limit = agents, agents.loop, file, address, limit
        self.words = {}         # by host: "" or what went wrong
        self.codes = {}
        self._cut = []
        self._wanted = []
        self._room, self._at, self._number = {}, {}, None
        self._below = {}        # names below a host, in this round

    # ---- rounds ----

    def run(self, doors):
        """Sends it; doors: ports of those who may be in the tree."""
        there = [agent for agent in self.agents.all if agent.state == states.READY]
        ordered = [agent.host for agent in there if doors.get(agent)]
        where = {agent.host: hosts_address(self._address(agent.host), doors[agent]) for agent in there if
                 doors.get(agent)}
        roots = tree.children(ordered, where.get) if len(ordered) > tree.WIDTH else []
        inside = set(tree.names(roots))
        roots += [{"host": agent.host, "children": []} for agent in there if agent.host not in inside]
        self._round(roots)
        again = [host for host in self._cut if host not in self.words and self._agent(host).state == states.READY]
        if again:
            self._round([{"host": host, "children": []} for host in again])
        rest = staged.LATE if self._limit.is_over else ("cut off twice", result.NOT_REACHED)
        for agent in self.agents.all:
            if agent.host not in self.words:
                self.words[agent.host], self.codes[agent.host] = \
                    (agent.why, result.NOT_REACHED) if agent.why else rest

    def _agent(self, host):
        return next(agent for agent in self.agents.all if agent.host == host)

    def _round(self, roots):
        self._cut = []
        if self._limit.is_over:
            return
        self._number = self.agents.common()
        self._wanted = tree.names(roots)
        self._below = tree.below(roots)
        by_name = {agent.host: agent for agent in self.agents.all}
        for host in self._wanted:
            by_name[host].open_as(self._number, self, self.loop.now())
        order = self.file.order()
        self._room = {by_name[node["host"]]: frames.ROOM for node in roots}
        self._at = dict.fromkeys(self._room, 0)
        for node in roots:
            by_name[node["host"]].send({**order, "id": self._number, "children": node["children"]})
        for agent in list(self._room):
            self._feed(agent)
        # A host throws a file away that has not come completely by then, as the connection ends.
        self.loop.run_until(lambda: not self._wanted or self._limit.is_over)
        for agent in self.agents.all:
            agent.close(self._number)

    def _feed(self, agent):
        """Each at its own pace: what one has no room for holds up no other."""
        while agent in self._room and self._room[agent] > 0:
            data = self.file.read(self._at[agent])
            agent.send({"op": "data", "id": self._number}, data)
            self._room[agent] -= len(data)
            self._at[agent] += len(data)
            if not data:
                del self._room[agent]

    # ---- answers ----

    def _settle(self, host, words, code):
        if host in self._wanted:
            self._wanted.remove(host)
            self.words[host], self.codes[host] = words, code

    def message(self, agent, _, head, __):
        """Of agents.py."""
        op = head["op"]
        if op == "in_room" and agent in self._room:
            self._room[agent] += frames.number(head, "bytes", 1, frames.ROOM - self._room[agent])
            self._feed(agent)
        elif op == "file_done":
            self._settle(agent.host, "", 0)
        elif op in ("failed", "error"):
            if head.get("error") in _PARENT_LOST and agent not in self._at:
                self._cut_off([agent.host])
            else:
                self._settle(agent.host, result.plain(head, agent.host), 1)
        elif op == "cut":
            names = head.get("hosts")
            if not isinstance(names, list):
                raise frames.Broken("cut: \"hosts\" is missing")
            self._cut_off(names)

    def _cut_off(self, names):
        for host in names:
            if host in self._wanted:
                self._wanted.remove(host)
                self._cut.append(host)

    def lost(self, agent):
        """Of agents.py. The hosts below a lost one get no more of the file from it."""
        self._room.pop(agent, None)
        self._settle(agent.host, agent.why, result.NOT_REACHED)
        self._cut_off(self._below.get(agent.host, ()))


def hosts_address(host, port):
    """ADDRESS:PORT."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def ask_doors(agents, limit):
    """Ports of all that answer in time, by agent."""
    doors, waiting = {}, set()

    def told(agent, port):
        waiting.discard(agent)
        if port:
            doors[agent] = port
    for agent in agents.all:
        if agent.state == states.READY:
            waiting.add(agent)
            agent.ask_door(lambda port, agent=agent: told(agent, port))
    timeout = staged.Limit(agents.loop, _DOOR_S)
    agents.loop.run_until(lambda: not waiting or timeout.is_over or limit.is_over)
    timeout.close()
    return doors


def send(agents, file, address, limit):
    """(words by host, codes by host) of one file."""
    sending = Sending(agents, file, address, limit)
    there = sum(agent.state == states.READY for agent in agents.all)
    sending.run(ask_doors(agents, limit) if there > tree.WIDTH else {})
    return sending.words, sending.codes


def run(agents, options, cluster):
    """The exit code."""
    try:
        files = [File(*each) for each in targets(options.words)]
    except Trouble as trouble:
        say(trouble)
        return 1
    raise_when_interrupted(agents.loop)
    agents.loop.run_until(agents.are_known)
    limit, ends = staged.Limit(agents.loop, options.timeout), []
    for file in files:
        begun = agents.loop.now()
        words, codes = send(agents, file, cluster.address, limit)
        ends += [staged.End(agent.host, file.path, file.target, file.size, words[agent.host], codes[agent.host])
                 for agent in agents.all]
        if options.verbose:
            say(f"{file.path}: {file.size} bytes to {sum(not code for code in codes.values())} hosts in "
                f"{agents.loop.now() - begun:.2f} s")
    limit.close()
    return staged.tell(ends, options)
