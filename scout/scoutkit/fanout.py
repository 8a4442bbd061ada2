# SPDX-License-Identifier: BSD-3-Clause
"""fanout - one command on the hosts of some agents: started on each as soon as its agent is there, fed, listened to,
ended. run() is this for programs that need no more than the results."""

import os
import signal as signals
import time

from scorelink import frames

from . import agents as states
from . import collect
from .loop import READ, Loop
from .result import Result, plain

KILL_AFTER_S = 5        # what an interrupt has not ended is killed
_TERM_S = 2             # the same of the end of -timeout
GIVE_BACK = 256 << 10  # bytes of room that are given back at once


class Run:
    """Of the command on one host."""

    __slots__ = ("agent", "number", "result", "begun", "room", "owed", "limit", "is_fed")

    def __init__(self, agent, result):
        self.agent, self.result = agent, result
        self.number = self.begun = self.limit = None
        self.room = frames.ROOM         # of standard input that may be sent
        self.owed = {1: 0, 2: 0}        # of output that was taken and is not given back yet
        self.is_fed = False             # it still takes input

    @property
    def is_over(self):
        """Whether its result is final."""
        return self.begun is False


class Feed:
    """Standard input for all: a piece is read when every host has room for it, so none falls behind."""

    def __init__(self, turns, fd, fanout):
        self._loop, self._fd, self._fanout = turns, fd, fanout
        self._is_watched = self._is_over = False

    def look(self):
        """To be called when something has changed."""
        if self._is_over:
            return
        wants = self._fanout.room() > 0
        if wants and not self._is_watched:
            try:
                self._loop.watch(self._fd, READ, self._read)
                self._is_watched = True
            except PermissionError:  # a file is always readable
                self._loop.call_later(0, self._read)
        elif not wants and self._is_watched:
            self._stop()

    def _stop(self):
        if self._is_watched:
            self._loop.forget(self._fd)
            self._is_watched = False

    def end(self):
        """Nothing is read any more."""
        self._stop()
        self._is_over = True

    def _read(self, _=None):
        room = 0 if self._is_over else self._fanout.room()
        if room <= 0:
            self._stop()
            return
        try:
            data = os.read(self._fd, min(room, frames.CHUNK))
        except BlockingIOError:
            return
        except OSError:
            data = b""  # as with a terminal that is gone
        self._fanout.feed(data)
        if not data:
            self.end()
        else:
            self.look()


def _here():
    """Our directory; home where it has no name that can be sent."""
    try:
        here = os.getcwd()
        here.encode()
        return here
    except (OSError, UnicodeEncodeError):
        return os.path.expanduser("~")


class Fanout:
    """options: argv, directory, env, has_stdin, timeout (seconds or None), is_directory_needed. sink: data(host,
    stream, bytes) if it has one, and ended(result)."""

    def __init__(self, agents, argv, sink, *, directory=None, env=None, has_stdin=False, timeout=None,
                 is_directory_needed=False, keep=True, output_max=None):
        self.loop, self.agents, self._sink, self._timeout, self._keep = agents.loop, agents, sink, timeout, keep
        self._order = {"op": "run", "argv": list(argv), "directory": directory or _here(), "env": env or {},
                       "stdin": has_stdin}
        if is_directory_needed:
            self._order["is_directory_needed"] = True
        self._store, self._output_max = collect.Store(), output_max
        self._runs = {agent: Run(agent, self._new_result(agent.host)) for agent in agents.all}
        self._has_stdin = has_stdin
        self.feeder = None          # looked at when hosts have room
        self.left = len(self._runs)
        self.interrupts = 0
        self._data = getattr(sink, "data", None)

    def _new_result(self, host):
        return Result(host, *(collect.Output(self._store, self._output_max) for _ in range(2)))

    @property
    def results(self):
        """In the order of the hosts."""
        return [run.result for run in self._runs.values()]

    def waiting(self):
        """Names of hosts that have not ended."""
        return [agent.host for agent, run in self._runs.items() if not run.is_over]

    def start(self):
        """On those that are there, and on the others when they come."""
        self.agents.changes.append(self.on_change)
        for agent in self.agents.all:
            if agent.state != states.COMING:
                self.on_change(agent)

    def is_over(self):
        """Whether all have ended."""
        return not self.left

    # ---- one host ----

    def on_change(self, agent):
        """Of agents.py."""
        run = self._runs.get(agent)
        if not run or run.begun is not None:
            return
        if agent.state == states.GONE:
            run.result.error = agent.why
            self._over(run)
            return
        run.begun = time.monotonic()
        run.number = agent.open(self, self.loop.now())
        run.is_fed = self._has_stdin
        agent.send({**self._order, "id": run.number, "env": {**self._order["env"], "SCOUT_HOST": agent.host}})
        if self._timeout:
            run.limit = self.loop.call_later(self._timeout, lambda: self._expire(run, signals.SIGTERM))
        if self.feeder:
            self.feeder.look()

    def lost(self, agent):
        """Of agents.py."""
        run = self._runs[agent]
        run.result.error = agent.why
        self._over(run)

    def message(self, agent, number, head, body):
        """Of agents.py."""
        run, op = self._runs[agent], head["op"]
        if op == "out":
            self._take(run, head, body)
        elif op == "in_room":
            # More than was taken, and the input would be read faster than it goes.
            run.room += frames.number(head, "bytes", 1, frames.ROOM - run.room)
            if self.feeder:
                self.feeder.look()
        elif op in ("ended", "failed", "error"):
            run.result.status = frames.number(head, "status", high=0xffff) if op == "ended" else 126 << 8
            if "error" in head:
                run.result.text = plain(head, agent.host)
            agent.close(number)
            self._over(run)

    def _take(self, run, head, body):
        stream = frames.number(head, "stream", 1, 2)
        if self._data:
            self._data(run.agent.host, stream, body)
        if self._keep:
            (run.result.stdout if stream == 1 else run.result.stderr).add(body)
        run.owed[stream] += len(body)
        owed = run.owed[1] + run.owed[2]
        if owed >= GIVE_BACK:
            run.owed = {1: 0, 2: 0}
            run.agent.send({"op": "out_room", "id": run.number, "bytes": owed})

    def _over(self, run):
        if run.is_over:
            return
        run.result.seconds = time.monotonic() - run.begun if run.begun else 0.0
        run.begun, run.is_fed = False, False
        if run.limit:
            run.limit.cancel()
        self.left -= 1
        self._sink.ended(run.result)
        if self.feeder:
            self.feeder.look()

    # ---- standard input ----

    def room(self):
        """Bytes that all have room for; 0 while a host is on its way."""
        if any(run.begun is None for run in self._runs.values()):
            return 0
        return min((run.room for run in self._runs.values() if run.is_fed), default=0)

    def feed(self, data):
        """A piece for all, its end without any."""
        for agent, run in self._runs.items():
            if run.is_fed:
                run.room -= len(data)
                run.is_fed = bool(data)
                agent.send({"op": "in", "id": run.number}, data)

    # ---- the end ----

    def _running(self):
        return [run for run in self._runs.values() if run.begun]

    def signal(self, number):
        """To all that run."""
        for run in self._running():
            run.agent.send({"op": "signal", "id": run.number, "signal": int(number)})

    def give_up_others(self, why):
        """Hosts that are still on their way are not waited for."""
        for agent in self._runs:
            if agent.state == states.COMING:
                self.agents.gone(agent, f"not reached: {why}")

    def _expire(self, run, number):
        run.result.is_timed_out = True
        run.agent.send({"op": "signal", "id": run.number, "signal": int(number)})
        if number != signals.SIGKILL:
            run.limit = self.loop.call_later(_TERM_S, lambda: self._expire(run, signals.SIGKILL))

    def interrupt(self, number=signals.SIGINT):
        """The first goes to the commands, which are killed when it does not help; the second kills at once."""
        self.interrupts += 1
        self.give_up_others("interrupted")
        if self.interrupts > 1:
            self.signal(signals.SIGKILL)
            return
        self.signal(number)
        self.loop.call_later(KILL_AFTER_S, lambda: self.signal(signals.SIGKILL))


class _Quiet:
    """A sink of those who look at the results."""

    @staticmethod
    def ended(result):
        """Nothing to be told."""


class Done:
    """How one host ended.

    status          of waitpid(2), None when it is not known
    stdout, stderr  bytes
    error           "" or what was not right, as a sentence
    code            the exit code that stands for it: 255 of a host that was not reached or lost,
                    124 of a time-out
    """

    __slots__ = ("host", "status", "stdout", "stderr", "error", "code", "seconds")

    def __init__(self, result):
        self.host, self.status, self.code, self.seconds = result.host, result.status, result.code, result.seconds
        self.stdout, self.stderr = result.stdout.bytes(), result.stderr.bytes()
        self.error = result.error or result.text or ("timed out" if result.is_timed_out else "")


def run(hosts, argv, *, stdin=b"", timeout=None, connect=10.0, env=None, directory=None, rsh="auto", through=None,
        cluster=None, munge_socket=None, address=None, programs=None, output_max=None):
    """Runs argv on the hosts at once, and returns {host: Done} when all have ended, in their order.

    hosts: names. stdin: bytes for each. timeout: seconds for the command on each host, None: no limit. connect:
    seconds until a host that does not answer is given up. env: added to the hosts' own. directory: home by default.
    rsh, through, address, programs, munge_socket: as of scout(1). cluster: a hosts.Cluster; by default cluster.json's.
    output_max: bytes of each output that are kept, what comes later is dropped; None: all.
    No lock is asked for. Nothing is printed, no signal is caught; an exception leaves nothing running on the hosts.
    """
    from types import SimpleNamespace

    from . import opening
    from .hosts import Cluster
    options = SimpleNamespace(rsh=rsh, through=through, connect=connect, munge_socket=munge_socket, address=address,
                              programs=programs)
    with Loop() as turns, opening.reached(turns, hosts, cluster or Cluster(), options) as agents:
        fanout = Fanout(agents, argv, _Quiet, directory=directory or os.path.expanduser("~"), env=env,
                        has_stdin=bool(stdin), timeout=timeout, output_max=output_max)
        if stdin:
            fanout.feeder = _Bytes(fanout, stdin)
        fanout.start()
        agents.loop.run_until(fanout.is_over)
        return {result.host: Done(result) for result in fanout.results}


class _Bytes:
    """Standard input that is there already."""

    def __init__(self, fanout, data):
        self._fanout, self._rest = fanout, memoryview(data)

    def look(self):
        """As of Feed."""
        while self._rest is not None and self._fanout.room() > 0:
            piece = self._rest[:min(self._fanout.room(), frames.CHUNK)]
            self._rest = self._rest[len(piece):]
            self._fanout.feed(bytes(piece))
            if not piece:
                self._rest = None
