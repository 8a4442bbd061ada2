# SPDX-License-Identifier: BSD-3-Clause
"""The command pm-ethernetctl against a daemon made of a socket and canned reports."""

import copy
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import threading

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
CTL = TREE / "pm-ethernet" / "ctl"
sys.path.insert(0, str(CTL))

from pmethernet import findings, nic, tune  # noqa: E402

MAGIC = 0x48544550
STATUS, RAILS, PEERS, COUNTERS, ROUTE = 1, 2, 3, 4, 5
PIECE = struct.Struct("=IIiII")

EAR = {"rail": 0, "nic": "eth1", "mac": "02:00:00:00:01:02", "their_rail": 0, "their_nic": "eth1",
       "mtu": 1500, "own_mtu": 1500, "is_alive": True, "rtt_us": 24.0, "heard_s": 1.5,
       "unanswered": 0}
NIC = {"rail": 0, "nic": "eth1", "driver": "veth", "state": "up", "mac": "02:00:00:00:01:01",
       "mtu": 1500, "speed_mbit": 1000, "mode": "generic", "is_programmed": True,
       "zero_copy": "no", "rx_frames": 12345, "rx_bytes": 99, "control": 3, "drops": {"key": 2}}
DISCOVERY = {"asked": 6, "answered": 2, "queries": 2, "answers": 5, "stale": 0, "send_failed": 0,
             "refused": {"version": 1}}
REPORTS = {
    STATUS: {"version": "1", "host": 1, "host_name": "node1", "ethertype": "0x88b5",
             "mode": "generic", "is_frags": False, "chunk_bytes": 2048, "n_rails": 2, "n_peers": 1,
             "duplicate": "", "direct": "any",
             "contexts": [{"context": 5, "pid": 4711, "uid": 1000, "attachment": "port",
                           "is_adopted": False, "rails": ["eth1", "eth2"], "port": "pepu3"}]},
    RAILS: {"rails": [NIC, NIC | {"rail": 1, "nic": "eth2"}]},
    PEERS: {"peers": [{"host": 2, "name": "node2", "rails": [
        EAR, EAR | {"rail": 1, "nic": "eth2", "their_rail": 1, "their_nic": "eth2"}]}],
        "no_room": 0},
    COUNTERS: {"rails": [{"rail": 0, "nic": "eth1", "rx_frames": 12345, "rx_bytes": 99,
                          "control": 3, "drops": {"key": 2}, "discovery": DISCOVERY}],
               "ports": {"rx_frames": 777, "rx_bytes": 9, "control": 0, "drops": {}}},
}
QUIET = {"gro": False, "lro": False, "tso": False, "gso": False, "coalescing": None}


class Daemon(threading.Thread):
    """Answers every request with the pieces that pieces(topic) yields."""

    def __init__(self, run, pieces):
        super().__init__(daemon=True)
        self.pieces = pieces
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(run / "socket"))
        self.listener.listen()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                request = client.recv(4096)
                self.requests.append(request)
                try:
                    for piece in self.pieces(struct.unpack_from("=I", request, 168)[0]):
                        client.send(piece)
                except OSError:
                    pass  # the command had seen enough

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.join()
        self.listener.close()


def in_pieces(text, size=100, error=0):
    """text as the daemon sends it, a little at a time."""
    data = text.encode()
    parts = [data[at:at + size] for at in range(0, len(data), size)] or [b""]
    for number, part in enumerate(parts):
        more = int(number + 1 < len(parts))
        yield PIECE.pack(MAGIC, 3, error, more, len(part)) + part.ljust(4096, b"\0")


@pytest.fixture
def serve(tmp_path):
    """Starts the daemon with these pieces; gives it."""
    started = []

    def start(pieces):
        started.append(Daemon(tmp_path, pieces))
        started[0].start()
        return started[0]
    yield start
    for server in started:
        server.stop()


@pytest.fixture
def canned(serve):
    """The daemon with the canned reports, to be changed by the test."""
    reports = copy.deepcopy(REPORTS)
    serve(lambda topic: in_pieces(json.dumps(reports[topic])))
    return reports


def ctl(run, *args):
    return subprocess.run([str(CTL / "pm-ethernetctl"), *args, "--run", str(run)], timeout=60,
                          capture_output=True, text=True, env={**os.environ, "COLUMNS": "160"})


def fails_clearly(run, code, *words):
    assert (run.returncode, run.stdout) == (code, ""), run.stdout + run.stderr
    assert len(run.stderr.splitlines()) == 1 and "Traceback" not in run.stderr, run.stderr
    for word in words:
        assert word in run.stderr, run.stderr


def judged(reports, settings=None):
    return findings.judge(reports[STATUS], reports[RAILS]["rails"], reports[PEERS]["peers"],
                          settings or {})


def the_one(found, weight, *words):
    """The one finding of this weight, which names all of these."""
    assert len([f for f in found if f.weight == weight]) == 1, found
    finding = next(f for f in found if f.weight == weight)
    text = f"{finding.nic} {finding.what} {finding.remedy}"
    for word in words:
        assert word in text, text
    return finding


@pytest.mark.parametrize("name, words", [
    ("status", ["0x88b5", "generic", "4711", "pepu3", "1 (node1)"]),
    ("rails", ["eth1", "eth2", "veth", "12345", "key 2"]),
    ("peers", ["node2", "02:00:00:00:01:02", "24.0", "eth2 (rail 1)", "answers"]),
    ("counters", ["12345", "777", "key 2", "version 1"])])
def test_report__as_a_table(canned, tmp_path, name, words):
    run = ctl(tmp_path, name)
    assert (run.returncode, run.stderr) == (0, "")
    for word in words:
        assert word in run.stdout, run.stdout


@pytest.mark.parametrize("name, topic", [("status", STATUS), ("rails", RAILS), ("peers", PEERS),
                                         ("counters", COUNTERS)])
def test_report__as_json(canned, tmp_path, name, topic):
    run = ctl(tmp_path, name, "--json")
    assert run.returncode == 0
    assert json.loads(run.stdout) == canned[topic]


def test_report__request_as_attach_h_has_it(serve, tmp_path):
    server = serve(lambda topic: in_pieces(json.dumps(REPORTS[topic])))
    ctl(tmp_path, "peers", "--json")
    magic, version, op = struct.unpack_from("=III", server.requests[0])
    assert (magic, version, op, len(server.requests[0])) == (MAGIC, 3, 4, 176)


def test_report__no_daemon(tmp_path):
    fails_clearly(ctl(tmp_path, "status"), 3, "socket", "systemctl start", "--run")


def test_report__socket_left_behind(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(tmp_path / "socket"))
    fails_clearly(ctl(tmp_path, "status"), 3, "start it")


@pytest.mark.parametrize("pieces, words", [
    ([], ["closed"]),
    ([b"hello"], ["not pm-ethernetd"]),
    ([PIECE.pack(7, 1, 0, 0, 0)], ["not pm-ethernetd"]),
    ([PIECE.pack(MAGIC, 9, 0, 0, 0)], ["version 9"]),
    ([PIECE.pack(MAGIC, 3, 0, 0, 50) + b"short"], ["not pm-ethernetd"]),
    ([PIECE.pack(MAGIC, 3, 0, 0, 5) + b"{nix}"], ["not JSON"]),
    ([PIECE.pack(MAGIC, 3, 0, 1, 2) + b"{}"], ["closed"])])
def test_report__strange_answers(serve, tmp_path, pieces, words):
    serve(lambda topic: iter(pieces))
    fails_clearly(ctl(tmp_path, "status"), 3, *words)


def test_report__refused(serve, tmp_path):
    serve(lambda topic: in_pieces("too many connections; try again", error=24))
    fails_clearly(ctl(tmp_path, "status"), 2, "too many connections")


def test_report__refused_before_it_is_read(serve, tmp_path):
    why = b"256 connections of one user are enough"
    serve(lambda topic: iter([struct.pack("=IIi256s400x", MAGIC, 3, 24, why)]))
    fails_clearly(ctl(tmp_path, "status"), 2, why.decode())


@pytest.mark.parametrize("args", [[], ["nonsense"], ["status", "--nonsense"],
                                  ["coalesce", "eth1", "--rx-usecs", "-1"],
                                  ["coalesce", "--rx-usecs", "3"], ["tune", "--apply", "--undo"]])
def test_main__wrong_call(tmp_path, args):
    run = ctl(tmp_path, *args)
    assert run.returncode == 2 and "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ["status", "rails", "peers", "counters", "check", "coalesce",
                                  "tune"])
def test_main__help(tmp_path, name):
    run = ctl(tmp_path, name, "--help")
    assert run.returncode == 0 and "--json" in run.stdout and "--run" in run.stdout


def test_check__nothing_found(canned, tmp_path):
    run = ctl(tmp_path, "check", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == []


def test_check__trouble_is_exit_1(canned, tmp_path):
    canned[RAILS]["rails"][1]["state"] = "down"
    run = ctl(tmp_path, "check")
    assert run.returncode == 1
    assert "eth2" in run.stdout and "carrier" in run.stdout and "ip link set eth2" in run.stdout


def test_judge__duplicate_id():
    reports = copy.deepcopy(REPORTS)
    reports[STATUS]["duplicate"] = "host id 1 is also that of node9 (MAC 02:00:00:00:09:09)"
    the_one(judged(reports), "trouble", "node9", "02:00:00:00:09:09", "--host-id")


def test_judge__mtu_differs():
    reports = copy.deepcopy(REPORTS)
    reports[PEERS]["peers"][0]["rails"][1]["mtu"] = 9000
    found = the_one(judged(reports), "trouble", "node2 (host 2)", "1500", "9000", "ip link set")
    assert found.nic == "eth2"


def test_judge__a_rail_hears_nobody():
    reports = copy.deepcopy(REPORTS)
    reports[PEERS]["peers"][0]["rails"].pop()
    found = the_one(judged(reports), "trouble", "EtherType 0x88b5", "cabling")
    assert found.nic == "eth2"


def test_judge__no_host_at_all():
    reports = copy.deepcopy(REPORTS)
    reports[PEERS]["peers"] = []
    found = judged(reports)
    assert [(f.weight, f.nic) for f in found] == [("trouble", "eth1"), ("trouble", "eth2")]
    assert "start pm-ethernetd" in found[0].remedy


def test_judge__one_of_two_hosts_missing_on_a_rail():
    reports = copy.deepcopy(REPORTS)
    reports[PEERS]["peers"].append({"host": 3, "name": "node3", "rails": [EAR]})
    assert the_one(judged(reports), "note", "node3 (host 3)", "eth2").nic == "eth2"


def test_judge__host_that_fell_silent():
    reports = copy.deepcopy(REPORTS)
    silent = [ear | {"is_alive": False} for ear in reports[PEERS]["peers"][0]["rails"]]
    reports[PEERS]["peers"].append({"host": 3, "name": "node3", "rails": silent})
    the_one(judged(reports), "note", "node3 (host 3)", "no longer answers")


def test_judge__crossed_cables_are_no_trouble():
    reports = copy.deepcopy(REPORTS)
    for ear, other in zip(reports[PEERS]["peers"][0]["rails"], (1, 0)):
        ear.update(their_rail=other, their_nic=f"eth{other + 1}")
    assert {f.weight for f in judged(reports)} == {"note"}


def test_judge__two_machines_of_one_id():
    reports = copy.deepcopy(REPORTS)
    reports[PEERS]["peers"][0]["rails"][0]["rival"] = "02:00:00:00:07:07"
    the_one(judged(reports), "trouble", "02:00:00:00:07:07", "02:00:00:00:01:02", "host 2")


@pytest.mark.parametrize("change, mode, weight, words", [
    ({"lro": True}, "native", "trouble", ["LRO", "lro off"]),
    ({"gro": True}, "generic", "note", ["GRO", "gro off", "generic"]),
    ({"gro": True}, "tc", "note", ["GRO", "gro off", "tc"]),
    ({"gro": True}, "native", "note", ["does not matter"]),
    ({"tso": True}, "generic", "note", ["does not matter"]),
    ({"coalescing": {"rx_usecs": 50, "rx_frames": 0, "is_adaptive": False}}, "native", "note",
     ["50 us", "coalesce eth1 --rx-usecs 0"]),
    ({"coalescing": {"rx_usecs": 0, "rx_frames": 0, "is_adaptive": True}}, "native", "note",
     ["adaptive"])])
def test_offloads__each(change, mode, weight, words):
    the_one(list(findings.offloads("eth1", QUIET | change, mode)), weight, "eth1", *words)


def test_offloads__quiet():
    still = {"rx_usecs": 0, "rx_frames": 1, "is_adaptive": False}
    assert not list(findings.offloads("eth1", QUIET | {"coalescing": still}, "generic"))


def test_coalesce__not_supported_said_plainly(tmp_path):
    run = ctl(tmp_path, "coalesce", "lo")
    assert run.returncode == 0 and "not supported" in run.stdout


def test_coalesce__set_where_not_supported(tmp_path):
    fails_clearly(ctl(tmp_path, "coalesce", "lo", "--rx-usecs", "5"), 2, "lo", "not supported")


def test_coalesce__no_such_nic(tmp_path):
    fails_clearly(ctl(tmp_path, "coalesce", "nosuch0"), 2, "nosuch0", "pm-ethernetctl rails")


class Kernel:
    """The NICs' settings, instead of the kernel's."""

    def __init__(self, monkeypatch):
        self.values = {"gro": True, "lro": False, "coalescing": [30, True],
                       "rings": [256, 256]}
        for name in ("offload", "set_offload", "coalescing", "set_coalescing", "rings",
                     "set_rings"):
            monkeypatch.setattr(nic, name, getattr(self, name))

    def offload(self, _name, which):
        return self.values[which]

    def set_offload(self, _name, which, is_on):
        self.values[which] = is_on

    def coalescing(self, _name):
        rx_usecs, is_adaptive = self.values["coalescing"]
        return {"rx_usecs": rx_usecs, "rx_frames": 0, "is_adaptive": is_adaptive}

    def set_coalescing(self, _name, rx_usecs, is_adaptive):
        self.values["coalescing"] = [rx_usecs, is_adaptive]

    def rings(self, _name):
        rx, tx = self.values["rings"]
        return {"rx": rx, "rx_max": 2048, "tx": tx, "tx_max": 8192}

    def set_rings(self, _name, rx, tx):
        self.values["rings"] = [rx, tx]


def test_tune__there_and_back(monkeypatch, tmp_path):
    kernel = Kernel(monkeypatch)
    before = copy.deepcopy(kernel.values)
    tune.apply(tmp_path, tune.plan([NIC]))
    assert kernel.values == {"gro": False, "lro": False, "coalescing": [0, False],
                             "rings": [2048, 4096]}
    assert tune.plan([NIC]) == []
    kernel.values["gro"] = True
    tune.apply(tmp_path, tune.plan([NIC]))
    assert len(tune.undo(tmp_path)) == 3
    assert kernel.values == before
    assert list(tmp_path.iterdir()) == []
    assert tune.undo(tmp_path) == []


def test_tune__gro_stays_in_native_mode(monkeypatch):
    Kernel(monkeypatch)
    assert "gro" not in [change["what"] for change in tune.plan([NIC | {"mode": "native"}])]


def test_tune__one_that_fails_keeps_the_way_back(monkeypatch, tmp_path):
    kernel = Kernel(monkeypatch)

    def fail(name, *_):
        raise nic.NicError(f"{name}: no")
    tune.apply(tmp_path, tune.plan([NIC]))
    monkeypatch.setattr(nic, "set_coalescing", fail)
    with pytest.raises(nic.NicError):
        tune.undo(tmp_path)
    assert kernel.values["gro"] is True
    monkeypatch.setattr(nic, "set_coalescing", kernel.set_coalescing)
    assert [entry["what"] for entry in tune.undo(tmp_path)] == ["coalescing", "rings"]


# ---- route ----

HERE = {"host": 1, "host_name": "n0", "host_at": [0, 0]}
RELAY = {"to": 3, "to_name": "n2", "to_at": [0, 1]}
FAR = {"to": 4, "to_name": "n3", "to_at": [1, 1]}
DETOUR = {
    "lane": 0, "rails": ["eth1", "eth2"], "is_reached": True, "is_detour": True, "why_not": None,
    "hops": [{**HERE, **RELAY, "rail": 1, "dim": 1, "nic": "eth2", "to_nic": "eth7", "to_mac": "02:00:00:00:03:02",
              "note": "detour: x comes last"},
             {"host": 3, "host_name": "n2", "host_at": [0, 1], **FAR, "rail": 0, "dim": 0, "nic": None, "to_nic": None,
              "to_mac": None, "note": "detour: x, put last"}],
    "closed": [{"to": 2, "to_name": "n1", "to_at": [1, 0], "rail": 0, "nic": "eth1", "dead": "host", "why": "silent"}]}
WAYS = {"from": 1, "from_name": "n0", "from_at": [0, 0], **FAR, "links_usual": 2, "ways": [DETOUR]}


@pytest.fixture
def crossbar(canned):
    """The canned daemon in a hypercrossbar."""
    canned[STATUS]["grid"] = {"dims": [2, 2], "at": [0, 0]}
    canned[ROUTE] = copy.deepcopy(WAYS)
    return canned


def test_route__a_detour_and_why(crossbar, tmp_path):
    run = ctl(tmp_path, "route", "n3")
    assert (run.returncode, run.stderr) == (0, "")
    for words in ("n0 (0,0) to n3 (1,1), by eth1 eth2: 2 links, a detour: 2 without failures", "n2 (0,1)", "eth7",
                  "02:00:00:00:03:02", "x, put last", "rail 0",
                  "not taken: eth1 to n1 (1,0): dead host, silent on all our rails to it"):
        assert words in run.stdout, run.stdout


def test_route__as_json(crossbar, tmp_path):
    run = ctl(tmp_path, "route", "--json", "n3")
    assert run.returncode == 0 and json.loads(run.stdout) == WAYS | {"is_reached": True}


def test_route__no_way(crossbar, tmp_path):
    crossbar[ROUTE]["ways"][0] |= {"is_reached": False, "why_not": "no way is open from n2 on"}
    run = ctl(tmp_path, "route", "n3")
    assert run.returncode == 1 and "UNREACHABLE, no way is open from n2 on" in run.stdout
    assert not json.loads(ctl(tmp_path, "route", "--json", "n3").stdout)["is_reached"]


@pytest.mark.parametrize("dead, words", [("rail", "our rail is down"), ("line", "dead line, nobody answers on eth1"),
                                         ("link", "on this rail")])
def test_route__what_is_dead(crossbar, tmp_path, dead, words):
    why = "our rail is down" if dead == "rail" else "silent"
    crossbar[ROUTE]["ways"][0]["closed"][0] |= {"dead": dead, "why": why}
    assert words in ctl(tmp_path, "route", "n3").stdout


def test_route__a_point_without_a_host(crossbar, tmp_path):
    crossbar[ROUTE]["ways"][0]["closed"][0] |= {"to": 0, "to_name": "", "why": "no host, or marked as defect"}
    assert "eth1 to a point (1,0): no host, or marked as defect" in ctl(tmp_path, "route", "n3").stdout


def test_route__asks_for_the_host(serve, tmp_path):
    reports = {**REPORTS, STATUS: REPORTS[STATUS] | {"grid": {"dims": [2, 2]}}, ROUTE: WAYS}
    server = serve(lambda topic: in_pieces(json.dumps(reports[topic])))
    ctl(tmp_path, "route", "1,1")
    assert struct.unpack_from("=128s", server.requests[-1], 40)[0].rstrip(b"\0") == b"1,1"
    fails_clearly(ctl(tmp_path, "route", "n" * 128), 2, "too long")


def test_route__refused(serve, tmp_path):
    def pieces(topic):
        if topic == ROUTE:
            return in_pieces("no host n9 in the hypercrossbar of this host", error=22)
        return in_pieces(json.dumps(REPORTS[STATUS] | {"grid": {"dims": [2, 2]}}))
    serve(pieces)
    fails_clearly(ctl(tmp_path, "route", "n9"), 2, "no host n9")


def test_route__without_a_hypercrossbar(canned, tmp_path):
    found = json.loads(ctl(tmp_path, "route", "--json", "node2").stdout)
    assert [way["hops"][0]["nic"] for way in found["ways"]] == ["eth1", "eth2"]
    assert found["ways"][1]["hops"][0]["to_mac"] == "02:00:00:00:01:02" and found["is_reached"]
    run = ctl(tmp_path, "route", "2")
    assert run.returncode == 0 and "node1 to node2, by eth1: 1 link" in run.stdout
    assert "the same host" in ctl(tmp_path, "route", "node1").stdout
    fails_clearly(ctl(tmp_path, "route", "node3"), 2, "no host node3")


def test_route__without_a_hypercrossbar_unreachable(canned, tmp_path):
    rails = canned[PEERS]["peers"][0]["rails"]
    rails[0] = rails[0] | {"is_alive": False}
    run = ctl(tmp_path, "route", "node2")
    assert run.returncode == 0 and "by eth1: UNREACHABLE, silent" in run.stdout
    canned[RAILS]["rails"][1]["state"] = "down"
    run = ctl(tmp_path, "route", "node2")
    assert run.returncode == 1 and "eth2 to node2: our rail is down" in run.stdout


def test_manual_page_explains_each_drop_reason():
    listed = re.findall(r'^\s*X\(\w+, "([a-z-]+)"\)', (TREE / "pm-ethernet/frame.h").read_text("utf-8"), re.M)
    page = (TREE / "pm-ethernet/man/pm-ethernetctl.8").read_text("utf-8").partition(".Sh DROP REASONS\n")[2]
    assert len(listed) > 10
    assert re.findall(r"^\.It Sy (\S+)$", page.partition("\n.Sh ")[0], re.M) == listed
