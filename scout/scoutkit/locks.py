# SPDX-License-Identifier: BSD-3-Clause
"""locks - the lock of scout's hosts: asked of scored as the options say, told of while it is waited for, missed when it
is lost."""

import os

from .loop import READ
from .terminal import say

CODE = 3    # exit code of scout without its lock


class Trouble(Exception):
    """No lock; the text says who has it, or what is wrong."""


class Lock:
    """hosts: those that were got. lost: None, or how the lock was lost."""

    def __init__(self, hosts, lease=None):
        self.hosts, self._lease = list(hosts), lease
        self._pipe = None

    @property
    def lost(self):
        """A sentence, once it is lost."""
        return self._lease.lost if self._lease else None

    def describe(self):
        """For those who ask."""
        if not self._lease:
            return "not locked"
        return f"lock lost: {self.lost}" if self.lost else f"lock {self._lease.id}"

    def watch(self, turns):
        """Tells when it is lost. Its thread writes into a pipe, so that the rest is done in the loop."""
        if not self._lease or self._pipe:
            return
        self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lease.on_lost = lambda _: os.write(self._pipe[1], b"\n")
        turns.watch(self._pipe[0], READ, lambda _: self._tell(turns))

    def _tell(self, turns):
        turns.forget(self._pipe[0])
        say(f"the hosts are no longer locked for you: {self.lost}")

    def release(self):
        """Gives it back; again does nothing."""
        if self._lease:
            self._lease.on_lost = None
            self._lease.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
        if self._pipe:
            for end in self._pipe:
                os.close(end)


def _waiting(position, holders):
    place = f"; place {position + 1} in the row" if position else ""
    say(f"waiting for the hosts: {'; '.join(holders) or 'they are free in a moment'}{place}")


def taken(options, names, mode):
    """A Lock, a context; Trouble."""
    if not options.lock:
        return Lock(names)
    from scorectl.link import Unreachable
    from scorectl.munge import Refused

    from .lease import Lease, reason_of
    reason = options.reason or ("scout session" if mode == "exclusive" else
                                reason_of(f"scout {' '.join(options.words)}"))
    lease = Lease(names, count=options.count, scatter=options.scatter, mode=mode, reason=reason, wait=options.wait,
                  force=options.force, server=options.server, munge_socket=options.munge_socket, on_waiting=_waiting)
    try:
        lock = Lock(lease.take(), lease)
        if options.verbose:
            from .hosts import fold
            say(f"{fold(lock.hosts)}: {lock.describe()}, {mode}")
        return lock
    except Unreachable as problem:
        raise Trouble(f"{problem}; without a lock: -no-lock") from None
    except Refused as refusal:
        raise Trouble(refusal) from None
