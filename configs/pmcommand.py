# SPDX-License-Identifier: BSD-3-Clause
"""pmcommand - the frame around the commands written in Python: what they print to, how they are
interrupted, with which exit code they end. Knows nothing of what they do."""

import argparse
import errno
import io
import os
import pathlib
import re
import signal
import sys

from pmharmless import harmless


class Failure(Exception):
    """Ends the command: text for standard error and the exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class _Version(argparse.Action):
    """Prints the suite's version; mk/ lies beside configs/ in the tree and where it is installed."""

    def __call__(self, parser, *_):
        place = pathlib.Path(__file__).resolve().parents[1] / "mk" / "version.mk"
        number = re.search(r"^VERSION\s*:=\s*(\S+)", place.read_text("utf-8"), re.M)[1]
        print(f"{parser.prog} {number}")
        parser.exit()


def add_version(parser):
    """The option --version of an argparse parser with a prog."""
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")


def wanted(what):
    """For readers of argparse, which raise ValueError: what is to be written, for who wrote something else."""
    def made(read):
        def reader(text):
            try:
                return read(text)
            except ValueError:
                raise argparse.ArgumentTypeError(f"{text!r}: wanted is a {what}") from None
        return reader
    return made


def _hold_standard():
    """Standard descriptors that our caller has closed: nothing that is opened may become one, and what is said there is
    lost, as Python has no streams for them."""
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        handle = os.dup(handle)
    os.close(handle)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)


def _is_of_output(problem):
    return problem.filename is None and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _drop_output():
    """Bytes that are not written yet go nowhere: Python would try again while closing, complain and exit with 120."""
    try:
        number = sys.stdout.fileno()
    except io.UnsupportedOperation:     # no file is behind it
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _explain(problem):
    """A sentence for an OSError that nobody has expected."""
    if _is_of_output(problem):
        return f"standard output: {problem.strerror}; make room, or name another place for it"
    return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror


def run(name, work, error, unread):
    """Does the work and returns the exit code that it returns, or that of the Failure it raises; error
    where the system fails or somebody interrupts, unread where the reader of the output goes away."""
    _hold_standard()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # one that is ignored stays so
            signal.signal(number, signal.default_int_handler)
    try:
        code = work()
        sys.stdout.flush()
        return code
    except Failure as failure:
        print(harmless(str(failure), kept="\n\t"), file=sys.stderr)
        return failure.code
    except BrokenPipeError:
        _drop_output()  # the reader (head, less) has enough
        return unread
    except OSError as problem:
        if _is_of_output(problem):
            _drop_output()
        print(f"{name}: {_explain(problem)}", file=sys.stderr)
        return error
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return error
