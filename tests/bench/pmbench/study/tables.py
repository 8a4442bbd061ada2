# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the page, from records: pure."""
from __future__ import annotations

import collections
import math
from collections.abc import Callable, Mapping, Sequence

from ..errors import Failed
from ..sweep import size_text
from .designs import BY_NAME, DESIGNS
from .parts import STAGES

Records = Sequence[Mapping]


def main_state(records: Records) -> str:
    """That of the stages; else the one of most rounds."""
    staged = [told["state"] for told in records if "stages_us" in told]
    counts: dict[str, int] = collections.Counter()
    for told in records:
        counts[told["state"]] += told["rounds"]
    return staged[0] if staged else max(counts, key=lambda state: counts[state])


def of_main_state(records: Records) -> list[Mapping]:
    state = main_state(records)
    return [told for told in records if told["state"] == state]


def sizes_in(records: Records) -> list[int]:
    return sorted({told["bytes"] for told in records})


def by_design(records: Records) -> dict[str, dict[int, Mapping]]:
    """Records of the main state by design and size, in the order of the designs."""
    found: dict[str, dict[int, Mapping]] = {}
    for design in DESIGNS:
        rows = {told["bytes"]: told for told in of_main_state(records) if told["design"] == design.name}
        if rows:
            found[design.name] = rows
    return found


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|",
                      *(f"| {' | '.join(row)} |" for row in rows)])


def range_text(value: Mapping[str, float]) -> str:
    return f"{number(value['median'])} [{number(value['min'])} {number(value['max'])}]"


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def short(value: float) -> str:
    """Of stages: what rounds to nothing is left empty."""
    return "" if abs(value) < 0.005 else number(value)


def half_rtt(records: Records) -> str:
    sizes = sizes_in(records)
    rows = [[name, BY_NAME[name].waits,
             *(range_text(row[size]["half_rtt_us"]) if size in row else "" for size in sizes)]
            for name, row in by_design(records).items()]
    return table(["design", "a rank that waits", *map(size_text, sizes)], rows)


def calls_text(told: Mapping) -> str:
    """Those that sent or brought data, and those that found nothing."""
    if "calls" not in told:
        return ""
    # fsum: since Python 3.12 sum() adds floats another way than before
    useful = math.fsum(one["calls"] for one in told["calls"].values())
    idle = math.fsum(one["idle"] for one in told["calls"].values())
    return f"{number(useful)}" + (f" + {number(idle)}" if idle >= 0.005 else "")


def cost(records: Records) -> str:
    """Processor time, system calls, instructions and copies of a message, at each size."""
    rows = []
    for name, row in by_design(records).items():
        for size, told in row.items():
            rows.append([name, size_text(size), number(told["user_us"]), number(told["kernel_us"]), calls_text(told),
                         str(told.get("instructions", "")), str(told["copies"])])
    return table(["design", "bytes", "user, us", "kernel, us", "system calls + empty ones", "instructions, user space",
                  "copies"], rows)


def stages(records: Records) -> str:
    parts = []
    for size in sizes_in(records):
        rows = [[name, *(short(row[size]["stages_us"][stage]) for stage in STAGES),
                 number(row[size]["half_rtt_us"]["median"])]
                for name, row in by_design(records).items() if "stages_us" in row.get(size, {})]
        if rows:
            parts += [f"### {size_text(size)}", "", table(["design", *STAGES, "half RTT"], rows), ""]
    return "\n".join(parts).rstrip()


def sentences(rows: Sequence[str]) -> str:
    """Rows of words as sentences, one for each."""
    return " ".join(f"{row[0].upper()}{row[1:]}." for row in rows)


def copies(_: Records) -> str:
    rows = []
    for design in DESIGNS:
        rows.append([design.name, str(len(design.copies)), sentences(design.copies)])
        if design.long_copies:
            rows.append([f"{design.name}, four packets and more", str(len(design.long_copies)),
                         sentences(design.long_copies)])
    return table(["design", "copies", "which"], rows)


def split(_: Records) -> str:
    rows = [[design.name, design.protocol, design.packets, design.waits] for design in DESIGNS]
    return table(["design", "order and repetition", "messages are cut by", "a rank that waits"], rows)


def conditions(records: Records) -> str:
    told = of_main_state(records)
    state = main_state(records) or "of one core"
    rounds = min(one["rounds"] for one in told)
    return f"State of the machine: {state}; at least {rounds} rounds for each cell."


PARTS: dict[str, Callable[[Records], str]] = {"split": split, "copies": copies, "conditions": conditions,
                                              "half-rtt": half_rtt, "cost": cost, "stages": stages}


def inserted(page: str, records: Records) -> str:
    """The page with each table between its two marks."""
    for name, make in PARTS.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
            raise Failed(f"the page lacks the marks of the table {name}: a line '{begin.strip()}' and then '{end}'")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{make(records)}\n\n{end}{rest.split(end)[1]}"
    return page
