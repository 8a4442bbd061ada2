# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a case between two hosts of a lab: alone, under perf, with timed system calls, recorded, under callgrind."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from .. import state as states
from ..command import lab, over_pm, pinned, program
from ..devices import OVER_ETHERNET, UDP, Way
from ..errors import Failed
from ..eth_cpu import scratch
from ..watched import line_file
from . import calls, instructions, samples, wire
from .cases import SHMEM, Case, lengths
from .fold import Place, Span, counted, per_function, per_stage, without_waiting

PLAIN_S = 0.4
WATCHED_S = 3.0  # all of the following, and the start
START_S = 0.7    # until a measurement has begun
SPAN_S = 1.2     # that is looked at
STOP_S = 0.2     # that a rank waits for nothing
STEADY = 1.15    # the mean over a run to its median: more, and the machine did something else as well
CALM_S = 0.01    # of it, until nothing is under way any more
RUN_LIMIT_S = 60
RANKS = (0, 1)
WIRE_BYTES, WIRE_MOST = 64 << 20, 200  # of the longer run
CALLGRIND_BYTES, CALLGRIND_MOST = 64 << 20, 2000  # the start differs by some ten thousand instructions


class Unsteady(Exception):
    """Nothing went wrong, but the run says nothing and has to be repeated."""


@dataclasses.dataclass(frozen=True)
class Watched:
    """One run that was looked at: the state of the machine, time per message, and what was seen per rank.

    functions: microseconds per message by stage and innermost function, per rank.
    """

    state: str
    message_us: float
    seen: list
    functions: list = dataclasses.field(default_factory=list)


@contextlib.contextmanager
def open_ways(devices: Iterable[str], mtu: int) -> Iterator[dict[str, Way]]:
    """Labs of two hosts with a cable, for these devices."""
    devices, ways = list(devices), {}
    options = ["--direct", "--offloads", "on", "--mtu", str(mtu)]
    with contextlib.ExitStack() as labs:
        if set(devices) & set(OVER_ETHERNET):
            program("bin/pm-ethernetd")
            ethernet = labs.enter_context(lab("budget_eth", 2, "--ethernet", *options))
        if set(devices) - set(OVER_ETHERNET):
            plain = labs.enter_context(lab("budget", 2, *options))
        for name in devices:
            if name in OVER_ETHERNET:
                ways[name] = Way(ethernet, *over_pm("self+shmem+ethernet", ethernet_attach=name))
            elif name == UDP:
                ways[name] = Way(plain, *over_pm("self+shmem+udp", udp_rails="eth1"))
            elif name == SHMEM:
                ways[name] = Way(plain.among("h0"), *over_pm("self+shmem"))
        yield ways


# --- processes ------------------------------------------------------------------------------------

def environment_of(pid: str) -> dict[str, str]:
    """Of another process; empty if it is gone."""
    try:
        data = pathlib.Path("/proc", pid, "environ").read_bytes()
    except OSError:
        return {}
    return dict(word.split("=", 1) for word in data.decode(errors="replace").split("\0") if "=" in word)


def ranks_of(tag: str, name: str) -> dict[int, int]:
    """Process numbers of the ranks of a run that was started with this tag."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{entry.name}/exe")) == name:
                told = environment_of(entry.name)
                if told.get("BUDGET_RUN") == tag:
                    found[int(told["OMPI_COMM_WORLD_RANK"])] = int(entry.name)
    return found


class Run:
    """A started mpirun; its output is read when it has ended."""

    def __init__(self, case: Case, way: Way, words: list[str], before: list[str] | None = None,
                 env: Mapping[str, str] | None = None, rank_words: list[str] | None = None) -> None:
        self.case = case
        self.tag = f"{os.getpid()}.{time.monotonic_ns()}"
        exports = {**(way.env or {}), **(env or {}), "BUDGET_RUN": self.tag}
        # A program that only talks by PM is no MPI program, but mpirun starts it as well.
        command = way.cluster.mpirun(2, [*way.args, *pinned([*(rank_words or []), *words])], exports)
        self.command = [*(before or []), *command]
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(RUN_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.out.close()
        self.err.close()

    def ranks(self) -> dict[int, int]:
        """Waits for both ranks."""
        end = time.monotonic() + RUN_LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            if len(found := ranks_of(self.tag, self.case.program)) == len(RANKS):
                return found
            time.sleep(0.03)
        self.told()  # says why
        raise Failed(f"{self.case.program} was not seen to run: {' '.join(self.command)}")

    def told(self) -> list[dict]:
        """The JSON lines that the program has printed in the end."""
        try:
            status = self.process.wait(RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end within {RUN_LIMIT_S} s: {' '.join(self.command)}") from None
        self.err.seek(0)
        if status:
            raise Failed(f"exit status {status}: {' '.join(self.command)}\n{self.err.read()[-2000:]}")
        self.out.seek(0)
        lines = [json.loads(line) for line in self.out if line.startswith("{")]
        if not lines:
            raise Failed(f"no JSON line in the output of {' '.join(self.command)}")
        return lines


def state_of(told: list[dict]) -> str:
    """The state of the machine during a run that has probed it."""
    probes = next((line["line_ns"] for line in told if "line_ns" in line), None)
    if probes is None:
        return states.INDIFFERENT
    if (state := states.of_probes(*probes)) is None:
        raise Unsteady("the machine changed its state")
    return state


# --- what is measured ------------------------------------------------------------------------------

def plain(case: Case, way: Way, wanted: str) -> Watched:
    """Nobody looks on."""
    with line_file() as line, Run(case, way, case.timed(PLAIN_S, str(line), wanted)) as run:
        told = run.told()
    return Watched(state_of(told), steady_us(case, told), [])


def look(run: Run) -> Span:
    """The time that is looked at, in the middle of the measurement."""
    run.ranks()
    time.sleep(START_S)
    begin = time.monotonic_ns()
    time.sleep(SPAN_S)
    return Span(begin, time.monotonic_ns())


def must_be_measured(span: Span, told: list[dict]) -> None:
    """The MPI programs say when they measured; pmtest measures until it ends."""
    if "from_ns" in told[0] and not told[0]["from_ns"] <= span.from_ns < span.to_ns <= told[0]["to_ns"]:
        raise Unsteady("the measurement began late")


def steady_us(case: Case, told: list[dict], stopped_s: float = 0.0) -> float:
    """Time per message, in a run during which the ranks were stopped for so long."""
    typical, mean = case.message_us(told[0]), case.mean_us(told[0], stopped_s)
    if typical is None:
        return mean
    if mean > STEADY * typical:
        raise Unsteady(f"the machine was disturbed: {mean:.3g} us a message on average, {typical:.3g} us typically")
    return typical


def leave_alone(pid: int) -> Span:
    """Stops a process for a moment, so that the other one waits."""
    os.kill(pid, signal.SIGSTOP)
    try:
        begin = time.monotonic_ns() + CALM_S * 1e9
        time.sleep(STOP_S)
        return Span(begin, time.monotonic_ns())
    finally:
        os.kill(pid, signal.SIGCONT)


def sampled(case: Case, way: Way, wanted: str) -> Watched:
    """Microseconds per message and stage, of each rank, by perf."""
    with line_file() as line, scratch() as directory:
        data = directory / "perf"
        with Run(case, way, case.timed(WATCHED_S, str(line), wanted), samples.record_words(data)) as run:
            span = look(run)
            pids = run.ranks()
            waits = {0: leave_alone(pids[1])}
            waits[1] = leave_alone(pids[0])
            told = run.told()
        found = samples.read(data)
    must_be_measured(span, told)
    state = state_of(told)
    message_us = steady_us(case, told, sum(STOP_S for _ in RANKS))
    places = [places_of(case, found, rank, span, waits[rank]) for rank in RANKS]
    factor = message_us / (samples.RATE_HZ * span.seconds)
    return Watched(state, message_us, [per_stage(each, factor) for each in places],
                   [per_function(each, factor) for each in places])


def places_of(case: Case, found: list[samples.Sample], rank: int, span: Span, wait: Span) -> dict[Place, float]:
    core = rank % (os.cpu_count() or 1)
    files = samples.Files().find(s for s in found if s.core == core and (s.at_ns in span or s.at_ns in wait))
    return without_waiting(counted(found, core, span, case.program, files),
                           counted(found, core, wait, case.program, files))


def called(case: Case, way: Way, wanted: str) -> Watched:
    """System calls per message, of each rank."""
    with line_file() as line, scratch() as directory:
        base = directory / "calls"
        preload = ["env", f"LD_PRELOAD={program('bench/callwatch.so')}", f"CALLWATCH={base}"]
        with Run(case, way, case.timed(WATCHED_S, str(line), wanted), rank_words=preload) as run:
            span = look(run)
            told = run.told()
        ranks = calls.read(base, case.program)
    must_be_measured(span, told)
    state, message_us = state_of(told), steady_us(case, told)
    return Watched(state, message_us, [calls.per_message(ranks[rank], span, message_us) for rank in RANKS])


def differing(case: Case, bytes_max: int, most: int,
              count: Callable[[int], Mapping[str, int]]) -> dict[str, float]:
    """The counts of count(operations) per message, from two runs of different length: the start does not count."""
    short, long = lengths(case, bytes_max, most)
    before, after = count(short), count(long)
    messages = (long - short) * case.messages_per_operation
    return {name: (after[name] - before.get(name, 0)) / messages for name in after}


def on_the_wire(case: Case, way: Way) -> dict[str, float]:
    """Packets and messages of PM per message, of both ranks together."""
    def count(operations: int) -> Mapping[str, int]:
        with scratch() as directory:
            base = directory / "trace"
            env = {"PM_OPTIONS": f"{(way.env or {})['PM_OPTIONS']},trace={base}"}
            with Run(case, way, case.counted(operations), env=env) as run:
                run.told()
            return wire.count(base)
    return differing(case, WIRE_BYTES, WIRE_MOST, count)


def instructed(case: Case, way: Way, rank: int) -> dict[str, float]:
    """Instructions in user space per message and stage. The rank under callgrind is by far the slower one, so that it
    seldom waits."""
    def count(operations: int) -> Mapping[str, int]:
        with scratch() as directory:
            out = directory / "callgrind"
            tool = f"valgrind -q --tool=callgrind --callgrind-out-file={out}"
            script = f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then exec {tool} "$@"; fi; exec "$@"'
            with Run(case, way, case.counted(operations), rank_words=["sh", "-c", script, "sh"]) as run:
                run.told()
            return instructions.by_stage(out.read_text().splitlines())
    return differing(case, CALLGRIND_BYTES, CALLGRIND_MOST, count)
