# SPDX-License-Identifier: BSD-3-Clause
"""[groups] of cluster.toml: host expressions as everywhere (tests/golden/hostexpr.json), and arrays of them."""
import json
import pathlib
import sys
import types

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import groups  # noqa: E402

VECTORS = json.loads((TREE / "tests" / "golden" / "hostexpr.json").read_text())
TABLES = {name: [",".join(hosts)] for name, *hosts in VECTORS["groups"] if name != "all"}
ALL = next(hosts for name, *hosts in VECTORS["groups"] if name == "all")


class Problems(list):
    def add(self, path, text):
        self.append((path, text))


def resolved(texts, is_complete=True, hosts=ALL):
    """(names of a group of these texts, problems)"""
    every = [types.SimpleNamespace(name=name, id=number) for number, name in enumerate(hosts)]
    inventory = types.SimpleNamespace(hosts=every, by_name={host.name: host for host in every}, is_complete=is_complete)
    problems = Problems()
    found = groups.resolve_groups({**TABLES, "it": texts}, inventory, problems)
    return [hosts[number] for number in found["it"]], problems


@pytest.mark.parametrize("text, names", [(text, names) for text, *names in VECTORS["good"]])
def test_resolve_groups__good_vectors(text, names):
    # Some vectors name hosts that are nowhere.
    got, problems = resolved([text], is_complete=set(names) <= set(ALL) and "z9" not in text)
    assert (got, problems) == ([name for name in names if name in ALL], [])


@pytest.mark.parametrize("text, place, why", VECTORS["bad"])
def test_resolve_groups__bad_vectors(text, place, why):
    if "nothing to take from" in why or "leaves no host" in why:
        return      # an array may go on with "~", and has its own words for nobody
    _, problems = resolved([text])
    assert any(f"at character {place}: " in said and why in said for _, said in problems)


@pytest.mark.parametrize("texts, names", [
    (["n[0-3]", "~n2"], ["n0", "n1", "n3"]), (["n[0-3]", "~n2, n2"], ["n0", "n1", "n3", "n2"]),
    (["~n2", "n2"], ["n2"]), (["~n2, n1"], ["n1"]), (["rack0", "~ rack0, io1"], ["io1"]),
    (["n5", "rack0:2"], ["n5", "n0", "n1"]), (["n1", "n0,n1"], ["n1", "n0"]),
])
def test_resolve_groups__a_text_goes_on_from_those_before(texts, names):
    assert resolved(texts) == (names, [])


def test_resolve_groups__nobody_is_left():
    assert [said for _, said in resolved(["n0", "~n0"])[1]] == ["the group has no members; name some or remove it"]


def test_resolve_groups__a_cut_of_hosts_that_could_not_be_read():
    assert resolved(["all:4"], is_complete=False, hosts=["n0"]) == ([], [])
    assert "there are only 1 hosts" in resolved(["all:4"], hosts=["n0"])[1][-1][1]
