# SPDX-License-Identifier: BSD-3-Clause
"""opening - the agents of some hosts for as long as a block of code: a loop, the ways to them, their end."""

import contextlib
import resource
import types

from scorectl.munge import Munge

from . import agents, hosts, loop, reach

_FILES = 64     # descriptors beside those of the hosts


def allow_files(count):
    """As many descriptors as the hosts need, if we may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


@contextlib.contextmanager
def reached(turns, names, cluster, options):
    """Agents on their way, in a loop; options as of reach.Reach."""
    allow_files(len(names))
    crew = agents.Agents(turns, names)
    way = reach.Reach(crew, cluster, options, Munge(options.munge_socket))
    crew.way = way
    try:
        way.start()
        yield crew
    finally:
        way.close()
        crew.close()
        way.end()


@contextlib.contextmanager
def hands(names, cluster=None, **options):
    """The same with a loop of its own, for programs."""
    with loop.Loop() as turns, reached(turns, names, cluster or hosts.Cluster(),
                                       types.SimpleNamespace(**options)) as crew:
        yield crew
