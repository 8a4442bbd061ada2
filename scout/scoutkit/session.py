# SPDX-License-Identifier: BSD-3-Clause
"""session - "scout -g EXPR": keeps the agents of locked hosts for as long as a shell lives, and lends them to the
commands in it (inside.py) through a socket. Passes their messages on; ends what a command leaves when it goes."""

import os
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time

from scorelink import frames

from . import agents as states
from . import hosts, loop, tree
from .shell import raise_when_interrupted
from .stream import Stream
from .terminal import say

SOCKET = "session"      # in the session's directory
_BACKLOG = 128
_OPENS = ("run", "put", "get")
_LAST = {"run": ("ended", "error"), "get": ("file_done", "failed", "error"), "put": ()}
_HANGUP_S = 5           # for the shell to end when we are told to


class Relay:
    """One run, put or get of a command on a host, under a number of the command's own."""

    def __init__(self, client, number, kind):
        self.client, self.number, self.kind = client, number, kind

    def message(self, agent, number, head, body):
        """Of agents.py."""
        if head["op"] in _LAST[self.kind]:
            agent.close(number)
            if self.client:
                self.client.exchanges.pop((agent, self.number), None)
        if self.client:
            self.client.stream.send({**head, "id": self.number, "host": agent.index}, body)
        elif body and self.kind == "run":
            agent.send({"op": "out_room", "id": number, "bytes": len(body)})

    def lost(self, agent):
        """Of agents.py; clients are told by the session."""
        if self.client:
            self.client.exchanges.pop((agent, self.number), None)


class Client:
    """A command in the session."""

    def __init__(self, session, sock):
        self.session = session
        self.exchanges = {}     # (number of ours, Relay) by (agent, number of its)
        self.stream = Stream(session.agents.loop, sock, self._hear, self._gone)
        self.stream.send(session.greeting())

    def _gone(self, _):
        """Nothing of what it has begun goes on."""
        self.session.clients.discard(self)
        for (agent, _), (number, relay) in self.exchanges.items():
            relay.client = None
            if relay.kind in ("run", "get"):
                agent.send({"op": "signal", "id": number, "signal": int(signal.SIGKILL)})
            elif relay.kind == "put":
                agent.send({"op": "data", "id": number})  # too short: it is thrown away
        self.exchanges = {}

    def _hear(self, head, body):
        try:
            self._take(head, body)
        except frames.Broken:
            self.stream.close()
            self._gone(None)

    def _take(self, head, body):
        agents = self.session.agents
        agent = agents.all[frames.number(head, "host", high=len(agents.all) - 1)]
        del head["host"]
        if head["op"] == "door_wanted":
            agent.ask_door(lambda port: self.stream.send(
                {"op": "door_open", "port": port, "host": agent.index} if port else
                {"op": "error", "error": "ENOTSUP", "text": "it opens no door", "host": agent.index}))
            return
        theirs = frames.number(head, "id", low=1)
        if head["op"] in _OPENS and (agent, theirs) not in self.exchanges:
            if self.session.lock.lost:
                text = f"the hosts are no longer locked for you: {self.session.lock.lost}"
                self.stream.send({"op": "ended", "id": theirs, "host": agent.index, "status": 126 << 8,
                                  "error": "ENOLCK", "text": text})
                return
            self._open(agent, theirs, head)
        if (agent, theirs) in self.exchanges:
            agent.send({**head, "id": self.exchanges[agent, theirs][0]}, body)

    def _open(self, agent, theirs, head):
        agents = self.session.agents
        if head["op"] != "put":
            relay = Relay(self, theirs, head["op"])
            self.exchanges[agent, theirs] = (agent.open(relay, agents.loop.now()), relay)
            return
        # All in the tree answer with the same number.
        number = agents.common()
        try:
            names = {agent.host, *tree.names(head.get("children", ()))}
        except (TypeError, KeyError):
            raise frames.Broken("put: children that are none") from None
        for each in agents.all:
            if each.host in names and each.state == states.READY:
                relay = Relay(self, theirs, "put")
                each.open_as(number, relay, agents.loop.now())
                self.exchanges[each, theirs] = (number, relay)


class Session:
    """directory: of the socket and what else belongs to it."""

    def __init__(self, agents, lock, programs=None, address=None):
        self.agents, self.lock, self.clients = agents, lock, set()
        self._programs, self._address = programs, address
        self.since = time.time()
        self.directory = f"{os.environ.get('TMPDIR') or '/tmp'}/scout-{os.geteuid()}-{os.getpid()}-" \
                         f"{os.urandom(4).hex()}"
        os.mkdir(self.directory, 0o700)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.directory}/{SOCKET}")
        self._listener.listen(_BACKLOG)
        self._listener.setblocking(False)
        agents.loop.watch(self._listener.fileno(), loop.READ, self._on_client)
        agents.changes.append(self._on_change)
        agents.is_idle_watched = True

    def close(self):
        """Nobody is let in any more."""
        self.agents.changes.remove(self._on_change)
        self.agents.loop.forget(self._listener.fileno())
        self._listener.close()
        for client in list(self.clients):
            client.stream.close()
            client._gone(None)

    def remove(self):
        """Its directory."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def greeting(self):
        """The first message to a command."""
        found = os.fstat(0)
        return {"op": "session", "hosts": [agent.host for agent in self.agents.all], "pid": os.getpid(),
                "since": self.since, "lock": self.lock.describe(), "directory": self.directory,
                "programs": self._programs, "address": self._address,
                "gone": [[agent.index, agent.why] for agent in self.agents.all if agent.state == states.GONE],
                # One that reads commands from it may not lose them to what it runs.
                "stdin": [found.st_dev, found.st_ino]}

    def _on_client(self, _):
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        uid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid in (0, os.geteuid()):
            self.clients.add(Client(self, client))
        else:
            client.close()

    def _on_change(self, agent):
        if agent.state == states.GONE:
            say(f"{agent.host}: {agent.why}")
            for client in self.clients:
                client.stream.send({"op": "gone", "host": agent.index, "text": agent.why})


# ---- the shell ----

def _prompt(session, folded):
    """Words of a shell with a prompt that tells where one is."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    if os.path.basename(shell) != "bash":
        return [shell], {"PS1": f"[scout {folded}] {os.environ.get('PS1') or '$ '}"}
    with open(f"{session.directory}/bashrc", "w", encoding="utf-8") as file:
        file.write(f'test ! -f ~/.bashrc || . ~/.bashrc\nPS1="[scout {folded}] ${{PS1:-\\$ }}"\n')
    return [shell, "--rcfile", f"{session.directory}/bashrc"], {}


def _command(session, options, folded):
    if options.words:
        return options.words, {}
    if os.isatty(0):
        return _prompt(session, folded)
    return ["/bin/sh"], {}


def _path(program):
    """$PATH on which "scout" is this program, as it may have been called by its place."""
    path = os.environ.get("PATH") or os.defpath
    found = shutil.which("scout", path=path)
    return path if found and os.path.realpath(found) == program else f"{os.path.dirname(program)}:{path}"


class _Child:
    """The shell, or what is in its place."""

    def __init__(self, turns, words, env):
        self.loop, self.code = turns, None
        self._process = subprocess.Popen(words, env={**os.environ, **env})
        self._handle = os.pidfd_open(self._process.pid)
        turns.watch(self._handle, select.EPOLLIN, self._on_end)
        # ^C is for what runs in it.
        turns.on_signal(signal.SIGINT, lambda: None)
        turns.on_signal(signal.SIGQUIT, lambda: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            turns.on_signal(number, lambda number=number: self._hang_up(number))

    def _on_end(self, _):
        self.loop.forget(self._handle)
        os.close(self._handle)
        code = self._process.wait()
        self.code = code if code >= 0 else 128 - code

    def _hang_up(self, number):
        self._process.send_signal(number)
        self._process.send_signal(signal.SIGCONT)
        self.loop.call_later(_HANGUP_S, self._process.kill)


def _gathered(agents):
    """Waits for all; whether there is one."""
    raise_when_interrupted(agents.loop)
    agents.loop.run_until(agents.are_known)
    by_why = {}
    for agent in agents.all:
        if agent.state == states.GONE:
            by_why.setdefault(agent.why, []).append(agent.host)
    for why, names in by_why.items():
        say(f"{hosts.fold(names)}: {why}")
    return any(agent.state == states.READY for agent in agents.all)


def run(agents, options, lock):
    """The exit code of the shell."""
    if not _gathered(agents):
        say("none of the hosts was reached")
        return 255
    session = Session(agents, lock, options.programs, options.address)
    try:
        folded = hosts.fold([agent.host for agent in agents.all])
        words, env = _command(session, options, folded)
        program = os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../scout")
        env |= {"SCOUT_SESSION": f"{session.directory}/{SOCKET}", "SCOUT_PROGRAM": program,
                "PATH": _path(program)}
        if options.munge_socket:
            env["SCORE_MUNGE_SOCKET"] = options.munge_socket
        if not options.words and stat.S_ISCHR(os.fstat(0).st_mode) and os.isatty(0):
            say(f"{folded}: {lock.describe()}; scout COMMAND runs one there, exit ends the session")
        try:
            child = _Child(agents.loop, words, env)
        except OSError as problem:
            say(f"{words[0]}: {problem.strerror}")
            return 127 if isinstance(problem, FileNotFoundError) else 126
        agents.loop.run_until(lambda: child.code is not None)
        return child.code
    finally:
        session.close()
        from . import pool
        pool.end(agents, session.directory)
        session.remove()
