# SPDX-License-Identifier: BSD-3-Clause
"""The command line and the state file of sclab, as far as they need no namespace."""
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lab"))

from labkit import cli, ethernet, plan, run, state  # noqa: E402
from labkit.errors import LabError  # noqa: E402


@pytest.fixture(autouse=True)
def own_base(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "BASE", str(tmp_path / "labs"))
    monkeypatch.delenv("SCLAB_NAME", raising=False)


def make_state(lab="lab", **fields):
    options = plan.Options(lab, (2,), nics=1)
    new = state.new_state(options, plan.make_plan(options))
    for name, value in fields.items():
        setattr(new, name, value)
    os.makedirs(new.directory)
    new.save()
    return new


@pytest.mark.parametrize("argv, wanted", [
    (["up"], ("lab", "up", [])),
    (["--name", "a", "up", "--hosts", "2"], ("a", "up", ["--hosts", "2"])),
    (["up", "--hosts", "2", "--name=a"], ("a", "up", ["--hosts", "2"])),
    (["exec", "--name", "a", "h0", "cmd", "--name", "b"],
     ("a", "exec", ["h0", "cmd", "--name", "b"])),
    (["rsh-agent", "h0", "cmd", "--name=b"], ("lab", "rsh-agent", ["h0", "cmd", "--name=b"])),
    ([], ("lab", "help", []))])
def test_split__name_and_command(argv, wanted):
    assert cli.split(argv) == wanted


def test_split__name_from_environment(monkeypatch):
    monkeypatch.setenv("SCLAB_NAME", "env")
    assert cli.split(["down"])[0] == "env"
    assert cli.split(["down", "--name", "given"])[0] == "given"


@pytest.mark.parametrize("argv, status", [
    (["frobnicate"], 2), (["up", "--hosts"], 2), (["up", "--hosts", "2", "--grid", "2x2"], 2),
    (["up", "--rate", "fast"], 2), (["--name"], 2), (["--name", "A b", "up"], 2),
    (["config"], 3), (["status", "--frob"], 2), (["exec", "h0"], 125), (["rsh-agent"], None)])
def test_main__one_line_and_a_status(argv, status, capsys):
    got = cli.main(argv)
    text = capsys.readouterr().err
    assert text.startswith("sclab: ") and text.count("\n") == 1
    assert got == (255 if status is None else status)


def test_main__help(capsys):
    assert cli.main(["help"]) == 0
    assert all(f"\n  {command}" in capsys_text for command in cli.COMMANDS
               for capsys_text in [cli.HELP])
    assert capsys.readouterr().out.startswith("usage: sclab")


def test_parse_up__options():
    options, shared = cli.parse_up("lab", ["--hosts", "4", "--nics", "2", "--rate", "1gbit", "--mtu",
                                           "9000", "--loss", "1%", "--seed", "7", "--queue", "64k",
                                           "--share", "/tmp/x", "--ethernet", "--mode", "native", "--burst", "32k",
                                           "--fast-uplinks", "--limiter", "htb", "--spread",
                                           "--scheduler", "--cores", "2", "--quantum", "20ms"])
    assert options == plan.Options("lab", (4,), False, 2, 9000, 10**9, 65536, 10000, 7,
                                   ethernet=True, mode="native", burst=32768,
                                   fast_uplinks=True, limiter="htb", spread=True,
                                   scheduler=True, cores="2", quantum="20ms")
    assert shared == ["/tmp/x"]


def test_arguments__mode_of_the_daemon_only_where_one_was_named():
    saved = make_state()
    found = [ethernet.arguments(plan.make_plan(plan.Options("lab", (2,), ethernet=True, mode=mode)), saved)
             for mode in ("auto", "native")]
    assert found == [["--nics", "eth1"], ["--nics", "eth1", "--mode", "native"]]
    with pytest.raises(LabError, match="--ethernet too"):
        plan.make_plan(plan.Options("lab", (2,), mode="native"))


def test_parse_targets__nics_by_switch():
    lab = plan.make_plan(plan.Options("lab", (3,), nics=2))
    (one,), value = cli.parse_targets("rate", lab, ["h1:eth2", "1gbit"], "RATE")
    assert (one[0].name, [n.host for n in one[1]], value) == ("sw2", ["h1"], "1gbit")
    every, _ = cli.parse_targets("rate", lab, ["--all", "1gbit"], "RATE")
    assert [(s.name, len(n)) for s, n in every] == [("sw1", 3), ("sw2", 3)]


@pytest.mark.parametrize("target, status", [
    ("h1:eth0", 2), ("h1", 2), ("h9:eth1", 3), ("h1:eth9", 3), (":", 2)])
def test_parse_targets__refused(target, status):
    lab = plan.make_plan(plan.Options("lab", (3,), nics=2))
    with pytest.raises(LabError) as caught:
        cli.parse_targets("rate", lab, [target, "1gbit"], "RATE")
    assert caught.value.status == status


def test_state__comes_back_as_saved():
    saved = make_state(phase=state.UP, holder=12)
    assert state.load("lab") == saved
    assert state.load_running("lab") == saved


@pytest.mark.parametrize("text", ['{"options":', '[]', '{}', '{"options": {}}', '{"options": {"shape": [], "new": 1}}'])
def test_state__damaged_file_is_an_error_with_its_path(text):
    saved = make_state()
    with open(f"{saved.directory}/state.json", "w", encoding="utf-8") as f:
        f.write(text)
    with pytest.raises(LabError, match="state.json is damaged"):
        state.load("lab")


def test_load_running__says_which_labs_are_up():
    make_state("other", phase=state.UP)
    with pytest.raises(LabError, match="--name: other") as caught:
        state.load_running("lab")
    assert caught.value.status == 3


def test_load_running__half_built():
    make_state()
    with pytest.raises(LabError, match="is building"):
        state.load_running("lab")


def test_load_running__of_an_earlier_boot():
    make_state(phase=state.UP, boot="another")
    with pytest.raises(LabError, match="going down"):
        state.load_running("lab")


def test_locked__directory_of_the_lab():
    with state.locked("lab"):
        assert os.path.isdir(state.directory_of("lab"))
        state.remove_directory("lab")
    assert not os.path.exists(state.BASE)


def test_locked__second_waits_and_gives_up(monkeypatch):
    monkeypatch.setattr(state, "LOCK_TIMEOUT", 0.05)
    with state.locked("lab"):
        with pytest.raises(LabError, match="another sclab") as caught:
            with state.locked("lab"):
                pass
    assert caught.value.status == 4


def test_remove_directory__leaves_other_labs():
    make_state("other")
    make_state("lab")
    state.remove_directory("lab")
    assert state.names() == ["other"]


def test_resolve__names_and_addresses():
    saved = make_state()
    with open(f"{saved.directory}/hosts", "w", encoding="utf-8") as f:
        f.write("127.0.0.1\tlocalhost\n10.0.0.2\th1\n10.1.0.2\th1-eth1\n")
    assert [run.resolve(saved, n) for n in ("h0", "10.0.0.2", "10.1.0.2", "h1-eth1", "h7")] == \
        ["h0", "h1", "h1", "h1", "h7"]
