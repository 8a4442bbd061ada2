# SPDX-License-Identifier: BSD-3-Clause
"""scorelink.link: whom it talks to, and what it says of others; what a command loads of Python for its connections."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as some

TREE = pathlib.Path(__file__).resolve().parents[2]
PATHS = [str(TREE / part) for part in ("scout", "configs", "scheduler/ctl")]
sys.path[:0] = PATHS

from scorelink import frames, handshake, link  # noqa: E402
from scorelink.munge import Refused  # noqa: E402
from scorelink.seal import CIPHER  # noqa: E402

ME = os.geteuid()
LIMIT_S = 20
HEAVY = {"argparse", "asyncio", "contextlib", "dataclasses", "encodings.idna", "inspect", "pathlib", "shutil",
         "subprocess", "typing"}


VALUES = some.sampled_from(["", "n", "\ud800", "00" * 32, CIPHER, None, -1, ME, 1 << 70, True, [], {}])
HEADS = some.fixed_dictionaries(
    {"op": some.sampled_from(["hello", "welcome", "refused"]), "uid": some.just(ME) | VALUES},
    optional={name: VALUES for name in ("nonce", "key", "cipher", "credential", "text", "role")})


class Munge:
    """Credentials that anybody can read, and anybody can make: TEXT|USER."""

    uid = ME

    def __init__(self, _=None):
        pass

    def make(self, payload, _reader):
        return f"{payload}|{self.uid}"

    def read(self, credential):
        text, _, uid = credential.rpartition("|")
        return text, int(uid)


class Scored:
    """A listener that does the handshake with one caller, alter(head) what it says, and then behave(say, hear)."""

    def __init__(self, behave, alter=lambda head: head, munge=None):
        self._behave, self._alter, self._munge = behave, alter, munge or Munge()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        caller, _ = self._listener.accept()
        with caller:
            caller.settimeout(LIMIT_S)
            sealed, decoder = [], frames.Decoder()
            decoder.expect(frames.preamble(5))

            def say(head, body=b""):
                data = frames.encode(self._alter(head), body)
                caller.sendall(sealed[0].push(data) if sealed else data)

            def hear():
                message = decoder.message()
                while not message:
                    data = caller.recv(1 << 16)
                    if not data:
                        raise EOFError
                    decoder.feed(data)
                    message = decoder.message()
                return message[0]
            try:
                shake = handshake.Listener(self._munge, handshake.place(caller.getsockname()), say, 5, None)
                shake.hear(hear())
                sealed.append(shake.seal)
                caller.sendall(shake.seal.opening)
                decoder.seal(shake.seal)
                self._behave(say, hear)
                hear()
            except (EOFError, OSError, Refused, frames.Broken):
                pass    # the caller has gone


@pytest.fixture(autouse=True)
def munge(monkeypatch):
    monkeypatch.setattr(link, "Munge", Munge)


def answers(*messages):
    def behave(say, hear):
        hear()
        for head, body in messages:
            say(head, body)
    return behave


def linked(scored):
    return link.Link(scored.address, role="scrun", job=5)


def test_link__asks_and_is_answered():
    one = linked(Scored(answers(({"op": "jobs"}, b"first"), ({"op": "more"}, b""))))
    assert one.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert (one.ask({"op": "jobs"}), one.body) == ({"op": "jobs"}, b"first")
    assert (one.receive(), one.body, one.waiting) == ({"op": "more"}, b"", 0)
    one.socket.close()


def test_ask__refused():
    one = linked(Scored(answers(({"op": "error", "text": "not yours"}, b""))))
    with pytest.raises(Refused, match="^not yours$"):
        one.ask({"op": "cancel"})
    one.socket.close()


@pytest.mark.parametrize("altered, kind, said", [
    ({"op": "refused", "text": "it is full"}, Refused, "it is full"),
    ({"op": "refused"}, Refused, "refused"),
    ({"uid": ME + 77}, Refused, f"a program of user {ME + 77} listens there, neither root nor ourselves"),
    ({"uid": "x"}, link.Unreachable, "what answers there is no scored; name its host with --server or $SCORE_SERVER"),
    ({"nonce": "\ud800"}, link.Unreachable,
     "what answers there is no scored; name its host with --server or $SCORE_SERVER"),
    ({"op": 1}, link.Unreachable, "what answers there is no scored; name its host with --server or $SCORE_SERVER")])
def test_link__a_hello_that_is_none(altered, kind, said):
    scored = Scored(answers(), lambda head: {**head, **altered})
    with pytest.raises(kind) as refusal:
        linked(scored)
    assert str(refusal.value) == f"scored at {scored.address}: {said}"


def test_link__of_another_user():
    class Other(Munge):
        uid = ME + 77
    scored = Scored(answers(), munge=Other())
    with pytest.raises(Refused) as refusal:
        linked(scored)
    assert str(refusal.value) == (f"scored at {scored.address}: who answers there is user {ME + 77}, neither root nor "
                                  "ourselves")


def test_link__nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = "127.0.0.1:%d" % listener.getsockname()[1]
    with pytest.raises(link.Unreachable) as problem:
        link.Link(place)
    assert str(problem.value) == (f"scored at {place}: Connection refused; start it there, or name it with --server or "
                                  "$SCORE_SERVER")


def test_link__a_name_that_is_no_ascii():
    with pytest.raises(link.Unreachable, match="scored at \u00f6"):
        link.Link("\u00f6" * 64)


class Blunt:
    """Takes texts as libmunge does, and believes all."""

    @staticmethod
    def make(payload, _reader):
        return payload.encode().decode()

    @staticmethod
    def read(credential):
        return credential.encode().decode(), ME


@given(some.lists(HEADS, max_size=3))
def test_hear__any_heads(heads):
    """They are the other side's handshake, or Refused, or Broken."""
    for make in (lambda: handshake.Connector(Blunt, "scout", "h:1", frames.encode),
                 lambda: handshake.Listener(Blunt, "h:1", frames.encode, serves=None)):
        ours = make()
        with contextlib.suppress(Refused, frames.Broken):
            for head in heads:
                ours.hear(head)


def loaded(work):
    """The modules that a Python as scout's has loaded when it has done the work."""
    done = subprocess.run(["/usr/bin/python3", "-IS", "-c", f"import sys; sys.path[:0] = {PATHS}; {work}; "
                           "print(*sys.modules)"], capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return set(done.stdout.split())


def test_scout__loads_nothing_that_takes_long():
    """Each of these takes a millisecond or more."""
    work = "import scoutkit.main, scoutkit.lease, scoutkit.opening, socket; from scorelink import link; " \
           "socket.getaddrinfo(link.plain('localhost'), 7710)"
    assert not HEAVY & loaded(work)


def test_scout__in_a_session_needs_no_credentials():
    assert not {"ctypes", "threading", "scorelink.seal"} & loaded("import scoutkit.main, scoutkit.inside, "
                                                                  "scoutkit.shell")
