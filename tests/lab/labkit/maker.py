# SPDX-License-Identifier: BSD-3-Clause
#
# The process that a lab is tied to, its maker: a test, which takes its lab down by itself unless it is killed. A lab
# that is tied to none is a person's and stays until `sclab down`.
#
# On record are its pid, its start time, as pids are used again, and the pid namespace in which the pid means it.

import os
import re

from . import holder, kernel, state as states
from .errors import EXIT_REFUSED, EXIT_USAGE, LabError

VARIABLE = "SCLAB_MAKER"


def pid_namespace():
    return kernel.namespace_inode("/proc/self/ns/pid")


def of_environment():
    """The maker of a new lab, for its record; empty: there is none."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return []
    if not re.fullmatch("[1-9][0-9]{0,9}", text):
        raise LabError(f"{VARIABLE} is '{text}', but must be the number of a process: unset it, and the lab stays "
                       "until 'sclab down'", EXIT_USAGE)
    start = holder.start_time(int(text))
    if start is None:
        raise LabError(f"process {text}, which {VARIABLE} names, has ended: unset it, and the lab stays until "
                       "'sclab down'", EXIT_REFUSED)
    return [int(text), start, pid_namespace()]


def has_ended(state):
    """False also for a lab without a maker, and for a maker in another pid namespace, which nobody sees from here."""
    if not state.maker:
        return False
    pid, start, namespace = state.maker
    return state.boot != states.boot_id() or \
        (namespace == pid_namespace() and holder.start_time(pid) != start)


def words(state):
    """For a list of labs."""
    if not state.maker:
        return []
    return [f"maker {state.maker[0]}{' has ended' if has_ended(state) else ''}"]
