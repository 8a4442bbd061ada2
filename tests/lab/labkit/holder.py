# SPDX-License-Identifier: BSD-3-Clause
#
# One sleeping process per lab. The kernel lets no host's mount namespace hold a bind mount of
# another's, so `sclab rsh-agent` inside h0 reaches h1 by way of this process's mount namespace,
# that of `sclab up`. It does nothing and costs one page table.

import contextlib
import os
import select
import signal

from . import kernel
from .errors import LabError


def start_time(pid):
    """In clock ticks since boot; None when there is no such process, or only its remains."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def start(state):
    """Starts the holder; it ends by itself unless the state file comes to name it."""
    recorded, tell = os.pipe()
    pid = kernel.fork()
    if pid == 0:
        try:
            os.close(tell)
            if os.read(recorded, 1):
                os.setsid()
                os.chdir("/")
                null = os.open("/dev/null", os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.closerange(3, 1024)
                os.execv("/bin/sleep", [f"sclab:{state.options.lab}", "infinity"])
        finally:
            os._exit(1)
    os.close(recorded)
    state.holder, state.holder_start = pid, start_time(pid)
    state.save()
    os.write(tell, b"+")
    os.close(tell)


def is_alive(state):
    return bool(state.holder) and start_time(state.holder) == state.holder_start


def stop(state):
    if not is_alive(state):
        return
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(state.holder)
        if is_alive(state):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            select.select([fd], [], [], 5)
        os.close(fd)


def enter_base(state):
    """Goes to the mount namespace the lab was built from; False if we are there already."""
    if kernel.namespace_inode("/proc/self/ns/mnt") == state.base_mnt:
        return False
    if not is_alive(state):
        raise LabError(f"process {state.holder}, which keeps lab '{state.options.lab}' reachable "
                       "from inside its hosts, is gone: run sclab outside the lab, "
                       "or 'sclab down' and 'sclab up'")
    with open(f"/proc/{state.holder}/ns/mnt", "rb") as f:
        kernel.setns(f.fileno(), kernel.CLONE_NEWNS)
    return True
