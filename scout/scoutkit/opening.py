# SPDX-License-Identifier: BSD-3-Clause
"""opening - the agents of some hosts for as long as a block of code: a loop, the ways to them, their end."""

import os

from scorelink.munge import Munge

from . import reach
from .agents import Agents

_FILES = 64     # descriptors beside those of the hosts


def allow_files(count):
    """As many descriptors as the hosts need, if we may."""
    wanted = count + _FILES
    if not 0 <= os.sysconf("SC_OPEN_MAX") < wanted:  # -1: no limit
        return
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class _Way:
    """A context that gives the agents, and ends with them. A class, as contextlib takes a while to load."""

    def __init__(self, agents, way):
        self._agents, self._way = agents, way
        agents.way = way

    def __enter__(self):
        try:
            self._way.start()
        except BaseException:
            self.__exit__()
            raise
        return self._agents

    def __exit__(self, *_):
        self._way.close()
        self._agents.close()
        self._way.end()


def reached(turns, names, cluster, options, is_held=False):
    """Agents on their way, in a loop; options and is_held as of reach.Reach. Their way is the agents' way."""
    allow_files(len(names))
    agents = Agents(turns, names)
    return _Way(agents, reach.Reach(agents, cluster, options, Munge(options.munge_socket), is_held))
