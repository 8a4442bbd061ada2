# SPDX-License-Identifier: BSD-3-Clause
"""scconf route: the way between two hosts as a user asks for it."""

import json
import pathlib
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import document, path, resolve  # noqa: E402
from pmtopo.problems import Wrong  # noqa: E402

RAILS = ", ".join(f'{{ device = "eth{n + 1}", dim = "{"xyz"[n // 2]}" }}' for n in range(6))
GRID = ('[topology]\nkind = "hypercrossbar"\ndims = [2, 3, 2]\n[[hosts]]\nrange = "n[00-04],~n05,n[06-11]"\n'
        'macs.eth1 = "02:00:00:00:01:[00-0b]"\n'
        f'[networks.raw]\ntype = "ethernet"\nrails = [{RAILS}]\n')


@pytest.fixture
def grid(tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text(GRID)
    return file


def route(file, *words):
    return subprocess.run([TREE / "configs" / "scconf", "route", file, *words], capture_output=True, text=True,
                          timeout=60, check=False)


def finder(file, *args):
    cluster, problems = resolve.resolve(document.load(str(file)))
    assert cluster, problems.lines()
    return path.Finder(cluster, *args)


def links(found):
    return [(hop.host.name, hop.device, hop.to.name) for hop in found.hops]


def test_find__in_the_order_of_the_dimensions(grid):
    found = finder(grid).find("n00", "n11")
    assert links(found) == [("n00", "eth1", "n06"), ("n06", "eth3", "n10"), ("n10", "eth5", "n11")]
    assert (found.hops[0].mac, found.hops[0].to_mac, found.hops[1].mac) == \
        ("02:00:00:00:01:00", "02:00:00:00:01:06", None)
    assert not found.is_detour and not found.stuck


def test_find__by_the_lane_of_the_sender(grid):
    assert [hop.device for hop in finder(grid, (), 1).find("n00", "n11").hops] == ["eth2", "eth4", "eth6"]


def test_find__other_lane_where_one_nic_is_dead(grid):
    found = finder(grid, ["n06:eth3"]).find("n00", "n11")
    assert [hop.device for hop in found.hops] == ["eth1", "eth4", "eth5"]
    assert "other lane" in found.hops[1].note and not found.is_detour


def test_find__around_a_dead_host(grid):
    found = finder(grid, ["n06"]).find("n00", "n09")
    assert "n06" not in {hop.to.name for hop in found.hops}
    assert found.stuck is None and found.is_detour and "x comes last" in found.hops[0].note


def test_find__defect_hosts_are_no_relays(grid):
    # n05 is at 0,2,1: between n04 at 0,2,0 and n11 at 1,2,1 only with z before x
    names = {hop.to.name for hop in finder(grid, ["n10"]).find("n04", "n11").hops}
    assert "n05" not in names and "n11" in names


@pytest.mark.parametrize("pair, dead, word", [
    (("n00", "n05"), (), "marked as defect"), (("n05", "n00"), (), "marked as defect"),
    (("n00", "n01"), ("n01",), "is dead"), (("n01", "n00"), ("n01",), "is dead")])
def test_find__an_end_that_is_dead(grid, pair, dead, word):
    found = finder(grid, dead).find(*pair)
    assert word in found.stuck and found.hops == []


def test_find__a_second_failure_on_the_detour(grid):
    found = finder(grid, ["n06"]).find("n00", "n11")
    assert "no way on from n04 (0,2,0)" in found.stuck and found.hops[-1].to.name == "n04"


def test_find__unreachable(grid):
    around = ["n01", "n02", "n04", "n06"]        # all neighbours of n00
    assert "no way on from n00 (0,0,0)" in finder(grid, around).find("n00", "n11").stuck


def test_find__without_topology_one_link(tmp_path):
    file = tmp_path / "flat.toml"
    file.write_text('[[hosts]]\nrange = "a,b,c"\n[networks.raw]\ntype = "ethernet"\nrails = ["eth1", "eth2"]\n')
    found = finder(file, (), 1).find("a", "c")
    assert links(found) == [("a", "eth2", "c")] and found.hops[0].dim is None


def test_find__no_network_with_relays(tmp_path):
    file = tmp_path / "udp.toml"
    file.write_text('[[hosts]]\nrange = "a,b"\n[networks.x]\ntype = "udp"\nrails = ["eth1"]\n')
    with pytest.raises(Wrong, match="type ethernet"):
        finder(file)


@pytest.mark.parametrize("dead", [
    (), ("n06",), ("n06", "n10"), ("n00:eth1", "n00:eth2", "n04"), ("n02", "n03:eth5")])
def test_parted__are_those_that_are_not_found(grid, dead):
    ways = finder(grid, dead)
    names = [f"n{number:02d}" for number in range(12) if f"n{number:02d}" not in {"n05", *dead}]
    wanted = [(a, b) for a in names for b in names if ways.find(a, b).stuck]
    assert [(found.src.name, found.dst.name) for found in ways.parted()] == wanted


def test_route__all_pairs(grid):
    run = route(grid)
    assert (run.returncode, run.stdout) == (0, f"{grid}: ok: all pairs of 12 hosts that are not dead reach each "
                                               "other\n")
    run = route(grid, "--dead", "n06")
    assert run.returncode == 1
    assert "n00 does not reach n11: no way on from n04 (0,2,0)" in run.stdout
    assert len(json.loads(route(grid, "--dead", "n06", "--json").stdout)) == len(run.stdout.splitlines())
    assert "leads where?" in route(grid, "n00").stderr


def test_route__for_people(grid):
    run = route(grid, "n00", "n11")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[0] == "n00 (0,0,0) to n11 (1,2,1): 3 links"
    assert "eth1 (x, rail 0)" in run.stdout and "02:00:00:00:01:06" in run.stdout


def test_route__a_detour_is_said(grid):
    run = route(grid, "n00", "n06", "--dead", "n00:eth1", "--dead", "n06:eth2")
    assert run.returncode == 0
    assert "a detour: 1 without failures" in run.stdout and "a step aside along y" in run.stdout


def test_route__the_same_host(grid):
    assert "no network" in route(grid, "n00", "n00").stdout


def test_route_json__reached_or_not(grid):
    run = route(grid, "n00", "n11", "--json")
    tree = json.loads(run.stdout)
    assert tree["is_reached"] and [hop["to"] for hop in tree["hops"]] == ["n06", "n10", "n11"]
    assert tree["hops"][0]["dim"] == "x"
    run = route(grid, "n00", "n11", "--dead", "n11", "--json")
    tree = json.loads(run.stdout)
    assert (run.returncode, tree["is_reached"]) == (1, False)
    assert "n11" in tree["why_not"] and "n00 does not reach n11" in run.stderr


@pytest.mark.parametrize("words, text", [
    (("n00", "n99"), 'no host "n99"'), (("n00", "n11", "--dead", "n01:eth9"), "it has eth1, eth2"),
    (("n00", "n11", "--lane", "2"), "write 0 to 1"), (("n00", "n11", "--dead", "x"), 'no host "x"'),
    (("n00", "n05"), "marked as defect")])
def test_route__what_cannot_be_told(grid, words, text):
    run = route(grid, *words)
    assert (run.returncode, run.stdout) == (1, "")
    assert text in run.stderr and len(run.stderr.splitlines()) == 1
