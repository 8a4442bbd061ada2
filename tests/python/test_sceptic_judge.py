# SPDX-License-Identifier: BSD-3-Clause
"""sceptic's judge: facts of hosts in, findings out."""

import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from scoutkit.health import doors, judge  # noqa: E402
from scoutkit.health.facts import Disk, Facts, Rail  # noqa: E402

NOW = 1_700_000_000
GIB = 1 << 20   # in KiB


def facts(ahead=0.0, **changed):
    """Of a host that is well; its clock is ahead by so many seconds."""
    at = int((NOW + 0.5 + ahead) * 1e9)
    return Facts(**{"clock_ns": (at, at + 1000), "kernel": "6.1.0", "versions": {"scrun": "1.0", "scnoded": "1.0"},
                    "munge": (0, ""), "disks": {"/": Disk(40, 5, 1 << 20, "/")}, "daemons": {"pm-ethernetd"},
                    "rails": {"eth1": Rail("up", True, 10000, 9000)}, "memory_kib": 64 * GIB,
                    "memory_free_kib": 32 * GIB} | changed)


def entry(name, **changed):
    """Of a host that is well, as scored has it."""
    return {"name": name, "state": "up", "note": "", "version": "1.0", "skew_ns": 0, "cgroups": "v2",
            "is_realtime": True, "switches": {"done": 100, "late": 0, "worst_ns": 0}} | changed


def view(name, **changed):
    return judge.View(**{"name": name, "entry": entry(name), "facts": facts(), "mtus": {"eth1": 9000},
                         "needs_ethernetd": True} | changed)


def scene(*odd, count=4, **changed):
    """Hosts that are well but for those given."""
    there = {f"n{number}": view(f"n{number}") for number in range(count)} | {one.name: one for one in odd}
    return judge.Scene(**{"views": list(there.values()), "began": NOW, "ended": NOW + 1,
                          "cluster": {"version": "1.0"}} | changed)


def said(found):
    """(level, hosts, what) of findings."""
    return [(one.level, one.hosts, one.what) for one in found]


def only(found):
    assert len(found) == 1, found
    return found[0]


def test_judge__all_well():
    assert judge.judge(scene()) == []


# ---- doors ----

@pytest.mark.parametrize("door, words", [
    (doors.Door(doors.SILENT, "no answer within 5 s"), "does not answer: no answer within 5 s"),
    (doors.Door(doors.REFUSED), "lives, but scnoded does not: nobody listens on port 7711"),
    (doors.Door(doors.MUTE, "not a word within 5 s"), "scnoded hangs"),
    (doors.Door(doors.STRANGER, "it speaks something else"), "is no scnoded: it speaks something else"),
    (doors.Door(doors.NAMELESS, "Name or service not known"), "has no address"),
])
def test_judge__dead(door, words):
    found = only(judge.judge(scene(view("n1", door=door, facts=None))))
    assert (found.level, found.hosts) == (judge.DEAD, ("n1",)) and words in found.what


def test_judge__dead_hosts_are_told_together():
    door = doors.Door(doors.SILENT, "no answer")
    found = judge.judge(scene(*(view(name, door=door, facts=None) for name in ("n10", "n2")), count=2))
    assert said(found) == [(judge.DEAD, ("n2", "n10"), "does not answer: no answer")]


def test_judge__of_a_dead_host_nothing_else_is_said():
    absent = entry("n1", state="absent", version="0.9", skew_ns=10**9)
    found = judge.judge(scene(view("n1", door=doors.Door(doors.REFUSED), entry=absent, facts=None)))
    assert [one.level for one in found] == [judge.DEAD]


def test_judge__without_a_scheduler_nobody_needs_to_listen():
    refused = doors.Door(doors.REFUSED)
    views = [view(f"n{number}", door=refused, entry=None) for number in range(3)]
    assert judge.judge(judge.Scene(views, NOW, NOW + 1, is_scheduled=False)) == []


# ---- scored ----

def test_judge__scored_is_not_reached():
    found = only(judge.judge(scene(cluster=None, scored_error="scored at head: refused")))
    assert (found.level, found.hosts, found.what) == (judge.TROUBLE, (), "scored at head: refused")


@pytest.mark.parametrize("known", [None, entry("n1", state="absent")])
def test_judge__answers_and_is_not_registered(known):
    found = only(judge.judge(scene(view("n1", entry=known))))
    assert (found.level, found.hosts) == (judge.TROUBLE, ("n1",)) and "not registered" in found.what


@pytest.mark.parametrize("changed, level, words", [
    ({"state": "drained", "note": "new fan"}, judge.NOTE, "drained: new fan"),
    ({"skew_ns": 5_000_000}, judge.TROUBLE, "clock is off"),
    ({"cgroups": "none"}, judge.TROUBLE, "no cgroups"),
])
def test_judge__what_scored_tells(changed, level, words):
    found = only(judge.judge(scene(view("n1", entry=entry("n1", **changed)))))
    assert (found.level, found.hosts) == (level, ("n1",)) and words in found.what


def test_judge__scored_is_older_than_all_hosts():
    found = only(judge.judge(scene(cluster={"version": "0.9"})))
    assert found.hosts == ("n0", "n1", "n2", "n3") and "OpenSCore 1.0, scored is 0.9" in found.what


# ---- no facts ----

def test_judge__no_command_runs_on_one_host():
    broken = scene(view("n1", facts=None, error="munge: no such user"))
    found = only(judge.judge(broken))
    assert found.hosts == ("n1",) and "no command runs there: munge: no such user" in found.what
    assert not judge.is_blind(broken)


def test_judge__no_command_runs_on_any_host():
    """Then it is no fault of the hosts."""
    views = [view(f"n{number}", facts=None, error="no key") for number in range(3)]
    blind = judge.Scene(views, cluster={"version": "1.0"})
    assert judge.is_blind(blind)
    assert said(judge.judge(blind)) == [(judge.TROUBLE, (), "no command runs anywhere: no key")]
    assert not judge.is_blind(scene())
    assert not judge.is_blind(judge.Scene([view("n0", door=doors.Door(doors.SILENT), facts=None)]))


# ---- clocks: read within a bracket of one second, in its middle ----

@pytest.mark.parametrize("ahead", [0.0, 0.55, -0.55])
def test_clocks__what_the_bracket_allows(ahead):
    assert judge.judge(scene(view("n1", facts=facts(ahead)))) == []


@pytest.mark.parametrize("ahead, words", [(0.7, "at least 0.2 s ahead of"), (-3.0, "at least 2.5 s behind"),
                                          (7200.5, "at least 2:00:00 ahead of")])
def test_clocks__off(ahead, words):
    found = only(judge.judge(scene(view("n1", facts=facts(ahead)))))
    assert (found.level, found.hosts) == (judge.TROUBLE, ("n1",)) and words in found.what


def test_clocks__ours_is_off():
    found = only(judge.judge(scene(*(view(f"n{number}", facts=facts(60.0)) for number in range(3)))))
    assert (found.hosts, found.what) == ((), "the clock of this machine is at least 59.5 s behind most hosts")


def test_clocks__many_are_off_to_both_sides():
    found = judge.judge(scene(view("n0", facts=facts(60.0)), view("n1", facts=facts(-60.0)),
                              view("n2", facts=facts(-60.0))))
    assert sorted(one.hosts for one in found) == [("n0",), ("n1", "n2")]


# ---- few against many ----

@pytest.mark.parametrize("values, wanted", [
    ({}, (None, {})),
    ({"a": 1}, (1, {})),
    ({"a": 1, "b": 1}, (1, {})),
    ({"a": 1, "b": 1, "c": 2}, (1, {2: ["c"]})),
    ({"a": 1, "b": 2}, (None, {1: ["a"], 2: ["b"]})),
    ({"a": 1, "b": 1, "c": 2, "d": 3, "e": 3}, (None, {1: ["a", "b"], 2: ["c"], 3: ["d", "e"]})),
])
def test_outliers(values, wanted):
    assert judge.outliers(values) == wanted


def test_versions__one_is_older():
    old = facts(versions={"scrun": "0.9", "scnoded": "1.0"})
    found = only(judge.judge(scene(view("n1", facts=old))))
    assert (found.level, found.hosts, found.what) == (judge.TROUBLE, ("n1",), "scrun 0.9; most hosts have 1.0")


def test_versions__not_installed():
    found = only(judge.judge(scene(view("n1", facts=facts(versions={"scnoded": "1.0"})))))
    assert (found.level, found.what) == (judge.TROUBLE, "scrun is not installed; most hosts have 1.0")


def test_versions__installed_on_one_only():
    more = facts(versions={"scrun": "1.0", "scnoded": "1.0", "pm-ethernetd": "1.0"})
    found = only(judge.judge(scene(view("n1", facts=more))))
    assert (found.level, found.hosts) == (judge.NOTE, ("n1",)) and "most hosts do not have it" in found.what


def test_versions__two_hosts_two_versions():
    found = judge.judge(scene(view("n1", facts=facts(versions={"scrun": "0.9", "scnoded": "1.0"})), count=2))
    assert said(found) == [(judge.TROUBLE, ("n0",), "scrun 1.0; the others differ"),
                           (judge.TROUBLE, ("n1",), "scrun 0.9; the others differ")]


def test_versions__daemon_was_not_restarted():
    found = only(judge.judge(scene(*(view(f"n{number}", facts=facts(versions={"scnoded": "1.1"}))
                                     for number in range(4)))))
    assert (found.level, len(found.hosts), found.what) == (judge.NOTE, 4, "scnoded 1.0 runs, 1.1 is installed")


def test_kernels():
    found = only(judge.judge(scene(view("n1", facts=facts(kernel="5.10.0")))))
    assert (found.level, found.hosts, found.what) == (judge.NOTE, ("n1",), "kernel 5.10.0; most hosts have 6.1.0")


# ---- a host by itself ----

def test_munge():
    found = only(judge.judge(scene(view("n1", facts=facts(munge=(15, "unmunge: Error: Expired credential"))))))
    assert (found.level, found.hosts) == (judge.TROUBLE, ("n1",)) and "Expired credential" in found.what
    assert judge.judge(scene(view("n1", facts=facts(munge=None)))) == []


@pytest.mark.parametrize("percent, inodes, level", [(89, 0, None), (90, 0, judge.NOTE), (98, 0, judge.TROUBLE),
                                                    (100, 10, judge.TROUBLE), (10, 99, judge.TROUBLE)])
def test_disks(percent, inodes, level):
    found = judge.judge(scene(view("n1", facts=facts(disks={"/tmp": Disk(percent, inodes, 0, "/tmp")}))))
    assert [(one.level, one.hosts, one.what[:4]) for one in found] == ([(level, ("n1",), "/tmp")] if level else [])


def test_disks__one_file_system_is_told_once():
    full = Disk(100, 0, 0, "/")
    found = only(judge.judge(scene(view("n1", facts=facts(disks={"/": full, "/tmp": full, "/var": full})))))
    assert found.what.startswith("/ is full (space")


def test_daemons():
    found = only(judge.judge(scene(view("n1", facts=facts(daemons=set())))))
    assert (found.hosts, found.what) == (("n1",), "pm-ethernetd does not run")
    assert judge.judge(scene(view("n1", facts=facts(daemons=set()), needs_ethernetd=False))) == []


@pytest.mark.parametrize("rail, words", [
    (Rail("missing", False, 0, 0), "eth1 is not there"),
    (Rail("down", False, 0, 9000), "eth1 has no carrier, or is down"),
    (Rail("up", False, 0, 9000), "eth1 has no carrier, or is down"),
    (Rail("up", True, 1000, 9000), "eth1 runs at 1000 Mbit/s; on most hosts at 10000"),
])
def test_rails(rail, words):
    found = only(judge.judge(scene(view("n1", facts=facts(rails={"eth1": rail})))))
    assert (found.level, found.hosts, found.what) == (judge.TROUBLE, ("n1",), words)


def test_rails__mtu_is_less_than_the_network_s():
    found = judge.judge(scene(view("n1", facts=facts(rails={"eth1": Rail("up", True, 10000, 1500)}))))
    assert sorted(one.what for one in found) == ["eth1 has MTU 1500, cluster.toml says 9000",
                                                 "eth1 has MTU 1500; most hosts have 9000"]


def test_rails__faster_than_the_others_is_no_fault():
    assert judge.judge(scene(view("n1", facts=facts(rails={"eth1": Rail("up", True, 25000, 9000)})))) == []


def test_rails__speed_that_nobody_tells():
    assert judge.judge(scene(view("n1", facts=facts(rails={"eth1": Rail("unknown", True, 0, 9000)})))) == []


def test_memory():
    found = judge.judge(scene(view("n1", facts=facts(memory_kib=48 * GIB, memory_free_kib=GIB // 2))))
    assert [(one.level, one.hosts) for one in found] == [(judge.NOTE, ("n1",))] * 2
    assert "has 48 GiB of memory, others 64 GiB" in found[0].what and "less than 2 %" in found[1].what


# ---- all together ----

def test_merged__worst_first():
    found = judge.judge(scene(view("n1", facts=facts(kernel="5")), view("n2", facts=facts(daemons=set())),
                              view("n3", door=doors.Door(doors.SILENT, "."), facts=None)))
    assert [one.level for one in found] == [judge.DEAD, judge.TROUBLE, judge.NOTE]


def test_level_of__worst_counts():
    found = judge.judge(scene(view("n1", facts=facts(kernel="5", daemons=set())), view("n2", facts=facts(kernel="5")),
                              count=8))
    assert judge.level_of(found) == {"n1": judge.TROUBLE, "n2": judge.NOTE}
