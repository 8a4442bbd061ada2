# SPDX-License-Identifier: BSD-3-Clause
#
# Where labs of virtual machines have their files, and who holds them. A lab is its directory, locked by
# the keeper for as long as that lives: what is not locked has been left behind by one that was killed.

import contextlib
import fcntl
import os
import shutil

from .errors import EXIT_NOT_ROOT, EXIT_REFUSED, LabError


def base():
    if not os.geteuid():
        return "/run/openscore-vm"
    own = os.environ.get("XDG_RUNTIME_DIR")
    if not own:
        raise LabError("XDG_RUNTIME_DIR is not set, so there is no place for the lab's files: log in by a "
                       "session that has one, or run it with sudo", EXIT_NOT_ROOT)
    return f"{own}/openscore-vm"


def directory(lab):
    return f"{base()}/{lab}"


def control_path(lab):
    return f"{directory(lab)}/control"


def names():
    with contextlib.suppress(FileNotFoundError):
        return sorted(n for n in os.listdir(base()) if os.path.isdir(f"{base()}/{n}"))
    return []


def try_lock(path):
    """Descriptor of the locked directory, None if somebody holds it."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def is_same(path, fd):
    try:
        return os.stat(path).st_ino == os.fstat(fd).st_ino
    except FileNotFoundError:
        return False


def claim(lab):
    """Makes the lab's directory, empty, and locks it; the lock is the descriptor's."""
    path = directory(lab)
    while True:
        os.makedirs(path, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            fd = try_lock(path)
            if fd is None:
                raise LabError(f"lab '{lab}' of virtual machines is up already, or is being built or removed: run "
                               "'sclab --vm down' first, or build another with --name", EXIT_REFUSED)
            if is_same(path, fd):
                break
            os.close(fd)        # it was removed before we had it
    clear(path)
    return fd


def clear(path):
    for entry in os.scandir(path):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def remove(lab):
    """By who holds it."""
    shutil.rmtree(directory(lab))
    with contextlib.suppress(OSError):      # other labs live there
        os.rmdir(base())
