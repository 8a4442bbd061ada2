# SPDX-License-Identifier: BSD-3-Clause
"""loop - waits for descriptors, signals and times in one place, and calls who asked for them. Knows no protocol."""

import heapq
import itertools
import os
import select
import signal
import time

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READ, WRITE = select.EPOLLIN, select.EPOLLOUT
_SIGNALS_AT_ONCE = 4096


class Timer:
    """A timer of call_later()."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def cancel(self):
        """Its call is not made any more."""
        self.call = None


class Loop:
    """Also a context: signals are as they were when it is left."""

    def __init__(self):
        self._poll = select.epoll()
        self._calls = {}
        self._timers = []
        self._count = itertools.count()
        self._signals = {}
        self._before = {}
        self._wakeup = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Signals as before, nothing watched."""
        if self._wakeup:
            signal.set_wakeup_fd(-1)
            for number, handler in self._before.items():
                signal.signal(number, handler)
            for end in self._wakeup:
                os.close(end)
            self._wakeup = None
        self._poll.close()

    # ---- descriptors ----

    def watch(self, fd, events, call):
        """call(events) whenever one of them is; the same again with other events."""
        if fd in self._calls:
            self._poll.modify(fd, events)
        else:
            self._poll.register(fd, events)
        self._calls[fd] = call

    def forget(self, fd):
        """Of a descriptor that is still open."""
        if self._calls.pop(fd, None):
            self._poll.unregister(fd)

    # ---- times ----

    @staticmethod
    def now():
        """Seconds of the clock that timers go by."""
        return time.monotonic()

    def call_later(self, seconds, call):
        """Once, after so long."""
        timer = Timer(call)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._count), timer))
        return timer

    def _wait_s(self):
        while self._timers and not self._timers[0][2].call:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else -1

    def _run_timers(self):
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.call:
                timer.call()

    # ---- signals ----

    def on_signal(self, number, call):
        """call() in the loop; a signal that is ignored stays so."""
        before = signal.getsignal(number)
        if before == signal.SIG_IGN:
            return
        if not self._wakeup:
            self._wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            signal.set_wakeup_fd(self._wakeup[1], warn_on_full_buffer=False)
            self.watch(self._wakeup[0], READ, self._hear_signals)
        self._before.setdefault(number, before)
        self._signals[number] = call
        signal.signal(number, lambda *_: None)

    def _hear_signals(self, _):
        for number in os.read(self._wakeup[0], _SIGNALS_AT_ONCE):
            if number in self._signals:
                self._signals[number]()

    # ---- the turn ----

    def turn(self, is_waiting=True):
        """Waits for what comes next, and makes the calls."""
        ready = self._poll.poll(self._wait_s() if is_waiting else 0)
        for fd, events in ready:
            call = self._calls.get(fd)  # one call may forget another's descriptor
            if call:
                call(events)
        self._run_timers()

    def run_until(self, condition):
        """Turns until it is true."""
        while not condition():
            self.turn()
