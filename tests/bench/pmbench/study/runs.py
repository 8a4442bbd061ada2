# SPDX-License-Identifier: BSD-3-Clause
"""Runs of send_designs between two hosts of a lab: alone, with timed steps, below perf, with counted calls, below
callgrind."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..budget import calls, samples
from ..budget.fold import Span
from ..command import SCLAB, Lab, lab, program
from ..errors import Failed
from ..eth_cpu import scratch
from .designs import ETHERNET, PLAIN, Design
from .parts import per_stage

PROGRAM = "send_designs"
RUN_LIMIT_S = 70.0  # above what the program itself allows
PLAIN_MS, STEPPED_MS, SAMPLED_MS, CALLED_MS = 80, 80, 600, 120
COUNTED = {8: 2000, 1 << 10: 2000, 8 << 10: 1000, 64 << 10: 200}  # round trips below callgrind
MTU = 1500


@contextlib.contextmanager
def open_labs(designs: Iterable[Design]) -> Iterator[dict[str, Lab]]:
    """Those that the designs need: two hosts joined by a cable, segmentation offload on as a NIC has it."""
    options = ["--direct", "--offloads", "on", "--mtu", str(MTU)]
    wanted = {design.lab for design in designs}
    program(f"bench/{PROGRAM}")
    with contextlib.ExitStack() as stack:
        labs = {}
        if PLAIN in wanted:
            labs[PLAIN] = stack.enter_context(lab("study", 2, *options))
        if ETHERNET in wanted:
            program("bin/pm-ethernetd")
            labs[ETHERNET] = stack.enter_context(lab("study_eth", 2, "--ethernet", *options))
        yield labs


def rank_words(cluster: Lab, design: Design, rank: int, meeting: pathlib.Path, words: Sequence[str],
               tool: Sequence[str] = (), env: Mapping[str, str] | None = None) -> list[str]:
    """The command of one rank, on a core of its own; tool: before the program."""
    core = rank % (os.cpu_count() or 1)
    settings = [f"{key}={value}" for key, value in {"OMPI_COMM_WORLD_RANK": str(rank), **(env or {})}.items()]
    return [str(SCLAB), "--name", cluster.name, "exec", design.hosts[rank], "--", "env", *settings, "taskset", "-c",
            str(core), *tool, program(f"bench/{PROGRAM}"), "-d", design.name, "-r", str(rank), "-m", str(meeting),
            *words]


def end(processes: Iterable[subprocess.Popen]) -> None:
    """Nothing is left running."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(cluster: Lab, design: Design, words: Sequence[str], tool: Sequence[str] = (),
        before: Sequence[str] = (), env: Mapping[str, str] | None = None) -> list[dict]:
    """Both ranks; the JSON lines of rank 0. tool: rank 0 runs below it. before: all of rank 0's command does."""
    with scratch() as directory:
        meeting = directory / "meeting"
        commands = [[*before, *rank_words(cluster, design, 0, meeting, words, tool, env)],
                    rank_words(cluster, design, 1, meeting, words, (), env)]
        started: list[subprocess.Popen] = []
        try:
            for command in commands:
                started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                stdin=subprocess.DEVNULL))
            told = [process.communicate(timeout=RUN_LIMIT_S) for process in started]
        except subprocess.TimeoutExpired:
            raise Failed(f"no end within {RUN_LIMIT_S:g} s: {' '.join(commands[0])}") from None
        finally:
            end(started)
        if any(process.returncode for process in started):
            raise Failed(f"exit status {[process.returncode for process in started]}: {' '.join(commands[0])}\n"
                         + "".join(err[-1000:] for _, err in told))
    return [json.loads(line) for line in told[0][0].splitlines() if line.startswith("{")]


def sizes_of(sizes: Sequence[int]) -> list[str]:
    return [str(size) for size in sizes]


def plain(cluster: Lab, design: Design, sizes: Sequence[int]) -> list[dict]:
    """Nobody looks on."""
    return run(cluster, design, ["-t", str(PLAIN_MS), *sizes_of(sizes)])


def stepped(cluster: Lab, design: Design, sizes: Sequence[int]) -> list[dict]:
    """The program takes the time of its own steps."""
    return run(cluster, design, ["-s", "-t", str(STEPPED_MS), *sizes_of(sizes)])


def sampled(cluster: Lab, design: Design, sizes: Sequence[int]) -> dict[int, dict]:
    """By size: what perf has seen on both cores, in microseconds per message and stage of the kernel. Pauses of random
    length keep the messages out of step with perf's clock."""
    with scratch() as directory:
        data = directory / "perf"
        lines = run(cluster, design, ["-p", "-t", str(SAMPLED_MS), *sizes_of(sizes)], before=samples.record_words(data))
        found = samples.read(data)
    seen = {}
    for told in lines:
        span = Span(told["from_ns"], told["to_ns"])
        factor = 1e6 / samples.RATE_HZ / told["messages"]
        seen[told["bytes"]] = {"mean_us": told["mean_us"],
                               "kernel_us": per_stage((s for s in found if s.at_ns in span), PROGRAM, factor)}
    return seen


def called(cluster: Lab, design: Design, sizes: Sequence[int]) -> dict[int, dict[str, dict[str, float]]]:
    """By size and name: system calls per message, of both ranks together; us: of those that found something."""
    with scratch() as directory:
        base = directory / "calls"
        env = {"LD_PRELOAD": program("bench/callwatch.so"), "CALLWATCH": str(base)}
        lines = run(cluster, design, ["-t", str(CALLED_MS), *sizes_of(sizes)], env=env)
        ranks = calls.read(base, PROGRAM)
    return {told["bytes"]: both(ranks, told) for told in lines}


def both(ranks: Mapping[int, dict], told: Mapping) -> dict[str, dict[str, float]]:
    span = Span(told["from_ns"], told["to_ns"])
    sums: dict[str, dict[str, float]] = {}
    for rank in ranks.values():
        for name, one in calls.per_message(rank, span, span.seconds * 1e6 / told["messages"]).items():
            entry = sums.setdefault(name, {"calls": 0.0, "idle": 0.0, "us": 0.0})
            entry["calls"] += one.count - one.idle_count
            entry["idle"] += one.idle_count
            entry["us"] += one.us - one.idle_us
    return sums


def instructed(cluster: Lab, design: Design, size: int) -> float:
    """Instructions in user space per message, of sender and receiver: a round trip of rank 0 is one of each. It runs
    below callgrind and is by far the slower one, so that it seldom waits."""
    count = COUNTED[size]
    with scratch() as directory:
        out = directory / "callgrind"
        tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                "--toggle-collect=counted_trips"]
        run(cluster, design, ["-x", "-o", str(count), str(size)], tool)
        totals = [line.split()[1] for line in out.read_text().splitlines() if line.startswith("totals:")]
    if not totals or int(totals[0]) == 0:
        raise Failed(f"callgrind counted nothing of {design.name}")
    return int(totals[0]) / count
