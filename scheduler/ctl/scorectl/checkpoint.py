# SPDX-License-Identifier: BSD-3-Clause
"""checkpoint - the command sccheckpoint: tells whether a running job can be written to disk."""

import json

from . import cancel, command, standstill

NAME = "sccheckpoint"


def _parser():
    parser = command.parser(NAME, "Tells whether a running MPI job can be written to disk, and what is in the way.",
                            "it can't be, or that is not known")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    parser.add_argument("--try", action="store_true", required=True, dest="is_try",
                        help="nothing is written, and the job goes on")
    return parser


def _work(args):
    answer = standstill.ask(NAME, args, {"op": "checkpoint"}, "is one of its ranks stopped?")
    if args.json:
        print(json.dumps({"id": args.job, "stood_s": answer["stood_s"]}))
    else:
        print(f"job {args.job} holds nothing that is in the way of a checkpoint; its ranks stood still for "
              f"{answer['stood_s'] * 1e3:.0f} ms")
    return command.OK


def main():
    """Exit code of sccheckpoint."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
