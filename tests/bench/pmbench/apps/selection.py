# SPDX-License-Identifier: BSD-3-Clause
"""All programs, what is measured unless somebody chooses, and how a choice is measured."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from ..errors import CannotRun, Failed
from . import chemistry, hpcc, lammps
from .links import HOSTS, Place, open_sides, places
from .program import Program
from .runs import Case, Found, measure

PROGRAMS: dict[str, Program] = {p.name: p for p in [*hpcc.PROGRAMS, *lammps.PROGRAMS, *chemistry.PROGRAMS]}
DEFAULT_LINKS = ("unlimited-1500", "unlimited-9000", "1x1g-1500", "2x1g-1500", "4x1g-1500")
ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Choice:
    """Programs, hosts and links that are to be measured."""

    programs: tuple[str, ...] = tuple(PROGRAMS)
    hosts: tuple[int, ...] = HOSTS
    links: tuple[str, ...] = DEFAULT_LINKS

    def places(self) -> list[Place]:
        return places(list(self.hosts), list(self.links))


@dataclasses.dataclass(frozen=True)
class Missing:
    """A case without a result, and why; program is "" if it is all programs of the place."""

    program: str
    place: str
    why: str
    has_failed: bool  # else it cannot run here


@dataclasses.dataclass
class Table:
    """Results of a choice."""

    found: list[Found] = dataclasses.field(default_factory=list)
    missing: list[Missing] = dataclasses.field(default_factory=list)


def installed(names: Iterable[str]) -> tuple[list[Program], list[Missing]]:
    """The programs that can run, and what to install for the others."""
    able, missing = [], []
    for name in names:
        try:
            PROGRAMS[name].path()
            able.append(PROGRAMS[name])
        except CannotRun as why:
            missing.append(Missing(name, "any place", str(why), False))
    return able, missing


def measure_all(choice: Choice, rounds: int, limit_s: float, progress: Callable[[str], None],
                show: Callable[[Found | Missing], None]) -> Table:
    """Place by place, so that labs are built once. A program that fails does not keep others from being measured."""
    able, missing = installed(choice.programs)
    table = Table(missing=missing)
    for each in missing:
        show(each)
    for place in choice.places() if able else []:
        try:
            with open_sides(place) as sides:
                for program in able:
                    case = Case(program, place)
                    try:
                        found = measure(case, sides, rounds, limit_s, progress)
                    except (CannotRun, Failed) as why:
                        table.missing.append(Missing(program.name, place.name, str(why), isinstance(why, Failed)))
                        show(table.missing[-1])
                    else:
                        table.found.append(found)
                        show(found)
        except (CannotRun, Failed) as why:
            table.missing.append(Missing("", place.name, str(why), isinstance(why, Failed)))
            show(table.missing[-1])
    return table
