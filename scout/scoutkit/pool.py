# SPDX-License-Identifier: BSD-3-Clause
"""pool - the private scored of a session: started for the first scrun in it, with scnodeds that the session's agents
start; ended with the session. scorectl.private does it for scpool as well."""

import fcntl
import os
import pathlib
import types

from scorectl import command, private, scnodeds

from . import agents as states
from . import fanout, hosts

NAME = "scout"
_WAIT_S = 15.0


class _Keep:
    """A sink that only wants results."""

    @staticmethod
    def ended(result):
        """Nothing to be told."""


class Scnodeds(scnodeds.Scnodeds):
    """Over agents."""

    def __init__(self, record, agents):
        super().__init__(record["hosts"], record["base"])
        self._agents = agents

    def _host(self):
        return "$SCOUT_HOST"

    def _carry(self, text):
        work = fanout.Fanout(self._agents, ["/bin/sh", "-c", text], _Keep, directory="/",
                             timeout=scnodeds.COMMAND_S)
        work.start()
        self._agents.loop.run_until(work.is_over)
        self._agents.changes.remove(work.on_change)
        said = {}
        for one in work.results:
            words = (one.stdout.bytes() + one.stderr.bytes()).decode(errors="replace").strip() or one.words()
            if words:
                said.setdefault(words, []).append(one.host)
        text = "\n".join(f"{hosts.fold(names)}: {words}" for words, names in said.items())
        return max(one.code for one in work.results), text


def _cluster(directory, agents):
    return private.Cluster(pathlib.Path(directory) / "pool", NAME, lambda record: Scnodeds(record, agents))


def start(session, options):
    """The address of the session's scored, started if there is none; whoever else asks waits meanwhile."""
    with open(os.path.join(session.directory, "pool.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = _cluster(session.directory, None)
        try:
            return cluster.read()["server"]
        except (FileNotFoundError, KeyError):
            pass
        agents = session.part([name for name in session.hosts if name not in session.absent()])
        cluster = _cluster(session.directory, agents)
        # A name that nobody can have taken before.
        base = f"/tmp/openscore-pool-{os.geteuid()}.scout-{os.urandom(8).hex()}"
        record = {"hosts": [agent.host for agent in agents.all], "base": base, "munge_socket": options.munge_socket}
        chosen = types.SimpleNamespace(programs=session.option("programs"), address=session.option("address"),
                                       munge_socket=options.munge_socket, quantum=None, cores=None, wait=_WAIT_S)
        return cluster.up(record, chosen)["server"]


def end(agents, directory):
    """Ends the cluster that start() has started in a session; prints what could not be done."""
    cluster = _cluster(directory, agents)
    try:
        cluster.read()
    except (FileNotFoundError, ValueError):
        return
    there = states.Agents(agents.loop, [])
    there.all = [agent for agent in agents.all if agent.state == states.READY]
    cluster = _cluster(directory, there)
    cluster.read()
    for text in cluster.down(is_forced=True):
        command.complain(NAME, text)
