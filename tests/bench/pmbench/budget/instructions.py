# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of user space per stage, from callgrind's output: pure."""
from __future__ import annotations

import collections
import re
from collections.abc import Iterable

from ..command import BUILD
from .stages import PROGRAM, Frame, of_user

NAME = re.compile(r"^(c?)(ob|fl|fi|fe|fn)=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"^[+*\-\d]")


def by_stage(lines: Iterable[str]) -> dict[str, int]:
    """Own cost of all functions. Names are numbered when they come first; files share their numbers, as do objects
    and functions, with those of called ones."""
    names: dict[tuple[str, str], str] = {}
    now = {"ob": "", "fl": "", "fn": ""}
    found: dict[str, int] = collections.Counter()
    is_called = False
    for line in lines:
        if match := NAME.match(line):
            of_callee, what, number, name = match.groups()
            what = "fl" if what in ("fi", "fe") else what
            if name is not None:
                names[what, number] = name
            if not of_callee:
                now[what] = names[what, number]
        elif line.startswith("calls="):
            is_called = True  # the next line is what the call cost inclusively
        elif COST.match(line):
            if not is_called:
                found[stage_of(now["ob"], now["fl"], now["fn"])] += int(line.split()[-1])
            is_called = False
    return found


def stage_of(object_: str, path: str, function: str) -> str:
    files = [path] if object_.startswith(f"{BUILD}/") else []
    return of_user(Frame(0, function, object_), files) or PROGRAM
