# SPDX-License-Identifier: BSD-3-Clause
"""sceptic: what hosts print, who listens, what the command says; its judge is in test_sceptic_judge.py."""

import json
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from scorelink.munge import Refused  # noqa: E402
from scoutkit.health import command, doors, facts, inventory, survey  # noqa: E402
from scoutkit.hosts import Wrong  # noqa: E402

SAID = b"""clock 1700000000500000000
kernel 6.1.0-18-amd64
version scrun 1.0
munge 0
disk / 40 5 123456 /
disk /tmp 100 - 0 /tmp
daemon pm-ethernetd
rail eth1 up 1 10000 9000
rail eth2 missing 0 0 0
memory 65536 32768
unheard of
clock 1700000000600000000
end
"""
CLUSTER = {"version": 1, "name": "lab", "scheduler": {"server": "n0", "node_port": 7799},
           "networks": [{"name": "raw", "type": "ethernet", "rails": []},
                        {"name": "lan", "type": "udp", "mtu": 9000, "rails": []}],
           "groups": [{"name": "odd", "hosts": [1, 3]}],
           "hosts": [{"id": number, "name": f"n{number}", "state": "defect" if number == 4 else "up",
                      "address": f"10.0.0.{number}",
                      "rails": [{"network": "raw", "rail": 0, "device": "eth1"},
                                {"network": "lan", "rail": 0, "device": "eth2"}]} for number in range(5)]}


# ---- facts ----

def test_read():
    found = facts.read(SAID)
    assert found.clock_ns == (1700000000500000000, 1700000000600000000)
    assert (found.kernel, found.versions, found.munge) == ("6.1.0-18-amd64", {"scrun": "1.0"}, (0, ""))
    assert found.disks["/tmp"] == facts.Disk(100, 0, 0, "/tmp")
    assert found.rails == {"eth1": facts.Rail("up", True, 10000, 9000), "eth2": facts.Rail("missing", False, 0, 0)}
    assert (found.daemons, found.memory_kib, found.memory_free_kib) == ({"pm-ethernetd"}, 65536, 32768)


@pytest.mark.parametrize("data, words", [
    (b"", "cut off"), (SAID[:-4], "cut off"), (b"end\n", "no time"),
    (SAID.replace(b"65536", b"much"), '"memory much 32768" is no fact'),
    (SAID.replace(b"10000 9000", b"10000"), "is no fact"),
    (SAID.replace(b"clock 1700000000500000000", b"clock " + b"9" * 30), "is no fact"),
    (b"\xff\x00" * 100000, "cut off"),
])
def test_read__not_facts(data, words):
    with pytest.raises(facts.Unreadable, match=words):
        facts.read(data)


def test_read__nothing_of_it_commands_a_terminal():
    assert facts.read(SAID.replace(b"6.1.0-18-amd64", b"\x1b[2J")).kernel == "?[2J"


def put(directory, name, says):
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\necho {says}\n")
    (directory / name).chmod(0o755)


def versions(words, **more):
    words = [*words, "-c", facts.script(), "facts.sh"]
    done = subprocess.run(words, capture_output=True, timeout=60, check=True, **more)
    return facts.read(done.stdout).versions


def test_script__another_scrun_is_not_ours(tmp_path):
    """Slurm's is passed over; ours is found by the name that a package gives it."""
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    put(tmp_path, "scrun", "slurm 24.11.5")
    assert "scrun" not in versions(["/bin/sh"], env=environment)
    put(tmp_path, "openscore-scrun", "'scrun (OpenSCore) 9.8'")
    assert versions(["/bin/sh"], env=environment)["scrun"] == "9.8"


def test_script__programs_beside_the_agent_come_first(tmp_path):
    """A scremote runs the script: what lies beside it, or in bin beside its sbin, is meant."""
    put(tmp_path / "sbin", "scnoded", "'scnoded (OpenSCore) 9.8'")
    put(tmp_path / "bin", "scrun", "'scrun (OpenSCore) 9.8'")
    put(tmp_path / "other", "scrun", "'scrun (OpenSCore) 1'")
    shutil.copy("/bin/sh", tmp_path / "sbin/scremote")      # as a parent it has the agent's name
    agent = [str(tmp_path / "sbin/scremote"), "-c", '"$@"; exit', "agent", "/bin/sh"]
    found = versions(agent, env={"PATH": f"{tmp_path}/other:/usr/bin:/bin"})
    assert found["scnoded"] == found["scrun"] == "9.8"


def test_script__tells_facts_of_this_machine():
    done = subprocess.run(["/bin/sh", "-c", facts.script(), "facts.sh", "lo", "no0"], capture_output=True, timeout=60,
                          check=True)
    found = facts.read(done.stdout)
    assert found.rails["lo"].mtu > 0 and found.rails["no0"].state == "missing"
    assert found.disks["/"].target == "/" and found.memory_kib > found.memory_free_kib > 0


# ---- doors ----

class Listener:
    """On a port of its own; answer(connection) is called with each caller."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.kept = []
        threading.Thread(target=self._serve, args=(answer,), daemon=True).start()

    def _serve(self, answer):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.kept.append(connection)
            answer(connection)


def _greet(connection):
    assert connection.recv(16, socket.MSG_WAITALL) == b"OSCORE1\n" + bytes(8)
    head = json.dumps({"op": "hello", "nonce": "0" * 32, "uid": 0}).encode()
    connection.sendall(struct.pack(">II", 4 + len(head), len(head)) + head)


def _speak(data):
    return lambda connection: connection.sendall(data)


@pytest.mark.parametrize("answer, state", [
    (_greet, doors.ANSWERS),
    (lambda _: None, doors.MUTE),
    (_speak(b"HTTP/1.1 400 Bad Request\r\n"), doors.STRANGER),
    (_speak(struct.pack(">II", 8, 4) + b"null"), doors.STRANGER),
    (_speak(struct.pack(">II", 8, 4) + b"\xff{}}"), doors.STRANGER),
    (_speak(struct.pack(">II", 16, 12) + b'{"op":"bye"}'), doors.STRANGER),
    (_speak(struct.pack(">II", 4004, 4000) + b"[" * 4000), doors.STRANGER),
    (lambda connection: connection.shutdown(socket.SHUT_RDWR), doors.STRANGER),
])
def test_knock(answer, state):
    listener = Listener(answer)
    with listener.socket:
        assert doors.knock({"n0": ("127.0.0.1", listener.port)}, 0.5, 8)["n0"].state == state


def test_knock__nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    found = doors.knock({"n0": ("127.0.0.1", port), "n1": ("no.such.host.invalid", port)}, 1, 1)
    assert [found[name].state for name in ("n0", "n1")] == [doors.REFUSED, doors.NAMELESS]


def knocked(answers, retries):
    """(states, which hosts were asked round by round); answers: host -> states, the last one for ever."""
    asked = []

    def ask(places, *_):
        asked.append("".join(places))
        return {host: doors.Door(answers[host][min(len(asked), len(answers[host])) - 1]) for host in places}
    found = doors.knock_again({host: None for host in answers}, 1, 1, retries, ask, lambda _: None)
    return {host: door.state for host, door in found.items()}, asked


def test_knock_again__only_who_is_silent():
    answers = {"a": [doors.ANSWERS], "b": [doors.SILENT, doors.SILENT, doors.ANSWERS], "c": [doors.REFUSED]}
    assert knocked(answers, 1) == ({"a": "answers", "b": "silent", "c": "refused"}, ["abc", "b"])
    assert knocked(answers, 5) == ({"a": "answers", "b": "answers", "c": "refused"}, ["abc", "b", "b"])
    assert knocked(answers, 0)[1] == ["abc"]


def test_knock_again__until_all_answer():
    answers = {"a": [doors.REFUSED] * 4 + [doors.ANSWERS], "b": [doors.SILENT] * 2 + [doors.MUTE, doors.ANSWERS]}
    states, asked = knocked(answers, None)
    assert (states, asked) == ({"a": "answers", "b": "answers"}, ["ab", "ab", "ab", "ab", "a"])


# ---- the inventory ----

def test_inventory(tmp_path):
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    known = inventory.Inventory(tmp_path / "cluster.json")
    assert known.names == ["n0", "n1", "n2", "n3"] and known.node_port == 7799 and known.is_scheduled
    assert known.expand("all~odd") == ["n0", "n2", "n4"] and known.expand("odd") == ["n1", "n3"]
    assert known.address("n3") == "10.0.0.3" and known.address("elsewhere") == "elsewhere"
    assert known.rails("n0") == {"eth1": 0, "eth2": 9000} and known.needs_ethernetd("n0")
    with pytest.raises(Wrong, match="n9: not in the cluster"):
        known.expand("n[0,9]")


@pytest.mark.parametrize("text", ["[]", "{", '{"hosts": [{}]}', '{"hosts": 3}'])
def test_inventory__not_one(tmp_path, text):
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(Wrong, match="scconf compile"):
        inventory.Inventory(tmp_path / "cluster.json")


def test_inventory__the_named_file_is_not_there(tmp_path):
    with pytest.raises(Wrong, match="scconf compile"):
        inventory.Inventory(tmp_path / "cluster.json")


# ---- the command ----

class Cluster:
    """Hosts as the command meets them: doors and answers of commands by name, all well unless set."""

    def __init__(self, monkeypatch, directory):
        self.doors, self.results, self.asked = {}, {}, []
        self.scored = ({"op": "cluster", "version": "1.0", "hosts": []}, "")
        path = directory / "cluster.json"
        path.write_text(json.dumps({**CLUSTER, "networks": []}))
        monkeypatch.setenv("SCORE_CLUSTER", str(path))
        monkeypatch.delenv("SCORE_SERVER", raising=False)
        monkeypatch.setattr(survey, "ask_scored", lambda *_: self.scored)
        monkeypatch.setattr(doors, "knock_again", self.knock)
        for name in CLUSTER["hosts"]:
            self.scored[0]["hosts"].append({"name": name["name"], "state": "up", "note": "", "version": "1.0",
                                            "skew_ns": 0, "switches": {"done": 0, "late": 0, "worst_ns": 0}})

    def knock(self, places, *_):
        self.places = places
        return {name: doors.Door(self.doors.get(name, doors.ANSWERS)) for name in places}

    def run(self, hosts, argv, timeout):
        """Instead of the fan-out; each host's clock is as good as ours."""
        self.asked.append((hosts, argv[:2], argv[4:]))
        now = b"clock %d" % survey.time.time_ns()
        good = [now if line.startswith(b"clock") else line for line in SAID.replace(b"eth2 missing 0", b"eth2 up 1").
                replace(b"/tmp 100", b"/tmp 10").split(b"\n")]
        well = SimpleNamespace(status=0, stdout=b"\n".join(good), stderr=b"", error=None)
        return {name: self.results.get(name, well) for name in hosts}


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    return Cluster(monkeypatch, tmp_path)


@pytest.fixture
def call(monkeypatch, capsys, cluster):
    """words -> (exit code, stdout, stderr)."""
    def go(*arguments):
        monkeypatch.setattr(sys, "argv", ["sceptic", *arguments])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        try:
            code = command.main(cluster.run)
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()
    return go


def test_command__all_well(call, cluster):
    assert call() == (0, "4 hosts: all well\n", "")
    assert cluster.asked == [(["n0", "n1", "n2", "n3"], ["/bin/sh", "-c"], ["eth1", "eth2"])]
    assert cluster.places["n2"] == ("10.0.0.2", 7799)


def test_command__hosts(call, cluster):
    assert call("-g", "odd+n4", "-x", "n1")[:2] == (0, "2 hosts: all well\n")
    assert cluster.asked[0][0] == ["n3", "n4"]


def test_command__hosts_of_a_file(call, cluster, tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# of the day\nn3\nodd\n")
    assert call("-F", str(path), "-x", "n1")[:2] == (0, "1 host: all well\n")
    assert cluster.asked[0][0] == ["n3"]
    path.write_text("n9\n")
    code, _, err = call("-F", str(path))
    assert code == 2 and "hosts:1: n9: not in the cluster" in err
    code, _, err = call("-F", str(path), "-g", "n1")
    assert code == 2 and "leave one out" in err


def test_command__port_of_scored(call, cluster):
    cluster.scored[0]["hosts"][2]["address"] = "10.9.9.9:4711"
    call()
    assert cluster.places["n2"] == ("10.9.9.9", 4711)


def test_command__lists(call, cluster):
    cluster.doors = {"n1": doors.SILENT}
    cluster.results["n2"] = SimpleNamespace(status=None, stdout=b"", stderr=b"", error="munge: no key")
    assert call("-D") == (1, "n[1-2]\n", "")
    assert call("-D", "-l") == (1, "n1\nn2\n", "")
    assert call("-d") == (1, "n1\n", "")
    assert call("-a") == (1, "n[0,3]\n", "")
    assert call("-d", "--json") == (1, '[\n  "n1"\n]\n', "")
    assert call("-q") == (1, "", "")
    assert "n1" not in cluster.asked[0][0]


def test_command__table(call, cluster):
    cluster.doors = {"n1": doors.REFUSED, "n3": doors.REFUSED}
    code, out, _ = call("-v")
    assert code == 1 and "n[1,3]" in out and "port 7799" in out and "systemctl start scnoded" in out
    assert out.endswith("4 hosts: 2 well, 2 dead (n[1,3])\n") and "n0: well, scnoded answers, scored: up" in out


def test_command__json(call, cluster):
    cluster.doors = {"n1": doors.MUTE}
    code, out, _ = call("--json")
    value = json.loads(out)
    assert code == 1 and value["down"] == value["defects"] == ["n1"] and not value["is_well"]
    assert value["findings"][0]["hosts"] == ["n1"] and value["hosts"][0]["kernel"] == "6.1.0-18-amd64"
    least, most = value["hosts"][0]["skew_s"]
    assert -1 < least <= 0.001 and -0.001 <= most < 1


def test_command__nothing_to_leave_out(call):
    assert call("-D") == (0, "", "")


def test_command__no_command_runs_anywhere(call, cluster):
    cluster.results = {f"n{number}": SimpleNamespace(status=None, stdout=b"", stderr=b"", error="munge: no socket")
                       for number in range(4)}
    code, out, err = call()
    assert code == 3 and "no command runs anywhere: munge: no socket" in out and "scout -g HOST true" in err
    assert call("-D")[:2] == (3, "")


def test_command__no_munge_here(call, cluster, monkeypatch):
    def run(*_, **__):
        raise Refused("libmunge.so.2 cannot be loaded")
    monkeypatch.setattr(cluster, "run", run)
    code, out, _ = call()
    assert code == 3 and "no command runs anywhere: libmunge.so.2" in out


def test_command__script_failed(call, cluster):
    cluster.results["n1"] = SimpleNamespace(status=32512, stdout=b"", stderr=b"sh: not found\n", error=None)
    code, out, _ = call()
    assert code == 1 and "no command runs there: sh: not found" in out


def test_command__without_scored(call, cluster):
    cluster.scored = (None, "scored at n0: no route to host")
    code, out, _ = call()
    assert code == 1 and "scored at n0: no route to host" in out and out.endswith("4 hosts: all well\n")
    assert call("-D")[1] == ""


@pytest.mark.parametrize("words, asked, code", [(["-r", "0"], 2, 1), (["-r", "1"], 3, 1), (["-r", "inf"], 4, 0)])
def test_command__registers_late(call, cluster, monkeypatch, words, asked, code):
    """It answers at its door; scored hears of it a little later."""
    answers = []

    def ask(*_):
        late = cluster.scored[0]["hosts"][1]
        answers.append(late)
        late["state"] = "absent" if len(answers) < 4 else "up"
        return cluster.scored
    monkeypatch.setattr(survey, "ask_scored", ask)
    monkeypatch.setattr(survey.time, "sleep", lambda _: None)
    done = call(*words)
    assert (done[0], len(answers)) == (code, asked)


@pytest.mark.parametrize("words, said", [
    (["-g", "n[0,9]"], "n9: not in the cluster"), (["-g", "n["], "at character"), (["-x", "all"], "leaves no host"),
    (["-l"], "-l goes with"), (["-a", "-D"], "not allowed with"), (["-r", "-1"], "number of retries"),
    (["-j", "0"], "number of hosts"), (["-t", "0"], "number of seconds")])
def test_command__wrong_call(call, words, said):
    code, out, err = call(*words)
    assert (code, out) == (2, "") and said in err


def test_command__no_hosts_known(call, cluster, monkeypatch, tmp_path):
    (tmp_path / "cluster.json").write_text('{"hosts": [], "groups": [], "networks": []}')
    cluster.scored = (None, "scored at localhost: refused")
    code, _, err = call()
    assert code == 3 and "no hosts are known" in err and "refused" in err


def test_command__broken_cluster_json(call, tmp_path):
    (tmp_path / "cluster.json").write_text("[]")
    assert call()[0] == 3


def test_command__watch(call, cluster, monkeypatch):
    looks = []

    def pause(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt
        cluster.doors = {"n1": doors.SILENT}
    monkeypatch.setattr(command.time, "sleep", pause)
    code, out, _ = call("--watch", "7", "--json", "-D")
    assert (code, out, looks) == (1, '[]\n["n1"]\n', [7, 7])
