# SPDX-License-Identifier: BSD-3-Clause
"""migrate - the command scmigrate: has a running job go on by another network."""

import json

from . import cancel, command, standstill

NAME = "scmigrate"


def _parser():
    parser = command.parser(NAME, "Has a running MPI job go on by another network.",
                            "it did not change to it, or that is not known")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    parser.add_argument("--network", metavar="NAME[+NAME...]", required=True,
                        help="a network of the cluster or a device, as -network of scrun")
    return parser


def _work(args):
    answer = standstill.ask(NAME, args, {"op": "migrate", "network": args.network},
                            "the change goes on, and waits perhaps for a rank that is stopped")
    if args.json:
        print(json.dumps({"id": args.job, "network": args.network, "stood_s": answer["stood_s"]}))
    else:
        print(f"job {args.job} goes on by {args.network}; its ranks stood still for {answer['stood_s'] * 1e3:.0f} ms")
    return command.OK


def main():
    """Exit code of scmigrate."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
