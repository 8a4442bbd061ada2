# SPDX-License-Identifier: BSD-3-Clause
"""locks - the lock of scout's hosts: asked of scored as the options say, told of while it is waited for, missed when it
is lost."""

import os

from .loop import READ
from .terminal import say

CODE = 3    # exit code of scout without its lock
_TURNS_S = 2    # others have their turns while scored takes its time, until it is silent for so long


class Trouble(Exception):
    """No lock; the text says who has it, or what is wrong."""


class Lock:
    """hosts: those that were got; of a lock that is_due those that take() gets, which calls taken(lock). lost: None, or
    how the lock was lost."""

    def __init__(self, hosts, lease=None, taken=None):
        self.hosts, self._lease, self._taken = list(hosts), lease, taken
        self.is_due = lease is not None
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

    def take(self, turns=None):
        """Gets the lock if it is due; Trouble. The loop does its other work while scored takes its time."""
        if not self.is_due:
            return
        from scorelink.link import Unreachable
        from scorelink.munge import Refused
        try:
            if turns:
                turns.turn(is_waiting=False)    # whoever is there already is to have something to do meanwhile
                self._lease.ask()
                self._turn(turns)
            self.hosts = self._lease.take()
        except Unreachable as problem:
            raise Trouble(f"{problem}; without a lock: -no-lock") from None
        except Refused as refusal:
            raise Trouble(refusal) from None
        self.is_due = False
        self._taken(self)

    def _turn(self, turns):
        said, fd = [], self._lease.answer_fd
        turns.watch(fd, READ, said.append)
        late = turns.call_later(_TURNS_S, lambda: said.append(None))
        try:
            turns.run_until(lambda: said)
        finally:
            late.cancel()
            turns.forget(fd)

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


def lock(options, names, mode):
    """A Lock, a context: due, so that something else can be done while scored takes its time. One that may have to be
    waited for, or whose hosts scored is to choose, is taken here; Trouble."""
    if not options.lock:
        return Lock(names)
    from .lease import Lease, reason_of

    def taken(one):
        if options.verbose:
            from .hosts import fold
            say(f"{fold(one.hosts)}: {one.describe()}, {mode}")
    reason = options.reason or ("scout session" if mode == "exclusive" else
                                reason_of(f"scout {' '.join(options.words)}"))
    made = Lock(names, Lease(
        names, count=options.count, scatter=options.scatter, mode=mode, reason=reason, wait=options.wait,
        force=options.force, server=options.server, munge_socket=options.munge_socket, on_waiting=_waiting), taken)
    if options.wait or options.force or options.count:
        made.take()
    return made
