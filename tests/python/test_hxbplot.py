# SPDX-License-Identifier: BSD-3-Clause
"""tests/sim/hxbplot: what it reads out of the tables of docs/hypercrossbar.md."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("hxbplot", str(TREE / "tests" / "sim" / "hxbplot"))
hxbplot = importlib.util.module_from_spec(importlib.util.spec_from_loader("hxbplot", LOADER))
LOADER.exec_module(hxbplot)

PAGE = """
| dims | `hxbsim` | buffer | of the wire | loss |
|---|---|---|---|---|
| 4x4 | `--pattern incast --by reads` | 128K, 512K | 51.7 % | 0.02 % |
| 4x4 | the same | 128K | 50 % | 0 |
| 4x4 | `--pattern incast` | 64K | 9 % | 1 % |
| 4x4 | the same, `--credit 4` | 128K | 60 % | 11 % |
| 4x4 | the same, credit 32 | 512K | 28.3 % | 8.9 % |

| a | b |
|---|---|
| **1** | 2 |
"""


def test_tables__cells_without_their_marks():
    assert hxbplot.tables(PAGE)[1] == [{"a": "1", "b": "2"}]


def test_runs__options_hold_until_others_are_said():
    rows = hxbplot.table(hxbplot.tables(PAGE), "of the wire", "loss")
    assert hxbplot.runs(rows) == [
        ("incast by reads", "4x4", "128K", 51.7, 0.02), ("incast by reads", "4x4", "512K", 51.7, 0.02),
        ("incast by reads", "4x4", "128K", 50.0, 0.0), ("incast by messages", "4x4", "512K", 28.3, 8.9)]


def test_table__of_a_page_that_changed():
    with pytest.raises(SystemExit, match="0 tables with the headings of the wire, seed"):
        hxbplot.table(hxbplot.tables(PAGE), "of the wire", "seed")


def test_page__has_all_kinds():
    found = hxbplot.tables(hxbplot.PAGE.read_text(encoding="utf-8"))
    kinds = {row[0] for row in hxbplot.runs(hxbplot.table(found, "of the wire", "loss", "buffer"))}
    assert kinds == {name for name, _ in hxbplot.KINDS}
    for name in ("hxb-agree", "hxb-runs", "hxb-buffers"):
        assert f"({name}.svg)" in hxbplot.PAGE.read_text(encoding="utf-8")
        assert (hxbplot.PAGE.parent / f"{name}.svg").exists()
