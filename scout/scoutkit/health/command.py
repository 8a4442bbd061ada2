# SPDX-License-Identifier: BSD-3-Clause
"""command - the command sceptic: options, exit codes, what is printed where."""

import functools
import json
import sys
import time

from pmcommand import Failure, wanted
from scorectl import command, server, words

from ..hosts import Wrong
from . import inventory, judge, report, survey

NAME = "sceptic"
WELL, WRONG, USAGE, BLIND = 0, 1, 2, 3
_FACTS_MAX = 256 << 10  # bytes that a host may tell: one that prints without end fills no disk here
_LISTS = {"a": report.ALIVE, "d": report.DOWN, "D": report.DEFECTS}


@wanted("number of hosts, 1 to 65536")
def _count(text):
    if not 1 <= int(text) <= 65536:
        raise ValueError
    return int(text)


def _parser():
    parser = command.parser(NAME, "Asks all hosts at once how they are, and says what is wrong and what to do.")
    parser.epilog = "Exit status: 0 all is well, 1 something is not, 2 wrong call, 3 it could not be judged. See " \
        "sceptic(1)."
    parser.add_argument("-g", metavar="EXPR", help="these hosts: names, ranges, groups; default: all")
    parser.add_argument("-F", metavar="FILE", help="those that a file names, an expression a line")
    parser.add_argument("-x", metavar="EXPR", help="without these")
    lists = parser.add_mutually_exclusive_group()
    lists.add_argument("-a", action="store_true", help="print the hosts that are well")
    lists.add_argument("-d", action="store_true", help="print the hosts that are dead")
    lists.add_argument("-D", action="store_true", help="print the hosts to be left out, dead or in trouble")
    parser.add_argument("-l", action="store_true", help="with -a, -d, -D: a line for each host")
    parser.add_argument("-j", metavar="N", type=_count, default=512, help="ask so many at once; default: 512")
    parser.add_argument("-r", metavar="N", type=command.retries, default=2,
                        help="ask silent hosts again, so many times; inf: until all are up; default: 2")
    parser.add_argument("-t", metavar="S", type=command.seconds, default=5.0,
                        help="seconds that a host has to answer; default: 5")
    parser.add_argument("-q", action="store_true", help="print nothing: the exit status tells")
    parser.add_argument("-v", action="store_true", help="also print what each host told")
    parser.add_argument("--watch", metavar="S", type=command.seconds, help="look again every S seconds")
    return parser


def _fan_out(args):
    """run() of scout's library; loaded here, as a call that is wrong needs none of it."""
    from ..fanout import run
    return functools.partial(run, connect=args.t, munge_socket=args.munge_socket, output_max=_FACTS_MAX)


def _is_scheduled(args, known):
    """Whether somebody says that this cluster has a scored."""
    return known.is_scheduled or bool(args.server) or server.address() != "localhost" or not known.names


def _look(args, run):
    """A Report."""
    try:
        known = inventory.Inventory()
    except Wrong as problem:
        raise Failure(BLIND, f"{NAME}: {problem}") from None
    is_scheduled = _is_scheduled(args, known)
    ask = functools.partial(survey.ask_scored, server.address(args.server), args.munge_socket)
    cluster, error = answer = ask() if is_scheduled else (None, "")
    try:
        names = survey.names_of(args.g, args.F, args.x, known, cluster)
    except survey.NoHosts as problem:
        raise Failure(BLIND, f"{NAME}: {f'{error}; ' if error else ''}{problem}") from None
    except Wrong as problem:
        raise Failure(USAGE, f"{NAME}: {problem}") from None
    return report.Report(survey.look(names, known, answer, ask, run, limit=args.t, at_once=args.j, retries=args.r,
                                     is_scheduled=is_scheduled))


def _print_list(names, is_lines):
    if is_lines:
        for name in names:
            print(name)
    elif names:
        print(words.hosts(names))


def _print(args, found):
    which = next((value for key, value in _LISTS.items() if getattr(args, key)), None)
    if args.q:
        return
    if args.json:
        value = found.chosen(which) if which else found.value()
        print(json.dumps(value, indent=None if args.watch else 2))
    elif which:
        _print_list(found.chosen(which), args.l)
    else:
        _print_all(args, found)
    sys.stdout.flush()


def _print_all(args, found):
    if args.v:
        for line in found.details():
            print(line)
    if found.findings:
        command.tables(NAME).findings(found.rows(), title="")
    print(found.summary())


def _once(args, run):
    found = _look(args, run)
    _print(args, found)
    if judge.is_blind(found.scene):
        if not args.q:
            print(f"{NAME}: no command ran on any host that answers; try: scout -g HOST true", file=sys.stderr)
        return BLIND
    return WELL if found.is_well() else WRONG


def _watch(args, run):
    """Until it is interrupted; the code of the last look."""
    code = BLIND
    try:
        while True:
            if sys.stdout.isatty() and not args.json:
                print("\033[H\033[J", end="")
            code = _once(args, run)
            time.sleep(args.watch)
    except KeyboardInterrupt:
        return code


def main(run=None):
    """Exit code of sceptic. run: in the place of scout's."""
    parser = _parser()
    args = parser.parse_args()
    if args.g and args.F:
        parser.error("-g and -F both say which hosts; leave one out")
    if args.l and not (args.a or args.d or args.D):
        parser.error("-l goes with -a, -d or -D")
    work = _watch if args.watch else _once
    return command.run(NAME, lambda: work(args, run or _fan_out(args)))
