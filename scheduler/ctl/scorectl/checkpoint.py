# SPDX-License-Identifier: BSD-3-Clause
"""checkpoint - the command sccheckpoint: tells whether a running job can be written to disk."""

import json

from pmcommand import Failure
from scorelink.link import Unreachable

from . import cancel, command

NAME = "sccheckpoint"
_LIMIT_S = 600     # ranks that compute are waited for


def _parser():
    parser = command.parser(NAME, "Tells whether a running MPI job can be written to disk, and what is in the way.",
                            "it can't be, or that is not known")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    parser.add_argument("--try", action="store_true", required=True, dest="is_try",
                        help="nothing is written, and the job goes on")
    return parser


def _answer(link, args):
    try:
        return command.ask(NAME, link, {"op": "checkpoint", "id": args.job})
    except Unreachable as problem:
        if isinstance(problem.__context__, TimeoutError):
            raise Failure(command.TROUBLE, f"{NAME}: job {args.job} has not answered for {_LIMIT_S // 60} minutes; "
                          "is one of its ranks stopped?") from None
        raise


def _work(args):
    link = command.connect(NAME, args)
    link.socket.settimeout(_LIMIT_S)
    answer = _answer(link, args)
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
