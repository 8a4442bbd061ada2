# SPDX-License-Identifier: BSD-3-Clause
"""command - the command sc_watch: options, and what they make of hooks and probes."""

import argparse
import os
import shutil
import sys

import pmcommand
from pmcommand import Failure, wanted
from pmharmless import harmless
from scorectl.command import retries

from ..hosts import Cluster, Wrong
from . import core, probe, process
from .log import Log
from .runner import Runner

NAME = "sc_watch"
FINE, GAVE_UP, USAGE = 0, 1, 2
_DAY_S = 86400
_REMOTE_S = 50      # less than a hook may take, so that it can say on which hosts it failed
_SAID_MAX = 16 << 10    # bytes of each output of a host that are told


@wanted("number of seconds")
def _seconds(text):
    value = float(text)
    if not 0.01 <= value <= 365 * _DAY_S:
        raise ValueError
    return value


def _parser():
    made = argparse.ArgumentParser(
        prog=NAME, usage=f"{NAME} [OPTION...] -- DAEMON [ARGUMENT...]", allow_abbrev=False,
        description="Runs a daemon, asks it again and again whether it serves, and starts it anew when it ends or is "
        "silent.", epilog=f"Exit status: 0 ended by SIGTERM or SIGINT, 1 it gave up, 2 wrong call. See {NAME}(8).")
    pmcommand.add_version(made)
    made.add_argument("-g", metavar="EXPR", help="hosts of -r")
    made.add_argument("-t", metavar="S", type=_seconds, default=600.0,
                      help="so long without a failure, and earlier ones are forgotten; default: 600")
    made.add_argument("-l", metavar="CMD", help="run here after each failure")
    made.add_argument("-r", metavar="CMD", help="run on the hosts after each failure")
    made.add_argument("-n", metavar="N", type=retries, default=10,
                      help="give up after so many new starts, inf: never; default: 10")
    made.add_argument("-a", metavar="CMD", help="run here when giving up")
    made.add_argument("-f", metavar="LOG", help="write the log there; default: standard error")
    made.add_argument("-probe", "--probe", metavar="CMD",
                      help="0 tells that the daemon serves; of scored, its own is the default")
    made.add_argument("-every", "--every", metavar="S", type=_seconds, default=10.0, help="probe; default: 10")
    made.add_argument("-within", "--within", metavar="S", type=_seconds, default=5.0,
                      help="a probe has to end; default: 5")
    made.add_argument("-pause", "--pause", metavar="S", type=_seconds, default=1.0,
                      help="before the first new start, doubled each time up to a minute; default: 1")
    made.add_argument("-grace", "--grace", metavar="S", type=_seconds, default=10.0,
                      help="between SIGTERM and SIGKILL; default: 10")
    made.add_argument("--json", action="store_true", help="write the log as lines of JSON")
    return made


def _environment(**more):
    """Of what we start: the service manager is ours, not theirs."""
    return {key: value for key, value in os.environ.items() if key != "NOTIFY_SOCKET"} | more


def _told(reason, count):
    return {"SC_WATCH_REASON": reason, "SC_WATCH_COUNT": str(count)}


def _local(line):
    """A hook here."""
    return lambda reason, count: process.run(["/bin/sh", "-c", line], _environment(**_told(reason, count)))


def _remote(line, hosts):
    """A hook on the hosts; it fails when it fails on one."""
    def make(reason, count):
        words = ["/usr/bin/env", *(f"{key}={value}" for key, value in _told(reason, count).items()),
                 "/bin/sh", "-c", line]
        return lambda: _run_there(hosts, words)
    return make


def _run_there(hosts, words):
    from ..fanout import run    # only who has such a hook needs it
    code = 0
    for host, result in run(hosts, words, timeout=_REMOTE_S, output_max=_SAID_MAX).items():
        for line in result.stdout.decode("utf-8", "replace").splitlines() + \
                result.stderr.decode("utf-8", "replace").splitlines():
            _tell(host, line)
        if result.error or result.status:
            _tell(host, result.error or process.ending(result.status))
            code = 1
    return code


def _tell(host, line):
    print(f"{host}: {harmless(line)}", file=sys.stderr)


def _hosts(args):
    """Of -g."""
    try:
        return Cluster().expand(args.g)
    except Wrong as problem:
        raise Failure(USAGE, f"{NAME}: {problem}") from None


def _split(arguments):
    """Those before the first --, and those after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


def _watch(args, daemon):
    hooks = {}
    if args.l:
        hooks["local"] = _local(args.l)
    if args.r:
        hooks["remote"] = _remote(args.r, _hosts(args))
    asking = ["/bin/sh", "-c", args.probe] if args.probe else probe.of(daemon)
    settings = core.Settings(retries=args.n, healthy_s=args.t, pause_s=args.pause, grace_s=args.grace,
                             every_s=args.every, within_s=args.within, has_probe=bool(asking), hooks=tuple(hooks),
                             has_give_up=bool(args.a))
    if args.a:
        hooks[core.GIVE_UP] = _local(args.a)
    try:
        log = Log(os.path.basename(daemon[0]), args.f, args.json)
    except OSError as problem:
        raise Failure(USAGE, f"{NAME}: -f {args.f}: {problem.strerror}") from None
    return Runner(settings, log, process.run(daemon, _environment()),
                  asking and process.run(asking, _environment()), hooks).run()


def main():
    """Exit code of sc_watch."""
    ours, daemon = _split(sys.argv[1:])
    parser = _parser()
    args = parser.parse_args(ours)
    if not daemon:
        parser.error("which daemon? Write it and its arguments behind --")
    if not shutil.which(daemon[0]):
        parser.error(f"{daemon[0]}: there is no such program; write its path")
    if bool(args.r) != bool(args.g):
        parser.error("-g and -r go together: hosts, and what to run there")
    return pmcommand.run(NAME, lambda: _watch(args, daemon), error=GAVE_UP, unread=GAVE_UP)
