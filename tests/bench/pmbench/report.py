# SPDX-License-Identifier: BSD-3-Clause
"""The written report: JSON lines, Markdown and plots, with the environment of the run."""
from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess

from . import plots
from .figure import Figure, Result

MET = {None: "-", True: "yes", False: "**no**"}
PAIRED = "; the median of the ratios of the rounds, and not the ratio of the medians"


def line(result: Result, figure: Figure) -> str:
    verdict = {None: "stated, no goal", True: f"goal {figure.goal_text()}  met",
               False: f"goal {figure.goal_text()}  MISSED"}[result.met]
    return (f"{result.figure:34} {result.value:10.2f} {result.unit:5} against {result.against:10.2f} "
            f"({result.against_name})  ratio {result.ratio:.3f} [{result.min:.3f} {result.max:.3f}]  "
            f"{verdict}")


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


def write(directory: pathlib.Path, outcomes: list[tuple[Figure, Result | None, str]]) -> None:
    """Writes figures.jsonl, README.md and the plots below @directory."""
    directory.mkdir(parents=True, exist_ok=True)
    env = environment()
    with (directory / "figures.jsonl").open("w", encoding="utf-8") as out:
        out.write(json.dumps({"environment": env}) + "\n")
        for figure, result, why in outcomes:
            out.write(json.dumps(result.as_json() if result else {"figure": figure.name, "cannot_run": why}) + "\n")
    curves = plots.write(directory)
    (directory / "README.md").write_text(markdown(env, outcomes, curves), encoding="utf-8")


def markdown(env: dict[str, str], outcomes: list[tuple[Figure, Result | None, str]], curves: list[str]) -> str:
    text = ["# Figures", "",
            "Written by `make bench`. Each figure is a ratio of medians over interleaved rounds; "
            "`tests/bench/run NAME` repeats one of them alone. Speeds of different figures must not be compared: "
            "the machine changes speed between runs.", "",
            "| figure | ours | against | ratio [min max] | goal | met | rounds |", "|---|---|---|---|---|---|---|"]
    for figure, result, why in outcomes:
        if result is None:
            text.append(f"| {figure.name} | - | - | - | {figure.goal_text()} | could not run: {why} | - |")
            continue
        text.append(f"| {result.figure} | {result.value:g} {result.unit} | {result.against:g} {result.unit}, "
                    f"{result.against_name} | {result.ratio:.3f} [{result.min:.3f} {result.max:.3f}] | "
                    f"{figure.goal_text()} | {MET[result.met]} | {result.rounds} |")
    text += ["", "What each figure means:", ""]
    text += [f"- `{figure.name}`: {figure.text}{PAIRED if figure.is_paired else ''}." for figure, _, _ in outcomes]
    text += ["", "## Over message size", ""] + [f"![{name}]({name})" for name in curves]
    text += ["", "## Environment", ""] + [f"- {key}: {value}" for key, value in env.items()]
    return "\n".join(text) + "\n"
