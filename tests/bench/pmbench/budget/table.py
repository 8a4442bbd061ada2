# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of a case, as a record for programs, as a table for people, and as Markdown: pure."""
from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from ..sweep import size_text
from . import stages as s
from .cases import BOTH_WAYS, LATENCY, Case
from .runs import Watched

# Columns of the Markdown table.
GROUPS = (("program, Open MPI", (s.PROGRAM, s.OPEN_MPI)), ("mtl/pm", (s.MTL,)), ("engine, pm.h", (s.API, s.ENGINE)),
          ("device", (s.DEVICE,)), ("copy", (s.COPY,)), ("system call", (s.SYSTEM_CALL,)),
          ("kernel: copy", (s.K_COPY,)), ("buffers", (s.K_BUFFERS,)), ("UDP, IP", (s.K_IP,)),
          ("AF_XDP, BPF", (s.K_XSK,)), ("link", (s.K_LINK,)), ("rest", (s.K_REST, s.OTHERS)), ("waiting", (s.WAITING,)))
FUNCTIONS = 20  # that a record names of each rank
TITLES = {LATENCY: "latency: one message of a ping-pong (half the round trip)",
          BOTH_WAYS: "both ways at once: one message each way"}


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


def medians(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """By name, over rounds; what a round lacks is 0 there."""
    names = dict.fromkeys(name for one in each for name in one)
    return {name: round(statistics.median(one.get(name, 0.0) for one in each), 4) for name in names}


def record(case: Case, mtu: int, state: str, plain: Sequence[Watched], sampled: Sequence[Watched],
           called: Sequence[Watched], wire: Mapping[str, float], instructions: Sequence[Mapping[str, float]]) -> dict:
    """Of one state of the machine, medians over its rounds."""
    told = {"device": case.device, "interface": case.interface, "pattern": case.pattern, "bytes": case.size, "mtu": mtu,
            "state": state, "rounds": len(sampled), "watched_us": spread([one.message_us for one in sampled]),
            "stages": [medians([one.seen[rank] for one in sampled]) for rank in (0, 1)],
            "functions": [top(medians([one.functions[rank] for one in sampled])) for rank in (0, 1)],
            "wire": {name: round(count, 3) for name, count in wire.items()}}
    if plain:
        told["message_us"] = spread([one.message_us for one in plain])
    if called:
        told["called_us"] = spread([one.message_us for one in called])
        told["calls"] = [calls_of([one.seen[rank] for one in called]) for rank in (0, 1)]
    if instructions:
        told["instructions"] = [{stage: round(count) for stage, count in one.items()} for one in instructions]
    return told


def top(functions: Mapping[str, float]) -> dict[str, float]:
    """The functions that take most."""
    return dict(sorted(functions.items(), key=lambda item: -item[1])[:FUNCTIONS])


def calls_of(each: Sequence[Mapping]) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for one in each for name in one)
    return {name: medians([vars(one[name]) for one in each if name in one]) for name in names}


# --- for people -----------------------------------------------------------------------------------

def text(told: Mapping, functions: int = 0) -> str:
    return "\n".join([head(told), *stage_lines(told), *call_lines(told), *wire_lines(told),
                      *function_lines(told, functions)])


def head(told: Mapping) -> str:
    what = f"{told['interface']} {told['pattern']} {size_text(told['bytes'])} over {told['device']}, MTU {told['mtu']}"
    measured = told.get("message_us")
    alone = f"{range_text(measured)} us a message, " if measured else ""
    return (f"{what}{', ' + told['state'] if told['state'] else ''}: {alone}{range_text(told['watched_us'])} us while "
            f"perf looked on, {told['rounds']} round{'s' if told['rounds'] > 1 else ''}")


def range_text(value: Mapping[str, float]) -> str:
    return f"{value['median']:.4g} [{value['min']:.4g} {value['max']:.4g}]"


def unseen(told: Mapping, rank: int) -> float:
    """Time in which perf had no sample of the core."""
    return told["watched_us"]["median"] - sum(told["stages"][rank].values())


def stage_lines(told: Mapping) -> list[str]:
    counts = told.get("instructions")
    lines = [f"  {'us per message':24}{'rank 0':>10}{'rank 1':>10}{'both':>10}"
             + (f"{'instructions 0':>16}{'1':>10}" if counts else "")]

    def row(name: str, values: Sequence[float], numbers: Sequence[float] = ()) -> str:
        return (f"  {name:24}" + "".join(f"{value:10.2f}" for value in [*values, sum(values)])
                + "".join(f"{number:{width}.0f}" for number, width in zip(numbers, (16, 10))))

    for stage in s.STAGES:
        values = [told["stages"][rank].get(stage, 0.0) for rank in (0, 1)]
        numbers = [one.get(stage, 0) for one in counts] if counts else ()
        if any(values) or any(numbers):
            lines.append(row(stage, values, numbers))
    lines.append(row("not seen", [unseen(told, rank) for rank in (0, 1)]))
    lines.append(row("sum", [told["watched_us"]["median"]] * 2,
                     [sum(one.values()) for one in counts] if counts else ()))
    lines.append(row("  of it busy", [busy(told, rank) for rank in (0, 1)]))
    return lines


def busy(told: Mapping, rank: int) -> float:
    return sum(told["stages"][rank].get(stage, 0.0) for stage in s.BUSY)


def call_lines(told: Mapping) -> list[str]:
    if "calls" not in told:
        return []
    lines = [f"  {'system calls':24}{'calls':>10}{'us each':>10}{'us':>10}{'idle calls':>12}{'us each':>10}{'us':>10}"
             f"{'bytes each':>12}   per message, {range_text(told['called_us'])} us while they were timed"]
    for rank, calls in enumerate(told["calls"]):
        for name, one in calls.items():
            count, idle = one["count"] - one["idle_count"], one["idle_count"]
            us, idle_us = one["us"] - one["idle_us"], one["idle_us"]
            lines.append(f"  {f'rank {rank} {name}':24}{count:10.3f}{us / count if count else 0:10.2f}{us:10.2f}"
                         f"{idle:12.3f}{idle_us / idle if idle else 0:10.2f}{idle_us:10.2f}"
                         f"{one['bytes'] / count if count else 0:12.0f}")
    return lines


def wire_lines(told: Mapping) -> list[str]:
    """Each read request is a round trip more for the part of the message that it asks for."""
    if not told["wire"]:
        return []
    counts = (f"{count_text(count)} {name}" for name, count in told["wire"].items() if count > 0)
    return [f"  on the wire, per message: {', '.join(counts)}"]


def function_lines(told: Mapping, most: int) -> list[str]:
    return [f"  rank {rank}: {us:8.2f} us in {name}" for rank in (0, 1)
            for name, us in list(told["functions"][rank].items())[:most]]


def count_text(count: float) -> str:
    return f"{count:.0f}" if count >= 100 else f"{count:.3g}"


# --- for pages -------------------------------------------------------------------------------------

def markdown(records: Iterable[Mapping]) -> str:
    """A table for each pattern and interface; a cell has rank 0 and rank 1."""
    groups: dict[tuple[str, str], list[Mapping]] = {}
    for told in records:
        groups.setdefault((told["pattern"], told["interface"]), []).append(told)
    lines: list[str] = []
    for (pattern, interface), rows in groups.items():
        names = [name for name, _ in GROUPS]
        lines += [f"### {TITLES.get(pattern, f'{pattern}: one way')}, {interface}", "",
                  f"| bytes | way | state | us, alone | us, watched | {' | '.join(names)} | not seen | on the wire |",
                  "|---" * (len(names) + 7) + "|"]
        lines += [f"| {' | '.join(cells(told))} |" for told in sorted(rows, key=lambda told: told["bytes"])]
        lines.append("")
    return "\n".join(lines)


def cells(told: Mapping) -> list[str]:
    pairs = [[sum(told["stages"][rank].get(stage, 0.0) for stage in of) for rank in (0, 1)] for _, of in GROUPS]
    pairs.append([unseen(told, rank) for rank in (0, 1)])
    wire = ", ".join(f"{count_text(told['wire'][name])} {short}" for name, short in
                     (("data", "data"), ("acks", "acks"), ("read requests", "reads")) if told["wire"].get(name, 0) > 0)
    return [size_text(told["bytes"]), told["device"], told["state"] or "-",
            range_text(told["message_us"]) if "message_us" in told else "-", range_text(told["watched_us"]),
            *(f"{number(one)} / {number(other)}" for one, other in pairs), wire or "-"]


def number(us: float) -> str:
    """Short: who looks for where the time goes needs two digits."""
    return f"{us:.0f}" if abs(us) >= 10 else f"{us:.1f}" if abs(us) >= 0.05 else "0"
