# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab up --ethernet`: pm-ethernetd in every host, on all data NICs. Knows nothing of what it does.

from . import daemon

PROGRAM = "pm-ethernetd"


def program():
    return daemon.program(PROGRAM, "leave out --ethernet")


def nics(plan):
    """What every host's daemon is given."""
    return ",".join(nic.name for nic in plan.hosts[0].nics if nic.dimension >= 0)


def start(plan, state):
    argv = [program(), "--nics", nics(plan)]
    daemon.start(state, state.hosts, lambda host: argv)
