# SPDX-License-Identifier: BSD-3-Clause
"""The order in which everything is measured, and the record of each design and size."""
from __future__ import annotations

import collections
import json
import statistics
from collections.abc import Callable, Mapping, Sequence

from .. import state as states
from ..command import Lab
from ..rounds import Aim, Reading, Samples, Take, collect
from . import runs
from .designs import Design
from .parts import combine

TRIES = 3  # of a run that has to be in one state
STAGED = (8, 8 << 10, 64 << 10)  # sizes whose time is split into stages
INSTRUCTED = (8, 8 << 10)        # sizes whose instructions are counted
STEPPED_ROUNDS = 2
Progress = Callable[[str], None]


def state_of(told: Mapping) -> str | None:
    """Of the machine during a line's measurement; None: it changed."""
    return states.of_probes(*told["line_ns"]) if "line_ns" in told else states.INDIFFERENT


class Survey:
    """Measurements of all designs; lines: by design, size and state, those of the interleaved rounds."""

    def __init__(self, labs: Mapping[str, Lab], designs: Sequence[Design], sizes: Sequence[int],
                 progress: Progress) -> None:
        self.labs, self.designs, self.sizes = labs, designs, sizes
        self.progress = progress
        self.lines: dict[tuple[str, int, str], list[dict]] = collections.defaultdict(list)

    def lab(self, design: Design) -> Lab:
        return self.labs[design.lab]

    def side(self, design: Design) -> Take:
        def take(sizes: Sequence[int], _: str) -> list[Reading]:
            lines = runs.plain(self.lab(design), design, sizes)
            for told in lines:
                if (seen := state_of(told)) is not None:
                    self.lines[design.name, told["bytes"], seen].append(told)
            return [Reading(told["half_rtt_us"], told["bytes"], *told.get("line_ns", (None, None))) for told in lines]
        return take

    def rounds(self, rounds: int, limit_s: float) -> Samples:
        """All designs take turns. Enough rounds in one state of the machine will do."""
        wanted = states.STATES if states.can_tell() else (states.INDIFFERENT,)
        aim = Aim(tuple(self.sizes), wanted, rounds, limit_s)
        return collect({design.name: self.side(design) for design in self.designs}, aim, self.progress)

    def main_state(self) -> str:
        """The state that most was measured in."""
        counts: dict[str, int] = collections.Counter()
        for (_, _, state), lines in self.lines.items():
            counts[state] += len(lines)
        return max(counts, key=lambda state: counts[state])

    # --- what is measured beside the rounds ---------------------------------------------------------

    def steps(self, design: Design, state: str) -> dict[int, dict]:
        """By size: medians of the steps in that state, if it was seen, else of all."""
        found: dict[int, list[dict]] = collections.defaultdict(list)
        for _ in range(STEPPED_ROUNDS):
            for told in runs.stepped(self.lab(design), design, self.sizes):
                found[told["bytes"]].append(told)
        return {size: medians([told for told in lines if state_of(told) == state] or lines)
                for size, lines in found.items()}

    def watched(self, design: Design, state: str) -> dict:
        """Values of all kinds of watching, for records()."""
        seen: dict = {"steps": self.steps(design, state)}
        sizes = [size for size in self.sizes if size in STAGED]
        seen["sampled"] = runs.sampled(self.lab(design), design, sizes) if sizes else {}
        seen["called"] = runs.called(self.lab(design), design, self.sizes)
        return seen

    def instructions(self, design: Design) -> dict[int, float]:
        return {size: runs.instructed(self.lab(design), design, size) for size in self.sizes if size in INSTRUCTED}

    # --- records -------------------------------------------------------------------------------------

    def records(self, design: Design, main: str, watched: Mapping, instructions: Mapping[int, float]) -> list[dict]:
        """One for each size and state; what was watched belongs to the main state."""
        found = []
        for size in sorted(self.sizes):
            for state in (*states.STATES, states.INDIFFERENT):
                if lines := self.lines.get((design.name, size, state)):
                    told = record(design, size, state, lines)
                    if state == main:
                        told.update(extras(design, size, told["half_rtt_us"]["median"], watched, instructions))
                    found.append(told)
        return found


def medians(lines: Sequence[Mapping]) -> dict:
    """Of the mean time of a message and of its steps."""
    names = lines[0]["steps_us"]
    return {"mean_us": statistics.median(told["mean_us"] for told in lines),
            "steps_us": {name: statistics.median(told["steps_us"][name] for told in lines) for name in names}}


def record(design: Design, size: int, state: str, lines: Sequence[Mapping]) -> dict:
    """Medians over rounds; processor time over all of them, since the kernel takes it by its tick."""
    halves = [told["half_rtt_us"] for told in lines]
    messages = sum(told["messages"] for told in lines)
    spent = {key: round(sum(told[key] * told["messages"] for told in lines) / messages, 3)
             for key in ("user_us", "kernel_us", "idle")}
    return {"design": design.name, "bytes": size, "state": state, "rounds": len(lines),
            "half_rtt_us": {"median": round(statistics.median(halves), 3), "min": round(min(halves), 3),
                            "max": round(max(halves), 3)}, **spent, "copies": len(design.copies_of(size))}


def extras(design: Design, size: int, half_rtt_us: float, watched: Mapping,
           instructions: Mapping[int, float]) -> dict:
    more: dict = {"calls": {name: {key: round(count, 3) for key, count in one.items()}
                            for name, one in watched["called"].get(size, {}).items()}}
    if size in watched["sampled"]:
        more["stages_us"] = combine(design, half_rtt_us, watched["steps"][size], watched["sampled"][size],
                                    more["calls"])
    if size in instructions:
        more["instructions"] = round(instructions[size])
    return more


def measure(labs: Mapping[str, Lab], designs: Sequence[Design], sizes: Sequence[int], rounds: int, limit_s: float,
            counts_instructions: bool, progress: Progress) -> list[dict]:
    """Everything; the records of all designs."""
    survey = Survey(labs, designs, sizes, progress)
    survey.rounds(rounds, limit_s)
    main, found = survey.main_state(), []
    for number, design in enumerate(designs, 1):
        progress(f"stages, system calls, instructions: {design.name}, {number} of {len(designs)}")
        watched = survey.watched(design, main)
        counts = survey.instructions(design) if counts_instructions else {}
        found += survey.records(design, main, watched, counts)
    return found


def lines_of(records: Sequence[Mapping]) -> str:
    return "".join(json.dumps(told) + "\n" for told in records)
