# SPDX-License-Identifier: BSD-3-Clause
"""Effects of a figure's goal, or of a missing goal, on the verdict, the report and the exit status."""
import contextlib
import dataclasses
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import cli, figures, report  # noqa: E402
from pmbench.figure import Bench, Contestant, Figure, beside, measure, verdict  # noqa: E402

SAMPLES = {"ours": [1.0, 2.0, 3.0], "theirs": [4.0, 4.0, 4.0]}  # ratio 0.5


@contextlib.contextmanager
def sides():
    yield Contestant("ours", lambda: 2.0), [Contestant("theirs", lambda: 4.0)]


def figure(goal, lower_is_better=True):
    return Figure("probe", goal, lower_is_better, "us", "a probe", sides, rounds=1, is_indifferent=True)


def run(monkeypatch, tried, *options):
    monkeypatch.setattr(figures, "ALL", {tried.name: tried})
    return cli.main([tried.name, *options])


@pytest.mark.parametrize("goal, lower_is_better, met", [
    (0.5, True, True), (0.4, True, False), (0.5, False, True), (0.6, False, False), (None, True, None),
    (None, False, None)])
def test_verdict__by_goal(goal, lower_is_better, met):
    result = verdict(figure(goal, lower_is_better), "ours", SAMPLES, 1.0)
    assert result.ratio == 0.5 and result.met is met and result.goal == goal


@pytest.mark.parametrize("goal, within, met", [(0.6, 0.1, True), (0.4, 0.1, True), (0.61, 0.1, False),
                                               (0.39, 0.1, False)])
def test_verdict__within_to_both_sides(goal, within, met):
    tried = dataclasses.replace(figure(goal), within=within)
    assert verdict(tried, "ours", SAMPLES, 1.0).met is met
    assert tried.goal_text() == f"{goal} +- 0.1"


def test_verdict__a_side_that_is_only_stated():
    """It has the best time of all, and is neither the rival nor counted in the ratio."""
    result = verdict(figure(0.5), "ours", {**SAMPLES, "stated": [1.0, 1.0, 1.0]}, 1.0, "", ["stated"])
    assert (result.against_name, result.ratio, result.met) == ("theirs", 0.5, True)
    assert result.sides == {"ours": 2.0, "theirs": 4.0, "stated": 1.0} and result.further == {"stated": 1.0}


def test_measure__a_side_that_is_only_stated():
    @contextlib.contextmanager
    def setup():
        yield (Contestant("ours", lambda: 2.0),
               [beside(Contestant("stated", lambda: 1.0)), Contestant("theirs", lambda: 4.0)])

    [result] = measure(dataclasses.replace(figure(0.5), setup=setup), Bench(rounds=1))
    assert result.against_name == "theirs" and list(result.sides) == ["ours", "stated", "theirs"]


def test_measure__turns_about():
    order = []

    @contextlib.contextmanager
    def setup():
        ours, *rivals = (Contestant(name, lambda name=name: order.append(name) or 1.0) for name in "abc")
        yield ours, rivals

    measure(dataclasses.replace(figure(1.0), setup=setup), Bench(rounds=3))
    assert "".join(order) == "abccbaabc"


def test_verdict__of_rounds_by_themselves():
    """The machine got four times slower after the first round: that says nothing about either side."""
    samples = {"ours": [4.0, 2.0, 1.0], "theirs": [8.0, 2.0, 2.0]}
    assert verdict(figure(None), "ours", samples, 1.0).ratio == 1.0
    assert verdict(dataclasses.replace(figure(None), is_paired=True), "ours", samples, 1.0).ratio == 0.5


@pytest.mark.parametrize("goal, status, words", [(0.5, 0, "goal <= 0.5  met"), (0.4, 1, "goal <= 0.4  MISSED"),
                                                 (None, 0, "stated, no goal")])
def test_run__exit_status_and_line(monkeypatch, capsys, goal, status, words):
    assert run(monkeypatch, figure(goal)) == status
    assert capsys.readouterr().out.rstrip().endswith(words)


def test_run__stated_figure_is_null_in_json(monkeypatch, capsys):
    assert run(monkeypatch, figure(None), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["goal"] is None and told["met"] is None and told["ratio"] == 0.5 and told["state"] == ""


def test_list__says_stated(monkeypatch, capsys):
    monkeypatch.setattr(figures, "ALL", {"probe": figure(None)})
    assert cli.main(["--list"]) == 0
    assert capsys.readouterr().out.split() == ["probe", "stated", "a", "probe"]


@pytest.mark.parametrize("goal, cells", [(0.5, "<= 0.5 | yes"), (0.4, "<= 0.4 | **no**"), (None, "stated | -")])
def test_markdown__goal_and_verdict(goal, cells):
    tried = figure(goal)
    result = verdict(tried, "ours", SAMPLES, 1.0)
    assert f"| {cells} | 3 |" in report.markdown({}, [(tried, [result], "")], [], [])


def test_markdown__stated_figure_that_could_not_run():
    assert "| stated | could not run: no lab |" in report.markdown({}, [(figure(None), [], "no lab")], [], [])


def three(name):
    tried = dataclasses.replace(figure(0.5), name=name)
    return tried, verdict(tried, "ours", {**SAMPLES, "stated": [1.0, 1.0, 1.0]}, 1.0, "near", ["stated"])


def test_line__further_sides():
    tried, result = three("probe")
    first, second = report.line(result, tried).splitlines()
    assert first.endswith("goal <= 0.5  met") and second.endswith("1.00 us    of stated, ratio 0.250")


def test_markdown__figures_with_the_same_sides_share_a_table():
    rows = [(tried, [result], "") for tried, result in (three("one"), three("two"))]
    text = report.markdown({}, rows, [], [])
    assert text.count("| figure | state | unit | ours | theirs | stated |") == 1
    assert "| one | near | us | 2 | 4 | 1 |\n| two | near | us | 2 | 4 | 1 |\n" in text
    assert "more than two sides" not in report.markdown({}, [(figure(0.5), [], "no lab")], [], [])
