# SPDX-License-Identifier: BSD-3-Clause
"""The sweeps in the report: sizes.md with a table for each sweep, device and state, sizes.jsonl with the same for
programs, and a plot of the ratio over size for each sweep of many sizes."""
from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator

from . import state as states
from .devices import HERE_MTU, NAMES
from .sweep import Cell, Measured, Sweep, size_text

ALL_STATES = (*states.STATES, states.INDIFFERENT)
PLOTTED = 6  # sizes that a sweep has at least
COLOURS = {states.NEAR: "tab:blue", states.FAR: "tab:orange", states.INDIFFERENT: "tab:gray"}


def states_seen(found: Measured) -> list[str]:
    """Those that any size was measured in."""
    return [state for state in ALL_STATES
            if any(found.cell(state, device, size) for device in found.demand.devices for size in found.demand.sizes)]


def all_cells(found: Measured) -> Iterator[tuple[str, str, int, Cell]]:
    """Device, state, size and what was measured there."""
    for device in found.demand.devices:
        for state in states_seen(found):
            for size in found.demand.sizes:
                if cell := found.cell(state, device, size):
                    yield device, state, size, cell


def records(found: Measured) -> list[dict[str, object]]:
    sweep = found.sweep
    return [{"sweep": sweep.name, "mtu": sweep.mtu, "ranks": sweep.ranks,
             "hosts": 1 if sweep.mtu == HERE_MTU else sweep.hosts, "device": device, "state": state, "bytes": size,
             "unit": sweep.unit, "ours": round(cell.ours, 4), "rival": round(cell.rival, 4),
             "against": cell.against, "ratio": round(cell.ratio, 4), "rounds": cell.rounds}
            for device, state, size, cell in all_cells(found)]


def table(group: list[Measured], device: str) -> list[str]:
    """Markdown: a row per size, of several layouts one per layout and size; for each state ours, the better rival's,
    ratio. Cells not seen are empty."""
    seen = [state for state in ALL_STATES if any(state in states_seen(found) for found in group)]
    keys = ["bytes"] if len(group) == 1 else ["ranks", "hosts", "bytes"]
    heads = [*keys, *(f"{what} {state}".strip() for state in seen for what in ("ours", "rival", "ratio"))]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for found, size in ((found, size) for found in group for size in found.demand.sizes):
        row = [str(found.sweep.ranks), str(found.sweep.hosts), size_text(size)][-len(keys):]
        for state in seen:
            cell = found.cell(state, device, size)
            row += [f"{cell.ours:.4g}", f"{cell.rival:.4g}", f"{cell.ratio:.3f}"] if cell else ["", "", ""]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def rivals_of(sweep: Sweep) -> str:
    return sweep.rivals[0] if len(sweep.rivals) == 1 else "the better of " + " and ".join(sweep.rivals)


def section(group: list[Measured]) -> list[str]:
    """Markdown: all devices of a sweep, or of those that differ in ranks and hosts only."""
    sweep = group[0].sweep
    place = sweep.place if len(group) == 1 else "in several layouts"
    better = "lower" if sweep.lower_is_better else "higher"
    lines = [f"## {sweep.label}", "",
             f"{sweep.title[0].upper()}{sweep.title[1:]}, {place}, {sweep.unit}, against {rivals_of(sweep)}. "
             f"A {better} ratio is better."]
    for device in group[0].demand.devices:
        lines += ["", f"### {sweep.label}: {NAMES[device]}", "", *table(group, device)]
    return [*lines, ""]


@dataclasses.dataclass(frozen=True)
class Line:
    """One curve of a plot: the ratios of a sweep in a state, for each device."""

    found: Measured
    state: str
    label: str
    colour: str | None = None

    def points(self, device: str) -> list[tuple[int, float]]:
        cells = [(size, self.found.cell(self.state, device, size)) for size in self.found.demand.sizes]
        return [(size, cell.ratio) for size, cell in cells if cell]


def lines_by_state(found: Measured) -> list[Line]:
    return [Line(found, state, state or "ratio", COLOURS[state]) for state in states_seen(found)]


def lines_by_layout(group: list[Measured]) -> list[Line]:
    """Of the same measurement with several numbers of ranks and hosts: each in the state that was seen first."""
    return [Line(found, state, f"{found.sweep.layout}{', ' if state else ''}{state}")
            for found in group for state in states_seen(found)[:1]]


def draw(path: pathlib.Path, title: str, lines: list[Line]) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    first = lines[0].found
    devices = first.demand.devices
    figure, grid = pyplot.subplots(1, len(devices), figsize=(4 * len(devices), 3.6), layout="constrained", sharey=True,
                                   squeeze=False)
    for axes, device in zip(grid[0], devices):
        for line in lines:
            if points := line.points(device):
                axes.plot(*zip(*points), marker="o", markersize=3, color=line.colour, label=line.label)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="message size, bytes", title=device)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize=7)
    grid[0][0].set_ylabel(f"ratio to {rivals_of(first.sweep)}")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def grouped(sweeps: list[Measured]) -> list[list[Measured]]:
    """Those together that differ in ranks and hosts only."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for found in sweeps:
        groups.setdefault((found.sweep.words, found.sweep.mtu, found.sweep.rivals), []).append(found)
    return list(groups.values())


def plots(directory: pathlib.Path, sweeps: list[Measured]) -> list[str]:
    """Names of the plots that could be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    names = []
    for group in grouped([found for found in sweeps if len(found.demand.sizes) >= PLOTTED and states_seen(found)]):
        sweep = group[0].sweep
        alone = len(group) == 1
        names.append(f"sizes-{sweep.label if alone else sweep.name}.png")
        title = f"{sweep.title}, {sweep.place}" if alone else sweep.title
        draw(directory / names[-1], title, lines_by_state(group[0]) if alone else lines_by_layout(group))
    return names


def write(directory: pathlib.Path, sweeps: list[Measured]) -> list[str]:
    """Writes the files; gives the lines of the report that lead to them."""
    if not sweeps:
        return []
    with (directory / "sizes.jsonl").open("w", encoding="utf-8") as out:
        for found in sweeps:
            for record in records(found):
                out.write(json.dumps(record) + "\n")
    text = ["# Sweeps over message size", "",
            "Written by `make bench`: medians over interleaved rounds of one state of the machine. Open MPI's btl tcp "
            "has a cable of its own, with offloads and without pm-ethernetd.", ""]
    for group in grouped(sweeps):
        text += section(group)
    (directory / "sizes.md").write_text("\n".join(text), encoding="utf-8")
    return ["Every size of each sweep is in [sizes.md](sizes.md), and in [sizes.jsonl](sizes.jsonl) for programs.", "",
            *(f"![{name}]({name})" for name in plots(directory, sweeps))]
