# SPDX-License-Identifier: BSD-3-Clause
"""scconf detect and diff: from who hears whom to a description, and what of one is not as it says."""

import itertools
import json
import math
import pathlib
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import detect, diff, document, draft, generate, heard, resolve, wiring  # noqa: E402
from pmtopo.heard import Ear, Heard, Port  # noqa: E402
from pmtopo.problems import Wrong  # noqa: E402


class Machine:
    """Hosts at all points of a grid, their ports plugged into the switches of their lines."""

    def __init__(self, dims, lanes=1, names=None):
        self.dims, self.lanes = tuple(dims), lanes
        self.points = list(itertools.product(*map(range, dims)))
        self.names = list(names or (f"n{number}" for number in range(len(self.points))))
        self.switch, self.dead, self.mtu = {}, set(), {}
        for name, point in zip(self.names, self.points):
            for rail in range(len(dims) * lanes):
                dim = rail // lanes
                self.switch[Port(name, f"eth{rail + 1}")] = (rail, point[:dim] + point[dim + 1:])

    def port(self, name, rail):
        return Port(name, f"eth{rail + 1}")

    def mac(self, port):
        return f"02:00:00:{int(port.device[3:]):02x}:{self.names.index(port.host) >> 8:02x}:" \
               f"{self.names.index(port.host) & 255:02x}"

    def heard(self, asked=None):
        """The reports of the hosts; dead ports neither hear other ports nor are heard by them."""
        ears = {name: [] for name in asked or self.names}
        rooms = {}
        for port, room in self.switch.items():
            if port not in self.dead:
                rooms.setdefault(room, []).append(port)
        for ports in rooms.values():
            for own, other in itertools.permutations(ports, 2):
                if own.host in ears:
                    ears[own.host].append(Ear(int(own.device[3:]) - 1, own.device, other, int(other.device[3:]) - 1,
                                              self.mac(other), self.mtu.get(other, 1500), self.mtu.get(own, 1500),
                                              True))
        return Heard(ears, {})

    def kill(self, name):
        """As if the host were switched off."""
        self.dead |= {port for port in self.switch if port.host == name}

    def cluster(self, more=""):
        new = generate.draft("m", None if len(self.dims) == 1 else self.dims, self.lanes, ",".join(self.names))
        text = draft.text(new).replace("[[hosts]]\n", "[[hosts]]\n" + more)
        cluster, problems = resolve.resolve(document.parse("m.toml", text))
        assert cluster, problems.lines()
        return cluster

    def differences(self):
        present = [name for name in self.names if not all(port in self.dead for port in self.switch
                                                          if port.host == name)]
        return [(found.kind, found.host, found.device) for found in diff.compare(self.cluster(), self.heard(present))]


SHAPES = st.lists(st.integers(2, 4), min_size=1, max_size=4).filter(lambda dims: math.prod(dims) <= 64)


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(1, 2), st.randoms(use_true_random=False))
def test_grid__whatever_hosts_are_called(dims, lanes, random):
    names = [f"n{number}" for number in range(math.prod(dims))]
    random.shuffle(names)
    machine = Machine(dims, lanes, names)
    shape = wiring.grid(wiring.wiring(machine.heard()))
    assert shape.dims == machine.dims
    assert shape.rails == [dim for dim in range(len(dims)) for _ in range(lanes)]
    for dim in range(len(dims)):
        # the numbers of a dimension may have other names, and only that
        pairs = {(point[dim], shape.coords[name][dim]) for name, point in zip(names, machine.points)}
        assert len(pairs) == dims[dim]


@settings(max_examples=40, deadline=None)
@given(SHAPES.filter(lambda dims: len(dims) > 1), st.integers(1, 2), st.data())
def test_draft__describes_what_was_there(dims, lanes, data):
    machine = Machine(dims, lanes)
    victim = machine.port(data.draw(st.sampled_from(machine.names)), data.draw(st.integers(0, lanes * len(dims) - 1)))
    if data.draw(st.booleans()) and min(dims) > 2:
        machine.dead.add(victim)
    text, cluster = draft.checked(detect.draft(machine.heard(), "found"))
    assert cluster.topology.dims == tuple(dims)
    assert [(host.name, host.coords) for host in cluster.hosts] == list(zip(machine.names, machine.points))
    assert "missing" not in text


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(1, 2))
def test_compare__as_configured(dims, lanes):
    assert Machine(dims, lanes).differences() == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=3), st.integers(1, 2), st.data())
def test_compare__one_cable_on_another_switch(dims, lanes, data):
    machine = Machine(dims, lanes)
    port = data.draw(st.sampled_from(sorted(machine.switch)))
    rooms = sorted({room for room in machine.switch.values() if room != machine.switch[port]})
    machine.switch[port] = data.draw(st.sampled_from(rooms))
    assert machine.differences() == [("wiring", *port)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(3, 4), min_size=2, max_size=3), st.data())
def test_compare__a_dead_port_and_an_absent_host(dims, data):
    machine = Machine(dims)
    port = data.draw(st.sampled_from(sorted(machine.switch)))
    machine.dead.add(port)
    assert machine.differences() == [("silent", *port)]
    machine.kill(port.host)
    assert machine.differences() == [("absent", port.host, None)]


def test_compare__two_cables_swapped_name_both_switches():
    machine = Machine((2, 2))
    a, b = machine.port("n1", 1), machine.port("n3", 1)
    machine.switch[a], machine.switch[b] = machine.switch[b], machine.switch[a]
    found = machine.differences()
    assert {kind for kind, _, _ in found} == {"wiring"}
    assert {host for _, host, _ in found} == {"n0", "n1", "n2", "n3"}


def test_compare__hosts_that_are_not_as_listed():
    machine = Machine((3, 3), names=["a", "b", "c", "d", "e", "f", "g", "h", "i"])
    cluster = machine.cluster()
    machine.names[4] = "x"
    machine.switch = {Port("x" if port.host == "e" else port.host, port.device): room
                      for port, room in machine.switch.items()}
    found = diff.compare(cluster, machine.heard())
    assert [(each.kind, each.host) for each in found] == [("absent", "e"), ("unknown", "x")]
    cluster.by_name["a"].state = "defect"
    assert ("defect", "a") in [(each.kind, each.host) for each in diff.compare(cluster, machine.heard())]


def test_compare__addresses_rails_and_mtus():
    machine = Machine((3, 3))
    machine.mtu[machine.port("n4", 0)] = 9000
    cluster = machine.cluster('macs.eth1 = "02:00:00:01:00:[01-09]"\n')
    found = {(each.kind, each.host, each.device) for each in diff.compare(cluster, machine.heard())}
    assert ("mtu", "n4", "eth1") in found and ("mac", "n8", "eth1") in found
    assert len([each for each in found if each[0] == "mac"]) == 9 and len(found) == 10
    everything = machine.heard()
    for host, ears in everything.ears.items():
        everything.ears[host] = [ear._replace(rail=1 - ear.rail) for ear in ears]
    assert {each.kind for each in diff.compare(machine.cluster(), everything)} >= {"rail"}


def test_compare__one_way():
    machine = Machine((3, 3))
    found = machine.heard()
    own = machine.port("n0", 0)
    for host in found.ears:
        found.ears[host] = [ear for ear in found.ears[host] if ear.other != own]
    kinds = {(each.kind, each.host, each.device) for each in diff.compare(machine.cluster(), found)}
    assert kinds == {("one-way", "n3", "eth1"), ("one-way", "n6", "eth1")}


def test_wiring__a_host_that_left_is_believed_by_its_own_word():
    ears = {"a": [Ear(0, "eth1", Port("b", "eth1"), 0, "02:00:00:00:00:02", 1500, 1500, True)],
            "b": [Ear(0, "eth1", Port("a", "eth1"), 0, "02:00:00:00:00:01", 1500, 1500, False)]}
    assert wiring.wiring(Heard(ears, {})).links == set()


def test_draft__a_host_that_is_off_leaves_a_hole():
    machine = Machine((3, 3))
    machine.kill("n4")
    found = machine.heard([name for name in machine.names if name != "n4"])
    text, cluster = draft.checked(detect.draft(found, "found"))
    assert 'range = "n[0-3],~missing-1-1,n[5-8]"' in text
    assert cluster.by_name["missing-1-1"].coords == (1, 1)
    text, cluster = draft.checked(detect.draft(Heard(found.ears, {"n4": "no route to host"}), "found"))
    assert 'range = "n[0-3],~n4,n[5-8]"' in text and "# No report of n4: no route to host" in text


def test_draft__flat_cluster_has_no_topology():
    text, cluster = draft.checked(detect.draft(Machine((5,), 2).heard(), "found"))
    assert cluster.topology is None and 'rails = ["eth1", "eth2"]' in text
    assert 'eth1 = "02:00:00:01:00:[00-04]"' in text


def test_draft__other_names_of_interfaces():
    other = Port("n2", "enp1s0")
    found = Machine((2, 2)).heard()

    def renamed(port):
        return other if port == Port("n2", "eth2") else port

    for host, ears in found.ears.items():
        found.ears[host] = [ear._replace(device=renamed(Port(host, ear.device)).device, other=renamed(ear.other))
                            for ear in ears]
    text, cluster = draft.checked(detect.draft(found, "found"))
    assert '[overrides."n2".ethernet]\nrails = ["eth1", "enp1s0"]' in text
    assert cluster.by_name["n2"].rails[1].device == "enp1s0"


def test_draft__a_wrong_cable_is_named():
    machine = Machine((3, 3))
    machine.switch[machine.port("n4", 1)] = machine.switch[machine.port("n0", 1)]
    with pytest.raises(Wrong, match="one of these is on the wrong switch: eth2 of n1, eth2 of n4; "):
        detect.draft(machine.heard(), "found")


@pytest.mark.parametrize("dims, why", [((1,), "no host hears another one")])
def test_draft__nothing_to_hear(dims, why):
    with pytest.raises(Wrong, match=why):
        detect.draft(Machine(dims).heard(), "found")


@settings(max_examples=40, deadline=None)
@given(SHAPES.filter(lambda dims: len(dims) > 1 and sorted(dims)[-2] > 2), st.data())
def test_draft__a_dead_switch_does_not_matter(dims, data):
    machine = Machine(dims)
    room = data.draw(st.sampled_from(sorted(set(machine.switch.values()))))
    machine.dead |= {port for port, where in machine.switch.items() if where == room}
    _, cluster = draft.checked(detect.draft(machine.heard(), "found"))
    assert [(host.name, host.coords) for host in cluster.hosts] == list(zip(machine.names, machine.points))


def test_draft__a_rail_that_is_dead_everywhere():
    machine = Machine((2, 2), 2)
    found = machine.heard()
    for host, ears in found.ears.items():
        found.ears[host] = [ear._replace(is_alive=ear.rail != 1) for ear in ears]
    with pytest.raises(Wrong, match="nobody hears anybody on rail 1"):
        detect.draft(found, "found")


def test_draft__islands():
    machine = Machine((4,))
    for name in ("n2", "n3"):
        machine.switch[machine.port(name, 0)] = "another switch"
    with pytest.raises(Wrong, match="do not hear each other on any rail"):
        detect.draft(machine.heard(), "found")


def test_draft__2560_hosts_in_seconds():
    machine = Machine((16, 16, 10), names=[f"p{number:04d}" for number in range(2560)])
    text, cluster = draft.checked(detect.draft(machine.heard(), "found"))
    assert cluster.topology.dims == (16, 16, 10) and 'range = "p[0000-2559]"' in text


# ---- reports ----

def report(machine, host):
    peers = [{"name": ear.other.host, "rails": [{
        "rail": ear.rail, "nic": ear.device, "mac": ear.mac, "their_rail": ear.other_rail,
        "their_nic": ear.other.device, "mtu": ear.mtu, "own_mtu": ear.own_mtu, "is_alive": ear.is_alive}]}
        for ear in machine.heard().ears[host]]
    return json.dumps({"peers": peers, "no_room": 0})


@pytest.fixture
def reports(tmp_path):
    machine = Machine((2, 3))
    for name in machine.names:
        (tmp_path / f"{name}.json").write_text(report(machine, name))
    return tmp_path


def scconf(*words):
    return subprocess.run([TREE / "configs" / "scconf", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)


def test_from_files__directory_and_files(reports):
    whole = heard.from_files([reports])
    assert heard.from_files(sorted(reports.glob("*.json"))) == whole
    assert wiring.grid(wiring.wiring(whole)).dims == (2, 3)


def test_with_names__domains_of_daemons(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"peers": [{"name": "b.cluster", "rails": [{
        "rail": 0, "nic": "e", "mac": "02:00:00:00:00:02", "their_rail": 0, "their_nic": "e", "is_alive": True}]}]}))
    (tmp_path / "b.json").write_text('{"peers": []}')
    assert heard.from_files([tmp_path]).ears["a"][0].other == Port("b", "e")


@pytest.mark.parametrize("text, word", [
    ("{", "n0.json:1: is no JSON"), ("[]", "is no report"), ('{"peers": [{"name": "x"}]}', "is no report"),
    ('{"peers": 3}', "is no report"), ('{"peers": [3]}', "is no report")])
def test_from_files__no_report(tmp_path, text, word):
    (tmp_path / "n0.json").write_text(text)
    run = scconf("detect", "--from", tmp_path)
    assert (run.returncode, run.stdout) == (1, "")
    assert word in run.stderr and len(run.stderr.splitlines()) == 1


def test_detect__asks_through_a_command(reports, tmp_path):
    program = tmp_path / "reach"
    program.write_text('#!/bin/sh\ntest "$2 $3 $4" = "ctl peers --json" || exit 9\n'
                       f'test "$1" != n9 || {{ echo "no such host" >&2; exit 1; }}\ncat {reports}/$1.json\n')
    program.chmod(0o755)
    saved = tmp_path / "saved"
    run = scconf("detect", "n[0-5]", "--through", f"{program} %h", "--program", "ctl", "--save", saved)
    assert (run.returncode, run.stderr) == (0, "")
    assert scconf("detect", "--from", saved).stdout == run.stdout
    assert "holds reports already" in scconf("detect", "--from", reports, "--save", saved).stderr
    run = scconf("detect", "n[0-5],n9", "--through", f"{program} %h", "--program", "ctl")
    assert "# No report of n9: no such host" in run.stdout


@pytest.mark.parametrize("words, text", [
    (("n0", "--through", "true"), "has no %h"), (("n0", "--through", "/nowhere/x %h"), "cannot be run"),
    (("n[0", "--through", "true %h"), "character"), (("n0", "--through", "false %h"), "none of 1 hosts"),
    (("n0", "--through", "'%h"), "close the quotes"), ((), "either HOSTS"), (("--from", "/nowhere"), "cannot be read")])
def test_detect__refusals(words, text):
    run = scconf("detect", *words)
    assert (run.returncode, run.stdout) == (1, "")
    assert text in run.stderr and len(run.stderr.splitlines()) == 1


def test_diff__command(reports, tmp_path):
    file = tmp_path / "cluster.toml"
    assert scconf("detect", "--from", reports, "-o", file).returncode == 0
    run = scconf("diff", file, "--from", reports)
    assert (run.returncode, run.stdout) == (0, f"{file}: ok: 6 hosts are wired as configured\n")
    (reports / "n5.json").unlink()
    for path in reports.glob("n*.json"):
        tree = json.loads(path.read_text())
        tree["peers"] = [peer for peer in tree["peers"] if peer["name"] != "n5"]
        path.write_text(json.dumps(tree))
    run = scconf("diff", file, "--from", reports)
    line = file.read_text().splitlines().index('range = "n[0-5]"') + 1
    assert run.returncode == 1 and run.stdout.startswith(f"{file}:{line}: n5 (1,2): is heard by nobody;")
    run = scconf("diff", file, "--from", reports, "--json")
    assert [(each["kind"], each["host"]) for each in json.loads(run.stdout)] == [("absent", "n5")]
    assert "is there already" in scconf("detect", "--from", reports, "-o", file).stderr
