# SPDX-License-Identifier: BSD-3-Clause
"""top - the command sctop: who runs where, and what becomes of the time."""

import collections

from . import activity, command

NAME = "sctop"
_SPAN_S = 5  # what is shown is of this long: the hosts tell the CPU time once a second
_ONCE_S = 2.0


def _parser():
    parser = command.parser(NAME, "Shows again and again who runs where, and what becomes of the time.")
    parser.add_argument("--once", action="store_true", help="one frame, over two seconds, then ends")
    parser.add_argument("--every", metavar="SECONDS", type=command.seconds, default=1.0,
                        help="a frame that often; default: 1")
    return parser


def answers(link, every):
    """The answers of scored, without end."""
    yield command.ask(NAME, link, {"op": "activity", "every_s": every})
    while True:
        yield link.receive()


def frames(stream, span):
    """Frames from answers, each over the last span seconds."""
    past = collections.deque()
    for answer in stream:
        if past and answer["now_ns"] <= past[-1]["now_ns"]:
            past.clear()        # scored's clock was set back
        past.append(answer)
        while len(past) > 2 and answer["now_ns"] - past[1]["now_ns"] >= span * 1e9:
            past.popleft()
        if len(past) > 1:
            yield activity.frame(answer, past[0])


def _work(args):
    link = command.connect(NAME, args)
    seen = frames(answers(link, _ONCE_S if args.once else args.every), _SPAN_S)
    if not args.once:
        command.watch(NAME, args, seen, "top_drawing")
    elif args.json:
        command.tell(NAME, args, next(seen), "")
    else:
        show = command.tables(NAME)
        show.text(show.top_drawing(next(seen)))
    return command.OK


def main():
    """Exit code of sctop."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
