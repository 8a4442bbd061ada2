# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab up --ethernet`: pm-ethernetd in every host, on all data NICs; in a grid it is told by cluster.json
# how they lie. Knows nothing of what it does.

from . import daemon, output

PROGRAM = "pm-ethernetd"


def program():
    return daemon.program(PROGRAM, "leave out --ethernet")


def nics(plan):
    """The NICs that every host's daemon is given."""
    return ",".join(nic.name for nic in plan.hosts[0].nics if nic.dimension >= 0)


def arguments(plan, state):
    mode = [] if plan.options.mode == "auto" else ["--mode", plan.options.mode]
    if plan.options.grid:
        return ["--config", output.compiled_path(state), *mode]
    return ["--nics", nics(plan), *mode]


def start(plan, state):
    argv = [program(), *arguments(plan, state)]
    daemon.start(state, state.hosts, lambda host: argv)
