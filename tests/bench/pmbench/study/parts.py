# SPDX-License-Identifier: BSD-3-Clause
"""The stages of a message between program and program, and how measurements become a time for each: pure.

Measured: the program takes the time of its own steps, and of system calls. Sampled: perf's samples of both cores
split the calls inside the kernel. Inferred: the rest of half a round trip is time in which nobody works for the
message; below 0 it is time in which both ranks do.
"""
from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping, Sequence

from ..budget.samples import Sample
from ..budget.stages import COPY_IN_KERNEL, IN_KERNEL, SYSTEM_CALL, SYSTEM_CALL_STUB, call_of
from .designs import Design

BUILD, LIBRARY, ENTRY, COPY_IN = "build", "library", "system call", "copy in"
TRANSMIT, COPY_OVER, RECEIVE, WAKE = "transmit", "copy in softirq", "receive (softirq)", "wake"
SCHEDULE, RECEIVE_CALL, COPY_OUT, UNPACK, REST = "schedule", "receive call", "copy out", "unpack", "rest"
STAGES = (BUILD, LIBRARY, ENTRY, COPY_IN, TRANSMIT, COPY_OVER, RECEIVE, WAKE, SCHEDULE, RECEIVE_CALL, COPY_OUT, UNPACK,
          REST)
SENDING = (ENTRY, COPY_IN, TRANSMIT, COPY_OVER, RECEIVE, WAKE)  # inside the calls that send
USER, IDLE = "user", "idle"  # of samples, no stages
Calls = Mapping[str, Mapping[str, float]]

SOFTIRQ = re.compile(r"^(net_rx_action|_*napi_poll|process_backlog|handle_softirqs|_*do_softirq)")
WAKES = re.compile(r"^(try_to_wake_up|ttwu_|_*wake_up|default_wake_function|autoremove_wake|pollwake|schedule|"
                   r"__schedule|irq_work_|arch_irq_work|finish_task_switch|dequeue_task|enqueue_task|"
                   r"pick_next_task|switch_mm)")
WAKING = re.compile(r"^(sock_def_readable|_*wake_up|ep_poll_callback)")  # with interrupts off until it unlocks
UNLOCK = "_raw_spin_unlock_irqrestore"
SEND_NAMES = ("send", "sendto", "sendmsg", "sendmmsg", "sendfile")
RECEIVE_NAMES = ("recvfrom", "recvmsg", "recvmmsg")
SEND_CALL = re.compile(r"_sys_(sendto|sendmsg|sendmmsg|sendfile(64)?)$")
ENTERS = next(pattern for stage, pattern in IN_KERNEL if stage == SYSTEM_CALL)


def stage_of(sample: Sample) -> str:
    """Of a sample of the measured program, or of a core that has nothing else to do."""
    frames = [frame for frame in sample.frames if frame.is_kernel]
    symbols = [frame.symbol for frame in frames]
    is_receiving = any(SOFTIRQ.match(symbol) for symbol in symbols)
    call = call_of(sample.frames)
    if not frames or not sample.frames[0].is_kernel:
        return of_user(sample.frames[0].symbol) if sample.frames else USER
    if any(WAKES.match(symbol) for symbol in symbols) or is_waking(symbols):
        return WAKE if SEND_CALL.search(call) else SCHEDULE
    if sample.pid == 0 and not is_receiving:
        return IDLE
    if call and not SEND_CALL.search(call):
        return COPY_OUT if COPY_IN_KERNEL.match(symbols[0]) else RECEIVE_CALL
    if is_receiving:
        return COPY_OVER if COPY_IN_KERNEL.match(symbols[0]) else RECEIVE
    if COPY_IN_KERNEL.match(symbols[0]):
        return COPY_IN
    return ENTRY if ENTERS.match(symbols[0]) or not call else TRANSMIT


def of_user(symbol: str) -> str:
    """The ranks meet between batches, which is no part of a message."""
    if symbol.startswith("meet"):
        return IDLE
    return ENTRY if SYSTEM_CALL_STUB.match(symbol) else USER


def is_waking(symbols: Sequence[str]) -> bool:
    """The clock of the samples is an interrupt: it sees the end of a stretch with interrupts off for all of it."""
    return len(symbols) > 1 and symbols[0] == UNLOCK and WAKING.match(symbols[1]) is not None


def per_stage(found: Iterable[Sample], program: str, factor: float) -> dict[str, float]:
    """Microseconds per message, of both cores; the factor makes them of a sample. Other programs do not count."""
    stages: dict[str, float] = collections.Counter()
    for sample in found:
        if sample.program == program or sample.pid == 0:
            stages[stage_of(sample)] += factor
    return dict(stages)


def combine(design: Design, half_rtt_us: float, stepped: Mapping, seen: Mapping, calls: Calls) -> dict[str, float]:
    """Microseconds of each stage, for the half round trip that the design takes alone: what was measured while
    somebody looked on is scaled to that.

    stepped: with steps_us; seen: with kernel_us, by stage; both with mean_us, the mean of half a round trip. calls: by
    name, system calls per message and their time. How long a send takes is timed; samples say how it is split.
    """
    steps = scaled(stepped["steps_us"], half_rtt_us / stepped["mean_us"])
    kernel = scaled(seen["kernel_us"], half_rtt_us / seen["mean_us"])
    send_us = min(steps["send"], time_of(calls, SEND_NAMES)) if design.is_pm else steps["send"]
    inside = {stage: kernel.get(stage, 0.0) for stage in SENDING}
    inside[ENTRY] *= share_of_sends(calls)
    total = sum(inside.values())
    factor = send_us / total if total else 0.0
    stages = {**dict.fromkeys(STAGES, 0.0), **scaled(inside, factor)}
    stages[BUILD], stages[UNPACK], stages[LIBRARY] = steps["build"], steps["unpack"], steps["send"] - send_us
    if design.is_blocking:
        stages.update({stage: kernel.get(stage, 0.0) for stage in (SCHEDULE, RECEIVE_CALL, COPY_OUT)})
    else:
        received = min(steps["receive"], time_of(calls, RECEIVE_NAMES)) if design.is_pm else steps["receive"]
        stages[LIBRARY] += steps["receive"] - received
        stages[COPY_OUT] = min(received, kernel.get(COPY_OUT, 0.0) * factor)
        stages[RECEIVE_CALL] = received - stages[COPY_OUT]
    stages[REST] = half_rtt_us - sum(us for stage, us in stages.items() if stage != REST)
    return {stage: round(us, 4) for stage, us in stages.items()}


def time_of(calls: Calls, names: Sequence[str]) -> float:
    """Microseconds per message in those calls that found something."""
    return sum(calls[name]["us"] for name in names if name in calls)


def share_of_sends(calls: Calls) -> float:
    """Of all system calls, empty ones as well."""
    every = sum(one["calls"] + one["idle"] for one in calls.values())
    return sum(calls[name]["calls"] for name in SEND_NAMES if name in calls) / every if every else 1.0


def scaled(values: Mapping[str, float], factor: float) -> dict[str, float]:
    return {name: value * factor for name, value in values.items()}
