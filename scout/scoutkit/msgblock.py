# SPDX-License-Identifier: BSD-3-Clause
"""msgblock - the command msgblock: a command that has some hosts for itself while it runs."""

import argparse
import os
import signal
import subprocess
import sys

import pmcommand
from pmcommand import Failure, wanted
from pmharmless import harmless
from pmtopo import hostlist
from scorectl import command
from scorelink.link import Unreachable
from scorelink.munge import Refused

from . import hosts
from .lease import Busy, Lease, TooLong, reason_of

NAME = "msgblock"
USAGE, NO_LOCK, TOO_LATE, NOT_EXECUTABLE, NOT_FOUND = 2, 3, 124, 126, 127
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@wanted("number of seconds")
def _seconds(text):
    value = float(text)
    if not 0 < value <= 1e9:
        raise ValueError
    return value


@wanted("number of hosts")
def _count(text):
    if not (text.isascii() and text.isdigit()) or not int(text):
        raise ValueError
    return int(text)


def _parser():
    parser = argparse.ArgumentParser(
        prog=NAME, allow_abbrev=False, usage=f"{NAME} -g EXPR [OPTION...] [--] COMMAND [ARGUMENT...]",
        description="Runs a command here while the hosts are locked for it: nobody else's lock and no job is on them.",
        epilog="Exit status: that of COMMAND, 128 + N if signal N has ended it; 2 wrong call, 3 no lock, or it was "
        "lost, 124 -timeout, 126 and 127 COMMAND can't be executed, is not there. See msgblock(1).")
    pmcommand.add_version(parser)

    def add(*names, **how):
        parser.add_argument(*(f"{hyphens}{name}" for name in names for hyphens in ("-", "--")), **how)
    parser.add_argument("-g", "-group", "--group", metavar="EXPR", required=True, help="groups and hosts, as n[0-3]")
    parser.add_argument("-n", metavar="N", dest="count", type=_count, help="any N of them, side by side")
    add("scatter", action="store_true", help="with -n: they need not be side by side")
    add("wait", action="store_true", help="until they are free")
    add("timeout", metavar="S", type=_seconds, help="waits for S seconds at most")
    add("force", action="store_true", help="operators: takes them from others, which is recorded")
    add("reason", metavar="TEXT", default="", help="shown to who waits")
    add("machinefile", metavar="FILE", help="writes the hosts there, a line each")
    add("keep", action="store_true", help="COMMAND goes on when the lock is lost")
    add("server", metavar="HOST[:PORT]", help="host of scored; default: $SCORE_SERVER, cluster.json, this host")
    add("munge-socket", metavar="PATH", help="default: $SCORE_MUNGE_SOCKET, munge's own")
    parser.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="and its arguments")
    return parser


def say(text):
    """A line of ours."""
    print(f"{NAME}: {harmless(text)}", file=sys.stderr, flush=True)


def _waiting(position, holders):
    place = f"; place {position + 1} in the row" if position else ""
    say(f"waiting: {'; '.join(holders) or 'the hosts are free in a moment'}{place}")


class _Held:
    """The command that has the lock."""

    def __init__(self, lease, does_keep):
        self.lease, self.does_keep = lease, does_keep
        self.child = None
        lease.on_lost = self._lost

    def _lost(self, text):
        end = "it goes on" if self.does_keep else "it is told to end"
        say(f"the lock is lost while the command runs: {text}; {end}")
        self._end()

    def _end(self):
        if self.child and not self.does_keep:
            self.child.send_signal(signal.SIGTERM)

    def run(self, words):
        """Its exit code."""
        env = {**os.environ, "MSGBLOCK_HOSTS": hostlist.fold(self.lease.hosts)}
        # The terminal interrupts both; the command decides. Handlers are not inherited.
        signal.signal(signal.SIGINT, lambda *_: None)
        try:
            self.child = subprocess.Popen(words, env=env)
        except OSError as problem:
            code = NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_EXECUTABLE
            raise Failure(code, f"{NAME}: {words[0]}: {problem.strerror}") from None
        for number in _FORWARDED:
            signal.signal(number, lambda number, _: self.child.send_signal(number))
        if self.lease.lost:
            self._end()
        code = self.child.wait()
        if self.lease.lost:
            return NO_LOCK
        return 128 - code if code < 0 else code


def _write(path, names):
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(f"{name}\n" for name in names))
    except OSError as problem:
        raise Failure(USAGE, f"{NAME}: -machinefile {path}: {problem.strerror}") from None


def _work(args):
    try:
        names = hosts.Cluster().expand(args.group)
        hosts.check_count(args.count, names)
    except hosts.Wrong as problem:
        raise Failure(USAGE, f"{NAME}: {problem}") from None
    lease = Lease(names, count=args.count, scatter=args.scatter, mode="exclusive",
                  reason=args.reason or reason_of(f"{NAME} {args.words[0]}"), force=args.force,
                  wait=args.wait or args.timeout is not None, server=args.server, munge_socket=args.munge_socket,
                  on_waiting=_waiting, timeout=args.timeout)
    try:
        lease.take()
    except TooLong as problem:
        raise Failure(TOO_LATE, f"{NAME}: {problem}") from None
    except Refused as refusal:
        hint = "; -wait waits for its turn" if isinstance(refusal, Busy) else ""
        raise Failure(NO_LOCK, f"{NAME}: {refusal}{hint}") from None
    except Unreachable as problem:
        raise Failure(NO_LOCK, f"{NAME}: {problem}") from None
    try:
        if args.machinefile:
            _write(args.machinefile, lease.hosts)
        return _Held(lease, args.keep).run(args.words)
    finally:
        lease.release()


def main():
    """Exit code of msgblock."""
    parser = _parser()
    args = parser.parse_args()
    if args.words[:1] == ["--"]:
        args.words.pop(0)
    if not args.words:
        parser.error("the command is missing")
    return command.run(NAME, lambda: _work(args))
