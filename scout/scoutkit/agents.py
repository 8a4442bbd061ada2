# SPDX-License-Identifier: BSD-3-Clause
"""agents - the agents (scremote) of some hosts: who is there, what each is asked, which have fallen silent. Does not
know how they are reached (reach.py) nor what for (fanout.py, put.py, get.py, session.py)."""

from scorelink import frames

COMING, READY, GONE = "coming", "ready", "gone"
SILENT_S = 10   # a host that says nothing for so long while it is waited for is lost
_ASK_S = 3      # of silence, then it is asked
_TICK_S = 1


class Agent:
    """One host's. exchanges: what waits for an answer, by the number of its messages; each has message(agent, number,
    head, body) and lost(agent)."""

    def __init__(self, host, index):
        self.host, self.index = host, index
        self.state, self.why = COMING, ""
        self.stream = None      # of an agent of our own, None in a session
        self.exchanges = {}
        self.doors = []    # who wants to know the port of its door, in order
        self.since = 0.0        # we wait for it from then on
        self._say = None
        self.last = 0

    def send(self, head, body=b""):
        """One message; nothing without an agent."""
        if self.state == READY:
            self._say(head, body)

    def open(self, exchange, now):
        """The number of a new exchange."""
        if not self.exchanges:
            self.since = now
        self.last += 1
        self.exchanges[self.last] = exchange
        return self.last

    def open_as(self, number, exchange, now):
        """The same with a number that is new on several hosts (Agents.common)."""
        if not self.exchanges:
            self.since = now
        self.last = max(self.last, number)
        self.exchanges[number] = exchange

    def ask_door(self, told):
        """told(port) when it listens for a parent in a tree of files; None: it is gone."""
        if self.state != READY:
            told(None)
            return
        self.doors.append(told)
        self.send({"op": "door_wanted"})

    def close(self, number):
        """Ends an exchange: its later messages are dropped."""
        self.exchanges.pop(number, None)

    def hear(self, head, body):
        """A message from it; Broken."""
        if head["op"] == "pong":
            return
        if head["op"] == "door_open":
            port = frames.number(head, "port", 1, 65535)
            if self.doors:
                self.doors.pop(0)(port)
            return
        if head["op"] == "error" and "id" not in head and self.doors:
            self.doors.pop(0)(None)
            return
        number = frames.number(head, "id", low=1)
        exchange = self.exchanges.get(number)
        if exchange:
            exchange.message(self, number, head, body)


class Agents:
    """All of them, in order. Each of changes is called with an agent that is ready, or gone, from now on."""

    def __init__(self, turns, hosts):
        self.loop = turns
        self.all = [Agent(host, index) for index, host in enumerate(hosts)]
        self.changes = []
        self.is_idle_watched = False    # also those that are asked nothing
        self._tick = None
        self._due = 0.0

    def common(self):
        """A number that is new on all hosts."""
        return 1 + max(agent.last for agent in self.all)

    def are_known(self):
        """Whether none is on its way."""
        return all(agent.state != COMING for agent in self.all)

    def ready(self, agent, say, stream=None):
        """It is there; say(head, body) sends to it."""
        agent.state, agent._say, agent.stream = READY, say, stream
        agent.since = self.loop.now()
        if stream:
            stream.message = lambda head, body: self._hear(agent, head, body)
            stream.ended = lambda why: self.gone(agent, f"lost: {why}")
            self._watch()
        self._tell(agent)

    def gone(self, agent, why):
        """It is not there, and why; its exchanges are told first."""
        if agent.state == GONE:
            return
        agent.state, agent.why = GONE, why
        if agent.stream:
            agent.stream.close()
            agent.stream = None
        exchanges, agent.exchanges = agent.exchanges, {}
        for exchange in exchanges.values():
            exchange.lost(agent)
        while agent.doors:
            agent.doors.pop(0)(None)
        self._tell(agent)

    def close(self):
        """Lets go of all."""
        self.changes = []
        if self._tick:
            self._tick.cancel()
        for agent in self.all:
            agent.exchanges = {}
            if agent.stream:
                agent.stream.close()
                agent.stream = None
            agent.state = GONE

    def _tell(self, agent):
        for change in list(self.changes):
            change(agent)

    def _hear(self, agent, head, body):
        try:
            agent.hear(head, body)
        except frames.Broken as problem:
            self.gone(agent, f"lost: its agent sends {problem}")

    # ---- silence ----

    def _watch(self):
        if not self._tick:
            self._due = self.loop.now() + _TICK_S
            self._tick = self.loop.call_later(_TICK_S, self._look)

    def _look(self):
        now = self.loop.now()
        late = now - self._due      # we did not listen, as when our own output was held up
        for agent in self.all:
            if agent.state == READY and agent.stream and (agent.exchanges or self.is_idle_watched):
                if late > _TICK_S:
                    agent.since = now
                self._judge(agent, now)
        self._tick = None
        self._watch()

    def _judge(self, agent, now):
        silent = now - max(agent.since, agent.stream.heard)
        if silent > SILENT_S:
            self.gone(agent, f"lost: nothing was heard of it for {SILENT_S} s")
        elif silent > _ASK_S:
            agent.send({"op": "ping", "id": 1})
