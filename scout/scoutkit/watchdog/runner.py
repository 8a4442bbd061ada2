# SPDX-License-Identifier: BSD-3-Clause
"""runner - does what core.py says, and tells it what happens: processes, signals, the clock. One thread."""

import os
import selectors
import signal
import socket
import time

from . import core
from .process import Process


def _notify(text):
    """To the service manager that started us, if one did."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            try:
                out.sendto(text.encode(), "\0" + path[1:] if path.startswith("@") else path)
            except OSError:
                pass    # it went away; there is nobody to tell


class Runner:
    """daemon, probe: work of process.py; hooks: name -> function of (reason, count) that makes such work."""

    def __init__(self, settings, log, daemon, probe, hooks):
        self._watch, self._log = core.Watch(settings), log
        self._daemon_work, self._probe_work, self._hook_works = daemon, probe, hooks
        self._daemon = self._probe = self._hook = None
        self._waiting = selectors.DefaultSelector()
        self._code = None

    def run(self):
        """The exit code, when all is over."""
        here, there = socket.socketpair()
        with here, there, self._waiting:
            for end in (here, there):
                end.setblocking(False)
            self._take_signals(there)
            self._waiting.register(here, selectors.EVENT_READ, self._on_signals)
            self._do(self._watch.begin(time.monotonic()))
            while self._code is None or self._waiting.get_map().keys() - {here.fileno()}:
                self._turn()
        return self._code

    @staticmethod
    def _take_signals(there):
        signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # the descriptor tells

    def _turn(self):
        deadline = self._watch.deadline()
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        for key, _ in self._waiting.select(limit):
            # One call may have forgotten another's descriptor, and its number may be taken anew.
            if self._waiting.get_map().get(key.fileobj) is key:
                key.data(key.fileobj)
        self._do(self._watch.time(time.monotonic()))

    def _on_signals(self, here):
        for number in here.recv(4096):
            if number == signal.SIGHUP:
                self._reload()
            else:
                _notify("STOPPING=1")
                self._do(self._watch.stop(time.monotonic()))

    def _reload(self):
        try:
            self._log.reopen()
        except OSError as problem:
            self._log.say("log", f"it stays the old one: {problem.strerror}")
        if self._daemon:
            self._daemon.signal(signal.SIGHUP)

    # ---- actions ----

    def _do(self, actions):
        for verb, *details in actions:
            getattr(self, f"_do_{verb}")(*details)

    def _begin(self, process, ended, with_group=False):
        """ended(how) is called when the process has; see Process.take()."""
        said = process.said

        def on_end(fd):
            self._waiting.unregister(fd)
            if said and said.fd in self._waiting.get_map():
                self._waiting.unregister(said.fd)
            ended(process.take(with_group))

        def on_said(fd):
            if not said.hear():
                self._waiting.unregister(fd)
        self._waiting.register(process.fd, selectors.EVENT_READ, on_end)
        if said:
            self._waiting.register(said.fd, selectors.EVENT_READ, on_said)
        return process

    def _do_start(self):
        self._daemon = self._begin(Process(self._daemon_work, signal.SIGTERM), self._on_daemon, with_group=True)
        self._do(self._watch.started(time.monotonic(), self._daemon.pid))

    def _on_daemon(self, how):
        self._daemon = None
        self._do(self._watch.ended(time.monotonic(), how or "exit 0"))

    def _do_end(self, is_hard):
        if self._daemon:
            self._daemon.kill() if is_hard else self._daemon.signal(signal.SIGTERM)

    def _do_probe(self):
        process = Process(self._probe_work, signal.SIGKILL, is_quiet=True)

        def ended(how):
            if self._probe is process:  # else it was dropped
                self._probe = None
                self._do(self._watch.probed(time.monotonic(), how))
        self._probe = self._begin(process, ended)

    def _do_drop_probe(self):
        process, self._probe = self._probe, None
        if process:
            process.kill()

    def _do_hook(self, name, reason, count):
        def ended(how):
            self._hook = None
            self._do(self._watch.hooked(time.monotonic(), name, how))
        self._hook = self._begin(Process(self._hook_works[name](reason, count), signal.SIGKILL), ended)

    def _do_drop_hook(self):
        if self._hook:
            self._hook.kill()

    @staticmethod
    def _do_ready():
        _notify("READY=1")

    def _do_say(self, event, text):
        self._log.say(event, text)

    def _do_exit(self, code):
        self._code = code
