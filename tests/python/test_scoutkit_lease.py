# SPDX-License-Identifier: BSD-3-Clause
"""Locks of hosts over links that are made of answers."""

import pathlib
import sys
import threading

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from scorelink.link import Unreachable  # noqa: E402
from scorelink.munge import Refused  # noqa: E402
from scoutkit import lease  # noqa: E402

LOCKED = {"op": "locked", "id": 7, "hosts": ["n1", "n2"], "lease_s": 60}
OK = {"op": "ok"}
GONE = {"op": "error", "error": "ENOENT", "text": "lock 7 was taken by force by root: repair"}


class FakeSocket:
    def settimeout(self, _):
        pass

    setsockopt = close = lambda self, *_: None


class World:
    """A scored that answers by a list; None is a connection that breaks, "down" a host that refuses the next one."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.changed = threading.Event()

    def link(self, _server, munge_socket=None):
        if self.answers and self.answers[0] == "down":
            self.answers.pop(0)
            raise Unreachable("nobody is there")
        return FakeLink(self)


class FakeLink:
    def __init__(self, world):
        self.world = world
        self.socket = FakeSocket()

    def send(self, head):
        self.world.asked.append(head)

    def receive(self):
        answer = self.world.answers.pop(0)
        if answer is None:
            raise Unreachable("it closed the connection")
        return answer

    def ask(self, head):
        self.send(head)
        return self.receive()


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(lease, "_AGAIN_S", 0.01)

    def make(*answers):
        made = World(*answers)
        monkeypatch.setattr(lease, "Link", made.link)
        return made
    return make


def test_take__asks_and_gives_back(world):
    made = world(LOCKED, OK)
    with lease.Lease(["n1", "n2", "n3"], count=2, mode="exclusive", reason="disks", server="x") as held:
        assert held.hosts == ["n1", "n2"] and held.id == 7 and held.lost is None
    held.release()
    asked = made.asked[0]
    assert (asked["op"], asked["hosts"], asked["count"], asked["mode"], asked["reason"]) == \
        ("lock", ["n1", "n2", "n3"], 2, "exclusive", "disks")
    assert asked["place"].split()[1].isdigit()
    assert made.asked[1:] == [{"op": "unlock", "id": 7}]


@pytest.mark.parametrize("command, reason", [
    ("scout make", "scout make"), ("scout echo a\necho\tb", "scout echo a?echo?b"), ("scout \x1b[m", "scout ?[m"),
    ("scout \udcff", "scout ?"),
    ("scout " + 99 * "x", "scout " + 74 * "x"), ("scout " + 99 * "€", "scout " + 64 * "€")])
def test_reason_of__what_scored_takes(command, reason):
    """Lines, control characters, bytes that are no text, more than 200 bytes of few letters."""
    assert lease.reason_of(command) == reason and len(reason.encode()) <= 200


def test_take__a_reason_that_is_no_text(world):
    made = world(LOCKED, OK)
    with lease.Lease(["n1"], reason="e\udcff", server="x"):
        assert made.asked[0]["reason"] == "e?"


def test_ask__what_take_begins_with(world):
    made = world(LOCKED, OK)
    held = lease.Lease(["n1"], server="x")
    held.ask()
    assert [head["op"] for head in made.asked] == ["lock"] and held.id is None
    assert held.take() == ["n1", "n2"] and held.id == 7
    held.release()
    assert [head["op"] for head in made.asked] == ["lock", "unlock"]


def test_ask__what_is_given_after_all_is_given_back(world):
    made = world(LOCKED, OK)
    held = lease.Lease(["n1"], server="x")
    held.ask()
    held.release()
    assert [head["op"] for head in made.asked] == ["lock", "unlock"] and not made.answers
    made.answers[:] = [{"op": "error", "error": "EBUSY", "text": "n1 is locked by ann: disks"}]
    held = lease.Lease(["n1"], server="x")
    held.ask()
    held.release()
    assert [head["op"] for head in made.asked] == ["lock", "unlock", "lock"]


def test_ask__nobody_is_there(world):
    world("down")
    held = lease.Lease(["n1"], server="x")
    with pytest.raises(Unreachable):
        held.ask()
    held.release()


def test_take__refused(world):
    world({"op": "error", "error": "EBUSY", "text": "n1 is locked by ann: disks"})
    with pytest.raises(lease.Busy, match="locked by ann"):
        lease.Lease(["n1"], server="x").take()
    world({"op": "error", "error": "EPERM", "text": "only operators"})
    with pytest.raises(Refused, match="only operators") as raised:
        lease.Lease(["n1"], server="x").take()
    assert not isinstance(raised.value, lease.Busy)


def test_take__nobody_is_there(world):
    world("down")
    with pytest.raises(Unreachable):
        lease.Lease(["n1"], server="x", wait=True).take()


def test_take__waits_and_says_so_also_with_a_scored_that_starts_anew(world):
    told = []
    made = world({"op": "waiting", "position": 1, "holders": ["n1 is locked by ann"]}, None, "down",
                 {"op": "waiting", "position": 0, "holders": []}, LOCKED, OK)
    held = lease.Lease(["n1"], server="x", wait=True, on_waiting=lambda *words: told.append(words))
    assert held.take() == ["n1", "n2"]
    held.release()
    assert told == [(1, ["n1 is locked by ann"]), (0, [])]
    assert [head["op"] for head in made.asked] == ["lock", "lock", "unlock"]


def test_take__not_in_time(world, monkeypatch):
    world(None)
    held = lease.Lease(["n1"], server="x", wait=True, timeout=0)
    with pytest.raises(lease.TooLong, match="within 0 s"):
        held.take()


def test_renew__by_its_thread_until_it_is_lost(world):
    lost = threading.Event()
    made = world({**LOCKED, "lease_s": 0.03}, OK, OK, GONE)
    held = lease.Lease(["n1"], server="x", on_lost=lambda text: lost.set())
    held.take()
    assert lost.wait(10)
    assert held.lost == GONE["text"]
    with pytest.raises(lease.Lost, match="by force by root"):
        held.check()
    held.release()
    assert [head["op"] for head in made.asked] == ["lock", "renew", "renew", "renew"]


def test_release__no_thread_is_left(world, monkeypatch):
    """Python may end right after it."""
    run, ended = threading.Thread.run, []

    def watched(thread):
        run(thread)
        ended.append(True)
    monkeypatch.setattr(threading.Thread, "run", watched)
    for count in range(200):
        world(LOCKED, OK)
        with lease.Lease(["n1"], server="x"):
            assert len(ended) == count
        assert len(ended) == count + 1


def test_renew__a_scored_that_starts_anew(world):
    made = world(LOCKED, None, "down", OK)
    held = lease.Lease(["n1"], server="x")
    held.take()
    assert [held.renew(), held.renew(), held.renew()] == [False, False, True]
    assert held.lost is None
    made.answers = [OK]
    held.release()


def test_renew__a_refusal_that_is_not_about_the_lock(world):
    world(LOCKED, {"op": "error", "error": "EUSERS", "text": "too many connections"}, OK, OK)
    held = lease.Lease(["n1"], server="x")
    held.take()
    assert held.renew() is False and held.lost is None
    assert held.renew() is True
    held.release()


def test_renew__too_long_without(world):
    world({**LOCKED, "lease_s": 1000}, None)
    held = lease.Lease(["n1"], server="x")
    held.take()
    held.lease_s = 0
    assert held.renew() is False
    assert "not renewed for 0 s: " in held.lost
    held.release()
