# SPDX-License-Identifier: BSD-3-Clause
"""sc_watch: what it does when, in virtual time; its options; processes are in tests/system/sc-watch.t."""

import json
import os
import pathlib
import random
import sys
from types import SimpleNamespace

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("scout", "scheduler/ctl", "configs")]

from scoutkit import fanout  # noqa: E402
from scoutkit.watchdog import command, core, log, probe, process  # noqa: E402
from scoutkit.watchdog.core import Settings, Watch  # noqa: E402


class World:
    """Plays the runner: keeps what was done and what was said, and lets time pass."""

    def __init__(self, **settings):
        self.watch = Watch(Settings(**settings))
        self.now = 0.0
        self.done, self.log = [], []
        self.is_up = False
        self.do(self.watch.begin(self.now))

    def do(self, actions):
        for action in actions:
            if action[0] == "say":
                self.log.append(action[1])
                continue
            self.done.append(action)
            if action[0] == "start":
                assert not self.is_up, "two daemons at once"
                self.is_up = True
                self.do(self.watch.started(self.now, 7))

    def take(self):
        """The actions done since the last call."""
        done, self.done = self.done, []
        return done

    def ends(self, how="exit 1"):
        self.is_up = False
        self.do(self.watch.ended(self.now, how))

    def probed(self, why=""):
        self.do(self.watch.probed(self.now, why))

    def hooked(self, name, why=""):
        self.do(self.watch.hooked(self.now, name, why))

    def stop(self):
        self.do(self.watch.stop(self.now))

    def until(self, end):
        """Time goes from deadline to deadline."""
        while (at := self.watch.deadline()) is not None and at <= end:
            assert at >= self.now
            self.now = at
            self.do(self.watch.time(at))
        self.now = end


def failing(world, times):
    """The seconds between an end and the next start, so many times."""
    pauses = []
    for _ in range(times):
        began = world.now
        world.ends()
        world.take()
        assert world.watch.deadline() is not None, "it has given up"
        world.until(world.watch.deadline())
        assert world.is_up
        pauses.append(world.now - began)
    return pauses


def test_begin__ready_at_once_when_nobody_asks():
    world = World()
    assert world.take() == [("start",), ("ready",)] and world.watch.deadline() is None


def test_ended__started_anew_with_growing_pauses():
    world = World(pause_s=1, retries=None)
    assert failing(world, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_ended__many_failures_overflow_nothing():
    world = World(retries=None)
    world.watch.count = 10_000
    assert failing(world, 1) == [60]


@pytest.mark.parametrize("retries", [0, 1, 10])
def test_ended__gives_up(retries):
    world = World(retries=retries)
    failing(world, retries)
    world.take()
    world.ends()
    assert world.take() == [("exit", 1)] and world.log[-1] == "gave_up"


def test_ended__healthy_for_long_enough_counts_anew():
    world = World(retries=2, healthy_s=100)
    failing(world, 2)
    world.until(world.now + 100)
    assert failing(world, 2) == [1, 2]
    world.until(world.now + 99)
    world.take()
    world.ends()
    assert world.take() == [("exit", 1)]


def test_ended__ready_is_told_once():
    world = World()
    failing(world, 1)
    world.ends()
    world.until(world.now + 60)
    assert ("ready",) not in world.take()


# ---- hooks ----

def test_hooks__one_after_the_other():
    world = World(hooks=("local", "remote"))
    world.take()
    world.ends("killed by signal 9")
    assert world.take() == [("hook", "local", "killed by signal 9", 1)]
    world.hooked("local", "exit 3")
    assert world.take() == [("hook", "remote", "killed by signal 9", 1)] and world.log[-1] == "hook_failed"
    world.hooked("remote")
    assert world.take() == []
    world.until(world.now + 1)
    assert world.take() == [("start",)]


def test_hooks__one_that_hangs_is_killed():
    world = World(hooks=("local",), hook_s=60)
    world.take()
    world.ends()
    world.until(59)
    assert world.take() == [("hook", "local", "exit 1", 1)]
    world.until(60)
    assert world.take() == [("drop_hook",)]
    world.hooked("local", "killed by signal 9")
    world.until(61)
    assert world.take() == [("start",)]


def test_hooks__giving_up():
    world = World(retries=0, hooks=("local",), has_give_up=True)
    world.take()
    world.ends()
    world.hooked("local")
    assert world.take() == [("hook", "local", "exit 1", 1), ("hook", core.GIVE_UP, "exit 1", 1)]
    world.hooked(core.GIVE_UP, "exit 9")
    assert world.take() == [("exit", 1)]


# ---- probes ----

def probing(**settings):
    return World(**{"has_probe": True, "every_s": 10, "within_s": 5, "tries": 3, "grace_s": 4} | settings)


def test_probe__rhythm():
    world = probing()
    assert world.take() == [("start",)]
    world.until(1)
    assert world.take() == [("probe",)]
    world.until(2)
    world.probed()
    assert world.take() == [("ready",)]
    world.until(11.9)
    assert world.take() == []
    world.until(12)
    world.probed()
    assert world.take() == [("probe",)]


def test_probe__more_often_than_a_second():
    world = probing(every_s=0.25)
    world.until(0.25)
    assert world.take() == [("start",), ("probe",)]


def test_probe__silent_is_ended_and_started_anew():
    world = probing(tries=2)
    world.take()
    world.until(1)
    world.probed("exit 1: refused")
    world.until(11)
    assert world.take() == [("probe",), ("probe",)]
    world.probed("exit 1: refused")
    assert world.take() == [("end", False)] and world.log[-1] == "silent"
    world.until(14)
    world.ends("killed by signal 15")
    assert world.log[-1] == "restart" and world.take() == []
    world.until(15)
    assert world.take() == [("start",)]


def test_probe__one_that_hangs_is_a_bad_one():
    world = probing(tries=1)
    world.until(6)
    assert world.take() == [("start",), ("probe",), ("drop_probe",), ("end", False)]
    world.until(10)
    assert world.take() == [("end", True)] and world.watch.deadline() is None
    world.ends("killed by signal 9")
    world.until(11)
    assert world.take() == [("start",)]


def test_probe__reason_of_the_hook_is_the_silence():
    world = probing(tries=1, hooks=("local",))
    world.until(1)
    world.probed("exit 3")
    world.ends("killed by signal 15")
    assert world.take()[-1] == ("hook", "local", "silent: exit 3", 1)


def test_probe__a_good_one_forgives():
    world = probing(tries=2)
    for why in ("bad", "", "bad", "", "bad"):
        world.until(world.watch.deadline())
        world.probed(why)
    assert ("end", False) not in world.take()


def test_probe__the_daemon_ends_meanwhile():
    world = probing()
    world.until(1)
    world.take()
    world.ends()
    assert world.take() == [("drop_probe",)]
    world.until(2)
    assert world.take() == [("start",)]
    world.until(3)
    assert world.take() == [("probe",)]


# ---- the end ----

def test_stop__up():
    world = probing()
    world.until(1)
    world.take()
    world.stop()
    assert world.take() == [("drop_probe",), ("end", False)]
    world.until(4.9)
    assert world.take() == []
    world.until(5)
    assert world.take() == [("end", True)]
    world.ends("killed by signal 9")
    assert world.take() == [("exit", 0)] and world.log[-1] == "stopped"


def test_stop__while_it_is_being_ended():
    world = probing(tries=1)
    world.until(1)
    world.probed("bad")
    world.take()
    world.until(3)
    world.stop()
    assert world.take() == []
    world.until(5)
    assert world.take() == [("end", True)]
    world.ends()
    assert world.take() == [("exit", 0)]


def test_stop__in_a_hook():
    world = World(hooks=("local", "remote"))
    world.ends()
    world.take()
    world.stop()
    assert world.take() == [("drop_hook",)]
    world.hooked("local", "killed by signal 9")
    assert world.take() == [("exit", 0)]


def test_stop__in_a_pause():
    world = World()
    world.ends()
    world.take()
    world.stop()
    assert world.take() == [("exit", 0)]


def test_stop__twice():
    world = World()
    world.stop()
    world.take()
    world.stop()
    assert world.take() == []


def test_watch__whatever_happens_it_ends():
    """Random events in any order: never are there two daemons, and a stop ends it."""
    seed = random.randrange(1 << 32)
    print(f"# seed {seed}")
    chance = random.Random(seed)
    for _ in range(300):
        world = World(retries=None, has_probe=chance.random() < 0.5, hooks=("local",) * chance.randrange(2), tries=2)
        for _ in range(60):
            _random_step(world, chance)
        world.stop()
        for _ in range(9):
            if ("exit", 0) in world.done:
                break
            _answer_all(world)
        assert ("exit", 0) in world.done and not world.is_up
        assert world.watch.deadline() is None


def _asked(world, name):
    """Whether the last action of that kind was not answered."""
    about = [action for action in world.done if action[0] in (name, f"drop_{name}") or action == ("answered", name)]
    return bool(about) and about[-1][0] != "answered"


def _random_step(world, chance):
    what = chance.choice(("time", "time", "ends", "probe", "hook"))
    if what == "time" and world.watch.deadline() is not None:
        world.until(world.watch.deadline())
    elif what == "ends" and world.is_up and chance.random() < 0.3:
        world.ends()
    elif what == "probe" and _asked(world, "probe") and world.done[-1] == ("probe",):
        world.done.append(("answered", "probe"))
        world.probed(chance.choice(("", "bad")))
    elif what == "hook" and _asked(world, "hook"):
        world.done.append(("answered", "hook"))
        world.hooked("local", chance.choice(("", "bad")))


def _answer_all(world):
    if world.is_up:
        world.ends()
    elif _asked(world, "hook"):
        world.done.append(("answered", "hook"))
        world.hooked("local")


# ---- the probe of scored ----

@pytest.mark.parametrize("words, address", [
    ([], "localhost:7710"), (["--listen", "4711"], "localhost:4711"), (["--listen=10.0.0.1:4711"], "10.0.0.1:4711"),
    (["--listen", "0.0.0.0:4711"], "localhost:4711"), (["--listen", "[::1]:4711"], "[::1]:4711")])
def test_probe_of_scored(words, address):
    found = probe.of(["/usr/local/sbin/scored", *words])
    assert pathlib.Path(found[0]) == TREE / "scheduler/ctl/scinfo" and found[1:] == ["--json", "--server", address]


def test_probe_of_scored__config_and_munge(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"scheduler": {"server": "head", "port": 4711}}))
    found = probe.of(["scored", "--config", str(path), "--munge-socket", "/m"])
    assert found[2:] == ["--server", "localhost:4711", "--munge-socket", "/m"]


def test_probe_of__none():
    assert probe.of(["scnoded"]) is None and probe.of(["scored", "--listen", "0"]) is None


# ---- the command ----

@pytest.mark.parametrize("words, said", [
    ([], "which daemon?"), (["-n", "3"], "which daemon?"), (["-n", "-1", "--", "true"], "number of retries"),
    (["-t", "x", "--", "true"], "number of seconds"), (["-r", "true", "--", "true"], "-g and -r go together"),
    (["-g", "n[", "-r", "true", "--", "true"], "at character"), (["--", "/no/such/daemon"], "no such program"),
    (["-f", "/no/such/log", "--", "true"], "/no/such/log")])
def test_command__wrong_call(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["sc_watch", *words])
    try:
        code = command.main()
    except SystemExit as end:
        code = end.code
    assert code == 2 and said in capsys.readouterr().err


def test_log__a_name_that_is_no_text(tmp_path):
    log.Log("d\udcff", tmp_path / "log").say("started", "pid 7")
    assert "sc_watch: d\\udcff: started: pid 7" in (tmp_path / "log").read_text()


def test_log__a_pipe_that_nobody_reads(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        log.Log("d", tmp_path / "pipe")


def test_remote_hook__fails_when_it_fails_on_one(monkeypatch, capsys):
    """The words that run there carry the reason; what hosts say is told with their names."""
    asked = []

    def run(hosts, words, timeout, output_max):
        assert timeout < 60 and output_max < 1 << 20
        asked.append((hosts, words))
        well = SimpleNamespace(error="", status=0, stdout=b"clea\x1b[2Jned\n", stderr=b"")
        return {"n1": well, "n2": SimpleNamespace(error="", status=256, stdout=b"", stderr=b"no\n"),
                "n3": SimpleNamespace(error="not reached", status=None, stdout=b"", stderr=b"")}
    monkeypatch.setattr(fanout, "run", run)
    code = command._remote("clean", ["n1", "n2", "n3"])("exit 3", 2)()
    assert asked == [(["n1", "n2", "n3"], ["/usr/bin/env", "SC_WATCH_REASON=exit 3", "SC_WATCH_COUNT=2", "/bin/sh",
                                          "-c", "clean"])]
    assert (code, capsys.readouterr().err) == (1, "n1: clea?[2Jned\nn2: no\nn2: exit 1\nn3: not reached\n")


@pytest.mark.parametrize("status, text", [(0, ""), (3 << 8, "exit 3"), (9, "killed by signal 9 (SIGKILL)"),
                                          (64, "killed by signal 64 (SIGRTMAX)")])
def test_ending(status, text):
    assert process.ending(status) == text
