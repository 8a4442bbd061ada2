# SPDX-License-Identifier: BSD-3-Clause
"""Computations of tests/bench/study: stages of samples, their sum, tables and the page."""
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench.budget.samples import Sample  # noqa: E402
from pmbench.budget.stages import Frame  # noqa: E402
from pmbench.errors import Failed  # noqa: E402
from pmbench.study import cli, parts, runs, survey, tables  # noqa: E402
from pmbench.study.designs import BY_NAME, DESIGNS  # noqa: E402

KERNEL = "[kernel.kallsyms]"
SENDS = ("__sys_sendto", "__x64_sys_sendto", "do_syscall_64")
RECEIVES = ("__sys_recvfrom", "__x64_sys_recvfrom", "do_syscall_64")
SOFTIRQ = ("process_backlog", "__napi_poll", "net_rx_action", "do_softirq")


def sample(*symbols, pid=7, object_=KERNEL, program=runs.PROGRAM):
    return Sample(program, pid, 0, 0, tuple(Frame(i, symbol, object_) for i, symbol in enumerate(symbols)))


@pytest.mark.parametrize("symbols, stage", [
    (("_copy_from_iter", "udp_sendmsg", *SENDS), parts.COPY_IN),
    (("udp_sendmsg", *SENDS), parts.TRANSMIT),
    (("__sys_sendto", "__x64_sys_sendto", "do_syscall_64"), parts.ENTRY),
    (("udp_rcv", *SOFTIRQ, "veth_xmit", *SENDS), parts.RECEIVE),
    (("__pi_memcpy", "__xsk_rcv", *SOFTIRQ, *SENDS), parts.COPY_OVER),
    (("native_write_msr", "try_to_wake_up", *SOFTIRQ, *SENDS), parts.WAKE),
    (("_raw_spin_unlock_irqrestore", "sock_def_readable", *SOFTIRQ, *SENDS), parts.WAKE),
    (("_raw_spin_unlock_irqrestore", "enqueue_to_backlog", *SENDS), parts.TRANSMIT),
    (("finish_task_switch.isra.0", "__schedule", "schedule", *RECEIVES), parts.SCHEDULE),
    (("_copy_to_iter", "udp_recvmsg", *RECEIVES), parts.COPY_OUT),
    (("udp_recvmsg", *RECEIVES), parts.RECEIVE_CALL)])
def test_stage_of__kernel(symbols, stage):
    assert parts.stage_of(sample(*symbols)) == stage


def test_stage_of__user_and_idle():
    assert parts.stage_of(sample("trips", object_="/build/send_designs")) == parts.USER
    assert parts.stage_of(sample("__libc_sendto", object_="/lib/libc.so.6")) == parts.ENTRY
    assert parts.stage_of(sample("meet", object_="/build/send_designs")) == parts.IDLE
    assert parts.stage_of(sample("pv_native_safe_halt", "default_idle", pid=0)) == parts.IDLE


def test_per_stage__other_programs_do_not_count():
    found = parts.per_stage([sample("udp_sendmsg", *SENDS), sample("udp_sendmsg", *SENDS, program="other")],
                            runs.PROGRAM, 0.5)
    assert found == {parts.TRANSMIT: 0.5}


STEPS = {"mean_us": 10.0, "steps_us": {"build": 1.0, "send": 6.0, "wait": 5.0, "receive": 2.0, "unpack": 0.5}}
SEEN = {"mean_us": 20.0, "kernel_us": {parts.TRANSMIT: 4.0, parts.RECEIVE: 8.0, parts.COPY_OUT: 2.0,
                                       parts.SCHEDULE: 3.0, parts.RECEIVE_CALL: 5.0}}
CALLS = {"sendto": {"calls": 1.0, "idle": 0.0, "us": 4.0}, "recvfrom": {"calls": 1.0, "idle": 3.0, "us": 1.5}}


@pytest.mark.parametrize("name", ["udp-poll", "udp-block", "pm-udp", "pm-direct-block"])
def test_combine__sum_is_the_half_round_trip(name):
    stages = parts.combine(BY_NAME[name], 10.0, STEPS, SEEN, CALLS)
    assert set(stages) == set(parts.STAGES)
    assert sum(stages.values()) == pytest.approx(10.0)


def test_combine__samples_split_a_timed_send():
    stages = parts.combine(BY_NAME["udp-poll"], 10.0, STEPS, SEEN, CALLS)
    assert (stages[parts.TRANSMIT], stages[parts.RECEIVE]) == (2.0, 4.0)
    assert (stages[parts.COPY_OUT], stages[parts.RECEIVE_CALL]) == (1.0, 1.0)


def test_combine__library_is_what_is_no_system_call():
    stages = parts.combine(BY_NAME["pm-udp"], 10.0, STEPS, SEEN, CALLS)
    assert stages[parts.LIBRARY] == pytest.approx((6.0 - 4.0) + (2.0 - 1.5))


def line(value, messages=100, **more):
    return {"half_rtt_us": value, "messages": messages, "user_us": 1.0, "kernel_us": 2.0, "idle": 0.0, **more}


def test_record__medians_and_weighted_processor_time():
    told = survey.record(BY_NAME["tcp-poll"], 8, "near", [line(3.0), line(1.0), line(2.0, messages=200, user_us=4.0)])
    assert told["half_rtt_us"] == {"median": 2.0, "min": 1.0, "max": 3.0}
    assert told["user_us"] == 2.5


def test_state_of():
    assert survey.state_of({"line_ns": [50, 60]}) == "near"
    assert survey.state_of({"line_ns": [50, 260]}) is None
    assert survey.state_of({}) == ""


def records():
    stages = dict.fromkeys(parts.STAGES, 0.25)
    return [{"design": "pm-direct", "bytes": 8, "state": state, "rounds": 3, "user_us": 1.0, "kernel_us": 0.5,
             "half_rtt_us": {"median": us, "min": 1.0, "max": 2.0}, "idle": 0.0, "copies": 5, **more}
            for state, us, more in (("far", 9.5, {}),
                                    ("near", 1.5, {"stages_us": stages, "calls": CALLS, "instructions": 2900}))]


def test_tables__main_state_only():
    assert "1.50 [1.00 2.00]" in tables.half_rtt(records()) and "9.5" not in tables.half_rtt(records())
    assert "2.00 + 3.00" in tables.cost(records()) and "2900" in tables.cost(records())
    assert tables.stages(records()).count("0.25") == len(parts.STAGES)


def page():
    return "head\n" + "".join(f"<!-- {name} -->\nold\n<!-- end of {name} -->\n" for name in tables.PARTS) + "tail\n"


def test_inserted__twice_is_once():
    once = tables.inserted(page(), records())
    assert "old" not in once and once.startswith("head\n") and once.endswith("tail\n")
    assert tables.inserted(once, records()) == once


def test_inserted__without_a_mark():
    with pytest.raises(Failed, match="half-rtt"):
        tables.inserted(page().replace("<!-- half-rtt -->", ""), records())


def test_committed_page_is_of_the_committed_records():
    with open(os.path.join(ROOT, "docs/study/designs.jsonl"), encoding="utf-8") as source:
        told = [json.loads(text) for text in source]
    with open(os.path.join(ROOT, "docs/study/README.md"), encoding="utf-8") as source:
        text = source.read()
    assert {one["design"] for one in told} == {design.name for design in DESIGNS}
    assert tables.inserted(text, told) == text


def test_command__refuses(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--design", "pigeon"])
    assert end.value.code == cli.EXIT_USAGE and "pm-direct" in capsys.readouterr().err


def test_command__bad_file(tmp_path, capsys):
    (tmp_path / "x").write_text("no json")
    assert cli.main(["--from", str(tmp_path / "x")]) == cli.EXIT_FAILED
    assert str(tmp_path / "x") in capsys.readouterr().err
