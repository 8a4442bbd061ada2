# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo.hostexpr: the vectors shared with cluster/hostexpr.c, and the algebra."""

import json
import pathlib
import sys

import pytest
from hypothesis import given, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import hostexpr, hostlist  # noqa: E402

VECTORS = json.loads((TREE / "tests" / "golden" / "hostexpr.json").read_text())
GROUPS = {name: hosts for name, *hosts in VECTORS["groups"]}
TERMS = st.sampled_from([*GROUPS, "n[0-7/2]", "n3", "io[1-2]"])


def expand(text):
    return hostexpr.expand(text, GROUPS.get)


@pytest.mark.parametrize("text, names", [(text, names) for text, *names in VECTORS["good"]])
def test_expand__good_vectors(text, names):
    assert expand(text) == names


@pytest.mark.parametrize("text, place, why", VECTORS["bad"])
def test_expand__bad_vectors(text, place, why):
    with pytest.raises(hostlist.HostlistError) as caught:
        expand(text)
    assert caught.value.at + 1 == int(place)
    assert why in caught.value.why


def test_expand__without_groups():
    assert hostexpr.expand("all:1") == ["all"]


@given(st.lists(st.tuples(st.sampled_from("+~"), TERMS), min_size=1, max_size=8))
def test_expand__is_the_algebra_of_sets(terms):
    want = set()
    for sign, term in terms:
        names = set(expand(term))
        want = want | names if sign == "+" else want - names
    text = "all~all" + "".join(sign + term for sign, term in terms)
    if want:
        assert set(expand(text)) == want
    else:
        with pytest.raises(hostlist.HostlistError):
            expand(text)


@given(TERMS, st.integers(0, 10))
def test_expand__a_cut_parts_in_two(term, count):
    names = expand(term)
    if count > len(names):
        with pytest.raises(hostlist.HostlistError):
            expand(f"{term}:{count}")
        return
    # "x" keeps the result from being empty
    assert expand(f"{term}:{count}+x") + expand(f"{term}@{count}+x") == names[:count] + ["x"] + names[count:] + ["x"]
