# SPDX-License-Identifier: BSD-3-Clause
"""The report of the long run: what is counted, what is told, and that earlier rounds are kept."""

import pathlib
import random
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / name) for name in ("soak", "system", "lab")]

from soakkit import faults, report, rounds  # noqa: E402


def played(number, *names, **more):
    return rounds.Round(number, 100 + number, list(names), **more)


def row(page, name):
    line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_page__counts_by_fault():
    page = report.page([
        played(0, "a rank killed", noticed_s=1.5, seconds=1800),
        played(1, "a rank killed", noticed_s=0.5, seconds=1800),
        played(2, "a rank killed", "30 % of all frames lost", data=False, wrong=["wrong data: byte 7"]),
        played(3, "30 % of all frames lost", others=False, wrong=["the other user's job ended with 1"]),
        played(4, "30 % of all frames lost", left=["process 7 rally in h1"])])
    assert row(page, "a rank killed") == ["3", "2", "1", "0", "0", "1.5"]
    assert row(page, "30 % of all frames lost") == ["3", "0", "1", "1", "1", ""]
    assert row(page, "all") == ["5", "2", "1", "1", "1", "1.5"]
    assert "5 rounds in 1.0 h, 3 of them not good." in page
    assert "- seed 102, a rank killed and 30 % of all frames lost: wrong data: byte 7" in page
    assert "left: process 7 rally in h1" in page


def test_write__adds_to_earlier_rounds(tmp_path):
    assert report.read(tmp_path) == []
    first = [played(0, "scrun killed", wrong=["two\nlines"])]
    report.write(tmp_path, first)
    again = report.read(tmp_path)
    assert again == first
    report.write(tmp_path, again + [played(1, "scrun killed")])
    assert len(report.read(tmp_path)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [report.PAGE, report.LINES]
    assert "two lines" in (tmp_path / report.PAGE).read_text()


def test_round__is_good_only_without_any_word():
    assert played(0, "x").is_good()
    assert not played(0, "x", wrong=["w"]).is_good() and not played(0, "x", left=["l"]).is_good()


def test_choose__each_fault_comes_and_a_job_is_broken_once():
    seen = set()
    for seed in range(2000):
        chosen = rounds._choose(random.Random(seed))
        assert chosen == rounds._choose(random.Random(seed))
        assert 1 <= len(chosen) <= 2 and len(set(chosen)) == len(chosen)
        assert all(fault.outcome == faults.GOES_ON for fault in chosen[:-1])
        seen |= {fault.name for fault in chosen}
    assert seen == {fault.name for fault in faults.ALL}


@pytest.mark.parametrize("said, is_wrong", [
    ("rally.c:34: rank 1: wrong == (size_t)size: round 3: byte 7 of 90 is wrong", True),
    ("rally.c:60: rank 1: ranks == check_size: round 3: 3 ranks took part", True),
    ("mtl/pm has lost rank 1 on host h1", False)])
def test_judge__knows_wrong_data(said, is_wrong):
    assert rounds._is_wrong_data(said) == is_wrong
