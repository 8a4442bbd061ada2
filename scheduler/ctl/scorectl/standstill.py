# SPDX-License-Identifier: BSD-3-Clause
"""standstill - requests that scored answers when the ranks of a job have stood still. Those that compute are waited
for."""

from pmcommand import Failure
from scorelink.link import Unreachable

from . import command

_LIMIT_S = 600


def ask(name, args, request, late):
    """scored's answer to a request about job args.job; @late: what a user is to know if none comes, as a clause."""
    link = command.connect(name, args)
    link.socket.settimeout(_LIMIT_S)
    try:
        return command.ask(name, link, {"id": args.job, **request})
    except Unreachable as problem:
        if isinstance(problem.__context__, TimeoutError):
            text = f"{name}: job {args.job} has not answered for {_LIMIT_S // 60} minutes; {late}"
            raise Failure(command.TROUBLE, text) from None
        raise
