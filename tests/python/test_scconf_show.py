# SPDX-License-Identifier: BSD-3-Clause
"""scconf show: the topology drawn, on a terminal and as SVG."""

import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import document, draft, generate, planes, resolve, svg  # noqa: E402
from pmtopo.heading import heading  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
DEFECT, SPARE, UP = '#d04040', '#e8c840', '#9ccc9c'


def cluster_of(dims, hosts=None, nics=1):
    """dims None: flat. hosts: a range that may mark defect ones."""
    new = generate.draft("c", dims, nics, hosts and hosts.replace("~", ""))
    text = draft.text(new)
    if hosts:
        line = next(line for line in text.splitlines() if line.startswith("range"))
        text = text.replace(line, f'range = "{hosts}"')
    cluster, problems = resolve.resolve(document.parse("c.toml", text))
    assert cluster, problems.lines()
    return cluster


def picture(cluster):
    text = "".join(svg.pieces(cluster, heading(cluster)))
    return text, xml.fromstring(text)


def fills(root):
    """Of cells: rectangles that say what they are."""
    return [rect.get("fill") for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]


def show(tmp_path, text, *words):
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    return subprocess.run([TREE / "configs" / "scconf", "show", file, *words], capture_output=True, text=True,
                          timeout=60, check=False, env={**os.environ, "COLUMNS": "100"})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_layout__each_host_once_where_it_stands(dims):
    cluster = cluster_of(tuple(dims))
    found = planes.layout(cluster)
    seen = [host.id for plane in found.planes for row in plane.rows for host in row]
    assert seen == list(range(len(cluster.hosts)))
    for plane in found.planes:
        for row in plane.rows:
            assert all(host.coords[:len(plane.at)] == plane.at for host in row)
    assert sum(dim.points * dim.lines for dim in planes.dimensions(cluster)) == len(dims) * len(cluster.hosts)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_pieces__well_formed_with_a_cell_per_host(dims):
    cluster = cluster_of(tuple(dims))
    text, root = picture(cluster)
    assert fills(root) == [UP] * len(cluster.hosts)
    assert text.isascii()
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter(f"{SVG}rect"):
        assert float(rect.get("x", 0)) + float(rect.get("width")) <= width
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height


def test_pieces__marks_and_names():
    cluster = cluster_of((4, 4), "n[00-04],~n05,n[06-15]")
    cluster.by_name["n09"].state = "spare"
    _, root = picture(cluster)
    assert [fills(root).count(color) for color in (UP, DEFECT, SPARE)] == [14, 1, 1]
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"n05", "n15", "defect: n05", "spare: n09", "x: 4 lines of 4, rails raw eth1"} <= words
    tips = {tip.text.splitlines()[0] for tip in root.iter(f"{SVG}title")}
    assert {"n05", "n15"} <= tips


def test_pieces__2560_hosts_stay_readable():
    text, root = picture(cluster_of((16, 16, 10), "n[0000-0662],~n0663,n[0664-2559]", 2))
    assert len(fills(root)) == 2560 and fills(root).count(DEFECT) == 1
    assert float(root.get("width")) < 1500 and float(root.get("height")) < 1000
    titles = {each.text for each in root.iter(f"{SVG}text")}
    assert {f"x={value}" for value in range(16)} <= titles and len(text) < 500000


def test_pieces__65536_hosts_by_rows():
    text, root = picture(cluster_of((64, 32, 32), "n[00000-40000],~n40001,n[40002-65535]"))
    assert len(fills(root)) == 64 * 32 - 1 + 32 and fills(root).count(DEFECT) == 1
    assert len(text) < 500000


def test_pieces__flat_network():
    _, root = picture(cluster_of(None, "a[00-49]"))
    assert len(fills(root)) == 50


def test_show__draws_only_planes_with_marks(tmp_path):
    text = draft.text(generate.draft("p", (16, 16, 10), 2)).replace("n[0000-2559]", "n[0000-0662],~n0663,n[0664-2559]")
    run = show(tmp_path, text)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    at = lines.index("x=4")
    assert lines[at + 1:at + 17] == [".........."] * 2 + ["...x......"] + [".........."] * 13
    assert "15 more planes, all up: x=0-3,5-15" in lines and "defect: n0663" in lines
    assert "z: 256 lines of 10, rails raw eth5 eth6" in lines and len(lines) < 60


@pytest.mark.parametrize("dims, hosts, words", [
    ((3,), "n[0-2]", ["..."]), ((40, 3), "n[0-9],~n10,n[11-119]", ["x=3  .x.", "39 more rows, all up"]),
    ((2, 300), "n[0-599]", []), ((2, 2, 2, 2), "n[0-15]", ["3 more planes, all up"])])
def test_show__other_shapes(tmp_path, dims, hosts, words):
    text = draft.text(generate.draft("p", dims, 1)).replace("\nrange = ", "\n#")
    text = text.replace("[[hosts]]\n", f'[[hosts]]\nrange = "{hosts}"\n')
    run = show(tmp_path, text)
    assert (run.returncode, run.stderr) == (0, "")
    for word in words:
        assert word in run.stdout.splitlines(), run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 100


def test_show__marked_planes_in_bands(tmp_path):
    names = ",".join(f"n[{plane}0-{plane}3],~n{plane}4,n[{plane}5-{plane}8]" for plane in range(1, 10))
    text = '[topology]\nkind = "hypercrossbar"\ndims = [9, 3, 3]\n[[hosts]]\nrange = "' + names + '"\n'
    run = show(tmp_path, text)
    assert run.stdout.count(".x.") == 9 and "more plane" not in run.stdout


def test_show_svg__is_a_file(tmp_path):
    text = draft.text(generate.draft("p", (2, 2), 1))
    run = show(tmp_path, text, "--svg", tmp_path / "p.svg")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert xml.parse(tmp_path / "p.svg").getroot().tag == f"{SVG}svg"
    run = show(tmp_path, text, "--svg", "/nowhere/p.svg")
    assert run.returncode == 1 and "/nowhere/p.svg: cannot be written" in run.stderr
