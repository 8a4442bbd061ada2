# SPDX-License-Identifier: BSD-3-Clause
"""migrate - the command scmigrate: has a running job go on by another network."""

import json

from . import cancel, command

NAME = "scmigrate"
_LIMIT_S = 600     # ranks that compute are waited for


def _parser():
    parser = command.parser(NAME, "Has a running MPI job go on by another network.",
                            "the job goes on by the devices that it had")
    parser.add_argument("job", metavar="ID", type=cancel.job_of, help="number of the job, as scqueue shows it")
    parser.add_argument("--network", metavar="NAME[+NAME...]", required=True,
                        help="a network of the cluster or a device, as -network of scrun")
    return parser


def _work(args):
    link = command.connect(NAME, args)
    link.socket.settimeout(_LIMIT_S)
    answer = command.ask(NAME, link, {"op": "migrate", "id": args.job, "network": args.network})
    if args.json:
        print(json.dumps({"id": args.job, "network": args.network, "stood_s": answer["stood_s"]}))
    else:
        print(f"job {args.job} goes on by {args.network}; its ranks stood still for {answer['stood_s'] * 1e3:.0f} ms")
    return command.OK


def main():
    """Exit code of scmigrate."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
