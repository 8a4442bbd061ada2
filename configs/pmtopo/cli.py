# SPDX-License-Identifier: BSD-3-Clause
"""cli - the command scconf: arguments, exit codes, where text goes."""

import argparse
import os
import sys

import pmcommand
from pmcommand import Failure

from . import document, emit, options
from .problems import quote
from .resolve import resolve

OK, OTHER, BAD_CONFIG = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    """argparse ends with 2 on bad arguments; 2 means a bad configuration here."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(OTHER, f"{self.prog}: {message}\n")


def _load(name, note):
    """The cluster of a file; note is appended to the count of errors."""
    try:
        found = document.load(name)
    except document.DocumentError as error:
        raise Failure(BAD_CONFIG if error.is_content else OTHER, str(error)) from None
    cluster, problems = resolve(found)
    if cluster is None:
        count = len(problems.lines())
        summary = f"{name}: {count} error{'s' if count > 1 else ''}{note}"
        raise Failure(BAD_CONFIG, "\n".join(problems.lines() + [summary]))
    return cluster


def _check(args):
    cluster = _load(args.file, "")
    rails = sum(len(network.rails) for network in cluster.networks)
    print(f"{args.file}: ok: cluster {cluster.name}, {len(cluster.hosts)} hosts, "
          f"{len(cluster.groups)} groups, {len(cluster.networks)} networks, {rails} rails")


def _compile(args):
    output = args.output or os.path.join(os.path.dirname(args.file), "cluster.json")
    cluster = _load(args.file, ", nothing written")
    try:
        if os.path.exists(output) and os.path.samefile(args.file, output):
            raise Failure(OTHER, f"{output}: is the input itself; name another output with -o")
        emit.write(cluster, output)
    except OSError as error:
        raise Failure(OTHER, f"{output}: cannot be written: {error.strerror}; nothing "
                       "written") from None


def _show(args):
    cluster = _load(args.file, "")
    if args.json:
        sys.stdout.writelines(emit.pieces(cluster))
        return
    try:
        from .show import show
    except ImportError:
        raise Failure(OTHER, "tables need the Python module rich: install python3-rich, or use "
                       "--json") from None
    show(cluster)


def _env(args):
    cluster = _load(args.file, "")
    host = None
    if args.host is not None:
        host = cluster.by_name.get(args.host)
        if host is None:
            raise Failure(OTHER, f"{args.file}: there is no host {quote(args.host)}; "
                           '"scconf show" lists the hosts')
    print(options.line(cluster.options(host)))


def _parser():
    parser = _Parser(prog="scconf", description="Checks and resolves the description of a "
                     "cluster, cluster.toml(5).",
                     epilog="Exit status: 0 success, 2 the file is not a valid description, "
                     "1 anything else.")
    pmcommand.add_version(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, run, text):
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("file", metavar="FILE", help="the cluster.toml")
        sub.set_defaults(run=run)
        return sub

    command("check", _check, "report every mistake with file, line, key and remedy")
    sub = command("compile", _compile, "write the resolved form, cluster.json, in one step")
    sub.add_argument("-o", "--output", metavar="JSON",
                     help="file to write; default: cluster.json beside FILE")
    sub = command("show", _show, "print hosts, groups, networks and rails as tables")
    sub.add_argument("--json", action="store_true", help="print the resolved form instead")
    sub = command("env", _env, "print the PM_OPTIONS setting for the library")
    sub.add_argument("host", metavar="HOST", nargs="?",
                     help="a host; default: what hosts without overrides get")
    return parser


def _work(argv):
    args = _parser().parse_args(argv)
    args.run(args)
    return OK


def main(argv=None):
    """Runs the command; returns its exit code."""
    return pmcommand.run("scconf", lambda: _work(argv), error=OTHER, unread=OTHER)
