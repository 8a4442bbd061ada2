# SPDX-License-Identifier: BSD-3-Clause
"""info - the command scinfo: the cluster and its hosts; who starts a cluster waits for it, operators take hosts out and
back in."""

import argparse
import dataclasses
import json
import time

from pmcommand import Failure, wanted
from pmtopo import hostexpr, hostlist

from . import checks, command, words

NAME = "scinfo"
_WAIT_S, _EVERY_S = 30, 0.2


@wanted("number of hosts")
def _count(text):
    if not 1 <= int(text) <= 65536:
        raise argparse.ArgumentTypeError(f"{text} hosts are not between 1 and 65536")
    return int(text)


def _parser():
    parser = command.parser(NAME, "Shows the cluster and its hosts.", "refused, or --check found trouble")
    parser.add_argument("host", metavar="HOST", nargs="?", help="everything of one host")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--hosts", action="store_true", help="one line per host")
    what.add_argument("--check", action="store_true", help="looks for trouble; each finding says what to do")
    what.add_argument("--drain", metavar="HOSTS", help="they finish what they run and take no new job (operators)")
    what.add_argument("--undrain", metavar="HOSTS", help="they take jobs again (operators)")
    what.add_argument("--wait", metavar="N", type=_count, help=f"until N hosts are up, at most {_WAIT_S} s")
    parser.add_argument("--note", metavar="TEXT", help="with --drain: why, for all to read")
    return parser


def _remark(host):
    """The note, and who has locked it."""
    lock = host.get("lock")
    reason = f": {lock['reason']}" if lock and lock["reason"] else ""
    return "; ".join(filter(None, (host["note"], lock and f"locked by {words.user(lock['uid'])}{reason}")))


def _states(hosts):
    """Hosts of one state and remark together."""
    found = {}
    for host in hosts:
        entry = found.setdefault((host["state"], host["remark"]), {
            "state": host["state"], "note": host["note"], "remark": host["remark"], "hosts": [], "cores": 0,
            "cores_used": 0})
        entry["hosts"].append(host["name"])
        entry["cores"] += host.get("n_cores", 0)
        entry["cores_used"] += host["cores_used"]
    return list(found.values())


def completed(answer, server):
    """The answer "cluster" with sums, states and findings."""
    cluster = {key: value for key, value in answer.items() if key != "op"}
    cluster["hosts"].sort(key=lambda host: words.natural(host["name"]))
    for host in cluster["hosts"]:
        host["remark"] = _remark(host)
    there = [host for host in cluster["hosts"] if not host["state"].startswith("absent")]
    cluster["server"] = server
    cluster["cores"] = sum(host.get("n_cores", 0) for host in there)
    cluster["cores_used"] = sum(host["cores_used"] for host in there)
    cluster["states"] = _states(cluster["hosts"])
    cluster["findings"] = [dataclasses.asdict(finding) for finding in checks.judge(cluster)]
    return cluster


def _drain(args, link):
    text = args.drain if args.drain is not None else args.undrain
    try:
        names = hostexpr.expand(text)
    except hostlist.HostlistError as error:
        raise Failure(command.USAGE, f"{NAME}: {text}: at character {error.at + 1}: {error.why}") from None
    head = {"op": "drain", "state": "drained" if args.drain is not None else "up", "text": args.note or ""}
    for name in names:
        command.ask(NAME, link, {**head, "host": name})
        if not args.json:
            print(f"{name}: {head['state']}")
    if args.json:
        print(json.dumps({"hosts": names, "state": head["state"]}))
    return command.OK


def _wait(args):
    end = time.monotonic() + _WAIT_S
    link = command.connect(NAME, args, end)
    answer = link.ask({"op": "activity", "every_s": _EVERY_S})
    while True:
        up = sorted((host["name"] for host in answer["hosts"] if host["state"] == "up"), key=words.natural)
        if len(up) >= args.wait:
            break
        if time.monotonic() > end:
            raise Failure(command.TROUBLE, f"{NAME}: {words.count(len(up), 'host')} of {args.wait} registered with "
                          f"scored at {link.server} within {_WAIT_S} s; their scnoded says why")
        answer = link.receive()
    if args.json:
        print(json.dumps({"hosts": up}))
    return command.OK


def _one(args, cluster):
    host = next((host for host in cluster["hosts"] if host["name"] == args.host), None)
    if not host:
        raise Failure(command.TROUBLE, f"{NAME}: host {args.host} is not in the cluster; scinfo --hosts shows those "
                      "there are")
    command.tell(NAME, args, host, "host")
    return command.OK


def _work(args):
    if args.wait:
        return _wait(args)
    link = command.connect(NAME, args)
    if args.drain is not None or args.undrain is not None:
        return _drain(args, link)
    cluster = completed(command.ask(NAME, link, {"op": "cluster"}), link.server)
    if args.host:
        return _one(args, cluster)
    if not args.check:
        command.tell(NAME, args, cluster, "hosts" if args.hosts else "summary")
        return command.OK
    command.tell(NAME, args, cluster["findings"], "findings")
    return command.TROUBLE if any(f["weight"] == checks.TROUBLE for f in cluster["findings"]) else command.OK


def main():
    """Exit code of scinfo."""
    parser = _parser()
    args = parser.parse_args()
    if args.note and args.drain is None:
        parser.error("--note goes with --drain")
    if args.host and (args.hosts or args.check or args.wait or args.drain is not None or args.undrain is not None):
        parser.error("HOST goes with no other request")
    return command.run(NAME, lambda: _work(args))
