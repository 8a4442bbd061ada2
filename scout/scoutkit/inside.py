# SPDX-License-Identifier: BSD-3-Clause
"""inside - a command within a session: the session's agents, reached through its socket; what it knows of itself."""

import os
import socket
import struct
import time

from pmharmless import harmless
from scorelink import frames

from . import agents as states
from . import hosts
from .stream import Stream

_GREETING_S = 10


class Gone(Exception):
    """There is no such session; names the remedy."""

    code = 2    # of scout


def _check_owner(link, path):
    """Whoever holds a session sees what is run in it and names programs: when ours has ended, its place in a directory
    for all may be taken by others."""
    uid = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    if uid not in (0, os.geteuid()):
        link.close()
        raise Gone(f"the session is of user {uid}, who is neither root nor you ({path}); begin one of your own, or "
                   "unset SCOUT_SESSION")


class Joined:
    """The session whose socket it is, as a command sees it; a context."""

    def __init__(self, turns, path):
        self.loop, self._greeting, self._crew, self._agents = turns, None, None, {}
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(path)
        except OSError as problem:
            link.close()
            raise Gone(f"the session has ended ({path}: {problem.strerror}); begin another one, or unset "
                       "SCOUT_SESSION") from None
        _check_owner(link, path)
        self._stream = Stream(turns, link, self._hear, self._end)
        late = []
        timer = turns.call_later(_GREETING_S, lambda: late.append(True))
        turns.run_until(lambda: self._greeting or late)
        timer.cancel()
        if not self._greeting or late:
            self._stream.close()
            raise Gone(f"the session does not answer ({path}): is it stopped?")
        if not self._greeting["hosts"]:
            raise Gone(f"the session has ended ({path}); begin another one, or unset SCOUT_SESSION")
        self._gone = dict(map(tuple, self._greeting["gone"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def hosts(self):
        """All of the session."""
        return self._greeting["hosts"]

    @property
    def directory(self):
        """Where the session keeps what belongs to it."""
        return self._greeting["directory"]

    def option(self, name):
        """One of those that the session was begun with: programs, address."""
        return self._greeting[name]

    def absent(self):
        """Hosts that are not there."""
        return [self.hosts[index] for index in self._gone]

    def is_its_input(self):
        """Whether our standard input is the session's own, from which its shell may read commands."""
        try:
            found = os.fstat(0)
        except OSError:
            return False
        return [found.st_dev, found.st_ino] == self._greeting["stdin"]

    def close(self):
        """Closes the connection; the session then ends all that we have begun."""
        self._stream.close()

    # ---- messages ----

    def _end(self, _):
        if not self._greeting:
            self._greeting = {"hosts": [], "gone": []}
        for agent in self._crew.all if self._crew else ():
            self._crew.gone(agent, "lost: the session has ended")

    def _hear(self, head, body):
        if head["op"] == "session":
            self._greeting = head
            return
        index = frames.number(head, "host", high=len(self.hosts) - 1)
        agent = self._agents.get(index)
        if head["op"] == "gone":
            self._gone[index] = frames.text(head, "text")
            if agent:
                self._crew.gone(agent, self._gone[index])
        elif agent:
            agent.hear(head, body)

    def part(self, names):
        """Agents of some of the hosts."""
        places = {name: index for index, name in enumerate(self.hosts)}
        others = [name for name in names if name not in places]
        if others:
            raise hosts.Wrong(f"{hosts.fold(others)}: not in this session, which has {hosts.fold(self.hosts)}")
        self._crew = states.Agents(self.loop, names)
        self._agents = {places[agent.host]: agent for agent in self._crew.all}
        for index, agent in self._agents.items():
            if index in self._gone:
                self._crew.gone(agent, self._gone[index])
            else:
                self._crew.ready(agent, lambda head, body, index=index: self._stream.send(
                    {**head, "host": index}, body))
        return self._crew

    # ---- what it is ----

    def tell(self, options):
        """"scout" alone; 0 when all hosts are there."""
        by_why = {}
        for index, name in enumerate(self.hosts):
            by_why.setdefault(self._gone.get(index, "ready"), []).append(name)
        if options.output == "json":
            import json
            print(json.dumps({"hosts": self.hosts, "states": {why: names for why, names in by_why.items()},
                              "lock": self._greeting["lock"], "pid": self._greeting["pid"],
                              "since": self._greeting["since"]}))
        else:
            begun = time.strftime("%H:%M:%S", time.localtime(self._greeting["since"]))
            print(f"session of process {self._greeting['pid']} since {begun}, {self._greeting['lock']}")
            for why, names in by_why.items():
                print(f"{hosts.fold(names)}: {harmless(why)}")
        return 1 if self._gone else 0
