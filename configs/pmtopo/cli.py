# SPDX-License-Identifier: BSD-3-Clause
"""cli - the command scconf: arguments, exit codes, where text goes."""

import argparse
import json
import os
import sys

import pmcommand
from pmcommand import Failure, wanted

from . import detect, diff, document, draft, emit, generate, heard, legacy, options, path, schema, svg, values
from .heading import heading
from .problems import Wrong, quote
from .resolve import resolve

OK, OTHER, BAD_CONFIG = 0, 1, 2


@wanted("number from 0")
def _number(text):
    if not text.isdecimal():
        raise ValueError
    return int(text)


class _Parser(argparse.ArgumentParser):
    """argparse ends with 2 on bad arguments; 2 means a bad configuration here."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(OTHER, f"{self.prog}: {message}\n")


def _load(name, note):
    """The cluster of a file; note is appended to the count of errors."""
    return _load_both(name, note)[0]


def _load_both(name, note):
    """The cluster of a file, and the document."""
    try:
        found = document.load(name)
    except document.DocumentError as error:
        raise Failure(BAD_CONFIG if error.is_content else OTHER, str(error)) from None
    cluster, problems = resolve(found)
    if cluster is None:
        count = len(problems.lines())
        summary = f"{name}: {count} error{'s' if count > 1 else ''}{note}"
        raise Failure(BAD_CONFIG, "\n".join(problems.lines() + [summary]))
    return cluster, found


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
    if args.svg:
        try:
            emit.replace(svg.pieces(cluster, heading(cluster)), args.svg)
        except OSError as error:
            raise Failure(OTHER, f"{args.svg}: cannot be written: {error.strerror}") from None
        return
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


def _route_all(args, cluster, finder):
    """Of all pairs, those that do not reach each other."""
    parted = finder.parted()
    if args.json:
        print(json.dumps([path.tree(found) for found in parted], indent=2))
    else:
        print("\n".join([f"{found.src.name} does not reach {found.dst.name}: {found.stuck}" for found in parted])
              or f"{args.file}: ok: all pairs of {len(cluster.hosts)} hosts that are not dead reach each other")
    return OTHER if parted else OK


def _route(args):
    cluster = _load(args.file, "")
    try:
        finder = path.Finder(cluster, args.dead, args.lane)
        if args.src is None:
            return _route_all(args, cluster, finder)
        if args.dst is None:
            raise Wrong(f"the way from {quote(args.src)} leads where? write two hosts, or none for all pairs")
        found = finder.find(args.src, args.dst)
    except Wrong as wrong:
        raise Failure(OTHER, f"{args.file}: {wrong}") from None
    if args.json:
        print(json.dumps(path.tree(found)))
    elif not found.stuck:
        print("\n".join(path.lines(found)))
    if found.stuck:
        raise Failure(OTHER, f"scconf: {found.src.name} does not reach {found.dst.name}: {found.stuck}")
    return OK


def _give(args, new):
    """Prints the text of a Draft, or writes it to a file that is not there yet."""
    try:
        text, cluster = draft.checked(new)
    except Wrong as wrong:
        raise Failure(OTHER, f"scconf {args.command}: what would be written is not valid:\n{wrong}") from None
    if args.json:
        text = "".join(emit.pieces(cluster))
    if args.output is None:
        sys.stdout.write(text)
        return
    if os.path.lexists(args.output):
        raise Failure(OTHER, f"{args.output}: is there already; remove it, or name another file with -o")
    try:
        emit.replace([text], args.output)
    except OSError as error:
        raise Failure(OTHER, f"{args.output}: cannot be written: {error.strerror}") from None


def _generate(args):
    try:
        shape = None if args.dims is None else generate.dims(args.dims)
        new = generate.draft(args.name, shape, args.nics, args.hosts, args.devices, args.address)
    except Wrong as wrong:
        raise Failure(OTHER, f"scconf generate: {wrong}") from None
    _give(args, new)


def _heard(args, hosts):
    """The reports of these hosts, or those in the files of --from."""
    if args.reports:
        found = heard.from_files(args.reports)
    else:
        found = heard.through(args.through, hosts, args.program, args.timeout)
    if args.save:
        try:
            heard.save(found, args.save)
        except OSError as error:
            raise Wrong(f"--save {args.save}: {error.filename or args.save}: {error.strerror}") from None
    return found


def _detect(args):
    try:
        hosts = None if args.hosts is None else generate.expand("HOSTS", args.hosts, schema.GRID_HOSTS_MAX)
        if (hosts is None) != bool(args.reports):
            raise Wrong("give either HOSTS to ask, or reports of them with --from")
        new = detect.draft(_heard(args, hosts), args.name)
    except Wrong as wrong:
        raise Failure(OTHER, f"scconf detect: {wrong}") from None
    _give(args, new)


def _import(args):
    try:
        shape = None if args.dims is None else generate.dims(args.dims)
        devices = None if args.devices is None else generate.expand("--devices", args.devices, values.RAILS_MAX)
    except Wrong as wrong:
        raise Failure(OTHER, f"scconf import: {wrong}") from None
    try:
        new = legacy.draft(args.files, args.name, shape, devices)
    except Wrong as wrong:
        raise Failure(BAD_CONFIG, str(wrong)) from None
    _give(args, new)


def _diff(args):
    cluster, described = _load_both(args.file, "")
    try:
        found = diff.compare(cluster, _heard(args, [host.name for host in cluster.hosts if host.state != "defect"]))
    except Wrong as wrong:
        raise Failure(OTHER, f"scconf diff: {wrong}") from None
    if args.json:
        print(json.dumps([each._asdict() for each in found], indent=2))
    else:
        print("\n".join([diff.line(cluster, described, each) for each in found])
              or f"{args.file}: ok: {len(cluster.hosts)} hosts are wired as configured")
    return OTHER if found else OK


def _parser():
    parser = _Parser(prog="scconf", description="Checks and resolves the description of a "
                     "cluster, cluster.toml(5).",
                     epilog="Exit status: 0 success, 2 the file is not a valid description, "
                     "1 anything else.")
    pmcommand.add_version(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def bare(name, run, text):
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(run=run)
        return sub

    def command(name, run, text):
        sub = bare(name, run, text)
        sub.add_argument("file", metavar="FILE", help="the cluster.toml")
        return sub

    def writer(name, run, text):
        sub = bare(name, run, text)
        sub.add_argument("-o", "--output", metavar="FILE", help="file to write; default: standard output")
        sub.add_argument("--name", metavar="NAME", default="cluster", help="of the cluster")
        sub.add_argument("--json", action="store_true", help="print the resolved form instead")
        return sub

    def asker(sub):
        sub.add_argument("--through", metavar="COMMAND", default=heard.SSH, help="what gets into a host, which stands "
                         f"for %%h; default: '{heard.SSH.replace('%', '%%')}'")
        sub.add_argument("--program", metavar="PATH", default="pm-ethernetctl", help="there; default: pm-ethernetctl")
        sub.add_argument("--timeout", metavar="SECONDS", type=_number, default=30, help="for each host; default: 30")
        sub.add_argument("--from", dest="reports", metavar="FILE", nargs="+", help="what pm-ethernetctl peers --json "
                         "printed on each host, as HOST.json, or directories of such files")
        sub.add_argument("--save", metavar="DIR", help="keep the reports there, for --from")
        return sub

    command("check", _check, "report every mistake with file, line, key and remedy")
    sub = command("compile", _compile, "write the resolved form, cluster.json, in one step")
    sub.add_argument("-o", "--output", metavar="JSON",
                     help="file to write; default: cluster.json beside FILE")
    sub = command("show", _show, "draw the topology, print hosts, groups, networks and rails as tables")
    sub.add_argument("--json", action="store_true", help="print the resolved form instead")
    sub.add_argument("--svg", metavar="PICTURE", help="write a picture of the topology instead")
    sub = command("env", _env, "print the PM_OPTIONS setting for the library")
    sub.add_argument("host", metavar="HOST", nargs="?",
                     help="a host; default: what hosts without overrides get")
    sub = command("route", _route, "tell the way of frames between two hosts, hop by hop")
    sub.add_argument("src", metavar="A", nargs="?", help="the host that sends; without: all pairs, those that do not "
                     "reach each other")
    sub.add_argument("dst", metavar="B", nargs="?", help="the host that receives")
    sub.add_argument("--dead", metavar="HOST[:DEVICE]", action="append", default=[],
                     help="as if this host, or this interface of it, were dead; may be repeated")
    sub.add_argument("--lane", metavar="N", type=_number, default=0,
                     help="which rail of a dimension the sender chooses; default: 0")
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub = writer("generate", _generate, "write a cluster.toml with comments, to go on with")
    sub.add_argument("--dims", metavar="AxBxC", help="a hypercrossbar with so many points per dimension")
    sub.add_argument("--nics", metavar="N", type=_number, default=1, help="interfaces per dimension; default: 1")
    sub.add_argument("--hosts", metavar="RANGE", help="names of the hosts; default: n0, n1, ...")
    sub.add_argument("--devices", metavar="LIST", help="the interfaces, such as eth[1-6], the default")
    sub.add_argument("--address", metavar="PATTERN", help="of the hosts, for management, such as '10.0.0.[1-64]'")
    sub = writer("detect", _detect, "write the cluster.toml of what is there, from what hosts hear of each other")
    sub.add_argument("hosts", metavar="HOSTS", nargs="?", help="the hosts to ask, such as n[00-63]")
    asker(sub)
    asker(command("diff", _diff, "compare the wiring with what hosts hear of each other")).add_argument(
        "--json", action="store_true", help="print JSON")
    sub = writer("import", _import, "write a cluster.toml from files of SCore: scorehosts.db, pm-ethernet.conf")
    sub.add_argument("files", metavar="FILE", nargs="+",
                     help="scorehosts.db, the pm-ethernet.conf of each unit, or both")
    sub.add_argument("--dims", metavar="AxBxC", help="the hosts are a hypercrossbar of this shape")
    sub.add_argument("--devices", metavar="LIST", help="the interfaces of the units, such as eth[1-2]")
    return parser


def _work(argv):
    args = _parser().parse_args(argv)
    return args.run(args) or OK


def main(argv=None):
    """Runs the command; returns its exit code."""
    return pmcommand.run("scconf", lambda: _work(argv), error=OTHER, unread=OTHER)
