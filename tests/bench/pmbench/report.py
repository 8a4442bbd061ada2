# SPDX-License-Identifier: BSD-3-Clause
"""The written report: JSON lines, Markdown and plots, with the environment of the run."""
from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess

from . import plots, sizetable
from . import state as states
from .figure import Goal, NotSeen, Outcome, Result
from .sweep import Measured

Row = tuple[Goal, list[Outcome], str]  # a figure, its outcomes, why there are none

MET = {None: "-", True: "yes", False: "**no**"}
PAIRED = ". The median of the ratios of the rounds counts, and not the ratio of the medians"


STATES = (
    f"The machine has two states. Between the cores that the ranks are pinned to, a cache line takes less than "
    f"{states.FAR_NS:g} ns in the state *near*, and longer in the state *far*. A measurement during which the state "
    "changed is thrown away, and only measurements of one state are compared. A figure has a row for each state, and "
    "its goal must hold in both. *Not seen* means that the machine was not in that state for enough rounds. A figure "
    "without a state is indifferent to it. `docs/bench/method.md` says how the figures are measured.")


PAGES = ("Where the time of a message goes is in [budget.md]({0}budget.md), what was tried to make long messages "
         "faster is in [tried.md]({0}tried.md), and remarks on figures are in [remarks.md]({0}remarks.md). Which part "
         "of a send belongs to the process and which to the kernel is measured in [the study]({0}../study/README.md).")


def pages(directory: pathlib.Path) -> str:
    """The pages beside the report, or above it: that of some figures may lie in a directory of its own."""
    return PAGES.format("" if (directory / "remarks.md").exists() else "../")


def line(outcome: Outcome, figure: Goal) -> str:
    if isinstance(outcome, NotSeen):
        return (f"{outcome.figure:34} {outcome.state:4} not seen: {outcome.rounds} of {outcome.wanted} rounds in "
                f"{outcome.seconds:.0f} s")
    verdict = {None: "stated, no goal", True: f"goal {figure.goal_text()}  met",
               False: f"goal {figure.goal_text()}  MISSED"}[outcome.met]
    first = (f"{outcome.figure:34} {outcome.state:4} {outcome.value:10.2f} {outcome.unit:5} against "
             f"{outcome.against:10.2f} ({outcome.against_name})  ratio {ratio(outcome)}  {verdict}")
    return "\n".join([first, *further(outcome)])


def further(result: Result) -> list[str]:
    """A line for each side that the ratio is not made of, with its own ratio to the same rival."""
    return [f"{'':34} {result.state:4} {median:10.2f} {result.unit:5} of {name}, ratio {median / result.against:.3f}"
            for name, median in result.further.items()]


def ratio(result: Result) -> str:
    """With its spread, and where it was found."""
    place = f" at {result.at}" if result.at else ""
    return f"{result.ratio:.3f} [{result.min:.3f} {result.max:.3f}]{place}"


def version(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "not found"
    return (done.stdout or done.stderr).splitlines()[0] if (done.stdout or done.stderr) else "unknown"


def cpu_model() -> str:
    for text in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        if text.startswith("model name"):
            return text.split(":", 1)[1].strip()
    return "unknown"


def environment() -> dict[str, str]:
    return {
        "kernel": platform.release(),
        "cpu": cpu_model(),
        "cores": str(os.cpu_count()),
        "memory_mib": str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20),
        "compiler": version(["gcc", "--version"]),
        "open_mpi": version(["ompi_info", "--version"]),
    }


def write(directory: pathlib.Path, rows: list[Row], sweeps: list[Measured], is_complete: bool) -> None:
    """Writes figures.jsonl, README.md, the tables over size and the plots below @directory. The curves of single
    devices, which are measured for it, belong to a complete report."""
    directory.mkdir(parents=True, exist_ok=True)
    env = environment()
    with (directory / "figures.jsonl").open("w", encoding="utf-8") as out:
        out.write(json.dumps({"environment": env}) + "\n")
        for record in records(rows):
            out.write(json.dumps(record) + "\n")
    tables = sizetable.write(directory, sweeps)
    curves = plots.write(directory) if is_complete else []
    (directory / "README.md").write_text(markdown(env, rows, curves, tables, pages(directory)),
                                         encoding="utf-8")


def records(rows: list[Row]) -> list[dict[str, object]]:
    return [record for figure, outcomes, why in rows
            for record in [o.as_json() for o in outcomes] or [{"figure": figure.name, "cannot_run": why}]]


def cells(figure: Goal, outcome: Outcome | None, why: str) -> list[str]:
    """A row of the table of figures."""
    if outcome is None:
        return [figure.name, "-", "-", "-", "-", figure.goal_text(), f"could not run: {why}", "-"]
    if isinstance(outcome, NotSeen):
        return [figure.name, outcome.state, "-", "-", "-", figure.goal_text(), "not seen",
                f"{outcome.rounds} of {outcome.wanted}"]
    return [figure.name, outcome.state or "-", f"{outcome.value:g} {outcome.unit}",
            f"{outcome.against:g} {outcome.unit}, {outcome.against_name}", ratio(outcome), figure.goal_text(),
            MET[outcome.met], str(outcome.rounds)]


def all_sides(rows: list[Row]) -> list[str]:
    """Tables with a column for each side, of figures that measure more than the two of their ratio. Figures with the
    same sides share a table."""
    tables: dict[tuple[str, ...], list[str]] = {}
    for _, outcomes, _ in rows:
        for found in outcomes:
            if isinstance(found, Result) and found.further:
                medians = " | ".join(f"{median:g}" for median in found.sides.values())
                tables.setdefault(tuple(found.sides), []).append(
                    f"| {found.figure} | {found.state or '-'} | {found.unit} | {medians} |")
    text = ["", "## Figures with more than two sides", "", "The medians of all sides."] if tables else []
    for sides, lines in tables.items():
        text += ["", f"| figure | state | unit | {' | '.join(sides)} |", "|---" * (3 + len(sides)) + "|", *lines]
    return text


def markdown(env: dict[str, str], rows: list[Row], curves: list[str], tables: list[str],
             links: str = PAGES.format("")) -> str:
    text = ["# Figures", "",
            "Written by `make bench`. Each figure is a ratio of medians over interleaved rounds; "
            "`tests/bench/run NAME` repeats one of them alone. Speeds of different figures must not be compared: "
            "the machine changes speed between runs.", "", STATES, "", links, "",
            "| figure | state | ours | against | ratio [min max] | goal | met | rounds |",
            "|---|---|---|---|---|---|---|---|"]
    text += [f"| {' | '.join(cells(figure, outcome, why))} |"
             for figure, outcomes, why in rows for outcome in outcomes or [None]]
    text += ["", "The meaning of each figure:", ""]
    text += [f"- `{figure.name}`: {figure.text}{PAIRED if figure.is_paired else ''}." for figure, _, _ in rows]
    text += all_sides(rows)
    text += ["", "## Over message size", "", *tables, ""] + [f"![{name}]({name})" for name in curves]
    text += ["", "## Environment", ""] + [f"- {key}: {value}" for key, value in env.items()]
    return "\n".join(text) + "\n"
