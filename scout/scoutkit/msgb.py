# SPDX-License-Identifier: BSD-3-Clause
"""msgb - the command msgb: who has which hosts, who waits for them, and which jobs run there."""

import json

from pmcommand import Failure, wanted
from scorectl import command, words

from . import hosts

NAME = "msgb"


@wanted("number of a lock")
def _number(text):
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _parser():
    parser = command.parser(NAME, "Shows who has locked which hosts, who waits for them, and the jobs there.")
    parser.add_argument("-g", "--group", "--hosts", metavar="EXPR", help="only what concerns these hosts")
    parser.add_argument("--watch", metavar="SECONDS", nargs="?", type=command.seconds, const=2.0,
                        help="again and again, every 2 s if no other time is given; ^C ends it")
    parser.add_argument("--release", metavar="ID", type=_number,
                        help="ends a lock of one's own; operators: any, which is recorded")
    return parser


def _about(entries, names):
    """Those that have or want one of the hosts; names None: all."""
    return [entry for entry in entries if names is None or names.intersection(entry["hosts"])]


def chosen(answer, names=None):
    """The answer "locks", what concerns these hosts, with users' names."""
    return {kind: [{**entry, "user": words.user(entry["uid"])} for entry in _about(answer[kind], names)]
            for kind in ("locks", "waiting", "jobs")}


def _wanted(entry):
    hosts_text = words.hosts(entry["hosts"])
    return hosts_text if entry.get("count", len(entry["hosts"])) == len(entry["hosts"]) else \
        f"{entry['count']} of {hosts_text}"


def view(seen, now):
    """As it is shown: objects with texts."""
    def common(entry):
        return {"user": entry["user"], "mode": entry["mode"], "since": words.duration(now - entry["since"]),
                "reason": entry["reason"] or "-", "place": entry["place"] or "-"}
    return {"locks": [{**common(entry), "id": entry["id"], "hosts": words.hosts(entry["hosts"]),
                       "left": words.duration(entry["left_s"])} for entry in seen["locks"]],
            "waiting": [{**common(entry), "position": entry["position"] + 1, "hosts": _wanted(entry)}
                        for entry in seen["waiting"]],
            "jobs": [{"id": entry["id"], "user": entry["user"], "hosts": words.hosts(entry["hosts"])}
                     for entry in seen["jobs"]]}


def _release(args, link):
    command.ask(NAME, link, {"op": "unlock", "id": args.release})
    print(json.dumps({"id": args.release}) if args.json else f"lock {args.release}: released")
    return command.OK


def _names(args):
    if args.group is None:
        return None
    try:
        return set(hosts.Cluster().expand(args.group))
    except hosts.Wrong as problem:
        raise Failure(command.USAGE, f"{NAME}: {problem}") from None


def _work(args):
    names = _names(args)
    link = command.connect(NAME, args)
    if args.release is not None:
        return _release(args, link)

    def look():
        answer = command.ask(NAME, link, {"op": "locks"})
        seen = chosen(answer, names)
        return seen if args.json else view(seen, words.now(answer))

    if args.watch:
        command.watch(NAME, args, command.every(args.watch, look), "locks_drawing")
    else:
        command.tell(NAME, args, look(), "locks")
    return command.OK


def main():
    """Exit code of msgb."""
    parser = _parser()
    args = parser.parse_args()
    if args.release is not None and (args.watch or args.group is not None):
        parser.error("--release ID goes with no other request")
    return command.run(NAME, lambda: _work(args))
