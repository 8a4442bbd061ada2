# SPDX-License-Identifier: BSD-3-Clause
"""cancel - the command scancel: ends jobs, or sends them a signal; asks nothing, says what was done."""

import json
import signal

from pmcommand import wanted
from scorelink.munge import Refused

from . import command, words

NAME = "scancel"


@wanted("signal, such as USR1 or 10")
def signal_of(text):
    """A signal's number from TERM, SIGTERM, term or 15; ValueError."""
    if text.isascii() and text.isdigit():
        return signal.Signals(int(text)).value
    name = text.upper()
    try:
        return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"].value
    except KeyError:
        raise ValueError from None


@wanted("number of a job")
def job_of(text):
    """A job's number."""
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 1 << 63:
        raise ValueError
    return int(text)


def _parser():
    parser = command.parser(NAME, "Ends jobs of one's own; operators: any.", "a job is not there, or not one's own")
    parser.add_argument("jobs", metavar="ID", nargs="*", type=job_of, help="number of a job, as scqueue shows it")
    parser.add_argument("--all", action="store_true", help="all jobs of the caller")
    parser.add_argument("-s", "--signal", metavar="NAME", type=signal_of,
                        help="sends this signal to the ranks instead of ending the job")
    return parser


def _done(number):
    return f"{signal.Signals(number).name} sent" if number else "cancelled"


def _all(link, args, extra):
    count = command.ask(NAME, link, {"op": "cancel", "all": True, **extra})["count"]
    if args.json:
        print(json.dumps({"count": count}))
    else:
        print(f"{words.count(count, 'job')}: {_done(args.signal)}" if count else "you have no job")
    return command.OK


def _each(link, args, extra):
    results = []
    for job in args.jobs:
        try:
            link.ask({"op": "cancel", "id": job, **extra})
            results.append({"id": job, "is_done": True, "text": _done(args.signal)})
        except Refused as refusal:
            results.append({"id": job, "is_done": False, "text": str(refusal)})
    if args.json:
        print(json.dumps(results, indent=2))
    for result in () if args.json else results:
        if result["is_done"]:
            print(f"job {result['id']}: {result['text']}")
        else:
            command.complain(NAME, result["text"])
    return command.OK if all(result["is_done"] for result in results) else command.TROUBLE


def _work(args):
    extra = {"signal": args.signal} if args.signal else {}
    link = command.connect(NAME, args)
    return (_all if args.all else _each)(link, args, extra)


def main():
    """Exit code of scancel."""
    parser = _parser()
    args = parser.parse_args()
    if args.all == bool(args.jobs):
        parser.error("name jobs by their numbers, or --all" if not args.all else "either numbers or --all, not both")
    return command.run(NAME, lambda: _work(args))
