# SPDX-License-Identifier: BSD-3-Clause
"""lease - a lock of hosts, held at scored for as long as somebody here renews it."""

import os
import socket
import threading
import time

from pmharmless import harmless
from scorectl import server as scored
from scorelink.link import SILENCE_S, Link, Unreachable
from scorelink.munge import Refused

LEASE_S = 60      # it ends when nobody renews it for so long
_RENEW_S = 5.0    # often enough to hear soon who has taken it
_AGAIN_S = 1.0    # between two attempts to reach a scored that is gone
_GOODBYE_S = 2.0  # for the last word: what is not given back ends by itself
_COMMAND_MAX = 80
_REASON_MAX = 200  # bytes that scored takes


class TooLong(Exception):
    """The lock was not to be had in time."""


class Busy(Refused):
    """Others have the hosts; the text says who."""


class Lost(Exception):
    """The lock was held and is no more; the text says to whom it was lost."""


def reason_of(command):
    """The reason when the user gives none: his command, as scored takes it. Commands may have lines, and be long."""
    return harmless(command[:_COMMAND_MAX]).encode()[:_REASON_MAX].decode(errors="ignore")


def _place():
    """The holder of a lock, for people: host and process."""
    return f"{socket.gethostname()} {os.getpid()}"


class Lease:
    """A lock of hosts. Names only: groups and expressions are the caller's to expand.

    hosts      names, in the order in which take() gives them
    count      any so many of them, neighbours in that order (scatter: need not be); None: all
    mode       "shared" (beside jobs and other shared locks) or "exclusive" (no job, no other lock of anybody else)
    reason     why, for all to read
    wait       waits for its turn instead of being refused; timeout: seconds at most, then TooLong
    force      takes them from whoever has them (operators; is recorded). Jobs are waited for all the same
    server, munge_socket   as the options of scqueue; None: the usual places
    on_waiting(position, holders)   called by take() as often as it changes: place in the row, sentences
    on_lost(text)   called once, by another thread, when the lock is lost

    ask()      what take() begins with, for who has something to do while scored answers; raises as take() does.
    answer_fd  after ask(): can be read when take() need not wait.
    take() -> the hosts. Raises Busy (the text says who has them), Refused (it may not be), Unreachable, TooLong. From
    then on a daemon thread renews it, also with a scored that was started anew, until release().
    lost       None, or how it was lost, a sentence: taken by force, released by an operator, not renewed in time.
    check()    raises Lost if it is.
    release()  gives it back; never raises, may be called again. Also by "with Lease(...) as lease:", which takes it.
    id, hosts, lease_s   of the lock, once it is taken.
    """

    def __init__(self, hosts, count=None, scatter=False, mode="shared", reason="", wait=False, force=False, server=None,
                 munge_socket=None, on_waiting=None, on_lost=None, timeout=None, lease_s=LEASE_S):
        self.server = scored.address(server)
        self.munge_socket = munge_socket
        self.on_waiting, self.on_lost = on_waiting, on_lost
        self.timeout = timeout
        self.lease_s = lease_s
        self.hosts = list(hosts)
        self.id = self.lost = None
        reason = reason.encode(errors="replace").decode()   # words of a command line may be no UTF-8
        self._request = {"op": "lock", "hosts": self.hosts, "mode": mode, "reason": reason, "place": _place(),
                         "lease_s": lease_s, "scatter": scatter, "wait": wait, "force": force,
                         **({} if count is None else {"count": count})}
        self._link = None
        self._is_asked = False  # and the answer not read
        self._heard = 0.0  # when it was renewed last
        self._talking = threading.Lock()
        self._end = threading.Event()   # release() was called
        self._renewing = None           # the thread

    def __enter__(self):
        self.take()
        return self

    def __exit__(self, *_):
        self.release()

    # ---- taking ----

    def ask(self):
        """Tells scored what is wanted."""
        try:
            self._connect()
            self._heard = time.monotonic()
            self._link.send(self._request)
        except BaseException:
            self._hang_up()
            raise
        self._is_asked = True

    @property
    def answer_fd(self):
        """A descriptor."""
        return self._link.socket.fileno()

    def take(self):
        """The hosts, when they are ours."""
        end = None if self.timeout is None else time.monotonic() + self.timeout
        is_queued = False
        while True:
            try:
                self._connect()
                # A scored that goes away while we wait comes back; the row begins anew then.
                is_queued = True
                self._take(end)
                break
            except Unreachable:
                self._hang_up()
                if not is_queued or not self._request["wait"] or time.monotonic() - self._heard > self.lease_s:
                    raise
            except BaseException:
                self._hang_up()
                raise
            time.sleep(_AGAIN_S)
        self._renewing = threading.Thread(target=self._renew_on, daemon=True)
        self._renewing.start()
        return self.hosts

    def _take(self, end):
        if not self._is_asked:
            self.ask()
        while True:
            answer = self._answer(end)
            self._is_asked = False
            self._heard = time.monotonic()
            if answer["op"] != "waiting":
                break
            if self.on_waiting:
                self.on_waiting(answer["position"], answer["holders"])
        if answer["op"] != "locked":
            kind = Busy if answer.get("error") == "EBUSY" else Refused
            raise kind(answer.get("text", "scored gives no locks: it is of another version"))
        self.id, self.hosts, self.lease_s = answer["id"], answer["hosts"], answer["lease_s"]
        self._link.socket.settimeout(SILENCE_S)

    def _answer(self, end):
        """The next answer of scored. A long silence is no error while another has the lock."""
        if not self._request["wait"]:
            return self._link.receive()
        left = None if end is None else max(0.01, end - time.monotonic())
        self._link.socket.settimeout(left)
        try:
            return self._link.receive()
        except Unreachable:
            if end is not None and time.monotonic() >= end:
                raise TooLong(f"the hosts were not to be had within {self.timeout:g} s") from None
            raise

    # ---- holding ----

    def _renew_on(self):
        pause = min(self.lease_s / 3, _RENEW_S)
        while not self._end.wait(pause):
            is_renewed = self.renew()
            if self.lost:
                return
            pause = min(self.lease_s / 3, _RENEW_S if is_renewed else _AGAIN_S)

    def renew(self):
        """Once, now; whether it could be done. The thread does it in time."""
        with self._talking:
            if self._end.is_set() or self.lost:
                return False
            began = time.monotonic()
            try:
                text = self._renew()
            except (Unreachable, Refused) as problem:
                self._hang_up()
                if time.monotonic() - self._heard < self.lease_s:
                    return False
                text = f"the lock was not renewed for {self.lease_s:g} s: {problem}"
            if not text:
                self._heard = began
                return True
            self.lost = text
        if self.on_lost:
            self.on_lost(text)
        return False

    def _renew(self):
        """None, or how it was lost."""
        self._connect()
        self._link.send({"op": "renew", "id": self.id})
        answer = self._link.receive()
        if answer["op"] != "error":
            return None
        if answer.get("error") == "ENOENT":
            return answer["text"]
        raise Refused(answer["text"])  # too many connections, for instance: it is still ours

    def check(self):
        """Raises Lost."""
        if self.lost:
            raise Lost(self.lost)

    def release(self):
        """Gives the lock back. If scored can't be told, the lock ends by itself, after lease_s."""
        if self._end.is_set():
            return
        self._end.set()
        if not self._talking.acquire(timeout=_GOODBYE_S):
            return
        try:
            if self._is_asked and not self._request["wait"]:
                self._link.socket.settimeout(_GOODBYE_S)
                self._take(None)  # it may be ours already
            if self.id is not None and not self.lost:
                self._connect()
                self._link.socket.settimeout(_GOODBYE_S)
                self._link.ask({"op": "unlock", "id": self.id})
        except (Unreachable, Refused, OSError):
            pass
        finally:
            self._hang_up()
            self._talking.release()
            # Python crashes when a thread comes back to it while it ends itself.
            if self._renewing and self._renewing is not threading.current_thread():
                self._renewing.join(_GOODBYE_S)

    # ---- the connection ----

    def _connect(self):
        if not self._link:
            self._link = Link(self.server, munge_socket=self.munge_socket)
            # A host that goes away without a word is noticed also by who waits.
            self._link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5)
            self._link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
            self._link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def _hang_up(self):
        self._is_asked = False
        if self._link:
            self._link.socket.close()
            self._link = None
