# SPDX-License-Identifier: BSD-3-Clause
"""Results that tests/bench/budget computes from samples, calls, recorded packets and counts of instructions."""
import argparse
import json
import os
import struct
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench.budget import calls, cases, cli, fold, instructions, runs, samples, stages, table, wire  # noqa: E402
from pmbench.budget.cases import BOTH_WAYS, LATENCY, MPI, ONE_WAY, PM, Case  # noqa: E402
from pmbench.budget.fold import Span  # noqa: E402
from pmbench.budget.runs import Unsteady, Watched  # noqa: E402
from pmbench.budget.stages import Frame  # noqa: E402
from pmbench import tool  # noqa: E402
from pmbench.command import BUILD  # noqa: E402
from pmbench.errors import Failed  # noqa: E402

LIBPM = f"{BUILD}/libpm.so.0.1"
KERNEL = "[kernel.kallsyms]"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def kernel(*symbols):
    return tuple(Frame(i, symbol, KERNEL) for i, symbol in enumerate(symbols))


# --- stages ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("path, stage", [
    ("pmcore/channel/emit.c", stages.ENGINE), ("pmcore/wire/codec.c", stages.ENGINE),
    ("pmcore/device/composite.c", stages.API), ("pmcore/api/send.c", stages.API), ("pm-udp/tx.c", stages.DEVICE),
    ("/elsewhere/pm-ethernet/rx.c", stages.DEVICE), ("mpi-glue/common/match.c", stages.MTL),
    ("pmcore/tools/pmtest/drive.c", stages.PROGRAM), ("pmcore/util/list.h", None), ("/usr/include/string.h", None)])
def test_of_file(path, stage):
    assert stages.of_file(path) == stage


@pytest.mark.parametrize("symbols, stage", [
    (("_copy_from_iter", "ip_generic_getfrag", "udp_sendmsg", "do_syscall_64"), stages.K_COPY),
    (("kmem_cache_alloc_node_noprof", "__alloc_skb", "udp_sendmsg"), stages.K_BUFFERS),
    (("_raw_spin_unlock_irqrestore", "sock_def_readable", "__udp_enqueue_schedule_skb"), stages.K_IP),
    (("_raw_spin_unlock_irqrestore", "sock_def_readable", "xsk_generic_rcv"), stages.K_XSK),
    (("xp_alloc", "__xsk_rcv"), stages.K_XSK),
    (("process_backlog", "__napi_poll", "net_rx_action"), stages.K_LINK),
    (("hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt", "net_rx_action"), stages.K_REST),
    (("do_syscall_64", "entry_SYSCALL_64_after_hwframe"), stages.SYSTEM_CALL),
    (("something_new",), stages.K_REST),
    (("__schedule", "do_sched_yield", "__x64_sys_sched_yield", "do_syscall_64"), stages.WAITING)])
def test_of_chain__kernel(symbols, stage):
    assert stages.of_chain(kernel(*symbols), {}) == stage


def test_of_chain__return_of_a_yield_waits():
    assert stages.of_chain((*kernel("do_syscall_64"), Frame(1, "__sched_yield", LIBC)), {}) == stages.WAITING


def test_of_chain__bpf_program():
    assert stages.of_chain((Frame(1, "bpf_prog_d4d8_eth_nic", "bpf_prog_d4d8_eth_nic"),), {}) == stages.K_XSK


def test_of_chain__inlined_helper_belongs_to_its_caller():
    """The file of a list or a ring says nothing: the function that it was inlined into does."""
    frame = Frame(16, "pmu_rx_burst", LIBPM)
    assert stages.of_chain((frame,), {frame: ("pmcore/util/list.h", "pm-udp/rx.c")}) == stages.DEVICE


def test_of_chain__clock_belongs_to_who_reads_it():
    engine = Frame(16, "chan_poll", LIBPM)
    chain = (Frame(1, "__vdso_clock_gettime", "[vdso]"), engine)
    assert stages.of_chain(chain, {engine: ("pmcore/channel/channel.c",)}) == stages.ENGINE


@pytest.mark.parametrize("frame, stage", [
    (Frame(1, "__memmove_avx512_unaligned_erms", LIBC), stages.COPY),
    (Frame(1, "__libc_sendto", LIBC), stages.SYSTEM_CALL),
    (Frame(1, "opal_progress", "/usr/lib/x86_64-linux-gnu/libopen-pal.so.40"), stages.OPEN_MPI),
    (Frame(1, "run", f"{BUILD}/bench/mpi_trip"), stages.PROGRAM)])
def test_of_chain__user(frame, stage):
    assert stages.of_chain((frame,), {}) == stage


# --- samples --------------------------------------------------------------------------------------

PERF = f"""\
mpi_trip 123 [001]   15.000000500:
\tffffffff81b94ccc udp_sendmsg ({KERNEL})
\t           1a000 pmu_tx_flush.localalias ({LIBPM})

swapper     0 [000]    16.000000001:
\tffffffff81b94ccc pv_native_safe_halt ({KERNEL})

a name 77 [000]    17.5:

"""


def test_parse():
    found = list(samples.parse(PERF.splitlines()))
    assert [(s.program, s.pid, s.core, s.at_ns) for s in found] == [
        ("mpi_trip", 123, 1, 15_000_000_500), ("swapper", 0, 0, 16_000_000_001), ("a name", 77, 0, 17_500_000_000)]
    assert found[0].frames[1] == Frame(0x1a000, "pmu_tx_flush.localalias", LIBPM) and not found[2].frames


def test_split_places__inlined_first():
    lines = ["0x000000000001a000", f"{ROOT}/pmcore/util/list.h:12", f"{ROOT}/pm-udp/rx.c:211 (discriminator 2)",
             "0x000000000001a010", "??:0"]
    assert samples.split_places(lines) == [("pmcore/util/list.h", "pm-udp/rx.c"), ("??",)]


# --- folding --------------------------------------------------------------------------------------

def sample(program="mpi_trip", at=10, core=0, pid=9, frames=kernel("udp_sendmsg")):
    return samples.Sample(program, pid, core, at, frames)


def test_counted__by_core_time_and_program():
    found = [sample(), sample(at=20), sample(core=1), sample("swapper", pid=0), sample("sshd")]
    counts = fold.counted(found, 0, Span(10, 20), "mpi_trip", {})
    assert counts == {(stages.K_IP, "udp_sendmsg", ""): 1, (stages.WAITING, "swapper", ""): 1,
                      (stages.OTHERS, "sshd", ""): 1}


POLL, LOOK, WORK = (stages.DEVICE, "poll", ""), (stages.API, "look", ""), (stages.ENGINE, "work", "")


def test_times_fitting__work_in_a_polling_function():
    """60 samples wait: 30 in each of two functions; of the first there are 50 more, which work."""
    assert fold.times_fitting({POLL: 80, LOOK: 30, WORK: 40}, {POLL: 200, LOOK: 200}) == 60


def test_times_fitting__never_waits():
    assert fold.times_fitting({POLL: 5, WORK: 100}, {POLL: 100, LOOK: 100}) == 0


def test_without_waiting():
    left = fold.without_waiting({POLL: 80.0, LOOK: 30.0, WORK: 40.0}, {POLL: 200.0, LOOK: 200.0})
    assert fold.per_stage(left, 0.5) == {**dict.fromkeys(stages.STAGES, 0.0), stages.DEVICE: 25.0, stages.ENGINE: 20.0,
                                         stages.WAITING: 30.0}
    assert fold.per_function(left, 1)["device: poll"] == 50 and "waiting: " not in fold.per_function(left, 1)


def test_without_waiting__no_pattern():
    left = fold.without_waiting({POLL: 80.0}, {POLL: fold.PATTERN_MIN - 1.0})
    assert left[POLL] == 80


# --- runs -----------------------------------------------------------------------------------------

def test_message_us__of_each_program():
    assert Case("udp", MPI, LATENCY, 8).message_us({"half_rtt_us": 3.0}) == 3.0
    assert Case("udp", PM, LATENCY, 8).message_us({"half_rtt_us": {"median": 2.5}}) == 2.5
    assert Case("udp", MPI, ONE_WAY, 1000).message_us({"mb_per_s": 500.0}) == 2.0
    assert Case("udp", MPI, BOTH_WAYS, 1000).message_us({"mb_per_s": 500.0}) == 4.0
    assert Case("udp", PM, ONE_WAY, 1000).message_us({"mb_per_s": 500.0}) is None


def test_mean_us__less_the_stops():
    assert Case("udp", PM, LATENCY, 8).mean_us({"messages": 100, "seconds": 1.5}, 0.5) == 5000.0
    told = {"batches": 10, "operations": 2, "from_ns": 0.0, "to_ns": 1.28e9}
    assert Case("udp", MPI, ONE_WAY, 8).mean_us(told, 0.0) == 1000.0


def test_steady_us__disturbed():
    told = [{"half_rtt_us": 5.0, "batches": 10, "operations": 10, "from_ns": 0.0, "to_ns": 2e6}]
    with pytest.raises(Unsteady, match="disturbed"):
        runs.steady_us(Case("udp", MPI, LATENCY, 8), told)
    told[0]["to_ns"] = 1.02e6
    assert runs.steady_us(Case("udp", MPI, LATENCY, 8), told) == 5.0


def test_must_be_measured():
    runs.must_be_measured(Span(5, 6), [{"from_ns": 4.0, "to_ns": 7.0}])
    runs.must_be_measured(Span(5, 6), [{"seconds": 1}])
    with pytest.raises(Unsteady):
        runs.must_be_measured(Span(5, 6), [{"from_ns": 5.5, "to_ns": 7.0}])


def test_state_of__mixed_is_thrown_away():
    assert runs.state_of([{"us": 1}, {"line_ns": [40.0, 45.0]}]) == "near"
    with pytest.raises(Unsteady):
        runs.state_of([{"line_ns": [40.0, 150.0]}])


@pytest.mark.parametrize("pattern, size, expected", [(LATENCY, 2048, (66, 200)), (ONE_WAY, 1 << 20, (1, 3))])
def test_lengths(pattern, size, expected):
    assert cases.lengths(Case("udp", MPI, pattern, size), 64 << 20, 200) == expected


def test_steady__gives_up():
    tries = []

    def measure():
        tries.append(1)
        raise Unsteady("no")

    assert cli.steady(measure, lambda text: None) is None and len(tries) == cli.TRIES


# --- system calls ---------------------------------------------------------------------------------

TOLD = {"program": "pmtest", "rank": 0, "start_ns": 1000, "slice_ns": 100,
        "calls": {"sendmsg": [[0, 9, 9, 0, 0, 9], [1, 2, 60, 0, 0, 600], [2, 2, 40, 1, 10, 200], [3, 9, 9, 0, 0, 9]],
                  "poll": []}}


def test_calls__only_whole_slices_of_the_time():
    found = calls.per_message(TOLD, Span(1050, 1310), 0.1)
    assert found == {"sendmsg": calls.Calls(2.0, 0.05, 0.5, 0.005, 400.0)}


def test_calls__too_short():
    with pytest.raises(Failed, match="shorter"):
        calls.per_message(TOLD, Span(1050, 1120), 0.1)


def test_calls__a_rank_is_missing(tmp_path):
    (tmp_path / "calls.1").write_text(json.dumps(TOLD))
    with pytest.raises(Failed, match=r"ranks \[0\]"):
        calls.read(tmp_path / "calls", "pmtest")


# --- packets --------------------------------------------------------------------------------------

def packet(type_, *messages):
    """A packet of PM; messages: kind and payload."""
    body = b""
    for kind, payload in messages:
        body += bytes(-len(body) % 8) + struct.pack("<HBBI", len(payload), kind, 0, 0) + payload
    return struct.pack("<BBBBH", 1, type_, 0, 0, len(body)) + bytes(42) + body


def block(data, flags):
    captured = len(data) + wire.ETHERNET_BYTES
    padded = bytes(wire.ETHERNET_BYTES) + data + bytes(-captured % 4)
    length = 28 + len(padded) + 16
    return (struct.pack("<IIIIIII", 6, length, 0, 0, 0, captured, captured) + padded
            + struct.pack("<HHIII", 2, 4, flags, 0, length))


def test_wire__types_and_kinds(tmp_path):
    sent = packet(1, (1, b"abc"), (2, bytes(32))) + b"padding of the link"
    got = packet(2)
    (tmp_path / "trace.0.pcapng").write_bytes(block(sent, 2) + block(got, 1))
    (tmp_path / "trace.1.pcapng").write_bytes(block(packet(2), 2) + block(packet(3), 2))
    assert wire.count(tmp_path / "trace") == {"data": 1, "datagrams": 1, "read requests": 1, "acks": 1, "probes": 1}


def test_wire__cut_short(tmp_path):
    with pytest.raises(Failed, match="byte 0"):
        list(wire.outbound(block(packet(2), 2)[:-4]))


def test_wire__no_packets(tmp_path):
    with pytest.raises(Failed, match="0 nodes"):
        wire.count(tmp_path / "trace")


# --- instructions ---------------------------------------------------------------------------------

CALLGRIND = f"""\
version: 1
positions: line
events: Ir
ob=(1) {LIBPM}
fl=(1) pmcore/channel/emit.c
fn=(1) emit
10 100
+2 5
fi=(2) pm-udp/tx.c
11 7
fe=(1)
12 3
cob=(2) {LIBC}
cfi=(3) memcpy.S
cfn=(2) __memcpy_avx_unaligned
calls=4 0
* 1000
ob=(2)
fl=(3)
fn=(2)
5 900

totals: 1015
"""


def test_instructions__own_cost_by_stage():
    assert instructions.by_stage(CALLGRIND.splitlines()) == {stages.ENGINE: 108, stages.DEVICE: 7, stages.COPY: 900}


# --- tables ---------------------------------------------------------------------------------------

def told(**more):
    seen = [{stages.ENGINE: 1.0, stages.K_COPY: 2.0, stages.WAITING: 4.0}, {stages.ENGINE: 3.0, stages.WAITING: 5.0}]
    names = [{"engine: work": 1.0}, {"engine: work": 3.0}]
    sampled = [Watched("near", us, seen, names) for us in (8.0, 9.0, 10.0)]
    plain = [Watched("near", us, []) for us in (7.0, 8.0)]
    return {**table.record(Case("udp", MPI, LATENCY, 8192), 1500, "near", plain, sampled, [],
                           {"data": 6.0, "read requests": 1.0}, []), **more}


def test_record__medians():
    found = told()
    assert found["watched_us"] == {"median": 9.0, "min": 8.0, "max": 10.0} and found["rounds"] == 3
    assert found["message_us"]["median"] == 7.5 and found["stages"][0][stages.K_COPY] == 2.0
    assert json.loads(json.dumps(found)) == found


def test_text__sum_and_rest():
    text = table.text(told(), 1)
    assert "mpi latency 8 KiB over udp, MTU 1500, near: 7.5 [7 8] us a message" in text
    rows = {line[2:26].strip(): line[26:].split() for line in text.splitlines()}
    assert rows["engine"] == ["1.00", "3.00", "4.00"] and rows["not seen"] == ["2.00", "1.00", "3.00"]
    assert rows["sum"] == ["9.00", "9.00", "18.00"] and rows["of it busy"] == ["3.00", "3.00", "6.00"]
    assert "6 data, 1 read requests" in text and "3.00 us in engine: work" in text


def test_text__calls_and_instructions():
    one = {"count": 3.0, "us": 5.0, "idle_count": 1.0, "idle_us": 1.0, "bytes": 100.0}
    text = table.text(told(calls=[{"recvmsg": one}, {}], called_us=table.spread([9.0]),
                           instructions=[{stages.ENGINE: 500}, {stages.ENGINE: 700}]))
    row = next(line.split() for line in text.splitlines() if "recvmsg" in line)
    assert row == ["rank", "0", "recvmsg", "2.000", "2.00", "4.00", "1.000", "1.00", "1.00", "50"]
    assert next(line.split()[-2:] for line in text.splitlines() if line.startswith("  engine")) == ["500", "700"]


def test_markdown__a_row_for_each_record():
    lines = table.markdown([told(), told(bytes=2048)]).splitlines()
    assert lines[0] == "### latency: one message of a ping-pong (half the round trip), mpi"
    assert [line.split(" | ")[0] for line in lines[4:6]] == ["| 2 KiB", "| 8 KiB"]
    assert lines[2].count("|") == lines[3].count("|") == lines[4].count("|")
    assert "6 data, 1 reads" in lines[4]


# --- command line ---------------------------------------------------------------------------------

@pytest.mark.parametrize("word, size", [("8", 8), ("8K", 8192), ("1m", 1 << 20)])
def test_size_of(word, size):
    assert cli.size_of(word) == size


@pytest.mark.parametrize("word", ["", "0", "K", "5M", "-1", "1.5K"])
def test_size_of__bad(word):
    with pytest.raises(argparse.ArgumentTypeError, match="from 1 to 4M"):
        cli.size_of(word)


def test_cases__every():
    found = cli.cases_of(cli.build_parser().parse_args(["--every", "--size", "8K"]))
    assert len(found) == 3 * 2 * 3 and {case.device for case in found} == {"direct", "port", "udp"}


def test_main__perf_is_missing(monkeypatch, capsys):
    def run(*_, **__):
        raise FileNotFoundError("perf")

    monkeypatch.setattr(samples.subprocess, "run", run)
    assert cli.main([]) == tool.EXIT_CANNOT
    assert "linux-perf" in capsys.readouterr().err


def test_main__tables(tmp_path, capsys):
    (tmp_path / "b.jsonl").write_text(json.dumps(told()) + "\n")
    assert cli.main(["--tables", str(tmp_path / "b.jsonl")]) == 0
    assert "| 8 KiB | udp | near |" in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "no JSON", "{}"])
def test_main__tables_of_something_else(text, tmp_path, capsys):
    if text is not None:
        (tmp_path / "b.jsonl").write_text(text)
    assert cli.main(["--tables", str(tmp_path / "b.jsonl")]) == cli.EXIT_USAGE
    assert "that --json has written" in capsys.readouterr().err
