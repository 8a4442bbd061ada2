#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""send_designs: every design moves some messages between two hosts of a lab with checked data. TAP; needs root."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../mpi")]
import runner                                                           # noqa: E402
from runner import BUILD, environment, run                              # noqa: E402
from pmbench.errors import CannotRun, Failed                            # noqa: E402
from pmbench.study import runs                                          # noqa: E402
from pmbench.study.designs import DESIGNS                               # noqa: E402

TAP = runner.Tap()
SIZES = [65536, 1500, 1]


def moves(labs, design):
    try:
        lines = runs.run(labs[design.lab], design, ["-x", "-t", "1", *map(str, SIZES)])
        is_good = [told["bytes"] for told in lines] == SIZES and all(told["half_rtt_us"] > 0 for told in lines)
        TAP.ok(is_good, design.name, f"{lines}")
    except Failed as why:
        TAP.ok(False, design.name, str(why))


def refuses(*words):
    code, out = run([f"{BUILD}/bench/send_designs", *words], environment())
    TAP.ok(code == 2 and "usage: send_designs" in out, " ".join(["usage:", *words]), f"exit {code}\n{out}")


def main():
    if not os.path.exists(f"{BUILD}/bench/send_designs") or not runner.can_lab():
        print("1..0 # SKIP needs root, ip and build/bench/send_designs")
        return 0
    refuses("-d", "pigeon", "-r", "0", "-m", f"{BUILD}/x", "8")
    refuses("-d", "tcp-poll", "-r", "2", "-m", f"{BUILD}/x", "8")
    refuses("-d", "tcp-poll", "-r", "0", "-m", f"{BUILD}/x")
    code, out = run([f"{BUILD}/bench/send_designs", "-l"], environment())
    names = [line.split()[0] for line in out.splitlines()]
    TAP.ok(code == 0 and sorted(names) == sorted(design.name for design in DESIGNS), "the study knows all designs", out)
    try:
        with runs.open_labs(DESIGNS) as labs:
            for design in DESIGNS:
                moves(labs, design)
    except CannotRun as why:
        TAP.skip("designs", str(why))
    return TAP.end()


sys.exit(main())
