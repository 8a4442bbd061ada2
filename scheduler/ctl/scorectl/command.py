# SPDX-License-Identifier: BSD-3-Clause
"""command - what the commands share: options, exit codes, the way to scored, JSON or tables."""

import argparse
import json
import os
import sys
import time

import pmcommand
from pmcommand import Failure, wanted
from pmharmless import harmless
from scorelink.link import Link, Unreachable
from scorelink.munge import Refused

from . import server

OK, TROUBLE, USAGE, UNREACHABLE = 0, 1, 2, 3
_INTERVAL_MIN_S, _INTERVAL_MAX_S = 0.2, 3600
_AGAIN_S = 0.2
_PROBLEM_MAX = 80
_NO_SENSE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError)   # of reading one


def parser(name, what, trouble="refused"):
    """An argparse parser with the options that all have."""
    made = argparse.ArgumentParser(
        prog=name, description=what, epilog=f"Exit status: 0 fine, 1 {trouble}, 2 wrong call, 3 scored or munged "
        f"can't be reached. See {name}(1).")
    pmcommand.add_version(made)
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    made.add_argument("--server", metavar="HOST[:PORT]",
                      help="host of scored; default: $SCORE_SERVER, cluster.json, this host")
    made.add_argument("--munge-socket", metavar="PATH", help="default: $SCORE_MUNGE_SOCKET, munge's own")
    return made


@wanted(f"number of seconds, {_INTERVAL_MIN_S} to {_INTERVAL_MAX_S}")
def seconds(text):
    """Reader of an interval."""
    value = float(text)
    if not _INTERVAL_MIN_S <= value <= _INTERVAL_MAX_S:
        raise ValueError
    return value


@wanted("number of retries, or inf")
def retries(text):
    """Reader of how often something is tried anew; None: without end."""
    if text == "inf":
        return None
    if not 0 <= int(text) <= 1_000_000:
        raise ValueError
    return int(text)


def tables(name):
    """The module show; it needs rich, JSON does not."""
    try:
        from . import show
    except ImportError:
        raise Failure(USAGE, f"{name}: tables need the Python module rich: install python3-rich, or use "
                      "--json") from None
    return show


def connect(name, args, until=0.0):
    """A Link to scored; to one that may be about to start until then, in monotonic time."""
    while True:
        try:
            return Link(server.address(args.server), munge_socket=args.munge_socket)
        except (Unreachable, Refused) as problem:
            if isinstance(problem, Refused) or time.monotonic() >= until:
                raise Failure(UNREACHABLE, f"{name}: {problem}") from None
        time.sleep(_AGAIN_S)


def ask(name, link, head):
    """The answer to a request."""
    try:
        return link.ask(head)
    except Refused as refusal:
        raise Failure(TROUBLE, f"{name}: {refusal}") from None


def complain(name, text):
    """A sentence about what goes on without."""
    print(f"{name}: {harmless(str(text))}", file=sys.stderr)


def tell(name, args, value, table):
    """A value as JSON, or through a function of show."""
    if args.json:
        print(json.dumps(value, indent=2))
    else:
        getattr(tables(name), table)(value)


def watch(name, args, frames, drawing):
    """Shows one value of frames after the other until it is interrupted."""
    try:
        _show_all(name, args, frames, drawing)
    except KeyboardInterrupt:
        pass  # it is how one ends it


def _show_all(name, args, frames, drawing):
    """As lines of JSON, live on a terminal, else as text."""
    if args.json:
        for frame in frames:
            print(json.dumps(frame), flush=True)
    elif sys.stdout.isatty():
        tables(name).live(frames, drawing)
    else:
        show = tables(name)
        for frame in frames:
            show.text(getattr(show, drawing)(frame))
            sys.stdout.flush()


def every(interval, look):
    """Values of look() for ever; the first at once."""
    while True:
        yield look()
        time.sleep(interval)


def _place_of(problem):
    """Where an answer was read, for who looks into it: KeyError 'jobs', queue.py:79."""
    frame = problem.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
    return f"{type(problem).__name__} {str(problem)[:_PROBLEM_MAX]}, {place}"


def run(name, work):
    """The exit code of the command."""
    def guarded():
        try:
            return work()
        except Unreachable as problem:
            raise Failure(UNREACHABLE, f"{name}: {problem}") from None
        except _NO_SENSE as problem:
            raise Failure(UNREACHABLE, f"{name}: what scored answers makes no sense ({_place_of(problem)}); both sides "
                          "must be of one version of OpenSCore") from None
    return pmcommand.run(name, guarded, error=UNREACHABLE, unread=OK)
