# SPDX-License-Identifier: BSD-3-Clause
"""Figures of one-sided MPI and of btl/pm: their goals, and the ways that both sides take."""
import contextlib
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import btl, command, figures, rma  # noqa: E402
from pmbench.command import Lab  # noqa: E402
from pmbench.errors import CannotRun, Failed  # noqa: E402
from pmbench.figure import Contestant  # noqa: E402


@pytest.fixture(autouse=True)
def built(monkeypatch):
    """Nothing needs to be built, and Open MPI need not be installed."""
    for module in (command, rma):
        monkeypatch.setattr(module, "program", lambda relative: relative)
    monkeypatch.setattr(command, "component_dir", lambda: "/open-mpi")


@pytest.fixture(name="cables")
def made_of_names(monkeypatch):
    """Labs without hosts."""
    @contextlib.contextmanager
    def two(name, *options):
        yield Lab("same", 2), Lab("plain", 2)

    for module in (btl, rma):
        monkeypatch.setattr(module, "two_cables", two)


def told(name, cluster, args, env):
    """A side that only says how it would be started."""
    return Contestant(" ".join([name, "in", cluster.name, *args]), lambda: 1.0)


def test_figures__goals():
    goals = {"rma-put-latency": 0.45, "rma-get-latency": 0.45, "rma-fetch-op-latency": 0.45,
             "rma-put-bandwidth-1m": 0.98, "rma-put-rate-8": 3.0, "rma-shmem-put-latency": 1.0,
             "btl-latency-vs-mtl": 1.35, "btl-latency-vs-tcp": 0.55, "btl-rate-8-vs-tcp": None,
             "btl-bandwidth-1m-vs-tcp": None, "btl-posted-1000-vs-tcp": None}
    assert {name: figures.ALL[name].goal for name in goals} == goals
    assert all(figures.ALL[name].lower_is_better == (name.endswith("latency") or figures.ALL[name].unit == "us")
               for name in goals)


@pytest.mark.parametrize("makes, rivals", [(True, 4), (False, 2)])
def test_between_hosts__rivals_that_make_windows(monkeypatch, cables, makes, rivals):
    """osc/rdma over btl/tcp is a rival where it works. osc/rdma over btl/pm is none."""
    monkeypatch.setattr(rma, "can", lambda cluster, args: makes)
    with rma.between_hosts(told)() as (ours, others):
        assert "--mca pml cm --mca mtl pm" in ours.name and "osc_rdma" not in ours.name
        assert [each.is_rival for each in others] == [False] + rivals * [True]
        assert "--mca mtl pm --mca btl pm,self --mca osc rdma --mca osc_rdma_btls pm" in others[0].name
        assert sum("in same" in each.name for each in others) == 1 + rivals / 2
        assert sum("--mca btl tcp,self" in each.name for each in others) == rivals


@pytest.mark.parametrize("error, expected", [(None, True), (Failed("invalid window"), False)])
def test_can__what_a_first_run_says(monkeypatch, error, expected):
    def run(*_):
        if error:
            raise error

    monkeypatch.setattr(rma, "run_sizes", run)
    assert rma.can(Lab("probe", 2), []) is expected


def test_can__not_built(monkeypatch):
    def run(*_):
        raise CannotRun("run make")

    monkeypatch.setattr(rma, "run_sizes", run)
    with pytest.raises(CannotRun):
        rma.can(Lab("probe", 2), [])


def test_inside_host__sides():
    with rma.inside_host() as (ours, others):
        assert ours.name == rma.BTL and [each.name for each in others if not each.is_rival] == [rma.MTL]
        assert all("vader" in each.name for each in others if each.is_rival)


def test_btl__a_row_of_the_table(cables):
    with btl.against_tcp(told)() as (ours, others):
        assert "--mca pml ob1 --mca btl pm,self" in ours.name
        assert [each.is_rival for each in others] == [False, True]
        assert "--mca pml cm --mca mtl pm" in others[0].name and "in plain --mca pml ob1" in others[1].name
