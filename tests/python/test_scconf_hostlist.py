# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo.hostlist: the vectors shared with cluster/hostlist.c, and properties."""

import json
import pathlib
import sys

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import hostlist  # noqa: E402

VECTORS = json.loads((TREE / "tests" / "golden" / "hostlist.json").read_text())
NAMES = st.lists(st.builds("{}{}".format, st.sampled_from(["n", "io", "r1n", "", "n-"]),
                           st.sampled_from(["0", "00", "9", "09", "10", "99", "099", "100", "7"])),
                 min_size=1, max_size=20)


@pytest.mark.parametrize("text, names", [(text, names) for text, *names in VECTORS["good"]])
def test_expand__good_vectors(text, names):
    assert hostlist.expand(text) == names


@pytest.mark.parametrize("text, place, why", VECTORS["bad"])
def test_expand__bad_vectors(text, place, why):
    with pytest.raises(hostlist.HostlistError) as caught:
        hostlist.expand(text)
    assert caught.value.at + 1 == int(place)
    assert why in caught.value.why


def test_expand__hexadecimal_for_addresses():
    assert hostlist.expand("02:00:[09-0b]", base=16) == ["02:00:09", "02:00:0a", "02:00:0b"]
    assert hostlist.expand("fd00::[f-11]", base=16) == ["fd00::f", "fd00::10", "fd00::11"]


@given(NAMES)
def test_fold__expands_to_the_same_names(names):
    assert hostlist.expand(hostlist.fold(names)) == names


@given(st.integers(0, 200), st.integers(1, 200), st.integers(0, 4))
def test_fold__one_run_is_one_range(first, count, width):
    names = [f"n{number:0{width}d}" for number in range(first, first + count)]
    folded = hostlist.fold(names)
    assert hostlist.expand(folded) == names
    if len({len(name) for name in names}) == 1 and count > 1:
        assert folded == f"n[{names[0][1:]}-{names[-1][1:]}]"


@given(st.integers(0, 10**6), st.integers(0, 500), st.integers(1, 50))
def test_expand__counts_like_range(first, length, step):
    names = hostlist.expand(f"n[{first}-{first + length}/{step}]")
    assert names == [f"n{number}" for number in range(first, first + length + 1, step)]


@settings(max_examples=500)
@given(st.text(alphabet="n0123459[]-,/ .~\t", max_size=24))
def test_expand__any_text_gives_names_or_a_place_in_it(text):
    try:
        names = hostlist.expand(text)
    except hostlist.HostlistError as error:
        assert 0 <= error.at <= len(text)
        assert error.why
    else:
        assert 0 < len(names) <= hostlist.MAX_NAMES
        assert all(name and not set(name) & set("[], /~\t") for name in names)


@pytest.mark.parametrize("text", ["n\x1b31m", "n[\x1b31m]"])
def test_expand__control_characters_are_not_repeated(text):
    with pytest.raises(hostlist.HostlistError) as caught:
        hostlist.expand(text)
    assert caught.value.why.isprintable()
