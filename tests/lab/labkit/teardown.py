# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab down`, and the cleaning after a killed `sclab up`: removes what the state file names, in
# any stage of completion, and nothing that does not carry the lab's mark.

import contextlib
import os
import select
import signal
import time

from . import holder, kernel, scheduler, shaping, state as states
from .errors import EXIT_NO_LAB, LabError

KILL_TIMEOUT = 10     # seconds


def is_ours(state, path):
    with kernel.inside_net(path):
        return kernel.namespace_mark() == state.mark


def bound(state):
    """Namespace kind and path of all that is bound, or kept, and ours."""
    for name in state.namespaces:
        path = f"{states.NETNS}/{name}"
        if kernel.is_namespace_file(path) and is_ours(state, path):
            yield "net", path
    for host in state.hosts:
        path = state.bind_path(host, "uts")
        if kernel.is_namespace_file(path):
            yield "uts", path
        path = holder.find_mounts(state, host)
        if path:
            yield "mnt", path


def inhabitants(inodes):
    """Pids of the processes in any of the namespaces, given as (kind, inode)."""
    labels = {f"{kind}:[{inode}]" for kind, inode in inodes}
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        # a process that ends, or one that we may not look into, is none of ours
        with contextlib.suppress(OSError):
            if any(os.readlink(f"/proc/{pid}/ns/{kind}") in labels
                   for kind in ("net", "mnt", "uts")):
                found.append(int(pid))
    return found


def evict(state, inodes):
    """Kills the processes that live in the lab, as a power switch would."""
    deadline = time.monotonic() + KILL_TIMEOUT
    while True:
        pids = inhabitants(inodes)
        if not pids:
            return
        if time.monotonic() > deadline:
            raise LabError(f"process {pids[0]} in the lab does not end after SIGKILL: see what "
                           f"it waits for in /proc/{pids[0]}/stack, then run 'sclab down' again")
        fds = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                fd = os.pidfd_open(pid)
                fds.append(fd)
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        if state.options.scheduler:
            scheduler.thaw(state)
        for fd in fds:
            select.select([fd], [], [], max(0, deadline - time.monotonic()))
            os.close(fd)


def remove_name(path):
    if kernel.is_namespace_file(path):
        kernel.umount(path)
    os.unlink(path)


def may_use_htb(lab):
    try:
        state = states.load(lab)
    except LabError:        # damaged
        return True
    return state and state.options.limiter == "htb"


def remove(state):
    """The caller holds the lab's lock and has entered its base mount namespace."""
    state.phase = states.GOING
    state.save()
    bindings = list(bound(state))
    evict(state, {(kind, kernel.namespace_inode(path)) for kind, path in bindings})
    for kind, path in bindings:
        if kind == "net":
            remove_name(path)
    for name in state.namespaces:
        # a name whose namespace was never bound: the file that we made for it
        path = f"{states.NETNS}/{name}"
        if os.path.isfile(path) and not kernel.is_namespace_file(path) \
                and os.path.getsize(path) == 0:
            os.unlink(path)
    if state.options.scheduler:
        scheduler.remove(state)
    ns = f"{state.directory}/ns"
    while os.path.ismount(ns):
        kernel.umount(ns)
    holder.stop(state)
    states.remove_directory(state.options.lab)
    if state.options.limiter == "htb" and not any(map(may_use_htb, states.names())):
        shaping.forget_hysteresis()


def down(lab, is_due=lambda state: True):
    """Removes it if that is due once it is locked: nobody else builds or removes it then. False: it was not."""
    state = states.load(lab)
    if state:
        if holder.is_alive(state):
            holder.enter_base(state)
        refuse_inside(state)
    elif not os.path.isdir(states.directory_of(lab)):
        raise LabError(f"lab '{lab}' is not up", EXIT_NO_LAB)
    with states.locked(lab):
        state = states.load(lab)
        if not state:
            states.remove_directory(lab)
        elif is_due(state):
            remove(state)
        else:
            return False
    return True


def refuse_inside(state):
    here = kernel.namespace_inode("/proc/self/ns/net")
    for name in state.namespaces:
        path = f"{states.NETNS}/{name}"
        if kernel.is_namespace_file(path) and kernel.namespace_inode(path) == here:
            raise LabError(f"this is inside {name}: run 'sclab down' outside the lab")
