# SPDX-License-Identifier: BSD-3-Clause
"""scconf import: scorehosts.db and pm-ethernet.conf of SCore, as its manuals show them."""

import pathlib
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import draft, etherconf, legacy, scorehosts  # noqa: E402
from pmtopo.problems import Wrong  # noqa: E402

UNIT = """\
# one rail
unit {unit}
checksum 1
maxnsend 16
backoff 4800
# NodeNumber MAC Hostname
0 00:00:f3:51:0{unit}:00 comp0.cluster.org
1 0:0:F3:51:{unit}:1 comp1.cluster.org
2 00:00:f3:51:0{unit}:02 comp2.cluster.org
"""
SCORE5 = """\
/* networks
   of this cluster */
ethernet   type=ethernet \\
           -config:file=/opt/score/etc/pm-ethernet-0.conf -trunk1:file=pm-ethernet-1.conf
myrinet2k  type=myrinet2k -firmware:file=/opt/score/share/lanai/lanai2k.mcp
shmem0     type=shmem -node=0
#define MSGBSERV msgb=(server.cluster.org:8764)
#define COMMON network=ethernet,myrinet2k,shmem0 smp=2 MSGBSERV
#include "hosts.inc"
"""
HOSTS = """\
comp0.cluster.org COMMON group=pcc,left
comp1.cluster.org COMMON group=pcc   // the second
~comp2.cluster.org COMMON group=pcc
"""
SCORE7 = """\
~n1 spare=n4
etherhxb type=etherhxb unit=0 trunk=2 slot=1 backoff=100 checksum=1
n0 cpugen=xeon speed=3600 socks=1 cores=1 network=etherhxb group=all
n1 cores=1 network=etherhxb
n2 cores=1 network=etherhxb
n2 group=two
n3 cores=1 network=etherhxb
n4 cores=1 network=etherhxb
"""


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        return [str(write_one(tmp_path / name.replace("__", ".").replace("_", "-"), text))
                for name, text in texts.items()]

    def write_one(path, text):
        path.write_text(text)
        return path
    return write


def imported(paths, **more):
    return draft.checked(legacy.draft(paths, "old", **more))


def scconf(*words):
    return subprocess.run([TREE / "configs" / "scconf", "import", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)


def test_draft__trunk_of_two_units(files):
    text, cluster = imported(files(b__conf=UNIT.format(unit=1), a__conf=UNIT.format(unit=0)))
    assert [host.name for host in cluster.hosts] == ["comp0", "comp1", "comp2"]
    assert [(rail.device, rail.mac) for rail in cluster.hosts[1].rails] == [
        ("eth0", "00:00:f3:51:00:01"), ("eth1", "00:00:f3:51:01:01")]
    assert cluster.pm["channel.crc"] == "1"
    assert "# Names of hosts without their domain, cluster.org." in text
    assert "Left out, as nothing here needs it: backoff maxnsend of pm-ethernet.conf." in text
    assert "is taken to be interface ethN" in text


def test_draft__other_interfaces(files):
    _, cluster = imported(files(a__conf=UNIT.format(unit=0), b__conf=UNIT.format(unit=1)), devices=["em1", "em2"])
    assert [rail.device for rail in cluster.hosts[0].rails] == ["em1", "em2"]


def test_draft__score_5_database_with_its_units(files):
    paths = files(scorehosts__db=SCORE5, hosts__inc=HOSTS, pm_ethernet_0__conf=UNIT.format(unit=0),
                  pm_ethernet_1__conf=UNIT.format(unit=1))
    text, cluster = imported(paths[:1])
    assert [(host.name, host.state) for host in cluster.hosts] == [
        ("comp0", "up"), ("comp1", "up"), ("comp2", "defect")]
    assert cluster.groups == {"pcc": [0, 1, 2], "left": [0]}
    assert [(rail.device, rail.mac) for rail in cluster.hosts[2].rails] == [
        ("eth0", "00:00:f3:51:00:02"), ("eth1", "00:00:f3:51:01:02")]
    for word in ("network myrinet2k of type myrinet2k", "msgb smp of hosts"):
        assert word in text
    assert imported([paths[0], *paths[2:]])[1].hosts[2].rails == cluster.hosts[2].rails


def test_draft__score_7_hypercrossbar(files):
    paths = files(scorehosts__db=SCORE7)
    text, cluster = imported(paths)
    assert [rail.device for rail in cluster.networks[1].rails] == ["eth1", "eth2"]
    assert [host.state for host in cluster.hosts] == ["defect", "up", "up", "up", "spare"]
    assert cluster.groups == {"two": [2]} and cluster.pm["channel.crc"] == "1"
    assert "backoff of network etherhxb" in text and "cores cpugen socks speed of hosts" in text
    _, cluster = imported(paths, dims=(5, 1))
    assert [(rail.device, rail.dim) for rail in cluster.networks[1].rails] == [
        ("eth1", 0), ("eth2", 0), ("eth3", 1), ("eth4", 1)]


def test_draft__score_7_ethernet_with_other_names(files):
    text, cluster = imported(files(db="e type=ethernet netdev=eth2 mtu=1500\ne/n1 netdev=eth5 backoff=3\n"
                                   "n0 network=e\nn1 network=e\n"))
    assert [host.rails[0].device for host in cluster.hosts] == ["eth2", "eth5"]
    assert "backoff of e/n1" in text and "mtu of network e" in text


def test_parse__preprocessor(files):
    text = ("#define A x=1\n#ifdef A\nr1 A\n#else\nr2 A\n#endif\n#ifndef A\nr3\n#endif\n#undef A\n"
            "r4 A=2 /* no\n */ b=3\n"
            "r1 x=2,3 y:file=/tmp//etc\n#define B C\n#define C z=4\nr5 B\n#define D D\nr6 k=D // end\n")
    (path,) = files(db=text)
    records = scorehosts.parse(path)
    assert list(records) == ["r1", "r4", "r5", "r6"]
    assert (records["r4"].first("A"), records["r4"].first("b")) == ("2", "3")
    assert records["r1"].values("x") == ["1", "2", "3"]
    assert records["r1"].attributes["y"].values == ["/tmp//etc"] and records["r1"].attributes["y"].is_file
    assert records["r5"].first("z") == "4" and records["r6"].first("k") == "D"


@pytest.mark.parametrize("text, words", [
    ("comp0 network", ["db:1", '"network" is no attribute']),
    ("\n#if X\n#endif", ["db:2", "cpp -P"]), ("#define F(x) x\nc network=e", ["db:1", "cpp -P"]),
    ("#ifdef A\n", ["an #ifdef is not closed"]), ('#include "no"\n', ["cannot be read"]),
    ('#include "db"\n', ["without end"]), ("#include x\n", ["in quotes"]),
    ("e type=ethernet\n", ["has no host record"]), ("c network=m\nm type=myrinet\n", ["no network of type ethernet"]),
    ("e type=etherhxb trunk=x\nc network=e\n", ["db:1", "trunk=x", "write a number from 1"]),
    ("e type=etherhxb trunk=9\nc network=e\n", ["9 rails", "at most 8"]),
    ("e type=ethernet -config:file=/no/x.conf\nc network=e\n", ["db:1", "-config", "no file /no/x.conf"]),
    ("e type=ethernet\nc network=e spare=d\n", ["db:2", "spare=d", "no record"])])
def test_import__databases_that_are_refused(files, text, words):
    run = scconf(*files(db=text))
    assert (run.returncode, run.stdout) == (2, "")
    for word in words:
        assert word in run.stderr, run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("text, words", [
    ("unit 0\n", ["a.conf:1", "names no host"]), ("unit 0\n0 x comp0\n", ["a.conf:2", '"x" is no MAC']),
    ("0 0:0:0:0:0:1 a\n0 0:0:0:0:0:2 b\n", ["a.conf:2", "number 0", "a.conf:1"]),
    ("0 0:0:0:0:0:1 a\n1 0:0:0:0:0:1 b\n", ["a.conf:2", "00:00:00:00:00:01"]),
    ("0 0:0:0:0:0:1 a\n1 0:0:0:0:0:2 a\n", ["a.conf:2", " a is given"]),
    ("unit 0\nnonsense\n", ["a.conf:2", "is not understood"])])
def test_import__units_that_are_refused(files, text, words):
    run = scconf(*files(a__conf=text))
    assert (run.returncode, run.stdout) == (2, "")
    for word in words:
        assert word in run.stderr, run.stderr


def test_import__units_that_do_not_fit_together(files):
    a, b = files(a__conf=UNIT.format(unit=0), b__conf=UNIT.format(unit=0))
    assert "unit 0 is given by another file" in scconf(a, b).stderr
    a, b = files(a__conf=UNIT.format(unit=0), b__conf="unit 1\n0 0:0:0:0:0:1 other.cluster.org\n")
    assert '"other.cluster.org" is not in' in scconf(a, b).stderr
    a, b = files(a__conf=UNIT.format(unit=0), b__conf="unit 1\n0 2:0:0:0:0:1 comp0.cluster.org\n")
    text, cluster = imported([a, b])
    assert "addresses of unit 1, which has none of comp1.cluster.org" in text and cluster.hosts[0].rails[1].mac is None
    assert "is a second scorehosts.db" in scconf(*files(x="n0 group=a\n", y="n1 group=a\n")).stderr


def test_import__command(files, tmp_path):
    (path,) = files(a__conf=UNIT.format(unit=3))
    output = tmp_path / "cluster.toml"
    assert scconf(path, "-o", output, "--name", "old").returncode == 0
    assert 'name = "old"' in output.read_text() and 'rails = ["eth3"]' in output.read_text()
    assert scconf(path, "--dims", "3x").returncode == 1 and scconf("/nowhere/x").returncode == 2
    assert "1 rails do not serve 2 dimensions" in scconf(path, "--dims", "2x2").stderr
    assert "3 hosts do not fill 2" in scconf(path, "--dims", "2").stderr
    assert "--devices names 2 interfaces for 1 rails" in scconf(path, "--devices", "eth[1-2]").stderr


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab01 =,:~/*\\#\n\"()-.", max_size=80))
def test_parse__any_text_is_records_or_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.db"
    path.write_text(text)
    for parse in (lambda: scorehosts.parse(str(path)), lambda: etherconf.parse(str(path), text)):
        try:
            parse()
        except Wrong as wrong:
            assert str(path) in str(wrong)
