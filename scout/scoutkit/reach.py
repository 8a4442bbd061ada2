# SPDX-License-Identifier: BSD-3-Clause
"""reach - gets the agents of all hosts: from their scnodeds, and where there is none by pdsh, as -rsh says. Gives a
host up when its time is over."""

from . import agents as states
from .node import Approach

AT_ONCE = 256       # hosts that are approached at the same time
_GATHER_S = 1.0     # pdsh waits so long for others whose scnoded does not answer


class Reach:
    """options: rsh, through, connect, munge_socket, address, programs. is_held: scnodeds and we get to know each other,
    but no agent is started before go()."""

    def __init__(self, agents, cluster, options, munge, is_held=False):
        self.loop, self.agents, self.cluster = agents.loop, agents, cluster
        self._options, self._munge = options, munge
        self._by_name = {agent.host: agent for agent in agents.all}
        self._waiting = list(reversed(agents.all))
        self._approaches, self._limits = {}, {}
        self._for_pdsh, self._starts, self._gather = [], [], None
        self._is_held = is_held

    def start(self):
        """Answers come to the agents."""
        if self._options.rsh in ("ssh", "exec"):
            self._for_pdsh, self._waiting = list(reversed(self._waiting)), []
            for agent in self._for_pdsh:
                self._limit(agent)
            self._call_pdsh()
        self._approach()

    def go(self):
        """Agents are started from now on."""
        self._is_held = False
        for approach in list(self._approaches.values()):
            approach.go()
        if not self._gather:
            self._call_pdsh()

    def close(self):
        """Whoever is still on his way is given up; agents that came stay."""
        if self._gather:
            self._gather.cancel()
        for approach in self._approaches.values():
            approach.close()
        for limit in self._limits.values():
            limit.cancel()
        self._approaches, self._limits, self._waiting, self._for_pdsh = {}, {}, [], []
        for start in self._starts:
            start.close()

    def end(self):
        """Also what pdsh has left to run; to be called when the agents were let go."""
        self.close()
        for start in self._starts:
            start.end()
        self._starts = []

    def _limit(self, agent):
        seconds = self._options.connect
        self._limits[agent.index] = self.loop.call_later(seconds, lambda: self._give_up(
            agent, f"nothing was heard of it within {seconds:g} s"))

    def _settle(self, agent):
        limit = self._limits.pop(agent.index, None)
        if limit:
            limit.cancel()
        approach = self._approaches.pop(agent.index, None)
        if approach:
            approach.close()

    def _ready(self, agent, stream):
        self._settle(agent)
        if agent.state == states.COMING:
            self.agents.ready(agent, stream.send, stream)
        else:
            stream.close()
        self._approach()

    def _give_up(self, agent, why):
        self._settle(agent)
        if agent.state == states.COMING:
            self.agents.gone(agent, f"not reached: {why}")
        self._approach()

    # ---- by scnoded ----

    def _approach(self):
        while self._waiting and len(self._approaches) < AT_ONCE:
            agent = self._waiting.pop()
            self._limit(agent)
            self._approaches[agent.index] = Approach(
                self.loop, self._munge, self.cluster.address(agent.host), self.cluster.node_port,
                lambda stream, _, agent=agent: self._ready(agent, stream),
                lambda why, is_served, agent=agent: self._no_node(agent, why, is_served), self._is_held)

    def _no_node(self, agent, why, is_served):
        self._approaches.pop(agent.index, None)
        if self._options.rsh != "auto" or not is_served:
            self._give_up(agent, why)
            return
        agent.why = why
        self._for_pdsh.append(agent)
        if not self._gather:
            self._gather = self.loop.call_later(_GATHER_S, self._call_pdsh)
        self._approach()
        if not self._approaches:
            self._call_pdsh()

    # ---- by pdsh ----

    def _call_pdsh(self):
        if self._gather:
            self._gather.cancel()
            self._gather = None
        if self._is_held:
            return
        chosen, self._for_pdsh = [a for a in self._for_pdsh if a.state == states.COMING], []
        if not chosen:
            return
        from . import pdsh
        try:
            self._starts.append(pdsh.Start(
                self.loop, [agent.host for agent in chosen], self._options, self._munge,
                lambda host, stream, _: self._ready(self._by_name[host], stream),
                lambda host, words: self._not_by_pdsh(self._by_name[host], words)))
        except pdsh.Trouble as trouble:
            for agent in chosen:
                self._not_by_pdsh(agent, str(trouble))

    def _not_by_pdsh(self, agent, words):
        self._give_up(agent, f"{agent.why}; {words}" if agent.why else words)
