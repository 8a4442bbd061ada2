# SPDX-License-Identifier: BSD-3-Clause
"""pool - the command scpool: a cluster of one's own on some hosts, for as long as it is wanted. scored runs here."""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pmcommand
from pmcommand import Failure, wanted
from pmtopo import hostexpr, hostlist

from . import command, private, words
from .scnodeds import Scnodeds

NAME = "scpool"


def _place(name):
    """Where the pool of that name is written down; on the hosts .HOST stands behind it."""
    return pathlib.Path(f"/tmp/openscore-pool-{os.geteuid()}.{name}")


def _scnodeds(record):
    return Scnodeds(record["hosts"], record["base"], record["through"])


def _cluster(name):
    return private.Cluster(_place(name), NAME, _scnodeds)


def _expand(text):
    try:
        names = hostexpr.expand(text)
    except hostlist.HostlistError as error:
        raise Failure(command.USAGE, f"{NAME}: {text}: at character {error.at + 1}: {error.why}") from None
    return list(dict.fromkeys(name.split(".")[0] if not name[0].isdigit() else name for name in names))


def _bring_up(cluster, args):
    """The record of a pool whose hosts have all registered."""
    return cluster.up({"hosts": _expand(args.hosts), "through": shlex.split(args.through) if args.through else None,
                       "base": str(cluster.place), "munge_socket": args.munge_socket}, args)


def _up(args):
    record = _bring_up(_cluster(args.name), args)
    if args.json:
        print(json.dumps({"server": record["server"], "hosts": record["hosts"]}))
    else:
        print(f"export SCORE_SERVER={record['server']}")
        print(f"{NAME}: {words.count(len(record['hosts']), 'host')} up; '{NAME} down' ends them", file=sys.stderr)
    return command.OK


def _down(args):
    cluster = _cluster(args.name)
    place = cluster.place
    try:
        if place.lstat().st_uid != os.geteuid():
            raise Failure(command.TROUBLE, f"{NAME}: {place} is not ours; choose another --name")
        record = cluster.read()
    except FileNotFoundError:
        raise Failure(command.TROUBLE, f"{NAME}: there is no private cluster \"{args.name}\" of yours on this host; "
                      "end it where it was started") from None
    said = cluster.down(args.force)
    for text in said:
        command.complain(NAME, text)
    if place.exists():
        return command.TROUBLE
    if args.json:
        print(json.dumps({"hosts": record["hosts"], "notes": said}))
    return command.OK


def _run(args):
    cluster = _cluster(args.name)
    record = _bring_up(cluster, args)
    env = {**os.environ, "SCORE_SERVER": record["server"]}
    if args.munge_socket:
        env["SCORE_MUNGE_SOCKET"] = args.munge_socket
    try:
        code = subprocess.run(args.command or [os.environ.get("SHELL", "/bin/sh")], env=env, check=False).returncode
    except OSError as problem:
        raise Failure(127, f"{NAME}: {args.command[0]}: {problem.strerror}") from None
    finally:
        for text in cluster.down():
            command.complain(NAME, text)
    return code if code >= 0 else 128 - code


@wanted("name of letters, digits, _ and -")
def _name(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", text):
        raise ValueError
    return text


def _parser():
    parser = argparse.ArgumentParser(
        prog=NAME, description="Starts and ends a cluster of one's own: scored here, scnoded on the hosts by pdsh.",
        epilog="Exit status: 0 fine, 1 it did not come up or go down, 2 wrong call; run: that of the command. See "
        f"{NAME}(1).")
    pmcommand.add_version(parser)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", type=_name, default="default", help="of one of several; default: default")
    common.add_argument("--json", action="store_true", help="print JSON")
    start = argparse.ArgumentParser(add_help=False)
    start.add_argument("hosts", metavar="HOSTS", help="such as n[00-07]")
    start.add_argument("--through", metavar="COMMAND", help="by pdsh -R exec and this command with %%h in the place of "
                       "the host, such as 'lxc exec %%h --'; default: ssh")
    start.add_argument("--address", metavar="HOST", help="of this host, as the others reach it; default: its name")
    start.add_argument("--cores", metavar="LIST", help="of each host, see scnoded(8)")
    start.add_argument("--quantum", metavar="TIME", help="see scored(8)")
    start.add_argument("--programs", metavar="DIR", help="where scored and scnoded are, here and there")
    start.add_argument("--munge-socket", metavar="PATH", default=os.environ.get("SCORE_MUNGE_SOCKET"),
                       help="default: $SCORE_MUNGE_SOCKET, munge's own")
    start.add_argument("--wait", metavar="SECONDS", type=command.seconds, default=15.0,
                       help="for all hosts to register; default: 15")
    commands = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for name, work, text, parents in (("up", _up, "start it and print the line for the shell", [common, start]),
                                      ("down", _down, "end it, with its jobs", [common]),
                                      ("run", _run, "start it, run a command in it, end it", [common, start])):
        sub = commands.add_parser(name, parents=parents, help=text, description=f"{text[0].upper()}{text[1:]}.")
        sub.set_defaults(do=work)
    commands.choices["down"].add_argument("--force", action="store_true", help="also forget hosts that are not reached")
    sub.usage = f"{NAME} run [OPTION...] HOSTS [-- COMMAND [ARGUMENT...]]"
    sub.epilog = "Without a command: a shell."
    return parser


def _split(arguments):
    """Those before the first --, and those after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


def main():
    """Exit code of scpool."""
    ours, theirs = _split(sys.argv[1:])
    parser = _parser()
    args = parser.parse_args(ours)
    if theirs and args.verb != "run":
        parser.error(f"{args.verb} takes no command")
    args.command = theirs
    return pmcommand.run(NAME, lambda: args.do(args), error=command.TROUBLE, unread=command.OK)
