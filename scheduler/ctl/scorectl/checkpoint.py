# SPDX-License-Identifier: BSD-3-Clause
"""checkpoint - the command sccheckpoint: has a running job written to disk, or tells whether it could be."""

import json

from . import cancel, command, standstill, words

NAME = "sccheckpoint"


def _parser():
    parser = command.parser(NAME, "Writes a running MPI job to disk, while it runs on.",
                            "it was not written, or can't be; then the job goes on all the same")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--try", action="store_true", dest="is_try",
                      help="nothing is written: tells what is in the way")
    what.add_argument("--remove", action="store_true", dest="is_removal",
                      help="all images of a job that has ended are removed")
    return parser


def _say(args, answer):
    if args.is_removal:
        print(f"the images of job {args.job} are removed")
        return
    stood = f"its ranks stood still for {answer['stood_s'] * 1e3:.0f} ms"
    if args.is_try:
        print(f"job {args.job} holds nothing that is in the way of a checkpoint; {stood}")
        return
    hosts = "1 host" if answer["hosts"] == 1 else f"{answer['hosts']} hosts"
    print(f"job {args.job}: checkpoint {answer['round']} is written, {words.size(answer['bytes'])} on {hosts}; {stood}")


def _work(args):
    request = {"op": "checkpoint", **({"is_try": True} if args.is_try else {}),
               **({"is_remove": True} if args.is_removal else {})}
    answer = standstill.ask(NAME, args, request, "is one of its ranks stopped?")
    if args.json:
        told = {key: answer[key] for key in ("stood_s", "round", "bytes", "hosts") if key in answer}
        print(json.dumps({"id": args.job, **told}))
    else:
        _say(args, answer)
    return command.OK


def main():
    """Exit code of sccheckpoint."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
