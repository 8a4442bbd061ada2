# SPDX-License-Identifier: BSD-3-Clause
"""scconf generate: a cluster.toml to go on with."""

import math
import pathlib
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import draft, generate  # noqa: E402
from pmtopo.problems import Wrong  # noqa: E402


def scconf(*words):
    return subprocess.run([TREE / "configs" / "scconf", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6).filter(lambda dims: math.prod(dims) <= 3000),
       st.integers(1, 8))
def test_draft__every_shape_is_valid(dims, nics):
    if nics * len(dims) > 8:
        nics = 1
    text, cluster = draft.checked(generate.draft("g", tuple(dims), nics))
    assert cluster.topology.dims == tuple(dims) and len(cluster.hosts) == math.prod(dims)
    assert [rail.dim for rail in cluster.networks[1].rails] == [dim for dim in range(len(dims)) for _ in range(nics)]
    assert text.startswith("# Written by scconf generate")


def test_generate__of_pacs_cs():
    run = scconf("generate", "--dims", "16x16x10", "--nics", 2, "--name", "pacs", "--hosts", "p[0000-2559]")
    assert (run.returncode, run.stderr) == (0, "")
    assert 'range = "p[0000-2559]"' in run.stdout and '{ device = "eth6", dim = "z" }' in run.stdout


def test_generate__to_a_file_that_is_not_there(tmp_path):
    file = tmp_path / "cluster.toml"
    assert scconf("generate", "--dims", "2x2", "-o", file).stdout == ""
    assert scconf("check", file).returncode == 0
    run = scconf("generate", "--dims", "3x3", "-o", file)
    assert run.returncode == 1 and "is there already" in run.stderr
    assert "cannot be written" in scconf("generate", "--dims", "2x2", "-o", "/nowhere/x").stderr


def test_generate__flat_with_other_interfaces():
    run = scconf("generate", "--hosts", "a,b,c", "--nics", 2, "--devices", "enp[1-2]s0", "--address", "10.0.0.[1-3]")
    assert run.returncode == 0 and "topology" not in run.stdout
    assert 'rails = ["enp1s0", "enp2s0"]' in run.stdout and 'address = "10.0.0.[1-3]"' in run.stdout


def test_generate_json__is_the_resolved_form(tmp_path):
    text = scconf("generate", "--dims", "2x3").stdout
    (tmp_path / "x.toml").write_text(text)
    assert scconf("show", "--json", tmp_path / "x.toml").stdout == scconf("generate", "--dims", "2x3", "--json").stdout


@pytest.mark.parametrize("words, text", [
    ((), "--dims 4x4x4"), (("--dims", "4x"), "no shape"), (("--dims", "4x0"), "1 to 1024"),
    (("--dims", "1025"), "1 to 1024"), (("--dims", "2x2x2x2x2x2x2"), "at most 6"),
    (("--dims", "1024x65"), "at most 65536"), (("--dims", "4x4x4", "--nics", 3), "9 rails"),
    (("--dims", "4", "--nics", 0), "0 rails"), (("--dims", "2x2", "--hosts", "n[0-2]"), "names 3 hosts"),
    (("--dims", "2x2", "--hosts", "n[0-"), "character"), (("--dims", "2x2", "--devices", "eth1"), "2 are wanted"),
    (("--dims", "2x2", "--address", "10.0.0.1"), "gives 1 addresses for 4 hosts"),
    (("--hosts", "n[0-3]", "--nics", 9), "1 to 8"), (("--dims", "2x2", "--name", "a b"), "is no name")])
def test_generate__refusals(words, text):
    run = scconf("generate", *words)
    assert (run.returncode, run.stdout) == (1, "")
    assert text in run.stderr


def test_fold_macs__counts_up_in_the_last_byte():
    macs = ["02:00:00:00:00:0f", "02:00:00:00:00:10", "02:00:00:00:01:11", "0a:00:00:00:00:ff"]
    assert draft.fold_macs(macs) == ["02:00:00:00:00:[0f-10]", "02:00:00:00:01:11", "0a:00:00:00:00:ff"]


def test_checked__says_what_check_would_say():
    new = generate.draft("g", (2, 2), 1)
    new.hosts[1] = ("n0", False)
    with pytest.raises(Wrong, match="is named twice"):
        draft.checked(new)
    new.hosts.pop()
    with pytest.raises(Wrong, match="3 hosts do not fill 2x2"):
        draft.checked(new)
