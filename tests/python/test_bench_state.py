# SPDX-License-Identifier: BSD-3-Clause
"""How samples are kept apart by the state of the machine, and what a figure says of a state that was not seen."""
import contextlib
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import cli, figures, report, rounds, state  # noqa: E402
from pmbench.figure import Bench, CannotRun, Contestant, Figure, NotSeen, measure  # noqa: E402
from pmbench.rounds import Aim, Reading, Samples, collect, next_state  # noqa: E402

NEAR_NS, FAR_NS = 45.0, 160.0
BOTH = ("near", "far")


def aim(rounds, limit_s=100.0, points=(0,), states=BOTH):
    return Aim(points, states, rounds, limit_s)


def reading(value, before, after=None, point=0):
    return Reading(value, point, before, before if after is None else after)


class Machine:
    """A machine with a clock that each measurement moves, and sides that measure on it.

    plan: the probes around each measurement in turn; then the state that is asked for, or always the one of stuck.
    """

    def __init__(self, plan=(), stuck=None):
        self.plan = list(plan)
        self.stuck = stuck
        self.now = 0.0
        self.calls = []

    def clock(self):
        return self.now

    def side(self, name, value=1.0):
        def take(points, wanted):
            self.now += 1
            self.calls.append((name, wanted, list(points)))
            asked = {"near": NEAR_NS, "far": FAR_NS}[wanted]
            before, after = self.plan.pop(0) if self.plan else (self.stuck or asked,) * 2
            return [reading(value, before, after, point) for point in points]
        return take

    def collect(self, wanted, *names):
        return collect({name: self.side(name) for name in names}, wanted, lambda text: None, self.clock)


@pytest.mark.parametrize("ns, name", [(25.0, "near"), (65.0, "near"), (109.9, "near"), (110.0, "far"), (145.0, "far"),
                                      (300.0, "far")])
def test_classify(ns, name):
    assert state.classify(ns) == name


@pytest.mark.parametrize("before, after, name", [(30, 60, "near"), (150, 290, "far"), (30, 150, None),
                                                 (150, 30, None)])
def test_of_probes__mixed_is_none(before, after, name):
    assert state.of_probes(before, after) == name


def test_reading__without_probes_is_indifferent():
    assert Reading(1.0).state() == ""


@pytest.mark.parametrize("name", ["near", "far", ""])
def test_reading__a_constant_is_of_the_state_that_is_wanted(name):
    assert Reading.constant(100.0, name).state() == name and Reading.constant(100.0, name).value == 100.0


@pytest.mark.parametrize("first, second, name", [(NEAR_NS, NEAR_NS, "near"), (FAR_NS, FAR_NS, "far"),
                                                 (NEAR_NS, FAR_NS, None), (None, None, "")])
def test_reading__two_in_one_are_of_one_state(first, second, name):
    both = reading(7.0, first).with_other(reading(3.0, second), lambda a, b: (a - b) / 2)
    assert both.value == 2.0 and both.state() == name


def test_samples__a_mixed_reading_is_thrown_away():
    samples = Samples()
    assert samples.add("ours", reading(1.0, NEAR_NS))
    assert not samples.add("ours", reading(2.0, NEAR_NS, FAR_NS))
    assert samples.paired("near", ["ours"], 0) == {"ours": [1.0]} and samples.thrown_away == 1
    assert samples.rounds("far", ["ours"], 0) == 0


def test_samples__a_round_has_all_sides():
    """The second sample of ours has no partner in that state, so it does not count."""
    samples = Samples()
    for side, value, ns in (("ours", 1.0, NEAR_NS), ("theirs", 2.0, NEAR_NS), ("ours", 3.0, NEAR_NS),
                            ("theirs", 9.0, FAR_NS)):
        samples.add(side, reading(value, ns))
    assert samples.rounds("near", ["ours", "theirs"], 0) == 1
    assert samples.paired("near", ["ours", "theirs"], 0) == {"ours": [1.0], "theirs": [2.0]}
    assert samples.rounds("far", ["ours", "theirs"], 0) == 0


def test_collect__states_take_turns_and_passes_turn_about():
    machine = Machine()
    machine.collect(aim(2), "a", "b")
    assert "".join(name for name, _, _ in machine.calls) == "ababbaba"
    assert [wanted for _, wanted, _ in machine.calls[::2]] == ["near", "far", "near", "far"]


def test_collect__what_is_thrown_away_is_repeated_at_once():
    machine = Machine(plan=[(NEAR_NS, FAR_NS), (FAR_NS, NEAR_NS)])
    samples = machine.collect(aim(1), "a", "b")
    assert [name for name, _, _ in machine.calls] == ["a", "a", "a", "b", "a", "b"]
    assert samples.thrown_away == 2


def test_collect__only_points_that_are_thrown_away_are_repeated():
    calls = []

    def take(points, wanted):
        calls.append(list(points))
        return [reading(1.0, NEAR_NS, FAR_NS if len(calls) == 1 and point == 8 else NEAR_NS, point)
                for point in points]

    collect({"a": take}, aim(1, points=(1, 8, 64), states=("near",)), lambda text: None)
    assert calls == [[1, 8, 64], [8]]


@pytest.mark.parametrize("limit_s, end_s", [(0, 120), (100, 200)])
def test_collect__a_side_that_never_settles_is_bounded(limit_s, end_s):
    """The state changes during every measurement: it ends after twice the limit, or two minutes."""
    machine = Machine(plan=[(NEAR_NS, FAR_NS)] * 1000)
    samples = machine.collect(aim(1, limit_s=limit_s), "a", "b")
    assert samples.rounds("near", ["a", "b"], 0) == 0 and samples.thrown_away == len(machine.calls)
    assert end_s <= len(machine.calls) < end_s + 10


def test_collect__a_state_that_does_not_come_is_left_when_the_time_is_over():
    machine = Machine(stuck=NEAR_NS)
    samples = machine.collect(aim(3, limit_s=20), "a", "b")
    assert samples.rounds("near", ["a", "b"], 0) >= 3 and samples.rounds("far", ["a", "b"], 0) == 0
    assert 20 <= machine.now < 30


def test_next_state__the_nearest_to_its_rounds_when_the_time_is_over():
    """Waiting for another state would be in vain."""
    found = Samples()
    found.add("a", Reading(1.0, 0, FAR_NS, FAR_NS))
    found.spent_s = 5.0
    assert [next_state(aim(2, limit_s=0), found, ["a"], turn) for turn in range(3)] == ["far"] * 3
    assert [next_state(aim(2, limit_s=9), found, ["a"], turn) for turn in range(3)] == ["near", "far", "near"]


def test_collect__indifferent_has_no_limit():
    samples = collect({"a": lambda points, wanted: [Reading(1.0)]}, aim(7, limit_s=0, states=("",)), lambda text: None)
    assert samples.rounds("", ["a"], 0) == 7


def test_collect__complete_points_are_measured_no_more():
    machine = Machine(plan=[(FAR_NS, FAR_NS)])
    machine.collect(aim(1, points=(1, 2)), "a")
    assert [(wanted, points) for _, wanted, points in machine.calls] == [("near", [1, 2]), ("near", [1, 2])]


@pytest.fixture
def near_machine(monkeypatch):
    """A machine that is always near, whose clock the tests don't wait for."""
    monkeypatch.setattr(state, "probe", lambda: NEAR_NS)
    monkeypatch.setattr(state, "seek", lambda wanted: NEAR_NS)
    monkeypatch.setattr(state, "can_tell", lambda: True)


@contextlib.contextmanager
def sides():
    yield Contestant("ours", lambda: 2.0), [Contestant("theirs", lambda: 4.0)]


def figure(goal=0.6):
    return Figure("probe", goal, True, "us", "a probe", sides, rounds=2)


def test_measure__a_row_per_state(near_machine):
    near, far = measure(figure(), Bench(limit_s=0))
    assert (near.state, near.ratio, near.rounds, near.met) == ("near", 0.5, 2, True)
    assert isinstance(far, NotSeen) and (far.state, far.rounds, far.wanted) == ("far", 0, 2)


def test_measure__no_state_was_seen(near_machine, monkeypatch):
    monkeypatch.setattr(state, "seek", lambda wanted: FAR_NS)
    monkeypatch.setattr(rounds, "PATIENCE_S", 0)
    with pytest.raises(CannotRun, match="2 rounds in state near .there were 0. and for 2 rounds in state far"):
        measure(figure(), Bench(limit_s=0))


def test_measure__one_core_tells_no_states(monkeypatch):
    monkeypatch.setattr(state, "can_tell", lambda: False)
    assert [result.state for result in measure(figure(), Bench())] == [""]


def test_measure__a_goal_must_hold_in_both(near_machine, monkeypatch, capsys):
    """Ours takes three times as long in the far state."""
    now = {"ns": NEAR_NS}

    def seek(wanted):
        now["ns"] = FAR_NS if wanted == "far" else NEAR_NS
        return now["ns"]

    monkeypatch.setattr(state, "seek", seek)
    monkeypatch.setattr(state, "probe", lambda: now["ns"])

    @contextlib.contextmanager
    def setup():
        yield (Contestant("ours", lambda: 2.0 if now["ns"] == NEAR_NS else 6.0), [Contestant("theirs", lambda: 4.0)])

    tried = Figure("probe", 0.6, True, "us", "a probe", setup, rounds=2)
    monkeypatch.setattr(figures, "ALL", {"probe": tried})
    assert cli.main(["probe"]) == cli.EXIT_MISSED
    near, far = capsys.readouterr().out.splitlines()
    assert "near" in near and near.endswith("met") and "far" in far and far.endswith("MISSED")


def test_run__not_seen_is_no_miss(near_machine, monkeypatch, capsys):
    monkeypatch.setattr(figures, "ALL", {"probe": figure()})
    assert cli.main(["probe", "--limit", "0", "--json"]) == cli.EXIT_MET
    near, far = map(json.loads, capsys.readouterr().out.splitlines())
    assert near["state"] == "near" and near["met"] and far["state"] == "far" and far["not_seen"]
    assert cli.main(["probe", "--limit", "0"]) == cli.EXIT_MET
    assert "not seen: 0 of 2 rounds" in capsys.readouterr().out


def test_report__rows_of_both_states(near_machine):
    tried = figure()
    outcomes = measure(tried, Bench(limit_s=0))
    text = report.markdown({}, [(tried, outcomes, "")], [], [])
    assert "| probe | near | 2 us | 4 us, theirs | 0.500 [0.500 0.500] | <= 0.6 | yes | 2 |" in text
    assert "| probe | far | - | - | - | <= 0.6 | not seen | 0 of 2 |" in text
    assert [record["state"] for record in report.records([(tried, outcomes, "")])] == ["near", "far"]
    assert report.records([(tried, [], "no lab")]) == [{"figure": "probe", "cannot_run": "no lab"}]
