# SPDX-License-Identifier: BSD-3-Clause
"""The file that bench/mpiprofile.so wrote: the seconds of each rank inside MPI calls, by call and bytes."""
from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
import statistics

from ..errors import Failed


@dataclasses.dataclass(frozen=True)
class Profile:
    """Of one run. wall_s: from Init to Finalize, of the slowest rank; mpi_s: inside MPI calls meanwhile, the mean of
    all ranks. calls: seconds and calls by name and bytes, the mean of all ranks; bytes are the lower end of a class,
    a power of two."""

    wall_s: float
    mpi_s: float
    calls: dict[tuple[str, int], tuple[float, float]]


def read(base: pathlib.Path, ranks: int) -> Profile:
    """The files base.0, base.1, ... of all ranks."""
    told = []
    for rank in range(ranks):
        path = base.with_name(f"{base.name}.{rank}")
        try:
            told.append(json.loads(path.read_text(encoding="ascii")))
        except (OSError, ValueError) as why:
            raise Failed(f"rank {rank} wrote no profile, so it did not reach MPI_Finalize below mpiprofile.so: "
                         f"{why}") from None
    if any(each["ranks"] != ranks for each in told):
        raise Failed(f"the program ran as {told[0]['ranks']} ranks, not as {ranks}")
    if not all(each["calls"] for each in told):
        raise Failed("no MPI call was counted")
    return combined(told)


def combined(told: list[dict]) -> Profile:
    calls: dict[tuple[str, int], list[float]] = collections.defaultdict(lambda: [0.0, 0.0])
    for each in told:
        for name, call in each["calls"].items():
            for size, number, seconds in call["sizes"]:
                calls[name, size][0] += seconds / len(told)
                calls[name, size][1] += number / len(told)
    return Profile(max(each["wall_s"] for each in told), statistics.mean(each["mpi_s"] for each in told),
                   {key: (seconds, number) for key, (seconds, number) in calls.items()})


def dearest(profiles: list[Profile], count: int) -> list[tuple[str, int, float, float]]:
    """The calls that took most time: name, bytes, median seconds and median number over the runs."""
    keys = {key for profile in profiles for key in profile.calls}
    rows = [(name, size, *(statistics.median(profile.calls.get((name, size), (0.0, 0.0))[i] for profile in profiles)
                           for i in (0, 1))) for name, size in keys]
    return sorted(rows, key=lambda row: -row[2])[:count]
