# SPDX-License-Identifier: BSD-3-Clause
"""scout as a command: which of its works is done, with which lock, with which code."""

import contextlib
import os
import sys
import types

import pytest

from fakeagent import FakeAgents, prints

from scorelink.link import Unreachable
from scorelink.munge import Refused
from scoutkit import lease, locks, loop, main, opening


class Lease:
    """One that is had, or refused with the exception of the test."""

    refusal = None
    made = []
    events = []     # of take() and of the way to the agents
    lost = None

    def __init__(self, hosts, **more):
        self.hosts, self.more, self.is_released, self.id = hosts, more, False, 7
        self.scored = None
        Lease.made.append(self)

    def ask(self):
        self.answer_fd, self.scored = os.pipe()

    def take(self):
        Lease.events.append("lock")
        if Lease.refusal:
            raise Lease.refusal
        if self.more["wait"]:
            self.more["on_waiting"](1, ["n0 is locked by root"])
        return self.hosts[:self.more["count"]]

    def answer(self):
        if self.scored:
            os.write(self.scored, b"x")

    def release(self):
        self.is_released = True


@pytest.fixture
def scout(monkeypatch, capfd):
    """(words, scripts) -> (code, out, err)."""
    monkeypatch.setattr(lease, "Lease", Lease)
    monkeypatch.setattr(Lease, "refusal", None)
    monkeypatch.setattr(Lease, "made", [])
    monkeypatch.setattr(Lease, "events", [])
    for name in ("SCORE_CLUSTER", "SCOUT_SESSION"):
        monkeypatch.delenv(name, raising=False)

    def run(*words, scripts=None):
        @contextlib.contextmanager
        def reached(turns, names, _cluster, _options, is_held):
            Lease.events.append("held" if is_held else "free")
            with FakeAgents({name: (scripts or {}).get(name, prints()) for name in names}) as world:
                world.agents.loop = turns
                for agent in world.agents.all:
                    if agent.stream:
                        world.loop.forget(agent.stream.socket.fileno())
                        agent.stream.loop = turns
                        turns.watch(agent.stream.socket.fileno(), loop.READ, agent.stream._on_events)
                world.agents.way = types.SimpleNamespace(go=lambda: Lease.events.append("go"))
                # scored answers when hosts have had their turn
                turns.call_later(0, lambda: Lease.made and Lease.made[-1].answer())
                yield world.agents
                ends.append([lease.is_released for lease in Lease.made])
        monkeypatch.setattr(opening, "reached", reached)
        monkeypatch.setattr(sys, "argv", ["scout", *words])
        monkeypatch.setattr(sys, "stdin", None)
        code = main.main()
        return (code, *capfd.readouterr())
    ends = run.ends = []    # whether locks were given back when agents were left
    return run


def test_one_shot__shared_lock_given_back(scout):
    code, out, err = scout("-nostdin", "-g", "n[0-1]", "-reason", "why", "echo", "x",
                           scripts={"n0": prints(b"x\n"), "n1": prints(b"x\n", status=512)})
    assert (code, out, err) == (2, "n0:\nx\nn1:\nx\n", "scout: n1: exit 2\n")
    (made,) = Lease.made
    assert made.is_released and made.more["mode"] == "shared" and made.more["reason"] == "why"


def test_one_shot__a_command_of_lines_is_a_reason(scout):
    assert scout("-nostdin", "-g", "n0", "echo a\necho b")[0] == 0
    assert Lease.made[0].more["reason"] == "scout echo a?echo b"


def test_count__those_that_were_got(scout):
    code, out, _ = scout("-nostdin", "-g", "n[0-3]", "-n", "2", "-scatter", "-sort", "x",
                         scripts={f"n{i}": prints(b"%d\n" % i) for i in range(4)})
    assert (code, out) == (0, "n0:\n0\nn1:\n1\n") and Lease.made[0].more["scatter"]


def test_count__more_than_there_are(scout):
    code, _, err = scout("-g", "n[0-3]", "-n", "5", "x")
    assert (code, err) == (2, "scout: -n 5: there are 4 to choose from\n") and not Lease.made


def test_wait__is_told(scout):
    _, _, err = scout("-nostdin", "-g", "n0", "-wait", "true")
    assert err == "scout: waiting for the hosts: n0 is locked by root; place 2 in the row\n"


@pytest.mark.parametrize("refusal, said", [
    (Refused("n0 is locked by root"), "n0 is locked by root"),
    (Unreachable("scored at head: Connection refused"),
     "scored at head: Connection refused; without a lock: -no-lock")])
def test_lock__refused_is_3(scout, monkeypatch, refusal, said):
    monkeypatch.setattr(Lease, "refusal", refusal)
    assert scout("-nostdin", "-g", "n0", "true") == (3, "", f"scout: {said}\n")
    assert scout("-nostdin", "-no-lock", "-g", "n0", "true")[0] == 0


@pytest.fixture
def known(monkeypatch, tmp_path):
    """A cluster.json with n0 and n1."""
    path = tmp_path / "cluster.json"
    path.write_text('{"hosts": [{"name": "n0"}, {"name": "n1"}], "groups": []}')

    def name():
        monkeypatch.setenv("SCORE_CLUSTER", str(path))
    return name


def test_lock__hosts_are_met_meanwhile_but_nothing_is_started(scout, known, monkeypatch):
    known()
    assert scout("-nostdin", "-g", "n[0-1]", "true")[0] == 0
    assert Lease.events == ["held", "lock", "go"] and Lease.made[0].is_released
    monkeypatch.setattr(Lease, "events", [])
    monkeypatch.setattr(Lease, "refusal", Refused("n0 is locked by root"))
    assert scout("-nostdin", "-g", "n[0-1]", "true")[0] == 3
    assert Lease.events == ["held", "lock"]


@pytest.mark.parametrize("words", [["n0", "-wait"], ["n0", "-force"], ["n[0-1]", "-n", "1"], ["n[0-2]"]])
def test_lock__comes_first_if_it_lasts_or_scored_has_to_say_which(scout, known, words):
    known()
    assert scout("-nostdin", "-g", *words, "true")[0] == 0
    assert Lease.events == ["lock", "free"]


def test_lock__a_scored_that_says_nothing_is_waited_for(monkeypatch):
    def take():
        return ["n0"]
    ends = os.pipe()
    held = types.SimpleNamespace(ask=lambda: None, take=take, answer_fd=ends[0], lost=None, release=lambda: None)
    monkeypatch.setattr(locks, "_TURNS_S", 0.05)
    with loop.Loop() as turns, locks.Lock(["n0"], held, lambda _: None) as lock:
        assert lock.is_due
        lock.take(turns)
        assert not lock.is_due and lock.hosts == ["n0"]
    for end in ends:
        os.close(end)


def test_lock__is_given_back_before_the_agents(scout):
    assert scout("-nostdin", "-g", "n[0-1]", "true")[0] == 0 and scout.ends == [[True]]


def test_lock__lost_is_told_from_the_loop(capfd):
    held = types.SimpleNamespace(lost=None, on_lost=None, id=7, release=lambda: None)
    with loop.Loop() as turns, locks.Lock(["n0"], held) as lock:
        lock.watch(turns)
        held.lost = "an operator took it"
        held.on_lost(held.lost)
        turns.turn()
        assert lock.describe() == "lock lost: an operator took it"
    assert capfd.readouterr().err == "scout: the hosts are no longer locked for you: an operator took it\n"


def test_session__exclusive_and_a_command_in_the_place_of_the_shell(scout):
    code, out, _ = scout("-g", "n[0-1]", "-e", "sh", "-c", 'echo $1; test -S "$SCOUT_SESSION" && exit 5', "sh", "arg")
    assert (code, out) == (5, "arg\n")
    assert Lease.made[0].more["mode"] == "exclusive" and Lease.made[0].is_released


def test_session__command_that_is_not_there(scout):
    assert scout("-g", "n0", "-e", "/no/such")[0] == 127


def test_session__no_host_is_reached(scout):
    code, _, err = scout("-g", "n[0-1]", "-e", "true", scripts={"n0": None, "n1": None})
    assert code == 255 and err.startswith("scout: n[0-1]: not reached: no route to host\n")


def test_session__that_has_ended(scout, monkeypatch, tmp_path):
    monkeypatch.setenv("SCOUT_SESSION", str(tmp_path / "none"))
    code, _, err = scout("true")
    assert code == 2 and "the session has ended" in err


@pytest.mark.parametrize("words, code", [(["--version"], 0), (["-h"], 0), ([], 2), (["true"], 2),
                                         (["-g", "n[", "x"], 2)])
def test_calls_without_hosts(scout, words, code):
    assert scout(*words)[0] == code


def test_reader__that_has_enough(scout, monkeypatch):
    def gone(*_):
        raise BrokenPipeError
    saved = os.dup(1)
    try:
        monkeypatch.setattr("scoutkit.show.write", gone)
        assert scout("-nostdin", "-g", "n0", "x", scripts={"n0": prints(b"x")})[0] == 141
    finally:
        os.dup2(saved, 1)
        os.close(saved)
