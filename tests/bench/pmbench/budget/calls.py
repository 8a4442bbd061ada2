# SPDX-License-Identifier: BSD-3-Clause
"""System calls of a rank while it is measured, from what tests/bench/src/callwatch.c has written."""
from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Mapping

from ..errors import Failed
from .fold import Span


@dataclasses.dataclass(frozen=True)
class Calls:
    """Of one kind, per message. Idle ones found nothing."""

    count: float
    us: float
    idle_count: float
    idle_us: float
    bytes: float


def read(base: pathlib.Path, program: str) -> dict[int, dict]:
    """By rank: what the files that begin with that name hold of the program."""
    found = [json.loads(path.read_text()) for path in base.parent.glob(f"{base.name}.*")]
    ranks = {told["rank"]: told for told in found if told["program"] == program}
    if sorted(ranks) != [0, 1]:
        raise Failed(f"callwatch has written of ranks {sorted(ranks)} of {program}, not of 0 and 1: was it killed?")
    return ranks


def per_message(told: Mapping, span: Span, message_us: float) -> dict[str, Calls]:
    """Calls within that time, by name; slices that reach out of it do not count."""
    slice_ns, start_ns = told["slice_ns"], told["start_ns"]
    first = int(-(-(span.from_ns - start_ns) // slice_ns))
    end = int((span.to_ns - start_ns) // slice_ns)
    if end <= first:
        raise Failed("the measured time is shorter than a slice of callwatch")
    messages = (end - first) * slice_ns / 1e3 / message_us
    sums = {}
    for name, slices in told["calls"].items():
        columns = [sum(column) for column in zip(*(one[1:] for one in slices if first <= one[0] < end))]
        if columns:
            count, ns, idle_count, idle_ns, size = (value / messages for value in columns)
            sums[name] = Calls(count, ns / 1e3, idle_count, idle_ns / 1e3, size)
    return sums
