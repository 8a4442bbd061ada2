# SPDX-License-Identifier: BSD-3-Clause
"""migrate - the command scmigrate: has a running job go on by another network."""

import json

from pmcommand import Failure
from scorelink.link import Unreachable

from . import cancel, command

NAME = "scmigrate"
_LIMIT_S = 600     # ranks that compute are waited for


def _parser():
    parser = command.parser(NAME, "Has a running MPI job go on by another network.",
                            "it did not change to it, or that is not known")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    parser.add_argument("--network", metavar="NAME[+NAME...]", required=True,
                        help="a network of the cluster or a device, as -network of scrun")
    return parser


def _answer(link, args):
    try:
        return command.ask(NAME, link, {"op": "migrate", "id": args.job, "network": args.network})
    except Unreachable as problem:
        if isinstance(problem.__context__, TimeoutError):
            raise Failure(command.TROUBLE, f"{NAME}: job {args.job} has not answered for {_LIMIT_S // 60} minutes; the "
                          "change goes on, and waits perhaps for a rank that is stopped") from None
        raise


def _work(args):
    link = command.connect(NAME, args)
    link.socket.settimeout(_LIMIT_S)
    answer = _answer(link, args)
    if args.json:
        print(json.dumps({"id": args.job, "network": args.network, "stood_s": answer["stood_s"]}))
    else:
        print(f"job {args.job} goes on by {args.network}; its ranks stood still for {answer['stood_s'] * 1e3:.0f} ms")
    return command.OK


def main():
    """Exit code of scmigrate."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
