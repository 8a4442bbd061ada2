# SPDX-License-Identifier: BSD-3-Clause
"""cli - the command: rounds until the time is over, a line about each, the report after each."""
import argparse
import dataclasses
import json
import os
import random
import sys
import time

import schedlab

from . import report, rounds

OK, BAD, USAGE, SKIPPED = 0, 1, 2, 77
ROUNDS_OF_LAB = 40          # then a new one, so that also its beginning and its end come often
SHAPE = ("--nics", "2", "--cores", "1", "--quantum", "100ms", "--ethernet")
SEEDS = 1 << 32


def _parser():
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__.partition(" - ")[2],
        epilog="needs root. exit status: 0 all rounds were good, 1 some were not, 2 wrong arguments, 77 no such "
               "cluster can be made here, 130 interrupted")
    parser.add_argument("--hours", type=float, default=1, metavar="N", help="how long (default: 1)")
    parser.add_argument("--rounds", type=int, metavar="N", help="at most so many")
    parser.add_argument("--seed", type=int, help="of the first round; each further one has the next number")
    parser.add_argument("--write", metavar="DIR", help="the report goes there, after each round")
    parser.add_argument("--add", action="store_true", help="to the rounds that are there")
    parser.add_argument("--json", action="store_true", help="one JSON line per round")
    return parser


def _tell(args, entry):
    if args.json:
        print(json.dumps(dataclasses.asdict(entry)), flush=True)
        return
    end = "good" if entry.is_good() else "NOT GOOD: " + "; ".join([*entry.wrong, *entry.left])
    print(f"round {entry.number}, seed {entry.seed}, {entry.seconds:g} s: {' and '.join(entry.faults)}: {end}",
          flush=True)


def _lines(lab):
    """Command lines of all daemons, to start them anew."""
    found = {}
    for pid, (host, name) in lab.processes().items():
        if name in schedlab.DAEMONS:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                found[name, host] = f.read().split("\0")[:-1]
    return found


def _run(args, played):
    first = args.seed if args.seed is not None else random.SystemRandom().randrange(SEEDS)
    end = time.monotonic() + args.hours * 3600
    before, number = len(played), 0
    while time.monotonic() < end and number != args.rounds:
        with schedlab.Lab(f"soak{os.getpid()}", 4, *SHAPE) as lab:
            lines = _lines(lab)
            for _ in range(ROUNDS_OF_LAB):
                if time.monotonic() >= end or number == args.rounds:
                    break
                entry = rounds.play(lab, lines, before + number, first + number)
                number += 1
                played.append(entry)
                _tell(args, entry)
                if args.write:
                    report.write(args.write, played)
                if entry.left:
                    break       # the next round would be blamed for it
    return played[before:]


def main(words):
    """Exit code of soak."""
    args = _parser().parse_args(words)
    why = schedlab.missing()
    if why:
        print(f"soak: {why}", file=sys.stderr)
        return SKIPPED
    played = report.read(args.write) if args.write and args.add else []
    try:
        new = _run(args, played)
    except KeyboardInterrupt:
        return 130
    bad = sum(not each.is_good() for each in new)
    print(f"soak: {len(new)} rounds, {bad} of them not good", file=sys.stderr)
    return BAD if bad else OK
