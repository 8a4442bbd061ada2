# SPDX-License-Identifier: BSD-3-Clause
"""The report on programs: README.md, apps.jsonl with the same for programs, and a plot."""
from __future__ import annotations

import json
import pathlib

from .. import report
from .. import state as states
from .links import PM, TCP
from .rows import Row, Span, mean_of_mpi, ratio, worst
from .selection import PROGRAMS, Missing

RECORDS, PAGE, PLOT = "apps.jsonl", "README.md", "apps.png"
COLOURS = {"run": "tab:blue", "mpi": "tab:orange"}
HEAD = ["program", "place", "state", f"run, {PM}", f"run, {TCP}", "ratio", f"in MPI, {PM}", f"in MPI, {TCP}", "ratio",
        f"start, {PM}", f"start, {TCP}", "rounds"]

INTRODUCTION = """\
Written by `make bench-apps`. Programs of Debian run over PM, and over Open MPI's `btl tcp` with vader inside a host.
`scrun` starts both sides with the same ranks on the same cores, in turn. *Run* is the time of the whole command, *in
MPI* the time inside MPI calls (`tests/bench/mpiprofile`), the mean of all ranks; medians in seconds, with the range in
brackets. *Start* is what is left of the run before MPI_Init has ended and after MPI_Finalize has begun. A ratio below 1
says that PM is faster. Each run's results are compared with those of the first run, digit by
digit, or to the tolerance that is given below; a run that differs ends the measurement of its program.

On 1 host there are two ranks; on 2 and 4 hosts each host has one. A host has one core of the machine for itself, but
four hosts share two cores by pairs, and waits then yield (`mpi_yield_when_idle`) on both sides. *1x1g-1500* is one rail
of 1 Gbit/s at MTU 1500. The states of the machine are explained in [method.md](../method.md).
Why PM is slower in some rows is told in [apps-causes.md](../apps-causes.md)."""

CALLS = """\
The dearest calls over PM, by the power of two below their bytes. Seconds and number of calls are means of the ranks.
The time of a call includes the wait for ranks that still compute."""


def span(of: Span) -> str:
    return f"{of.median:.3g} [{of.low:.3g} {of.high:.3g}]"


def marked(value: float) -> str:
    """Bold where PM is slower."""
    return f"**{value:.3f}**" if value > 1 else f"{value:.3f}"


def line(row: Row) -> str:
    """A row of the table."""
    cells = [row.program, row.place, row.state or "-", span(row.run[PM]), span(row.run[TCP]), marked(row.run_ratio),
             span(row.mpi[PM]), span(row.mpi[TCP]), marked(row.mpi_ratio),
             *(f"{row.start_s(side):.3f}" for side in (PM, TCP)), str(row.rounds)]
    return f"| {' | '.join(cells)} |"


def table(head: list[str], lines: list[str]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines]


def part_lines(rows: list[Row]) -> list[str]:
    return [f"| {row.program} | {part} | {row.place} | {row.state or '-'} | {span(spans[PM])} | {span(spans[TCP])} | "
            f"{marked(ratio(spans))} |" for row in rows for part, spans in row.parts.items()]


def call_lines(rows: list[Row], count: int = 3) -> list[str]:
    """Of rows whose program is slower over PM: the dearest calls, PM's and those of the same kind by TCP."""
    lines = []
    for row in rows:
        theirs = {(name, size): seconds for name, size, seconds, _ in row.calls[TCP]}
        for name, size, seconds, number in row.calls[PM][:count] if row.run_ratio > 1 else []:
            other = theirs.get((name, size))
            lines.append(f"| {row.program} | {row.place} | {row.state or '-'} | {name} | {size} | {number:.0f} | "
                         f"{seconds:.3g} | {'-' if other is None else f'{other:.3g}'} |")
    return lines


def summary(rows: list[Row]) -> list[str]:
    """One sentence for each state."""
    lines = []
    for state in (*states.STATES, states.INDIFFERENT):
        seen = [row for row in rows if row.state == state]
        if seen:
            bad = worst(seen)
            slower = sum(row.run_ratio > 1 for row in seen)
            lines.append(f"- {state or 'one state'}: {len(seen)} rows, {slower} of them with a run time above 1.0; the "
                         f"worst is {bad.run_ratio:.3f} ({bad.program}, {bad.place}); the geometric mean of the ratios "
                         f"of the time inside MPI calls is {mean_of_mpi(seen):.3f}.")
    return lines


def markdown(env: dict[str, str], rows: list[Row], missing: list[Missing]) -> str:
    text = ["# Programs", "", INTRODUCTION, "", *summary(rows), "", *table(HEAD, [line(row) for row in rows])]
    if parts := part_lines(rows):
        text += ["", "## Parts of programs", "",
                 "Times that a program takes itself, in seconds. A ring's time is that of one message.", "",
                 *table(["program", "part", "place", "state", PM, TCP, "ratio"], parts)]
    if calls := call_lines(rows):
        text += ["", "## Calls of programs that are slower over PM", "", CALLS, "",
                 *table(["program", "place", "state", "call", "bytes", "calls", f"s, {PM}", f"s, {TCP}"], calls)]
    if missing:
        text += ["", "## Not measured", "", *(f"- {each.program or 'all programs'}, {each.place}: "
                                              f"{each.why.splitlines()[0]}" for each in missing)]
    text += ["", "## Programs", "", *(f"- `{p.name}` (Debian package {p.package}): {p.text}. Results: "
                                      f"{f'to {p.tolerance:g}' if p.tolerance else 'each digit'}."
                                      for p in PROGRAMS.values() if any(row.program == p.name for row in rows))]
    text += ["", f"![Ratios]({PLOT})", "", "## Environment", "", *(f"- {key}: {value}" for key, value in env.items())]
    return "\n".join(text) + "\n"


def read(directory: pathlib.Path) -> list[Row]:
    """The rows of an older report; none if there is no report."""
    try:
        lines = (directory / RECORDS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [Row.from_json(told) for told in map(json.loads, lines) if "program" in told and "wall" in told]


def merged(older: list[Row], newer: list[Row]) -> list[Row]:
    """Newer rows replace older ones of the same program, place and state; in the order of the programs and places."""
    by_key = {(row.program, row.hosts, row.link, row.state): row for row in [*older, *newer]}
    order = list(PROGRAMS)
    return sorted(by_key.values(), key=lambda row: (row.hosts, row.link, order.index(row.program), row.state))


def write(directory: pathlib.Path, rows: list[Row], missing: list[Missing]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    env = report.environment()
    with (directory / RECORDS).open("w", encoding="utf-8") as out:
        out.write(json.dumps({"environment": env}) + "\n")
        for row in rows:
            out.write(json.dumps(row.as_json()) + "\n")
        for each in missing:
            out.write(json.dumps({"program": each.program, "place": each.place, "cannot_run": each.why}) + "\n")
    (directory / PAGE).write_text(markdown(env, rows, missing), encoding="utf-8")
    draw(directory / PLOT, rows)


def draw(path: pathlib.Path, rows: list[Row]) -> None:
    """A bar for each row and kind of time; without matplotlib there is none."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.3 * len(rows)), layout="constrained")
    places = range(len(rows))
    for kind, shift, label in (("run", -0.2, "run time"), ("mpi", 0.2, "time inside MPI calls")):
        values = [row.run_ratio if kind == "run" else row.mpi_ratio for row in rows]
        axes.barh([at + shift for at in places], values, height=0.4, color=COLOURS[kind], label=label)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(yticks=list(places), xlabel=f"{PM} against {TCP}, below 1: PM is faster", title="Programs")
    axes.set_yticklabels([f"{row.program}, {row.place}{', ' + row.state if row.state else ''}" for row in rows],
                         fontsize=7)
    axes.invert_yaxis()
    axes.grid(True, axis="x", alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
