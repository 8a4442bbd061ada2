# SPDX-License-Identifier: BSD-3-Clause
"""A program, as these measurements know it: a package of Debian, an input of ours, and results to compare."""
from __future__ import annotations

import dataclasses
import pathlib
import re
import shutil
from collections.abc import Callable

from ..errors import CannotRun, Failed

Results = dict[str, str]  # what a program computed, as it printed it, by name


def no_parts(directory: pathlib.Path) -> list[float]:
    """Of a program that does one thing."""
    return []


@dataclasses.dataclass(frozen=True)
class Program:
    """prepare() writes the input into a directory, for so many ranks; words is the command that each rank runs there.

    results() reads what was computed out of the directory and of what the program printed. Results of two runs on as
    many ranks are equal in every digit, or in the given relative tolerance where the order of sums changes by itself.
    env is what each rank is told besides its transport, on both sides. parts() gives the seconds of what the program
    times itself, in the order of part_names.
    """

    name: str
    package: str
    executable: str
    text: str
    prepare: Callable[[pathlib.Path, int], None]
    words: tuple[str, ...]
    results: Callable[[pathlib.Path, str], Results]
    tolerance: float = 0.0
    needs: tuple[pathlib.Path, ...] = ()  # files of the package, or of another one
    data_package: str = ""
    env: tuple[tuple[str, str], ...] = ()
    part_names: tuple[str, ...] = ()
    parts: Callable[[pathlib.Path], list[float]] = no_parts

    def path(self) -> str:
        """The executable; says what to install when it, or a file that it needs, is missing."""
        found = shutil.which(self.executable)
        if not found:
            raise CannotRun(f"not installed: apt-get install {self.package}")
        for each in self.needs:
            if not each.exists():
                raise CannotRun(f"{each} is not installed: apt-get install {self.data_package or self.package}")
        return found

    def compare(self, ours: Results, theirs: Results) -> None:
        """Fails where two runs do not agree."""
        if ours.keys() != theirs.keys():
            raise Failed(f"{self.name}: results {sorted(ours)} against {sorted(theirs)}")
        for key, value in ours.items():
            if not agree(value, theirs[key], self.tolerance):
                raise Failed(f"{self.name}: {key} is {value} in one run and {theirs[key]} in another")


def agree(one: str, other: str, tolerance: float) -> bool:
    if one == other:
        return True
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def must_find(pattern: str, text: str, what: str) -> list[re.Match[str]]:
    """All places where the pattern matches, at least one."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        raise Failed(f"no {what} in the output, which ends with: {text[-500:]}")
    return found
