# SPDX-License-Identifier: BSD-3-Clause
"""scout: the ways to agents: scnoded's port, pdsh; what is said of hosts that are not reached."""

import os
import pathlib
import resource
import shutil
import socket
import sys
import textwrap
import threading
import types

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scout"), str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scorelink import frames, handshake  # noqa: E402
from scorelink.munge import Refused  # noqa: E402
from scorelink.seal import CIPHER, Keys  # noqa: E402
from scoutkit import agents, fanout, hosts, loop, opening, pdsh, reach  # noqa: E402

ME = os.geteuid()


class Munge:
    """Credentials that anybody can read, and anybody can make: TEXT|USER."""

    def __init__(self, _=None):
        self.uid = ME

    def make(self, payload, reader):
        return f"{payload}|{self.uid}"

    def read(self, credential):
        text, _, uid = credential.rpartition("|")
        return text, int(uid)


class Node:
    """A port where one caller after the other is greeted as by scnoded; then behave(say, hear)."""

    def __init__(self, behave, uid=ME):
        self.behave, self.uid = behave, uid
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            caller, _ = self.socket.accept()
            caller.settimeout(10)
            try:
                self._greet(caller)
            except OSError:
                pass
            caller.close()

    def _greet(self, caller):
        decoder, waiting = frames.Decoder(), []
        decoder.expect(frames.preamble())

        sealed = []

        def say(head, body=b""):
            data = frames.encode(head, body)
            caller.sendall(sealed[0].push(data) if sealed else data)

        def hear():
            while not waiting:
                data = caller.recv(1 << 16)
                if not data:
                    raise OSError
                decoder.feed(data)
                waiting.extend(head for head, _ in decoder.messages())
            return waiting.pop(0)
        say({"op": "hello", "nonce": "0" * 32, "uid": self.uid})
        hello, keys = hear(), Keys()
        assert hello["credential"].startswith(
            f"connect scout 0 {'0' * 32} {hello['nonce']} {hello['key']} {CIPHER} 127.0.0.1:{self.port}|")
        say({"op": "welcome", "key": keys.public, "cipher": CIPHER, "credential":
             f"accept scout 0 {hello['nonce']} {'0' * 32} {keys.public} {CIPHER} 127.0.0.1:{self.port}|{self.uid}"})
        sealed.append(keys.seal(hello["key"], True))
        caller.sendall(sealed[0].opening)
        decoder.seal(sealed[0])
        self.behave(say, hear)


def agent(say, hear):
    """scnoded that has an agent, who does one run."""
    assert hear() == {"op": "remote"}
    say({"op": "remote_ready", "version": "1", "host": "x", "pid": 1})
    number = hear()["id"]
    say({"op": "out", "id": number, "stream": 1}, b"hello\n")
    say({"op": "ended", "id": number, "status": 0})


@pytest.fixture(autouse=True)
def munge(monkeypatch):
    monkeypatch.setattr(opening, "Munge", Munge)
    monkeypatch.delenv("SCORE_CLUSTER", raising=False)


def cluster(port, *names):
    made = hosts.Cluster()
    made.node_port = port
    made.addresses = dict.fromkeys(names, "127.0.0.1")
    return made


def run(port, rsh="scnoded", **more):
    return fanout.run(["n0"], ["true"], cluster=cluster(port, "n0"), rsh=rsh, connect=5, **more)["n0"]


# ---- scnoded ----

def test_scnoded__an_agent():
    done = run(Node(agent).port)
    assert (done.stdout, done.code, done.error) == (b"hello\n", 0, "")


def refuses(say, hear):
    hear()
    say({"op": "error", "error": "EPERM", "text": "agents are switched off here; start scnoded without --no-remote"})


@pytest.mark.parametrize("behave, said", [
    (refuses, "not reached: agents are switched off here; start scnoded without --no-remote"),
    (lambda say, hear: (hear(), say({"op": "ok"})), "not reached: its scnoded gives no agent"),
    (lambda say, hear: hear(), "not reached: scnoded there: the connection was closed")])
def test_scnoded__what_it_says_is_told(behave, said):
    done = run(Node(behave).port)
    assert (done.code, done.error) == (255, said)


def test_scnoded__of_another_user():
    done = run(Node(agent, uid=ME + 77).port)
    assert f"a program of user {ME + 77} listens there" in done.error


def test_scnoded__nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert run(port).error == f"not reached: port {port}: Connection refused"


def test_scnoded__silent_host_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        where = cluster(listener.getsockname()[1], "n0")
        done = fanout.run(["n0"], ["true"], cluster=where, rsh="scnoded", connect=0.1)
    assert done["n0"].error == "not reached: nothing was heard of it within 0.1 s"


def test_scnoded__unknown_name():
    done = fanout.run(["no.such.host.invalid"], ["true"], rsh="scnoded", connect=20)
    assert done["no.such.host.invalid"].error.startswith("not reached: no.such.host.invalid: ")


# ---- held ----

def way_of(port, rsh):
    return types.SimpleNamespace(rsh=rsh, connect=5, through="env", munge_socket=None, address=None, programs=None), \
        cluster(port, "n0")


def test_held__known_but_no_agent_before_go(monkeypatch):
    read, asked = [], []

    class Reader(Munge):
        def read(self, credential):
            read.append(credential)
            return super().read(credential)

    def behave(say, hear):
        asked.append(hear())
        say({"op": "remote_ready", "version": "1", "host": "x", "pid": 1})
        hear()
    monkeypatch.setattr(opening, "Munge", Reader)
    options, where = way_of(Node(behave).port, "auto")
    with loop.Loop() as turns, opening.reached(turns, ["n0"], where, options, True) as reached:
        turns.run_until(lambda: read)  # they know each other
        turns.call_later(0.05, lambda: read.append(None))
        turns.run_until(lambda: None in read)
        assert not asked and reached.all[0].state == agents.COMING
        reached.way.go()
        turns.run_until(reached.are_known)
        assert asked == [{"op": "remote"}] and reached.all[0].state == agents.READY


@pytest.mark.parametrize("rsh", ["exec", "auto"])
def test_held__pdsh_is_not_started_before_go(monkeypatch, rsh):
    started, failed = [], []

    class Start:
        def __init__(self, turns, names, *_):
            started.append(names)

        close = end = lambda self: None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setattr(pdsh, "Start", Start)
    monkeypatch.setattr(reach, "_GATHER_S", 0.01)
    options, where = way_of(port, rsh)
    with loop.Loop() as turns, opening.reached(turns, ["n0"], where, options, True) as reached:
        turns.call_later(0.1, lambda: failed.append(True))
        turns.run_until(lambda: failed)
        assert not started
        reached.way.go()
        assert started == [["n0"]]


# ---- the handshake ----

KEY = Keys().public


def listener_says(credential_of, uid=ME):
    said = []
    ours = handshake.Connector(Munge(), "scout", "1.2.3.4:5", said.append)
    ours.hear({"op": "hello", "nonce": "n1", "uid": uid})
    return ours.hear({"op": "welcome", "key": KEY, "cipher": CIPHER, "credential": credential_of(said[0]["nonce"])})


def test_connector__knows_the_listener():
    assert listener_says(lambda mine: f"accept scout 0 {mine} n1 {KEY} {CIPHER} 1.2.3.4:5|{ME}")
    for wrong in (lambda mine: f"accept scout 0 {mine} n1 {KEY} {CIPHER} 1.2.3.4:6|{ME}",
                  lambda mine: f"accept scout 0 x n1 {KEY} {CIPHER} 1.2.3.4:5|{ME}",
                  lambda mine: f"accept scout 7 {mine} n1 {KEY} {CIPHER} 1.2.3.4:5|{ME}",
                  lambda mine: f"accept scout 0 {mine} n1 {Keys().public} {CIPHER} 1.2.3.4:5|{ME}",
                  lambda mine: f"accept scout 0 {mine} n1 {KEY} {CIPHER} 1.2.3.4:5|{ME + 77}"):
        with pytest.raises(Refused):
            listener_says(wrong)
    with pytest.raises(Refused):
        listener_says(lambda mine: "", uid=ME + 77)


def test_decoder__strangers_have_to_be_brief():
    decoder, long = frames.Decoder(), frames.encode({"op": "hello"}, bytes(frames.STRANGER))
    decoder.expect(b"x")
    decoder.feed(b"x" + frames.encode({"op": "hello"}))
    assert [head for head, _ in decoder.messages()] == [{"op": "hello"}]
    decoder.feed(long[:8])
    with pytest.raises(frames.Broken):
        list(decoder.messages())
    decoder = frames.Decoder()
    decoder.expect(b"x")
    decoder.trust()
    decoder.feed(b"x" + long)
    assert len(list(decoder.messages())) == 1


def test_listener__lets_only_ourselves_in():
    def connector_says(uid=ME, role="remote", where="1.2.3.4:5", key=KEY, job=0, cipher=CIPHER):
        said = []
        ours = handshake.Listener(Munge(), "1.2.3.4:5", said.append)
        return ours.hear({"op": "hello", "nonce": "n2", "role": role, "key": key, "cipher": cipher,
                          "credential": f"connect {role} {job} {said[0]['nonce']} n2 {KEY} {CIPHER} {where}|{uid}"})
    assert connector_says()
    for wrong in ({"uid": ME + 77}, {"role": "scrun"}, {"where": "1.2.3.4:6"},
                  {"key": Keys().public}, {"job": 1}, {"cipher": "aes256gcm"}):
        with pytest.raises(Refused):
            connector_says(**wrong)


@pytest.mark.parametrize("address, text", [(("::ffff:10.0.0.1", 5, 0, 0), "10.0.0.1:5"),
                                           (("10.0.0.1", 5), "10.0.0.1:5"),
                                           (("fd00::1", 5, 0, 0), "[fd00::1]:5")])
def test_place__as_netaddr_has_it(address, text):
    assert handshake.place(address) == text


# ---- pdsh ----

needs_pdsh = pytest.mark.skipif(not shutil.which("pdsh"), reason="pdsh is not installed")
FAKE_AGENT = f"""#!{sys.executable}
    import socket, sys
    sys.path[:0] = {sys.path[:3]!r}
    from scorelink import frames
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    if words["--host"] == "n1":
        print("ssh: connect to host n1 port 22: No route to host", file=sys.stderr)
        sys.exit(255)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(words["--connect"])
        link.sendall(frames.encode({{"op": "remote_ready", "host": words["--host"], "key": words["--key"] * KEY}}))
        link.recv(65536)
        link.sendall(frames.encode({{"op": "ended", "id": 1, "status": 0}}))
        link.recv(65536)
    """


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A directory with a scremote; pdsh and its file of sockets are the real ones."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def make(key=1):
        path = tmp_path / "scremote"
        path.write_text(textwrap.dedent(FAKE_AGENT.replace("KEY", str(key))).replace("\n    ", "\n"))
        path.chmod(0o755)
        return str(tmp_path)
    return make


@needs_pdsh
def test_pdsh__agents_connect_back_and_its_words_are_kept(programs, tmp_path):
    done = fanout.run(["n0", "n1", "n2"], ["true"], rsh="exec", through="env", connect=10, programs=programs())
    assert [one.code for one in done.values()] == [0, 255, 0]
    assert done["n1"].error == "not reached: ssh: connect to host n1 port 22: No route to host"
    assert [path.name for path in tmp_path.iterdir()] == ["scremote"]


@needs_pdsh
def test_pdsh__wrong_key_is_not_let_in(programs):
    done = fanout.run(["n0"], ["true"], rsh="exec", through="env", connect=10, programs=programs(key=0))
    assert "not reached" in done["n0"].error


CROWD = """
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (900, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(600)]
    for one in crowd:
        one.connect(words["--connect"])
"""


@needs_pdsh
def test_pdsh__a_crowd_of_strangers_leaves_room_for_agents(programs, monkeypatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    begin = "    with socket.socket(socket.AF_UNIX) as link:"
    monkeypatch.setattr(sys.modules[__name__], "FAKE_AGENT", FAKE_AGENT.replace(begin, CROWD[1:] + begin))
    directory = programs()
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, hard))
    try:
        done = fanout.run(["n0"], ["true"], rsh="exec", through="env", connect=5, programs=directory)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done["n0"].code == 0


SILENT = """
    silent = socket.socket(socket.AF_UNIX)
    silent.connect(words["--connect"])
    silent.settimeout(5)
    assert silent.recv(1) == b""
"""


@needs_pdsh
def test_pdsh__who_says_nothing_is_shown_out(programs, monkeypatch):
    begin = "    with socket.socket(socket.AF_UNIX) as link:"
    monkeypatch.setattr(sys.modules[__name__], "FAKE_AGENT", FAKE_AGENT.replace(begin, SILENT[1:] + begin))
    monkeypatch.setattr(pdsh, "_SAY_S", 0.2)
    done = fanout.run(["n0"], ["true"], rsh="exec", through="env", connect=10, programs=programs())
    assert (done["n0"].code, done["n0"].error) == (0, "")


@needs_pdsh
def test_pdsh__after_scnoded_where_there_is_none(programs):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = fanout.run(["n0", "n1"], ["true"], cluster=cluster(port, "n0", "n1"), rsh="auto", through="env",
                      programs=programs())
    assert done["n0"].code == 0
    assert done["n1"].error == (f"not reached: port {port}: Connection refused; "
                                "ssh: connect to host n1 port 22: No route to host")


def test_pdsh__not_installed(monkeypatch, programs):
    directory = programs()
    monkeypatch.setenv("PATH", directory)
    done = fanout.run(["n0"], ["true"], rsh="ssh", programs=directory)
    assert done["n0"].error.startswith("not reached: pdsh is not installed")


@needs_pdsh
def test_programs__no_agent(tmp_path):
    done = fanout.run(["n0"], ["true"], rsh="exec", through="env", programs=str(tmp_path))
    assert "name its place with --programs" in done["n0"].error


def test_agents__gone_is_told_once():
    turns = type("Loop", (), {"now": lambda _: 0.0})()
    all_agents = agents.Agents(turns, ["n0"])
    told = []
    all_agents.changes.append(lambda agent: told.append(agent.why))
    all_agents.gone(all_agents.all[0], "a")
    all_agents.gone(all_agents.all[0], "b")
    assert told == ["a"]
