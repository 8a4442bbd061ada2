# SPDX-License-Identifier: BSD-3-Clause
"""scout: a session and the commands in it, over fake agents."""

import contextlib
import os
import socket
import threading
import time

import pytest

from fakeagent import TIME_LIMIT, FakeAgents, cat, prints

from scorelink import frames
from scoutkit import fanout, hosts, inside, locks, loop, session


class Sink:
    """Of those who look at the results."""

    @staticmethod
    def ended(one):
        """Nothing."""


class Lease:
    """A lock that can be lost."""

    id, lost = 7, None


@contextlib.contextmanager
def running(scripts, lock=None):
    """A session in a thread of its own: (world, session)."""
    with FakeAgents(scripts) as world:
        made = session.Session(world.agents, lock or locks.Lock(scripts))
        over = []
        wake = os.pipe()
        world.loop.watch(wake[0], loop.READ, lambda _: None)
        thread = threading.Thread(target=lambda: world.loop.run_until(lambda: over), daemon=True)
        thread.start()
        try:
            yield world, made
        finally:
            over.append(True)
            os.write(wake[1], b"x")
            thread.join(TIME_LIMIT)
            made.close()
            made.remove()


@contextlib.contextmanager
def command(made, names=None, argv=("x",), **more):
    """A fan-out in the session, not started."""
    with loop.Loop() as turns, inside.Joined(turns, f"{made.directory}/{session.SOCKET}") as joined:
        yield turns, fanout.Fanout(joined.part(names or joined.hosts), argv, Sink, **more)


def run(made, names=None, **more):
    with command(made, names, **more) as (turns, work):
        work.start()
        turns.run_until(work.is_over)
        return {one.host: one for one in work.results}


def wait_until(condition):
    end = time.monotonic() + TIME_LIMIT
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    assert condition()


def test_command__as_without_a_session():
    with running({"n0": prints(b"0"), "n1": prints(b"1", b"e", 256), "n2": None}) as (_, made):
        done = run(made)
        assert [(one.stdout.bytes(), one.code) for one in done.values()] == [(b"0", 0), (b"1", 1), (b"", 255)]
        assert done["n2"].words() == "not reached: no route to host"
        assert list(run(made, ["n1"])) == ["n1"]
        with pytest.raises(hosts.Wrong, match=r"n9: not in this session, which has n\[0-2\]"):
            run(made, ["n1", "n9"])


def test_command__much_input_and_output():
    data = os.urandom(3 << 20)
    with running({"n0": cat(), "n1": cat()}) as (_, made):
        with command(made, has_stdin=True) as (turns, work):
            work.feeder = fanout._Bytes(work, data)
            work.start()
            turns.run_until(work.is_over)
            assert all(one.stdout.bytes() == data for one in work.results)


def test_commands__do_not_meet():
    """Both have number 1 for what they run; the agents see two numbers."""
    with running({"n0": cat()}) as (world, made):
        with command(made, has_stdin=True) as (turns, first), command(made, has_stdin=True) as (others, second):
            for each, what in ((first, b"first"), (second, b"second")):
                each.feeder = fanout._Bytes(each, what)
                each.start()
            others.run_until(second.is_over)
            turns.run_until(first.is_over)
            assert [work.results[0].stdout.bytes() for work in (first, second)] == [b"first", b"second"]
        numbers = {head["id"] for head, _ in world.fakes["n0"].heard if head["op"] == "run"}
        assert len(numbers) == 2


def test_command__that_dies_leaves_nothing():
    with running({"n0": lambda *_: None}) as (world, made):
        with command(made) as (turns, work):
            work.start()
            wait_until(lambda: "run" in world.fakes["n0"].ops())
        wait_until(lambda: "signal" in world.fakes["n0"].ops())
        head = world.fakes["n0"].heard[-1][0]
        assert (head["signal"], head["id"]) == (9, world.fakes["n0"].heard[0][0]["id"])


def test_get__that_is_left_is_cancelled():
    """Its host need not send the rest of a large file that nobody wants."""
    def sends(fake, head, _):
        if head["op"] == "get":
            fake.say({"op": "file", "id": head["id"], "size": 1 << 30, "mode": 0o600, "mtime_ns": 0})
        elif head["op"] == "signal":
            fake.say({"op": "data", "id": head["id"]}, b"on its way")
            fake.say({"op": "failed", "id": head["id"], "error": "ECANCELED", "text": "cancelled"})
    with running({"n0": sends}) as (world, made):
        with loop.Loop() as turns, inside.Joined(turns, f"{made.directory}/{session.SOCKET}") as joined:
            agent = joined.part(["n0"]).all[0]
            heard = []
            talk = type("Talk", (), {"message": lambda _, agent, number, head, body: heard.append(head["op"])})()
            agent.send({"op": "get", "id": agent.open(talk, 0.0), "path": "/large"})
            turns.run_until(lambda: heard)
        wait_until(lambda: not world.agents.all[0].exchanges and "signal" in world.fakes["n0"].ops())
        assert world.fakes["n0"].ops() == ["get", "signal"]


def test_join__a_session_that_ends_before_it_greets(tmp_path):
    path = str(tmp_path / "session")
    with socket.socket(socket.AF_UNIX) as listener, loop.Loop() as turns:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=lambda: listener.accept()[0].close())
        thread.start()
        with pytest.raises(inside.Gone, match="the session has ended .*; begin another one, or unset SCOUT_SESSION"):
            inside.Joined(turns, path)
        thread.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="must be root to be somebody else")
def test_command__not_in_the_session_of_another_user(tmp_path):
    """A session that has ended leaves its name to whoever takes it: he would see our commands, and choose programs."""
    path = str(tmp_path / "session")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.seteuid(65534)
        try:
            listener.listen()
        finally:
            os.seteuid(0)
        with loop.Loop() as turns:
            with pytest.raises(inside.Gone, match="the session is of user 65534, who is neither root nor you"):
                inside.Joined(turns, path)


def test_host__that_is_lost_is_told():
    def dies(fake, head, _):
        fake.die()
    with running({"n0": prints(), "n1": dies}) as (_, made):
        assert run(made)["n1"].words() == "lost: the connection was closed"
        assert run(made)["n1"].words() == "lost: the connection was closed"
        assert run(made, ["n0"])["n0"].code == 0


def test_lock__lost_means_no_more_commands():
    lease = Lease()
    with running({"n0": prints()}, locks.Lock(["n0"], lease)) as (world, made):
        assert run(made)["n0"].code == 0
        lease.lost = "root took it"
        one = run(made)["n0"]
        assert one.code == 126 and one.words() == "the hosts are no longer locked for you: root took it"
        assert world.fakes["n0"].ops() == ["run"]


@pytest.mark.parametrize("head", [{"op": "run", "id": 1, "host": 7}, {"op": "run", "id": 1}, {"op": "run", "host": 0},
                                  {"op": "put", "id": 1, "host": 0, "children": [3]}])
def test_client__that_makes_no_sense_is_let_go(head):
    with running({"n0": prints()}) as (world, made):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIME_LIMIT)
            client.connect(f"{made.directory}/{session.SOCKET}")
            client.sendall(frames.encode(head))
            assert b"".join(iter(lambda: client.recv(4096), b"")).count(b"op") == 1
        assert not world.fakes["n0"].heard


def test_tell__hosts_and_state(capsys):
    options = type("Options", (), {"output": "merge"})
    with running({"n0": prints(), "n1": prints(), "n2": None}) as (_, made):
        with loop.Loop() as turns, inside.Joined(turns, f"{made.directory}/{session.SOCKET}") as joined:
            assert joined.tell(options) == 1
            assert joined.is_its_input()
    out = capsys.readouterr().out
    assert "n[0-1]: ready\nn2: not reached: no route to host\n" in out and "not locked" in out


def test_join__no_such_session(tmp_path):
    with loop.Loop() as turns, pytest.raises(inside.Gone, match="the session has ended"):
        inside.Joined(turns, str(tmp_path / "none"))


def test_session__ends_with_its_commands():
    with running({"n0": lambda *_: None}) as (world, made):
        with command(made) as (turns, work):
            work.start()
            wait_until(lambda: "run" in world.fakes["n0"].ops())
            # As when its process is killed.
            next(iter(made.clients)).stream.socket.shutdown(2)
            turns.run_until(work.is_over)
            assert work.results[0].words() == "lost: the session has ended"


# ---- what the shell finds ----

def test_path__scout_is_the_one_that_was_called(tmp_path, monkeypatch):
    for name in ("ours", "other", "links"):
        (tmp_path / name).mkdir()
    for name in ("ours", "other"):
        (tmp_path / name / "scout").write_text("")
        (tmp_path / name / "scout").chmod(0o755)
    program = str(tmp_path / "ours" / "scout")
    (tmp_path / "links" / "scout").symlink_to(program)
    for path, want in ((f"{tmp_path}/links:/bin", f"{tmp_path}/links:/bin"), ("/nowhere", f"{tmp_path}/ours:/nowhere"),
                       (f"{tmp_path}/other", f"{tmp_path}/ours:{tmp_path}/other")):
        monkeypatch.setenv("PATH", path)
        assert session._path(program) == want
