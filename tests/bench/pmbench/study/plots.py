# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the study: half round trip over size, and the stages of each design as bars."""
from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence

from ..sweep import size_text
from .designs import BY_NAME
from .parts import STAGES
from .tables import Records, by_design, sizes_in

STYLES = {"tcp": "tab:red", "udp": "tab:orange", "packet": "tab:green", "xdp": "tab:blue", "pm": "black"}


def draw_half_rtt(path: pathlib.Path, records: Records) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    markers = iter("osv^<>Dpd*hP" * 2)
    for name, row in by_design(records).items():
        points = [(size, told["half_rtt_us"]["median"]) for size, told in sorted(row.items())]
        axes.plot(*zip(*points), marker=next(markers), markersize=4, label=name, color=STYLES[name.split("-")[0]],
                  linestyle="--" if BY_NAME[name].is_blocking else "-", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="message size, bytes", ylabel="half RTT, us",
             title="a message between two hosts, by design (dashed: a rank that waits sleeps)")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def draw_bars(axes: object, rows: Mapping[str, Mapping], title: str) -> None:
    from matplotlib import colormaps

    colours = colormaps["tab20"].colors
    names = list(rows)[::-1]
    left = [0.0] * len(names)
    for stage, colour in zip(STAGES, colours):
        widths = [max(0.0, rows[name]["stages_us"][stage]) for name in names]
        axes.barh(names, widths, left=left, color=colour, label=stage)
        left = [at + width for at, width in zip(left, widths)]
    halves = [rows[name]["half_rtt_us"]["median"] for name in names]
    axes.plot(halves, names, linestyle="", marker="|", markersize=14, color="black", label="half RTT")
    axes.set(xlabel="us per message", title=title)
    axes.grid(True, axis="x", alpha=0.3)


def draw_stages(path: pathlib.Path, records: Records, size: int) -> None:
    from matplotlib import pyplot

    rows = {name: row[size] for name, row in by_design(records).items() if "stages_us" in row.get(size, {})}
    panels = [("a rank that waits polls", {name: row for name, row in rows.items() if not BY_NAME[name].is_blocking}),
              ("a rank that waits sleeps", {name: row for name, row in rows.items() if BY_NAME[name].is_blocking})]
    panels = [(title, chosen) for title, chosen in panels if chosen]
    figure, grid = pyplot.subplots(len(panels), 1, figsize=(9, 6.5), layout="constrained", squeeze=False,
                                   height_ratios=[len(chosen) + 1 for _, chosen in panels])
    for axes, (title, chosen) in zip(grid[:, 0], panels):
        draw_bars(axes, chosen, f"{size_text(size)}, {title}")
    grid[0][0].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def write(directory: pathlib.Path, records: Records) -> Sequence[str]:
    """Names of the plots."""
    import matplotlib
    matplotlib.use("Agg")

    names = ["half-rtt.png"]
    draw_half_rtt(directory / names[0], records)
    for size in sizes_in([told for told in records if "stages_us" in told]):
        names.append(f"stages-{size}.png")
        draw_stages(directory / names[-1], records, size)
    return names
