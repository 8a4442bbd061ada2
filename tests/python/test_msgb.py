# SPDX-License-Identifier: BSD-3-Clause
"""msgb and msgblock over a scored that is made of answers."""

import json
import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from scorectl import command  # noqa: E402
from scorelink.munge import Refused  # noqa: E402
from scoutkit import lease, msgb, msgblock  # noqa: E402

LOCK = {"id": 3, "uid": 0, "hosts": ["n1", "n2"], "mode": "exclusive", "reason": "disks", "place": "front 12",
        "since": 100, "left_s": 50}
WAITING = {"uid": 4999, "hosts": ["n2", "n3", "n4"], "count": 2, "mode": "shared", "reason": "", "place": "",
           "since": 190, "position": 0}
ALL = {"op": "locks", "locks": [LOCK], "waiting": [WAITING], "jobs": [{"id": 9, "uid": 0, "hosts": ["n7"]}],
       "now_ns": 200 * 10 ** 9}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """(words, answer) of msgb -> (exit code, stdout, stderr, requests)."""
    monkeypatch.setenv("SCORE_CLUSTER", str(tmp_path / "cluster.json"))
    hosts = [{"name": f"n{number}"} for number in range(9)]
    (tmp_path / "cluster.json").write_text(json.dumps({"hosts": hosts, "groups": [{"name": "low", "hosts": [0, 1]}]}))

    def go(arguments, answer):
        asked = []

        class FakeLink:
            def ask(self, head):
                asked.append(head)
                if answer["op"] == "error":
                    raise Refused(answer["text"])
                return json.loads(json.dumps(answer))
        monkeypatch.setattr(command, "connect", lambda name, args: FakeLink())
        monkeypatch.setattr(sys, "argv", ["msgb", *arguments])
        try:
            code = msgb.main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err, asked
    return go


def test_msgb__table(run):
    code, out, _, asked = run([], ALL)
    assert code == 0 and asked == [{"op": "locks"}]
    for word in ("root", "exclusive", "n[1-2]", "1:40", "50s", "disks", "front 12", "4999", "2 of n[2-4]", "10s", "n7"):
        assert word in out


def test_msgb__nothing(run):
    out = run([], {**ALL, "locks": [], "waiting": [], "jobs": []})[1]
    assert out == "locks: none\nwaiting: nobody\njobs: none\n"


def test_msgb__of_some_hosts(run):
    seen = json.loads(run(["--json", "-g", "low"], ALL)[1])
    assert [entry["user"] for entry in seen["locks"]] == ["root"] and not seen["waiting"] and not seen["jobs"]
    seen = json.loads(run(["--json", "--hosts", "n[3,7]"], ALL)[1])
    assert not seen["locks"] and seen["waiting"] and seen["jobs"]


def test_msgb__what_is_no_number(run):
    err = run(["--release", "x"], {"op": "ok"})[2]
    assert err.endswith("argument --release: 'x': wanted is a number of a lock\n")


def test_msgb__release(run):
    assert run(["--release", "3"], {"op": "ok"}) == (0, "lock 3: released\n", "", [{"op": "unlock", "id": 3}])
    assert run(["--release", "3"], {"op": "error", "text": "it is ann's"})[:3] == (1, "", "msgb: it is ann's\n")


def test_msgb__a_reason_cannot_command_the_terminal(run):
    out = run([], {**ALL, "locks": [{**LOCK, "reason": "\x1b]0;x\x07"}]})[1]
    assert "\x1b" not in out and "?]0;x?" in out


@pytest.mark.parametrize("arguments", [["--release", "x"], ["--release", "3", "-g", "low"], ["-g", "n["], ["more"],
                                       ["--watch", "0"]])
def test_msgb__wrong_calls(run, arguments):
    assert run(arguments, ALL)[0] == 2


# ---- msgblock ----

class FakeLease:
    """Given at once, unless an exception is told."""

    trouble = None
    asked = {}

    def __init__(self, hosts, **how):
        self.hosts = hosts
        self.lost = self.on_lost = None
        self.is_released = False
        FakeLease.asked = {"hosts": hosts, **how}
        FakeLease.last = self

    def take(self):
        if FakeLease.trouble:
            raise FakeLease.trouble
        return self.hosts

    def release(self):
        self.is_released = True


@pytest.fixture
def block(monkeypatch, capfd, tmp_path):
    """(words, trouble) of msgblock -> (exit code, stdout, stderr)."""
    monkeypatch.delenv("SCORE_CLUSTER", raising=False)
    monkeypatch.setattr(msgblock, "Lease", FakeLease)
    monkeypatch.setattr(msgblock.signal, "signal", lambda *_: None)

    def go(*arguments, trouble=None):
        FakeLease.trouble = trouble
        monkeypatch.setattr(sys, "argv", ["msgblock", *arguments])
        try:
            code = msgblock.main()
        except SystemExit as end:
            code = end.code
        out, err = capfd.readouterr()
        return code, out, err
    return go


def test_msgblock__runs_with_its_hosts(block, tmp_path):
    code, out, err = block("-g", "n[1-3]", "-n", "2", "--scatter", "-reason", "disks", "-machinefile",
                           str(tmp_path / "list"), "sh", "-c", "echo $MSGBLOCK_HOSTS; exit 4")
    assert (code, out, err) == (4, "n[1-3]\n", "")
    assert (tmp_path / "list").read_text() == "n1\nn2\nn3\n"
    asked = FakeLease.asked
    assert (asked["count"], asked["scatter"], asked["reason"], asked["mode"], asked["wait"]) == \
        (2, True, "disks", "exclusive", False)
    assert FakeLease.last.is_released


def test_msgblock__options_of_the_command_are_its_own(block):
    assert block("-g", "n1", "echo", "-n", "--help", "-g")[:2] == (0, "--help -g")
    assert block("-g", "n1", "--", "sh", "-c", "kill -9 $$")[0] == 137


@pytest.mark.parametrize("trouble, code, text", [
    (lease.Busy("n1 is locked by ann"), 3, "n1 is locked by ann; -wait waits for its turn"),
    (Refused("only operators"), 3, "only operators"), (lease.TooLong("not within 1 s"), 124, "not within 1 s")])
def test_msgblock__no_lock(block, trouble, code, text):
    assert block("-g", "n1", "true", trouble=trouble) == (code, "", f"msgblock: {text}\n")


@pytest.mark.parametrize("words, code", [(("/no/such",), 127), (("/etc",), 126)])
def test_msgblock__no_command(block, words, code):
    assert block("-g", "n1", *words)[0] == code and FakeLease.last.is_released


@pytest.mark.parametrize("arguments", [(), ("-g", "n1"), ("-g", "n1", "--"), ("true",), ("-g", "n[", "true"),
                                       ("-g", "n1", "-n", "0", "true"),
                                       ("-g", "n1", "-n", "2", "true"), ("-g", "n1", "-timeout", "0", "true"),
                                       ("-g", "n1", "-machinefile", "/no/such", "true")])
def test_msgblock__wrong_calls(block, arguments):
    assert block(*arguments)[0] == 2
