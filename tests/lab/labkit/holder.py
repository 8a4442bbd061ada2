# SPDX-License-Identifier: BSD-3-Clause
#
# Sleeping processes that keep mount namespaces; each does nothing and costs one page table.
#
# One per lab: the kernel lets no host's mount namespace hold a bind mount of another's, so `sclab rsh-agent`
# inside h0 reaches h1 by way of this process's mount namespace, that of `sclab up`.
#
# And one in each host whose mount namespace could not be bound to a name. Linux binds one only where its id is above
# that of the caller's own. Ids are no ages: each processor hands out some of its own, so a new one may be below
# in any namespace but the machine's first.

import contextlib
import os
import select
import signal

from . import kernel, state as states
from .errors import LabError


def start_time(pid):
    """In clock ticks since boot; None when there is no such process, or only its remains."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def sleep(lab):
    """Becomes the sleeping process."""
    os.setsid()
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.closerange(3, 1024)
    os.execv("/bin/sleep", [f"sclab:{lab}", "infinity"])


def fork_sleeper(lab, namespace=None):
    """Forks it, in that mount namespace: its pid, and where to write a byte once it is on record. Else it ends."""
    ready, report = os.pipe()
    recorded, tell = os.pipe()
    pid = kernel.fork()
    if pid == 0:
        try:
            os.close(tell)
            if namespace:
                with open(namespace, "rb") as f:
                    kernel.setns(f.fileno(), kernel.CLONE_NEWNS)
            os.write(report, b"+")
            if os.read(recorded, 1):
                sleep(lab)
        finally:
            os._exit(1)
    os.close(report)
    os.close(recorded)
    with open(ready, "rb") as f:
        if not f.read(1):
            os.close(tell)
            raise LabError(f"cannot keep mount namespace {namespace}: setns(2) was refused")
    return pid, tell


def start(state):
    """Starts the lab's holder; it ends by itself unless the state file comes to name it."""
    state.holder, tell = fork_sleeper(state.options.lab)
    state.holder_start = start_time(state.holder)
    state.save()
    os.write(tell, b"+")
    os.close(tell)


def keep_mounts(state, host, pid):
    """Starts the process that keeps the mount namespace of a host, in which `pid` is."""
    keeper, tell = fork_sleeper(state.options.lab, f"/proc/{pid}/ns/mnt")
    states.write_file(state.keeper_path(host), f"{keeper} {start_time(keeper)}")
    os.write(tell, b"+")
    os.close(tell)


def find_mounts(state, host):
    """Path of a host's mount namespace; None when there is none, or no longer."""
    bound = state.bind_path(host, "mnt")
    if kernel.is_namespace_file(bound):
        return bound
    try:
        with open(state.keeper_path(host), encoding="ascii") as f:
            keeper, start = map(int, f.read().split())
    except FileNotFoundError:
        return None
    return f"/proc/{keeper}/ns/mnt" if start_time(keeper) == start else None


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
    root = os.open(f"/proc/{state.holder}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    with open(f"/proc/{state.holder}/ns/mnt", "rb") as f:
        kernel.setns(f.fileno(), kernel.CLONE_NEWNS)
    # its root may lie below the namespace's
    os.fchdir(root)
    os.close(root)
    os.chroot(".")
    return True
