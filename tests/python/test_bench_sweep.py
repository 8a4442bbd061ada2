# SPDX-License-Identifier: BSD-3-Clause
"""Results of a sweep over message size: the worst place, tables, and which sizes are measured for which figure."""
import contextlib
import dataclasses
import json
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import devices, figures, mpisizes, report, sizetable, state, watched  # noqa: E402
from pmbench.command import Lab, pinned  # noqa: E402
from pmbench.devices import TCP  # noqa: E402
from pmbench.figure import CannotRun, Failed, NotSeen  # noqa: E402
from pmbench.rounds import Reading, Samples  # noqa: E402
from pmbench.sweep import Demand, Measured, Sweep, SweepBench, SweepFigure, demands, size_text  # noqa: E402

NEAR_NS, FAR_NS = 45.0, 160.0
SWEEP = Sweep("probe", ("mpi_trip",), "us", True, "half RTT")
SIZES = (1, 8192)
# Half RTT in us by state, side and size.
TIMES = {("near", "direct", 1): 2.0, ("near", TCP, 1): 4.0, ("near", "direct", 8192): 9.0, ("near", TCP, 8192): 10.0,
         ("near", "udp", 1): 4.0, ("near", "udp", 8192): 20.0,
         ("far", "direct", 1): 12.0, ("far", TCP, 1): 10.0, ("far", "direct", 8192): 10.0, ("far", TCP, 8192): 20.0,
         ("far", "udp", 1): 1.0, ("far", "udp", 8192): 2.0}


@pytest.fixture(autouse=True)
def two_cores(monkeypatch, tmp_path):
    """Whatever this machine has; and nothing needs to be built."""
    monkeypatch.setattr(state, "can_tell", lambda: True)
    monkeypatch.setattr(watched, "BUILD", tmp_path)


def samples(rounds=2, without=()):
    """As many rounds of all times, but for these keys."""
    found = Samples()
    for (name, side, size), value in TIMES.items():
        ns = FAR_NS if name == "far" else NEAR_NS
        for _ in range(0 if (name, side, size) in without else rounds):
            found.add(side, Reading(value, size, ns, ns))
    return found


def figure(devices=("direct",), sizes=SIZES, lower_is_better=True, goal=0.95, name="probe-every-size", rounds=2):
    return SweepFigure(name, goal, lower_is_better, "us", "a probe", (SWEEP,), devices, sizes, rounds)


def outcomes(tried, found):
    bench = SweepBench(demands=demands([tried]), measure=lambda sweep, demand, bench: found)
    return tried.outcomes(bench)


def test_worst__of_sizes_by_state():
    near, far = outcomes(figure(), samples())
    assert (near.state, near.ratio, near.at, near.met) == ("near", 0.9, "8 KiB, direct", True)
    assert (far.state, far.ratio, far.at, far.met) == ("far", 1.2, "1 B, direct", False)
    assert (far.value, far.against, far.against_name, far.rounds) == (12.0, 10.0, TCP, 2)


def test_worst__of_devices():
    near, far = outcomes(figure(("direct", "udp")), samples())
    assert (near.ratio, near.at) == (2.0, "8 KiB, udp") and (far.ratio, far.at) == (1.2, "1 B, direct")


def test_worst__of_rates_is_the_smallest():
    near, _ = outcomes(figure(lower_is_better=False, goal=1.05), samples())
    assert (near.ratio, near.at, near.met) == (0.5, "1 B, direct", False)


def test_worst__one_size_not_seen():
    """The worst of all sizes is not known when one of them is missing, whatever the others say."""
    near, far = outcomes(figure(), samples(without=[("far", TCP, 8192)]))
    assert near.ratio == 0.9 and isinstance(far, NotSeen) and (far.rounds, far.wanted) == (0, 2)


def test_worst__another_figure_of_the_sweep_is_seen():
    _, far = outcomes(figure(sizes=(1,)), samples(without=[("far", TCP, 8192)]))
    assert far.ratio == 1.2


def test_worst__no_state_seen():
    with pytest.raises(CannotRun, match="there were 1"):
        outcomes(figure(), samples(rounds=1))


def test_worst__of_several_sweeps():
    """Each sweep has its own samples; the place that is told names the sweep."""
    other = dataclasses.replace(SWEEP, name="written", words=("mpi_trip", "-W"))
    tried = dataclasses.replace(figure(), sweeps=(SWEEP, other))
    measured = {SWEEP: samples(), other: samples(without=[("near", "direct", 8192)])}
    for _ in range(2):
        measured[other].add("direct", Reading(30.0, 8192, NEAR_NS, NEAR_NS))
    bench = SweepBench(demands=demands([tried]), measure=lambda sweep, demand, bench: measured[sweep])
    near, _ = tried.outcomes(bench)
    assert (near.ratio, near.at) == (3.0, "8 KiB, direct, written")


def test_worst__against_the_better_rival():
    """Which rival is better differs from size to size."""
    both = dataclasses.replace(SWEEP, rivals=(TCP, "udp"))
    tried = dataclasses.replace(figure(), sweeps=(both,))
    near, far = outcomes(tried, samples())
    assert (near.ratio, near.at, near.against_name) == (0.9, "8 KiB, direct", TCP)
    assert (far.ratio, far.at, far.against_name) == (12.0, "1 B, direct", "udp")
    cells = Measured(both, Demand(("direct",), SIZES, 2), samples(), 2)
    assert cells.cell("far", "direct", 8192).against == "udp" and cells.cell("near", "direct", 8192).against == TCP


def test_ways__inside_this_host_need_no_lab(monkeypatch):
    monkeypatch.setattr(devices, "over_pm", lambda: (["pm"], {}))
    with devices.open_ways([devices.SHMEM, *devices.VADERS], devices.HERE_MTU) as ways:
        assert [way.cluster.hosts for way in ways.values()] == [0, 0, 0] and ways[devices.SHMEM].args == ["pm"]
        assert ways[devices.VADER_COPY].args[-1] == "none" and "none" not in ways[devices.VADER_CMA].args


def test_sweep__labels_are_unique():
    labels = [sweep.label for sweep in demands(figures.ALL.values())]
    assert len(labels) == len(set(labels)) and "shmem-latency" in labels


def test_demands__union_of_what_figures_want():
    wanted = demands([figure(("direct",), (8,), rounds=3), figure(("udp", "direct"), (1, 8), rounds=5)])
    assert wanted == {SWEEP: Demand(("direct", "udp"), (1, 8), 5)}


def test_demands__one_figure_alone_measures_only_its_size():
    wanted = demands([figures.ALL["eth-8k-vs-tcp"]])
    assert [(d.devices, d.sizes) for d in wanted.values()] == [(("direct",), (8192,))]


def test_bench__one_sweep_serves_many_figures():
    calls = []
    tried = [figure(name="a"), figure(("udp",), name="b")]
    bench = SweepBench(demands=demands(tried), measure=lambda sweep, demand, bench: calls.append(sweep) or samples())
    assert [each.outcomes(bench)[0].at for each in tried] == ["8 KiB, direct", "8 KiB, udp"] and len(calls) == 1


def test_bench__fewer_rounds_are_asked_for():
    bench = SweepBench(rounds=1, demands=demands([figure()]), measure=lambda sweep, demand, bench: samples(rounds=1))
    assert figure().outcomes(bench)[0].rounds == 1
    assert bench.measured()[0].cell("near", "direct", 1).ratio == 0.5


def test_bench__a_failed_sweep_is_not_repeated():
    calls = []

    def measure(sweep, demand, bench):
        calls.append(sweep)
        raise Failed("it died")

    bench = SweepBench(demands=demands([figure()]), measure=measure)
    for _ in range(2):
        with pytest.raises(Failed, match="it died"):
            figure().outcomes(bench)
    assert len(calls) == 1 and bench.measured() == []


@pytest.mark.parametrize("size, text", [(1, "1 B"), (1000, "1000 B"), (1024, "1 KiB"), (524288, "512 KiB"),
                                        (1 << 22, "4 MiB")])
def test_size_text(size, text):
    assert size_text(size) == text


def test_report__says_where_the_worst_is():
    tried = figure()
    text = report.markdown({}, [(tried, outcomes(tried, samples()), "")], [], ["see there"])
    assert ("| probe-every-size | far | 12 us | 10 us, btl tcp | 1.200 [1.200 1.200] at 1 B, direct | <= 0.95 | **no** "
            "| 2 |") in text
    assert "## Over message size\n\nsee there\n" in text


def found(**more):
    return Measured(SWEEP, Demand(("direct",), SIZES, 2), samples(**more), 2)


def test_table__a_row_per_size():
    assert sizetable.table([found()], "direct") == [
        "| bytes | ours near | rival near | ratio near | ours far | rival far | ratio far |",
        "|---|---|---|---|---|---|---|",
        "| 1 B | 2 | 4 | 0.500 | 12 | 10 | 1.200 |", "| 8 KiB | 9 | 10 | 0.900 | 10 | 20 | 0.500 |"]


def test_table__a_cell_that_was_not_seen_is_empty():
    lines = sizetable.table([found(without=[("far", TCP, 8192)])], "direct")
    assert lines[-1] == "| 8 KiB | 9 | 10 | 0.900 |  |  |  |"


def test_table__a_state_that_was_not_seen_has_no_columns():
    unseen = [key for key in TIMES if key[0] == "far"]
    assert sizetable.table([found(without=unseen)], "direct")[0] == "| bytes | ours near | rival near | ratio near |"


def test_write__tables_for_people_and_programs(tmp_path):
    lines = sizetable.write(tmp_path, [found()])
    assert "sizes.md" in lines[0] and "### probe-1500: pm-ethernet, direct" in (tmp_path / "sizes.md").read_text()
    told = [json.loads(line) for line in (tmp_path / "sizes.jsonl").read_text().splitlines()]
    assert len(told) == 4
    assert told[0] == {"sweep": "probe", "mtu": 1500, "ranks": 2, "hosts": 2, "device": "direct", "state": "near",
                       "bytes": 1, "unit": "us", "ours": 2.0, "rival": 4.0, "against": TCP, "ratio": 0.5, "rounds": 2}


EIGHT = dataclasses.replace(SWEEP, ranks=8, hosts=4)


def test_layouts__have_names_of_their_own():
    inside = dataclasses.replace(SWEEP, ranks=2, hosts=1, mtu=devices.HERE_MTU)
    assert [each.label for each in (SWEEP, EIGHT, inside)] == ["probe-1500", "probe-8x4-1500", "shmem-probe-2x1"]
    assert [each.place for each in (SWEEP, EIGHT, inside)] == ["MTU 1500", "8 ranks on 4 hosts, MTU 1500",
                                                              "2 ranks on 1 host"]


def test_worst__tells_the_layout():
    near, _ = outcomes(dataclasses.replace(figure(), sweeps=(EIGHT,)), samples())
    assert near.at == "8 KiB, direct, 8 ranks on 4 hosts"


def test_worst__a_sweep_may_have_few_sizes():
    """A barrier has no size; the figure's sizes are those of other operations."""
    tried = dataclasses.replace(figure(), sweeps=(dataclasses.replace(SWEEP, only=(1,)),))
    assert demands([tried])[tried.sweeps[0]].sizes == (1,)
    near, _ = outcomes(tried, samples())
    assert (near.ratio, near.at) == (0.5, "1 B, direct")


def test_plots__one_for_all_layouts(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sizetable, "PLOTTED", 2)
    layouts = [Measured(each, Demand(("direct",), SIZES, 2), samples(), 2) for each in (SWEEP, EIGHT)]
    other = Measured(dataclasses.replace(SWEEP, name="other", words=("mpi_window",)), layouts[0].demand, samples(), 2)
    drawn = {}
    monkeypatch.setattr(sizetable, "draw", lambda path, title, lines: drawn.update({path.name: lines}))
    assert sizetable.plots(tmp_path, [*layouts, other]) == ["sizes-probe.png", "sizes-other-1500.png"]
    assert [line.label for line in drawn["sizes-probe.png"]] == ["2 ranks on 2 hosts, near", "8 ranks on 4 hosts, near"]
    assert drawn["sizes-probe.png"][1].points("direct") == [(1, 0.5), (8192, 0.9)]
    assert [line.label for line in drawn["sizes-other-1500.png"]] == ["near", "far"]


def test_table__a_row_for_each_layout_and_size():
    layouts = [Measured(each, Demand(("direct",), SIZES, 2), samples(), 2) for each in (SWEEP, EIGHT)]
    text = "\n".join(sizetable.section(layouts))
    assert "in several layouts" in text and "| ranks | hosts | bytes | ours near |" in text
    assert "| 2 | 2 | 8 KiB | 9 | 10 | 0.900 |" in text and "| 8 | 4 | 8 KiB | 9 | 10 | 0.900 |" in text


def test_ways__sweeps_in_a_row_share_labs(monkeypatch):
    log = []

    @contextlib.contextmanager
    def open_ways(names, mtu, hosts):
        log.append(("up", *names, mtu, hosts))
        yield dict.fromkeys(names)
        log.append(("down", hosts))

    monkeypatch.setattr(devices, "open_ways", open_ways)
    with contextlib.closing(devices.Ways()) as ways:
        for hosts in (2, 2, 4):
            assert list(ways.of(["direct", TCP], 1500, hosts)) == ["direct", TCP]
    assert log == [("up", "direct", TCP, 1500, 2), ("down", 2), ("up", "direct", TCP, 1500, 4), ("down", 4)]


@pytest.mark.parametrize("ranks, words", [(2, []), (3, ["--mca", "mpi_yield_when_idle", "1"])])
def test_sharing__of_cores(monkeypatch, ranks, words):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert mpisizes.sharing(ranks) == words


@pytest.mark.parametrize("hosts, cores", [(1, [0, 1, 0, 1]), (2, [0, 1, 1, 0]), (4, [0, 1, 0, 1])])
def test_pinned__neighbours_have_different_cores(monkeypatch, hosts, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    words = pinned(["true"], hosts)
    words[2] = words[2].replace("exec taskset -c", "echo")
    said = [subprocess.run(words, env={**os.environ, "OMPI_COMM_WORLD_RANK": str(rank)}, capture_output=True, text=True,
                           check=True).stdout.split()[0] for rank in range(4)]
    assert [int(core) for core in said] == cores


def test_write__nothing_was_measured(tmp_path):
    assert sizetable.write(tmp_path, []) == [] and not list(tmp_path.iterdir())


def run(monkeypatch, lines, sizes, wanted="near"):
    """The readings from such output, and the command that was run."""
    ran = []
    monkeypatch.setattr(mpisizes, "program", lambda relative: relative)
    monkeypatch.setattr(mpisizes, "run_json_lines", lambda command: ran.append(command) or lines)
    monkeypatch.setattr(Lab, "mpirun", lambda self, ranks, args, env=None: args)
    return mpisizes.run_sizes(Lab("", 0), ["mpi_trip"], sizes, wanted, []), ran[0]


def test_run_sizes__value_and_probes(monkeypatch):
    lines = [{"bytes": 1, "half_rtt_us": 2.5, "line_ns": [40.0, 42.0]},
             {"bytes": 8, "half_rtt_us": 3.5, "line_ns": [42.0, 161.0]}]
    readings, command = run(monkeypatch, lines, [1, 8])
    assert readings == [Reading(2.5, 1, 40.0, 42.0), Reading(3.5, 8, 42.0, 161.0)]
    assert [r.state() for r in readings] == ["near", None]
    assert command[-4:] == ["-n", "110.0", "1", "8"]
    assert run(monkeypatch, lines, [1, 8], "far")[1][-4:-2] == ["-f", "110.0"]


def test_run_sizes__indifferent(monkeypatch):
    readings, command = run(monkeypatch, [{"bytes": 1, "mb_per_s": 7.0}], [1], "")
    assert readings == [Reading(7.0, 1)] and readings[0].state() == "" and command[-2:] == ["bench/mpi_trip", "1"]


def test_run_sizes__a_size_is_missing(monkeypatch):
    with pytest.raises(Failed, match="1 of 2 sizes"):
        run(monkeypatch, [{"bytes": 1, "us": 7.0}], [1, 8])


def test_figures__names_and_goals_of_the_issue():
    goals = {"eth-every-size": 0.95, "eth-every-size-port": 1.0, "udp-every-size": 1.0, "eth-every-size-9000": 0.95,
             "eth-every-size-port-9000": 1.0, "udp-every-size-9000": 1.0, "eth-8k-vs-tcp": 0.65, "eth-64k-vs-tcp": 0.75,
             "eth-window-every-size": 1.05, "eth-window-1m": 1.5, "udp-window-1m": 1.5, "eth-bibw-1m": 1.3,
             "vector-512k-vs-tcp": 0.95, "exchange-1m-vs-tcp": 0.95, "shmem-every-size": 1.0,
             "shmem-window-every-size": 1.0, "shmem-collectives-worst": 1.0, "shmem-mpi-latency-vs-vader": 0.75}
    assert {name: figures.ALL[name].goal for name in goals} == goals


def test_report__leads_to_the_other_pages():
    """The report is written anew each time; what it does not name is not found."""
    text = report.markdown({}, [], [], [])
    for page in ("budget.md", "tried.md", "remarks.md"):
        assert f"]({page})" in text and os.path.exists(os.path.join(ROOT, "docs", "bench", page)), page
