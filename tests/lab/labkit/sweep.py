# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab sweep`: removes labs whose maker has ended, and directories in which a killed `sclab up` had put nothing
# yet. A lab that cannot be removed is named, and the others go all the same.

import os
import sys
import traceback

from . import kernel, maker, state as states, teardown
from .errors import EXIT_NO_LAB, LabError, status_of


def remove(lab):
    state = states.load(lab)
    if state and not maker.has_ended(state):
        return
    if teardown.down(lab, maker.has_ended) and state:
        print(f"lab '{lab}' is removed: its maker, process {state.maker[0]}, has ended", flush=True)


def status_of_removal(lab, is_named):
    try:
        remove(lab)
    except LabError as e:
        # one that nobody named may have gone meanwhile
        if not is_named and e.status == EXIT_NO_LAB:
            return 0
        print(f"sclab: {e}", file=sys.stderr, flush=True)
        return e.status
    except OSError as e:
        print(f"sclab: lab '{lab}': {e.filename or 'system call'}: {e.strerror}", file=sys.stderr, flush=True)
        return status_of(e.errno)
    return 0


def remove_apart(lab, is_named):
    """In a process of its own, as it goes to the mount namespace of the lab; its pid."""
    pid = kernel.fork()
    if pid:
        return pid
    status = 1
    try:
        status = status_of_removal(lab, is_named)
    except Exception:       # a fault of ours
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def sweep(labs):
    """These, or all there are; the highest exit status of them."""
    codes = [os.waitstatus_to_exitcode(os.waitpid(remove_apart(lab, bool(labs)), 0)[1])
             for lab in labs or states.names()]
    return max((128 - code if code < 0 else code for code in codes), default=0)
