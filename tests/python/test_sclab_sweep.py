# SPDX-License-Identifier: BSD-3-Clause
"""Labs that are tied to a process: whether it has ended, and which ones `sclab sweep` removes. Of files only."""
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lab"))

from labkit import cli, maker, plan, state, sweep, teardown, vmcli  # noqa: E402


@pytest.fixture(autouse=True)
def own_base(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "BASE", str(tmp_path / "labs"))
    monkeypatch.setattr(state, "NETNS", str(tmp_path / "netns"))
    monkeypatch.delenv("SCLAB_NAME", raising=False)
    monkeypatch.delenv("SCLAB_MAKER", raising=False)


def make_state(lab, tied=(), **fields):
    options = plan.Options(lab, (2,), nics=1)
    new = state.new_state(options, plan.make_plan(options), tied)
    for name, value in fields.items():
        setattr(new, name, value)
    os.makedirs(new.directory)
    new.save()
    return new


def tied_to(monkeypatch, pid):
    monkeypatch.setenv("SCLAB_MAKER", str(pid))
    return maker.of_environment()


@pytest.fixture(name="living")
def living_maker(monkeypatch):
    """This process."""
    return tied_to(monkeypatch, os.getpid())


@pytest.fixture(name="killed")
def killed_maker(monkeypatch):
    """Nobody has waited for it yet: a process without memory still bears its pid."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        found = tied_to(monkeypatch, process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield found


def test_of_environment__none():
    assert maker.of_environment() == []


@pytest.mark.parametrize("text, status", [("me", 2), ("-1", 2), ("0", 2), ("1 2", 2), ("9" * 10, 4), ("9" * 11, 2)])
def test_main__maker_that_is_no_process(text, status, monkeypatch, capsys):
    monkeypatch.setenv("SCLAB_MAKER", text)
    monkeypatch.setattr(os, "geteuid", lambda: 1)       # no lab is made here, whatever is wrong
    assert cli.main(["up"]) == status
    said = capsys.readouterr().err
    assert said.startswith("sclab: ") and text in said and said.count("\n") == 1
    assert not os.path.exists(state.BASE)


def test_has_ended__killed(killed):
    assert maker.has_ended(make_state("lab", killed))


def test_has_ended__is_on_record(living, killed):
    make_state("a", living)
    make_state("b", killed)
    assert [maker.has_ended(state.load(name)) for name in "ab"] == [False, True]


def test_has_ended__never_without_a_maker():
    assert not maker.has_ended(make_state("lab"))
    assert not maker.has_ended(make_state("other", boot="another"))


def test_has_ended__pid_used_again(living):
    pid, start, namespace = living
    assert maker.has_ended(make_state("lab", [pid, start - 1, namespace]))


def test_has_ended__not_where_pids_mean_others(killed):
    pid, start, namespace = killed
    assert not maker.has_ended(make_state("lab", [pid, start, namespace + 1]))


def test_has_ended__in_an_earlier_boot(living):
    assert maker.has_ended(make_state("lab", living, boot="another"))


def test_list__shows_makers(living, killed, capsys):
    make_state("killed", killed)
    make_state("living", living, phase=state.UP)
    make_state("person", phase=state.UP)
    assert cli.main(["list"]) == 0
    assert capsys.readouterr().out == (f"killed  building  maker {killed[0]} has ended\n"
                                       f"living  up  maker {living[0]}\nperson  up\n")


def test_sweep__labs_whose_maker_has_ended(living, killed, capfd):
    make_state("half", killed)
    make_state("killed", killed, phase=state.UP)
    make_state("going", killed, phase=state.GOING)
    make_state("living", living, phase=state.UP)
    make_state("person", phase=state.UP)
    make_state("started")
    os.makedirs(state.directory_of("empty"))
    assert sweep.sweep([]) == 0
    assert state.names() == ["living", "person", "started"]
    out, err = capfd.readouterr()
    assert [line.split("'")[1] for line in out.splitlines()] == ["going", "half", "killed"] and not err
    assert out.endswith(f"lab 'killed' is removed: its maker, process {killed[0]}, has ended\n")
    assert sweep.sweep([]) == 0
    assert capfd.readouterr() == ("", "")


def test_sweep__those_named(living, killed, capfd):
    for name in ("one", "two"):
        make_state(name, killed)
    make_state("living", living)
    assert sweep.sweep(["living", "two"]) == 0
    assert state.names() == ["living", "one"]
    assert sweep.sweep(["none", "one"]) == 3
    assert state.names() == ["living"]
    assert capfd.readouterr().err == "sclab: lab 'none' is not up\n"


def test_sweep__one_that_has_gone_meanwhile(monkeypatch, capfd):
    monkeypatch.setattr(state, "names", lambda: ["gone"])
    assert sweep.sweep([]) == 0
    assert capfd.readouterr() == ("", "")


def test_sweep__goes_on_after_one_that_fails(killed, capfd):
    make_state("damaged", killed)
    with open(f"{state.directory_of('damaged')}/state.json", "w", encoding="utf-8") as f:
        f.write("{")
    make_state("killed", killed)
    make_state("other", killed)
    os.makedirs(f"{state.directory_of('killed')}/unknown")
    assert sweep.sweep([]) == 1
    assert state.names() == ["damaged", "killed"]
    err = capfd.readouterr().err.splitlines()
    assert sweep.sweep(["killed"]) == 1
    assert len(err) == 2 and "state.json is damaged" in err[0] and err[1].startswith("sclab: lab 'killed': ")


def test_sweep__waits_for_who_builds(living, killed, monkeypatch, capfd):
    monkeypatch.setattr(state, "LOCK_TIMEOUT", 1)
    make_state("built", killed)
    make_state("killed", killed)
    with state.locked("built"):
        assert sweep.sweep([]) == 4
    assert state.names() == ["built"]
    assert "another sclab" in capfd.readouterr().err
    make_state("living", living)
    with state.locked("living"):
        assert sweep.sweep(["living"]) == 0


def test_down__asks_again_when_it_is_locked(killed):
    """Another lab may have got the name while the first lock was held."""
    make_state("lab", killed)
    seen = []
    assert not teardown.down("lab", lambda found: seen.append(found.maker))
    assert seen == [killed] and state.names() == ["lab"]
    assert teardown.down("lab")
    assert state.names() == []


@pytest.mark.parametrize("words, status", [(["A b"], 2), (["--all"], 2)])
def test_main__words_of_sweep(words, status, capsys):
    assert cli.main(["sweep", *words]) == status
    assert capsys.readouterr().err.startswith("sclab: ")


def test_main__sweep_needs_root(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    assert cli.main(["sweep"]) == 5
    assert "needs root" in capsys.readouterr().err


def test_environment__maker_is_no_process_of_a_guest(living):
    assert living and "SCLAB_MAKER" not in vmcli.environment("lab", "h0")
