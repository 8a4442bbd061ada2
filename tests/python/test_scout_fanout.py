# SPDX-License-Identifier: BSD-3-Clause
"""scout: one command on fake agents: statuses, input, credit, ends; what is shown of it."""

import errno
import json
import os
import signal

import pytest

from fakeagent import FakeAgents, cat, prints

from scorelink import frames
from scoutkit import agents, collect, fanout, hosts, result, show


class Sink:
    """Keeps what it is told."""

    def __init__(self):
        self.order = []

    def ended(self, one):
        self.order.append(one.host)


def go(world, argv=("true",), sink=None, **more):
    """Results by host."""
    work = fanout.Fanout(world.agents, argv, sink or Sink(), **more)
    work.start()
    world.loop.run_until(work.is_over)
    return {one.host: one for one in work.results}


# ---- how it ends ----

@pytest.mark.parametrize("status, code, words", [
    (0, 0, ""), (3 << 8, 3, "exit 3"), (9, 137, "killed by signal 9 (SIGKILL)"),
    (11 | 0x80, 139, "killed by signal 11 (SIGSEGV)"), (200, 128 + 72, "killed by signal 72")])
def test_run__status_of_waitpid(status, code, words):
    with FakeAgents({"n0": prints(status=status)}) as world:
        one = go(world)["n0"]
    assert (one.code, one.words()) == (code, words)


def test_run__not_reached_lost_and_not_started():
    def dies(fake, head, _):
        fake.die()

    def fails(fake, head, _):
        fake.ended(head, 127 << 8, error="ENOENT", text="nosuch: there is no such program")

    with FakeAgents({"n0": prints(), "n1": None, "n2": dies, "n3": fails}) as world:
        done = go(world)
    assert [one.code for one in done.values()] == [0, 255, 255, 127]
    line = result.summary(done.values(), hosts.fold)
    assert line == ("n1: not reached: no route to host; n2: lost: the connection was closed; "
                    "n3: nosuch: there is no such program")
    assert result.code_of_all(done.values()) == 255


def test_summary__equal_ends_of_many_hosts_together():
    with FakeAgents({f"n{i}": prints(status=0 if i % 2 else 1 << 8) for i in range(6)}) as world:
        done = go(world)
    assert result.summary(done.values(), hosts.fold) == "n[0,2,4]: exit 1"


def test_summary__equal_but_for_the_names_of_hosts():
    def failed(host, error):
        one = result.Result(host)
        one.error = error
        return one
    refused = [failed(host, f"not reached: ssh: connect to host {host} port 22: refused") for host in ("n1", "n10")]
    assert result.summary(refused, hosts.fold) == "n[1,10]: not reached: ssh: connect to host %h port 22: refused"
    assert result.summary(refused[:1], hosts.fold) == "n1: not reached: ssh: connect to host n1 port 22: refused"


def test_run__bytes_that_are_no_frames_lose_the_host():
    with FakeAgents({"n0": lambda fake, *_: fake.raw(b"\0\0\0\1\0\0\0\2garbage")}) as world:
        assert go(world)["n0"].words() == "lost: it sends lengths that do not fit together"


@pytest.mark.parametrize("head", [{"op": "out", "id": 1}, {"op": "out", "id": 1, "stream": 3}, {"op": "ended", "id": 1},
                                  {"op": "ended"}, {"op": "ended", "id": "x", "status": 0},
                                  {"op": "ended", "id": 1, "status": True}])
def test_run__wrong_fields_lose_the_host(head):
    with FakeAgents({"n0": lambda fake, *_: fake.say(head)}) as world:
        assert go(world)["n0"].code == 255


def test_run__silent_host_is_asked_then_lost(monkeypatch):
    monkeypatch.setattr(agents, "SILENT_S", 0.2)
    monkeypatch.setattr(agents, "_ASK_S", 0.05)
    monkeypatch.setattr(agents, "_TICK_S", 0.02)

    def answers(fake, head, _):
        if head["op"] == "ping":
            fake.say({"op": "pong", "id": head["id"]})
            if fake.ops().count("ping") > 6:
                fake.ended(fake.heard[0][0])
    with FakeAgents({"n0": lambda *_: None, "n1": answers}) as world:
        done = go(world)
        assert "ping" in world.fakes["n0"].ops()
    assert "nothing was heard" in done["n0"].words() and done["n1"].code == 0


def test_timeout__term_then_kill(monkeypatch):
    monkeypatch.setattr(fanout, "_TERM_S", 0.05)

    def stubborn(fake, head, _):
        if head["op"] == "signal" and head["signal"] == 9:
            fake.ended(head, 9)
    with FakeAgents({"n0": stubborn, "n1": prints()}) as world:
        done = go(world, timeout=0.5)
        assert [head["signal"] for head, _ in world.fakes["n0"].heard if head["op"] == "signal"] == [15, 9]
    assert (done["n0"].code, done["n0"].words(), done["n1"].code) == (124, "timed out", 0)


def test_interrupt__once_then_killed_later_twice_at_once(monkeypatch):
    monkeypatch.setattr(fanout, "KILL_AFTER_S", 0.05)

    def stubborn(fake, head, _):
        if head["op"] == "signal" and head["signal"] == 9:
            fake.ended(head, 9)
    for times in (1, 2):
        with FakeAgents({"n0": stubborn}) as world:
            work = fanout.Fanout(world.agents, ["sleep"], Sink())
            work.start()
            for _ in range(times):
                work.interrupt()
            world.loop.run_until(work.is_over)
            assert [head["signal"] for head, _ in world.fakes["n0"].heard[1:]] == [signal.SIGINT, signal.SIGKILL]


# ---- input and output ----

def test_input__the_same_bytes_for_all(tmp_path):
    data = os.urandom(3 << 20)
    path = tmp_path / "data"
    path.write_bytes(data)
    with FakeAgents({"n0": cat(), "n1": cat()}) as world, path.open("rb") as file:
        work = fanout.Fanout(world.agents, ["cat"], Sink(), has_stdin=True)
        work.feeder = fanout.Feed(world.loop, file.fileno(), work)
        work.start()
        world.loop.run_until(work.is_over)
    assert all(one.stdout.bytes() == data for one in work.results)


def test_input__no_more_than_there_is_room_for(tmp_path):
    """n1 gives no room and ends after all that it can be sent; n0 gets the rest then."""
    size = 2 * frames.ROOM + 5

    def deaf(fake, head, _):
        if head["op"] == "in" and sum(len(body) for _, body in fake.heard) == frames.ROOM:
            fake.ended(head)
    with FakeAgents({"n0": cat(), "n1": deaf}) as world:
        work = fanout.Fanout(world.agents, ["cat"], Sink(), has_stdin=True)
        work.feeder = fanout._Bytes(work, bytes(size))
        work.start()
        world.loop.run_until(work.is_over)
        assert sum(len(body) for _, body in world.fakes["n1"].heard) == frames.ROOM
    assert [one.stdout.size for one in work.results] == [size, 0]


def test_output__room_is_given_back():
    with FakeAgents({"n0": prints(b"x" * (3 << 20))}) as world:
        done = go(world)
        fake = world.fakes["n0"]
    assert done["n0"].stdout.size == 3 << 20
    # It may not have read the last of them.
    assert sum(head["bytes"] for head, _ in fake.heard if head["op"] == "out_room") <= 3 << 20


def test_output__large_ones_are_told_apart():
    big = os.urandom(1 << 20)
    with FakeAgents({"n0": prints(big), "n1": prints(big), "n2": prints(big[:-1] + bytes([big[-1] ^ 1]))}) as world:
        done = go(world)
        keys = [done[name].stdout.key() for name in ("n0", "n1", "n2")]
        assert keys[0] == keys[1] != keys[2]
        assert done["n1"].stdout.bytes() == big


def test_output__no_more_is_kept_than_is_wanted():
    """A host that prints without end ends as others do, and fills no disk here."""
    big = os.urandom(3 << 20)
    with FakeAgents({"n0": prints(big), "n1": prints(b"x")}) as world:
        done = go(world, output_max=100_000)
        assert done["n0"].stdout.bytes() == big[:100_000] and done["n0"].code == 0
        assert done["n1"].stdout.bytes() == b"x"


def test_output__no_room_here_names_the_place(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(collect.os, "pwrite", full)
    with FakeAgents({"n0": prints(b"x" * (1 << 20))}) as world, pytest.raises(OSError, match="/.*TMPDIR.*-label"):
        go(world)


# ---- what is shown ----

def shown(capfdbinary, kind, scripts):
    with FakeAgents(scripts) as world:
        sink = kind(len(scripts)) if kind is not show.Sorted else kind(len(scripts), names=list(scripts))
        work = fanout.Fanout(world.agents, ["x"], sink)
        work.start()
        world.loop.run_until(work.is_over)
        sink.finish(work.results)
    return capfdbinary.readouterr()


def test_merged__equal_outputs_once(capfdbinary):
    out, err = shown(capfdbinary, show.Merged, {
        "n0": prints(b"a\n"), "n1": prints(b"b"), "n2": prints(b"a\n"), "n3": prints(b"a\n", b"oh\n"), "n4": prints()})
    assert out == b"n[0,2]:\na\nn1:\nb\nn3:\na\n"
    assert err == b"n3:\noh\n"


def test_merged__other_status_is_another_group(capfdbinary):
    out, _ = shown(capfdbinary, show.Merged, {"n0": prints(b"a\n"), "n1": prints(b"a\n", status=256)})
    assert out == b"n0:\na\nn1:\na\n"


def test_merged__a_single_host_is_passed_on_byte_by_byte(capfdbinary):
    data = bytes(range(256)) * 300
    assert shown(capfdbinary, show.Merged, {"n0": prints(data)})[0] == data


def test_sorted__in_order_of_the_list(capfdbinary):
    out, _ = shown(capfdbinary, show.Sorted, {"n2": prints(b"2\n"), "n10": prints(b"10\n"), "n1": prints(b"1\n")})
    assert out == b"n2:\n2\nn10:\n10\nn1:\n1\n"


def test_labelled__whole_lines(capfdbinary):
    def slowly(fake, head, _):
        if head["op"] == "run":
            for part in (b"on", b"e\ntw", b"o"):
                fake.say({"op": "out", "id": head["id"], "stream": 1}, part)
            fake.ended(head)
    assert shown(capfdbinary, show.Labelled, {"n0": slowly})[0] == b"n0: one\nn0: two\n"


def test_json__an_object_per_host(capfdbinary):
    out, _ = shown(capfdbinary, show.Json, {"n0": prints(b"\xff\n", b"e"), "n1": prints(status=9), "n2": None})
    got = {one["host"]: one for one in map(json.loads, out.splitlines())}
    assert got["n0"]["stdout_base64"] == "/wo=" and got["n0"]["stderr"] == "e" and got["n0"]["status"] == 0
    assert (got["n1"]["signal"], got["n1"]["status"], got["n1"]["code"]) == (9, None, 137)
    assert got["n2"]["error"] == "not reached: no route to host" and got["n2"]["code"] == 255
