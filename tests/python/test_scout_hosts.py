# SPDX-License-Identifier: BSD-3-Clause
"""scout: its command line, and which hosts it means."""

import json
import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scout"), str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scoutkit import hosts, options  # noqa: E402

CLUSTER = {"version": 1, "scheduler": {"server": "head", "node_port": 9}, "groups": [{"name": "pcc", "hosts": [2, 0]}],
           "hosts": [{"id": i, "name": f"n{i}", "state": "up", "rails": []} for i in range(4)]}
CLUSTER["hosts"][1]["address"] = "10.0.0.1"


@pytest.fixture
def cluster(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER))
    return hosts.Cluster(str(path))


# ---- options ----

def test_read__one_hyphen_two_or_a_sign():
    for words in (["-g", "pcc", "-n", "4"], ["-g=pcc", "-n=4"], ["-g", "pcc", "-n", "4", "--"]):
        got = options.read([*words, "ls", "-l"])
        assert (got.group, got.count, got.words) == ("pcc", 4, ["ls", "-l"])
    assert options.read(["--timeout=1.5m", "--sort", "x"]).timeout == 90
    assert options.read(["-g", "a", "-e", "make", "-n", "x"]).words == ["make", "-n", "x"]


@pytest.mark.parametrize("words, said", [
    (["-grup", "x"], "there is no such option"), (["-nosrt", "x"], "did you mean -nosort?"),
    (["--tiemout", "3"], "did you mean --timeout?"), (["--g", "x"], "there is no such option"),
    (["-g"], "its value is missing"), (["-n", "0", "x"], "wanted is a number of hosts"),
    (["-timeout", "0", "x"], "a time above 0"), (["-timeout", "soon", "x"], "a time above 0"),
    (["-sort=1", "x"], "it takes no value"), (["-g", "a", "-F", "b"], "leave one out"), (["-e"], "is missing"),
    (["-put", "a"], "write the files"), (["-get", "a", "b", "c"], "write one file"),
    (["-rsh", "rsh", "x"], "auto, scnoded, ssh or exec"), (["-rsh", "exec", "x"], "say with which command"),
    (["-rsh", "ssh", "-through", "x", "x"], "is for -rsh exec"), (["-scatter", "x"], "it is for -n"),
    (["-no-lock", "-wait", "x"], "need scored"), (["-g", "", "x"], "wanted is groups and hosts")])
def test_read__wrong_calls_are_told(words, said):
    with pytest.raises(options.Wrong, match=said.replace("?", r"\?")):
        options.read(words)


@pytest.mark.parametrize("words, argv", [
    (["uptime"], ["uptime"]), (["echo", "a b"], ["echo", "a b"]), (["/usr/bin/a-b_c.d"], ["/usr/bin/a-b_c.d"]),
    (["echo $HOME"], ["/bin/sh", "-c", "echo $HOME"]), (["ls|wc"], ["/bin/sh", "-c", "ls|wc"]),
    (["a", "*"], ["a", "*"])])
def test_command__one_word_of_the_shell_is_the_shells(words, argv):
    assert options.command(words) == argv


def test_command__that_is_no_text():
    with pytest.raises(options.Wrong, match="no UTF-8"):
        options.command(["echo", "\udcff"])
    assert options.command(["echo", "a\n\u00e4"]) == ["echo", "a\n\u00e4"]


# ---- hosts ----

def test_expand__groups_in_their_order(cluster):
    assert cluster.expand("pcc") == ["n2", "n0"]
    assert cluster.expand("all~pcc") == ["n1", "n3"]
    assert cluster.expand("pcc:1+x[1-2]") == ["n2", "x1", "x2"]
    assert (cluster.node_port, cluster.address("n1"), cluster.address("n0")) == (9, "10.0.0.1", "n0")


def test_chosen__file_and_exclusion(cluster, tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# mine\npcc\n\nn[0-1] # again\n")
    assert cluster.chosen(options.read(["-F", str(path), "x"])) == ["n2", "n0", "n1"]
    assert cluster.chosen(options.read(["-F", str(path), "-x", "pcc", "x"])) == ["n1"]
    with pytest.raises(hosts.Wrong, match="it leaves no host"):
        cluster.chosen(options.read(["-g", "pcc", "-x", "all", "x"]))
    path.write_text("n0\nn[\n")
    with pytest.raises(hosts.Wrong, match="hosts:2: n.: at character 2"):
        cluster.read(str(path))
    path.write_text("#\n")
    with pytest.raises(hosts.Wrong, match="it names no host"):
        cluster.read(str(path))
    with pytest.raises(hosts.Wrong, match="No such file"):
        cluster.read(str(tmp_path / "absent"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hosts": [1], "groups": []}',
                                  '{"hosts": [], "groups": [{"name": "a", "hosts": [7]}]}'])
def test_cluster__what_is_none_is_told(tmp_path, text):
    path = tmp_path / "cluster.json"
    path.write_text(text)
    with pytest.raises(hosts.Wrong, match="it is no cluster.json"):
        hosts.Cluster(str(path))


def test_cluster__named_but_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("SCORE_CLUSTER", str(tmp_path / "absent"))
    with pytest.raises(hosts.Wrong, match="there is no such file"):
        hosts.Cluster()


def test_expand__all_without_a_cluster(tmp_path, monkeypatch):
    monkeypatch.delenv("SCORE_CLUSTER", raising=False)
    monkeypatch.setattr(hosts, "CLUSTER", str(tmp_path / "absent"))
    assert hosts.Cluster().expand("n[0-1]") == ["n0", "n1"]
    with pytest.raises(hosts.Wrong, match="no groups are known without .*absent"):
        hosts.Cluster().expand("all~n1")


def test_fold():
    assert hosts.fold(["n10", "n9", "n11", "m"]) == "m,n[9-11]"
