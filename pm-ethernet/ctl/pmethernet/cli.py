# SPDX-License-Identifier: BSD-3-Clause
"""cli - the command pm-ethernetctl: arguments, exit codes, where text goes."""

import argparse
import dataclasses
import json

import pmcommand
from pmcommand import Failure

from . import daemon, findings, nic, route, tune

OK, TROUBLE, USAGE, UNREACHABLE = 0, 1, 2, 3
_RX_USECS_MAX = 1_000_000


def _tables():
    try:
        from . import show
    except ImportError:
        raise Failure(USAGE, "pm-ethernetctl: tables need the Python module rich: install "
                       "python3-rich, or use --json") from None
    return show


def _tell(args, value, table):
    """value as JSON, or through the function of show called table."""
    if args.json:
        print(json.dumps(value, indent=2))
    else:
        getattr(_tables(), table)(value)


def _report(topic, table):
    def run(args):
        _tell(args, daemon.report(args.run, topic), table)
        return OK
    return run


def _settings(name):
    """Offloads and coalescing of a NIC; None when it is gone."""
    try:
        found = {which: nic.offload(name, which) for which in ("gro", "lro", "tso", "gso")}
        found["coalescing"] = nic.coalescing(name)
    except nic.NicError:
        return None  # "the interface is gone" is a finding of its own
    return found


def _check(args):
    status = daemon.report(args.run, daemon.STATUS)
    rails = daemon.report(args.run, daemon.RAILS)["rails"]
    peers = daemon.report(args.run, daemon.PEERS)["peers"]
    found = findings.judge(status, rails, peers,
                           {rail["nic"]: _settings(rail["nic"]) for rail in rails})
    _tell(args, [dataclasses.asdict(finding) for finding in found], "findings")
    return TROUBLE if any(f.weight == findings.TROUBLE for f in found) else OK


def _route(args):
    status = daemon.report(args.run, daemon.STATUS)
    if status.get("grid"):
        report = daemon.report(args.run, daemon.ROUTE, args.host)
    else:
        report = route.flat(status, daemon.report(args.run, daemon.RAILS)["rails"],
                            daemon.report(args.run, daemon.PEERS)["peers"], args.host)
    _tell(args, report | {"is_reached": route.is_reached(report)}, "route")
    return OK if route.is_reached(report) else TROUBLE


def _half_rtt_us(peers, name):
    rtts = [ear["rtt_us"] for peer in peers for ear in peer["rails"]
            if ear["nic"] == name and ear["is_alive"] and ear["rtt_us"]]
    return min(rtts) / 2 if rtts else None


def _wait(name, peers):
    """One row: the wait of a NIC's interrupts and what it costs."""
    found = nic.coalescing(name)
    row = {"nic": name, "is_supported": found is not None, "half_rtt_us": _half_rtt_us(peers, name)}
    if found is None:
        return row | {"cost": "no wait known: the driver has no such setting"}
    if found["is_adaptive"]:
        cost = "the driver chooses the wait; --rx-usecs 0 makes it none"
    elif found["rx_usecs"]:
        cost = f"half RTT + up to {found['rx_usecs']} us; --rx-usecs 0 makes it none"
    else:
        cost = "no wait"
    return row | found | {"cost": cost}


def _coalesce(args):
    if args.rx_usecs is not None and not args.nic:
        raise Failure(USAGE, "pm-ethernetctl: --rx-usecs needs the NIC it is for")
    if args.rx_usecs is not None:
        nic.set_coalescing(args.nic, args.rx_usecs, False)
    names = [args.nic] if args.nic else None
    peers = []
    try:
        peers = daemon.report(args.run, daemon.PEERS)["peers"]
        names = names or [r["nic"] for r in daemon.report(args.run, daemon.RAILS)["rails"]]
    except daemon.Unreachable:
        if not names:
            raise
    _tell(args, [_wait(name, peers) for name in names], "coalescing")
    return OK


def _tune(args):
    if args.undo:
        _tell(args, tune.undo(args.run), "undone")
        return OK
    changes = tune.plan(daemon.report(args.run, daemon.RAILS)["rails"])
    if args.apply:
        tune.apply(args.run, changes)
    if args.json:
        print(json.dumps(changes, indent=2))
    else:
        _tables().tuning(changes, args.apply)
    return OK


def _usecs(text):
    value = int(text)
    if not 0 <= value <= _RX_USECS_MAX:
        raise ValueError
    return value


_usecs.__name__ = f"number of microseconds, 0 to {_RX_USECS_MAX}"


def _parser():
    parser = argparse.ArgumentParser(
        prog="pm-ethernetctl", description="Shows and checks pm-ethernet on this host.",
        epilog="Exit status: 0 fine, 1 check found trouble or route no way, 2 wrong call or refused, 3 "
        "pm-ethernetd can't be reached. See pm-ethernetctl(8).")
    pmcommand.add_version(parser)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print JSON instead of tables")
    common.add_argument("--run", metavar="DIR", default=daemon.RUN,
                        help=f"run directory of the daemon; default: {daemon.RUN}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, run, text):
        sub = commands.add_parser(name, parents=[common], help=text,
                                  description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(do=run)
        return sub

    command("status", _report(daemon.STATUS, "status"), "the daemon, its mode, its contexts")
    command("rails", _report(daemon.RAILS, "rails"), "the NICs it serves")
    command("peers", _report(daemon.PEERS, "peers"), "who answers on which rail, and how fast")
    command("counters", _report(daemon.COUNTERS, "counters"), "frames taken and dropped, and why")
    command("check", _check, "look for trouble; each finding says what to do")
    sub = command("route", _route, "show the way frames to a host take from here now")
    sub.add_argument("host", metavar="HOST", help="name, host id, or coordinates as in 1,0,2")
    sub = command("coalesce", _coalesce, "show what waiting for interrupts costs, or set it")
    sub.add_argument("nic", metavar="NIC", nargs="?", help="an interface; default: all rails")
    sub.add_argument("--rx-usecs", type=_usecs, metavar="N",
                     help="wait at most N microseconds before a receive interrupt (root)")
    sub = command("tune", _tune, "show which settings of the NICs should change")
    either = sub.add_mutually_exclusive_group()
    either.add_argument("--apply", action="store_true", help="change them (root)")
    either.add_argument("--undo", action="store_true", help="set back what --apply changed (root)")
    return parser


def _work(argv):
    args = _parser().parse_args(argv)
    try:
        return args.do(args)
    except daemon.Unreachable as error:
        raise Failure(UNREACHABLE, f"pm-ethernetctl: {error}") from None
    except (daemon.Refused, route.Unknown, nic.NicError, tune.TuneError) as error:
        raise Failure(USAGE, f"pm-ethernetctl: {error}") from None


def main(argv=None):
    """Runs the command; returns its exit code."""
    return pmcommand.run("pm-ethernetctl", lambda: _work(argv), error=USAGE, unread=OK)
