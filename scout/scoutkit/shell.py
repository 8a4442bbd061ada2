# SPDX-License-Identifier: BSD-3-Clause
"""shell - "scout CMD": one command on all hosts, as a command of its own: input, outputs, ^C, summary, exit code."""

import os
import signal

from . import fanout, hosts, options as command_line, progress, result, show
from .loop import INTERRUPTS
from .terminal import say


def _interrupt():
    raise KeyboardInterrupt


def raise_when_interrupted(turns):
    """KeyboardInterrupt from the loop."""
    for number in INTERRUPTS:
        turns.on_signal(number, _interrupt)


def tell(results):
    """The summary; the exit code of all."""
    line = result.summary(results, hosts.fold)
    if line:
        say(line)
    return result.code_of_all(results)


def _wants_input(options):
    if not options.stdin:
        return False  # also of a session whose shell reads commands from it
    try:
        return not os.isatty(0) and os.fstat(0) is not None
    except OSError:
        return False  # it is closed


class _Ending:
    """Passes signals to the command on all hosts."""

    def __init__(self, turns, work, line):
        self._work, self._line = work, line
        for number in INTERRUPTS:
            turns.on_signal(number, lambda number=number: self._come(number))

    def _come(self, number):
        self._line.clear()
        if not self._work.interrupts:
            say(f"{signal.Signals(number).name} sent to {hosts.fold(self._work.waiting() or ['nobody'])}; what does "
                f"not end in {fanout.KILL_AFTER_S} s is killed, at once if you interrupt again")
        self._work.interrupt(number)


def run(agents, options, env=None):
    """The exit code of the command on the agents."""
    turns = agents.loop
    names = [agent.host for agent in agents.all]
    line = progress.chosen(turns)
    sink = show.chosen(options, names, line)
    has_stdin = _wants_input(options)
    work = fanout.Fanout(agents, command_line.command(options.words), sink, env=env, has_stdin=has_stdin,
                         timeout=options.timeout, keep=options.output != "label")
    if has_stdin:
        work.feeder = fanout.Feed(turns, 0, work)
    _Ending(turns, work, line)
    line.start(work.waiting, len(names))
    begun = turns.now()
    try:
        work.start()
        turns.run_until(work.is_over)
    finally:
        line.end()
    sink.finish(work.results)
    if options.verbose:
        say(f"{len(names)} hosts in {turns.now() - begun:.2f} s")
    return tell(work.results)
