# SPDX-License-Identifier: BSD-3-Clause
"""scqueue, scancel, scinfo and sctop over a link that is made of answers."""

import copy
import errno
import json
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scorectl import activity, cancel, checks, command, info, pool, queue, scnodeds, server, top, words  # noqa: E402
from scorelink import link  # noqa: E402
from scorelink.munge import Refused  # noqa: E402

S = 10**9
RUNNING = {"id": 7, "uid": 0, "state": "running", "class": "shared", "priority": 0, "ranks": 4, "cores": 1,
           "submitted": 90, "started": 100, "cpu_ns": 0, "rows": 1, "name": "cg", "argv": ["cg"], "cwd": "/",
           "hosts": [{"name": "n10", "ranks": 2, "cpu_ns": 0}, {"name": "n9", "ranks": 2, "cpu_ns": 0}]}
QUEUED = {"id": 8, "uid": 4999, "state": "queued", "class": "exclusive", "priority": 0, "ranks": 64, "cores": 1,
          "submitted": 110, "started": 0, "cpu_ns": 0, "rows": 0, "hosts": [], "position": 0,
          "why": "64 cores of its own"}
ENDED = {"id": 3, "uid": 0, "state": "ended", "ranks": 2, "n_hosts": 1, "submitted": 10, "started": 20, "ended": 50,
         "name": "old", "code": 137, "text": "rank 1 on n1 was killed by signal 9 (Killed)"}
HOST = {"name": "n9", "address": "10.0.0.9:7711", "version": "1", "kernel": "6.1", "cgroups": "v2", "n_cores": 2,
        "memory": 8 << 30, "clock_ns": 1, "pm": "", "is_realtime": True, "state": "up", "note": "", "cores_used": 2,
        "load": 2.0, "memory_free": 4 << 30, "skew_ns": 3000, "rows": [[7, 7], [0, 9]],
        "switches": {"done": 100, "late": 0, "worst_ns": 0, "lost_ns": 0}}
CLUSTER = {"op": "cluster", "name": "lab", "version": "1", "quantum_ns": 200000000, "n_rows": 2, "altered": 0,
           "hosts": [{**HOST, "name": "n10"}, HOST]}


class FakeLink:
    """Answers each request with what a function says; keeps the requests."""

    server = "head"

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def ask(self, head):
        self.asked.append(head)
        answer = self.answer(head)
        if answer["op"] == "error":
            raise Refused(answer["text"])
        return copy.deepcopy(answer)

    receive = None


@pytest.fixture
def run(monkeypatch, capsys):
    """(module, words, answer) -> (exit code, stdout, stderr, requests)."""
    def go(module, arguments, answer):
        fake = FakeLink(answer if callable(answer) else lambda _: answer)
        monkeypatch.setattr(command, "connect", lambda *_: fake)
        monkeypatch.setattr(sys, "argv", [module.NAME, *arguments])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            monkeypatch.setattr(signal, "signal", lambda *_: None)
        try:
            code = module.main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err, fake.asked
    return go


def test_run__names_what_is_full(capsys):
    def work(*where):
        raise OSError(errno.ENOSPC, "No space left on device", *where)
    assert command.run("scqueue", work) == command.UNREACHABLE
    assert command.run("scqueue", lambda: work("/var/x")) == command.UNREACHABLE
    assert capsys.readouterr().err.splitlines() == [
        "scqueue: standard output: No space left on device; make room, or name another place for it",
        "scqueue: /var/x: No space left on device"]


# ---- words ----

@pytest.mark.parametrize("count, text", [(0, "0s"), (59, "59s"), (61, "1:01"), (3600, "1:00:00"), (90061, "1d 01:01"),
                                         (-5, "0s")])
def test_duration(count, text):
    assert words.duration(count) == text


@pytest.mark.parametrize("count, text", [(0, "0"), (500, "500 ns"), (-1500, "-1.5 us"), (2 * S, "2.0 s")])
def test_time_ns(count, text):
    assert words.time_ns(count) == text


def test_size():
    assert (words.size(512), words.size(8 << 30)) == ("512 B", "8192 MiB")


def test_hosts__folded_in_the_order_of_their_numbers():
    assert words.hosts(["n10", "n9", "n11", "n9"]) == "n[9-11]"
    assert words.hosts([]) == "-"


def test_user__unknown_number_stays():
    assert (words.user(0), words.user(3999999999)) == ("root", "3999999999")


# ---- where scored is ----

def test_address__option_environment_file_this_host(monkeypatch, tmp_path):
    path = tmp_path / "cluster.json"
    monkeypatch.delenv("SCORE_SERVER", raising=False)
    monkeypatch.setenv("SCORE_CLUSTER", str(path))
    assert server.address() == "localhost"
    path.write_text('{"scheduler": {"server": "head"}}')
    assert server.address() == "head"
    path.write_text('{"scheduler": {"server": "fd00::1", "port": 9}}')
    assert server.address() == "[fd00::1]:9"
    path.write_text('[1]')
    assert server.address() == "localhost"
    monkeypatch.setenv("SCORE_SERVER", "front:1")
    assert server.address() == "front:1"
    assert server.address("other") == "other"


@pytest.mark.parametrize("text, place", [("head", ("head", 7710)), ("head:1", ("head", 1)),
                                         ("fd00::1", ("fd00::1", 7710)), ("[fd00::1]:2", ("fd00::1", 2))])
def test_address_of(text, place):
    assert link.address_of(text) == place


# ---- scqueue ----

def test_scqueue__table(run):
    code, out, _, asked = run(queue, ["--history", "5"], {"op": "jobs", "jobs": [QUEUED, ENDED, RUNNING]})
    assert code == 0 and asked == [{"op": "jobs", "history": 5}]
    for word in ("root", "running", "4 x 2", "cg", "n[9-10]", "4999", "queued", "64 cores of its own", "ended", "old",
                 "rank 1 on n1 was killed"):
        assert word in out
    assert out.index("cg") < out.index("64 cores") < out.index("old")


def test_scqueue__times_by_the_clock_of_scored(run, monkeypatch):
    monkeypatch.setattr(words.time, "time", lambda: 10 ** 6)
    answer = {"op": "jobs", "jobs": [{**QUEUED, "submitted": 100}]}
    assert "50s" in run(queue, [], {**answer, "now_ns": 150 * 10 ** 9})[1]
    assert "11d" in run(queue, [], answer)[1]


def test_scqueue__program_of_others_is_not_told(run):
    assert queue.row(QUEUED, 120)["name"] == "-"
    assert queue.row({**ENDED, "code": 0, "text": ""}, 60)["remark"] == "went well"
    stranger = {key: value for key, value in ENDED.items() if key not in ("name", "code", "text")}
    assert queue.row(stranger, 60) | {"name": "-", "remark": "-", "since": "10s"} == queue.row(stranger, 60)


def test_scqueue__one_user(run):
    _, out, _, _ = run(queue, ["--user", "4999", "--json"], {"op": "jobs", "jobs": [RUNNING, QUEUED]})
    assert [job["id"] for job in json.loads(out)] == [8]


def test_scqueue__a_name_cannot_command_the_terminal(run):
    evil = {**RUNNING, "name": "\x1b]0;x\x07[bold]boo"}
    _, out, _, _ = run(queue, [], {"op": "jobs", "jobs": [evil]})
    assert "\x1b" not in out and "\x07" not in out and "?]0;x?[bold]boo" in out


def test_scqueue__nothing_to_show(run):
    assert run(queue, [], {"op": "jobs", "jobs": []})[:2] == (0, "no jobs\n")


@pytest.mark.parametrize("arguments, said", [(["--history", "0"], "number from 1"),
                                             (["--user", "no-such"], "no such user"),
                                             (["--watch", "0"], "number of seconds"), (["x"], "unrecognized")])
def test_scqueue__wrong_calls(run, arguments, said):
    code, out, err, _ = run(queue, arguments, {"op": "jobs", "jobs": []})
    assert (code, out) == (2, "") and said in err


# ---- scancel ----

def test_scancel__each_job_is_told(run):
    def answer(head):
        return {"op": "ok", "count": 1} if head["id"] == 7 else {"op": "error", "text": "there is no job 9 of yours"}
    code, out, err, asked = run(cancel, ["7", "9"], answer)
    assert (code, out, err) == (1, "job 7: cancelled\n", "scancel: there is no job 9 of yours\n")
    assert asked == [{"op": "cancel", "id": 7}, {"op": "cancel", "id": 9}]


@pytest.mark.parametrize("text", ["USR1", "sigusr1", "10"])
def test_scancel__signals(run, text):
    code, out, _, asked = run(cancel, ["7", "--signal", text], {"op": "ok", "count": 1})
    assert (code, out, asked[0]["signal"]) == (0, "job 7: SIGUSR1 sent\n", 10)


def test_scancel__all(run):
    assert run(cancel, ["--all"], {"op": "ok", "count": 2})[:2] == (0, "2 jobs: cancelled\n")
    assert run(cancel, ["--all"], {"op": "ok", "count": 0})[:2] == (0, "you have no job\n")
    assert json.loads(run(cancel, ["--all", "--json"], {"op": "ok", "count": 2})[1]) == {"count": 2}


@pytest.mark.parametrize("arguments", [[], ["--all", "3"], ["0"], ["x"], ["3", "--signal", "NOPE"],
                                       ["3", "--signal", "99"]])
def test_scancel__wrong_calls(run, arguments):
    code, out, err, asked = run(cancel, arguments, {"op": "ok"})
    assert (code, out, asked) == (2, "", []) and err.startswith("usage")


# ---- scinfo ----

def test_scinfo__summary_hosts_and_one(run):
    code, out, _, _ = run(info, [], CLUSTER)
    assert code == 0 and "lab: scored 1 at head, 2 hosts, 4 of 4 cores used, quantum 200 ms, 2 rows" in out
    assert "n[9-10]" in out and "finding" not in out
    code, out, _, _ = run(info, ["--hosts"], CLUSTER)
    assert code == 0 and "4096 MiB" in out and "3.0 us" in out and out.index(" n9 ") < out.index(" n10 ")
    code, out, _, _ = run(info, ["n10"], CLUSTER)
    assert code == 0 and "10.0.0.9:7711" in out and "core 1" in out
    code, out, err, _ = run(info, ["n11"], CLUSTER)
    assert (code, out) == (1, "") and "host n11 is not in the cluster" in err


def test_scinfo__whose_lock(run):
    locked = {**HOST, "lock": {"id": 3, "uid": 4999, "reason": "disks", "since": 5}, "note": "slow"}
    for arguments in ([], ["--hosts"], ["n9"]):
        assert "slow; locked by 4999: disks" in run(info, arguments, {**CLUSTER, "hosts": [locked]})[1]
    _, out, _, _ = run(info, ["--json"], CLUSTER)
    assert json.loads(out)["hosts"][0]["remark"] == ""


def test_scinfo__a_host_never_seen(run):
    never = {"name": "n1", "state": "absent", "note": "", "cores_used": 0, "load": 0.0, "memory_free": 0, "skew_ns": 0,
             "rows": [[], []], "switches": HOST["switches"]}
    for arguments in ([], ["--hosts"], ["n1"], ["--json"]):
        assert run(info, arguments, {**CLUSTER, "hosts": [HOST, never]})[0] == 0
    code, out, _, _ = run(info, ["--check", "--json"], {**CLUSTER, "hosts": [HOST, never]})
    assert code == 1 and [f["where"] for f in json.loads(out)] == ["n1"]


def test_scinfo__drain_names_each_host(run):
    code, out, _, asked = run(info, ["--drain", "n[9-10]", "--note", "fan"], {"op": "ok"})
    assert (code, out) == (0, "n9: drained\nn10: drained\n")
    assert asked[1] == {"op": "drain", "state": "drained", "text": "fan", "host": "n10"}
    code, out, err, _ = run(info, ["--undrain", "n9"], {"op": "error", "text": "only operators may do that"})
    assert (code, out, err) == (1, "", "scinfo: only operators may do that\n")
    assert run(info, ["--drain", "n[9"], {"op": "ok"})[0] == 2


def test_scinfo__wait_for_hosts(run, monkeypatch):
    there = {"op": "activity", "hosts": [{"name": "n10", "state": "up"}, {"name": "n9", "state": "up"},
                                         {"name": "n8", "state": "absent"}]}
    code, out, _, asked = run(info, ["--wait", "2", "--json"], there)
    assert code == 0 and json.loads(out) == {"hosts": ["n9", "n10"]} and asked[0]["op"] == "activity"
    monkeypatch.setattr(info, "_WAIT_S", -1)
    code, out, err, _ = run(info, ["--wait", "3"], there)
    assert (code, out) == (1, "") and "2 hosts of 3 registered" in err


@pytest.mark.parametrize("arguments", [["--note", "x"], ["n9", "--hosts"], ["--hosts", "--check"], ["--drain"],
                                       ["--wait", "0"], ["--wait", "many"], ["--wait", "2", "n9"]])
def test_scinfo__wrong_calls(run, arguments):
    assert run(info, arguments, CLUSTER)[0] == 2


@pytest.mark.parametrize("change, weight, words_of_it", [
    ({"state": "absent", "note": "it said nothing for 3 s"}, "trouble", ("said nothing", "scnoded")),
    ({"version": "0"}, "trouble", ("OpenSCore 0", "one version")),
    ({"skew_ns": -5 * 10**6}, "trouble", ("-5.0 ms", "NTP")),
    ({"cgroups": "none"}, "trouble", ("no cgroups", "root")),
    ({"state": "drained", "note": "fan"}, "note", ("fan", "--undrain")),
    ({"is_realtime": False}, "note", ("real-time", "CAP_SYS_NICE")),
    ({"switches": {"done": 10, "late": 5, "worst_ns": 10**6, "lost_ns": 1}}, "note", ("5 of 10", "1.0 ms")),
])
def test_judge__one_fault_one_finding(change, weight, words_of_it):
    found = checks.judge({**CLUSTER, "hosts": [HOST, {**HOST, "name": "n10", **change}]})
    assert [(f.weight, f.where) for f in found] == [(weight, "n10")]
    for word in words_of_it:
        assert word in found[0].what + found[0].remedy


def test_judge__all_is_well():
    assert checks.judge(CLUSTER) == []


# ---- sctop ----

def moment(now_s, cpu_s, **changes):
    host = {**HOST, "switches": {"done": 100 + 10 * now_s, "late": now_s, "worst_ns": 5, "lost_ns": 10**7 * now_s}}
    return {**CLUSTER, "op": "activity", "now_ns": now_s * S, "hosts": [host],
            "jobs": [{**RUNNING, "cpu_ns": int(cpu_s * S), **changes}]}


def test_frame__shares_and_efficiency():
    """4 ranks in one of 2 rows: 4 s of their cores are 2 s of turns each, of which 90 % were used."""
    frame = activity.frame(moment(104, 7.2), moment(100, 0))
    job, host = frame["jobs"][0], frame["hosts"][0]
    assert (job["turns"], job["since"], frame["seconds"]) == (1, "4s", 4)
    assert abs(job["cpu"] - 0.45) < 1e-9 and abs(job["efficiency"] - 0.9) < 1e-9
    assert (host["switches_per_s"], host["late"]) == (10, 4) and abs(host["lost"] - 0.01) < 1e-9


def test_frame__what_is_not_known():
    first = activity.frame(moment(100, 5), moment(100, 5))
    assert first["jobs"][0]["cpu"] is None and first["hosts"][0]["lost"] is None
    idle = activity.frame(moment(104, 0.1, state="idle", rows=0), moment(100, 0))
    assert idle["jobs"][0]["efficiency"] is None and idle["jobs"][0]["turns"] is None
    new = activity.frame(moment(104, 1), {**moment(100, 0), "jobs": [], "hosts": []})
    assert new["jobs"][0]["cpu"] is None and new["hosts"][0]["late"] == 0


def test_frame__another_scnoded_counts_from_zero():
    young = moment(104, 1)
    young["hosts"][0]["switches"] = {"done": 3, "late": 1, "worst_ns": 5, "lost_ns": 0}
    assert activity.frame(young, moment(100, 0))["hosts"][0]["late"] == 1


def test_frames__span():
    answers = [moment(second, second - 100.) for second in range(100, 110)]
    assert [frame["seconds"] for frame in top.frames(answers, 5)] == [1, 2, 3, 4, 5, 5, 5, 5, 5]


def test_frames__when_the_clock_of_scored_is_set_back():
    answers = [moment(second, count) for count, second in enumerate([100, 101, 102, 50, 51, 52])]
    assert [frame["seconds"] for frame in top.frames(answers, 5)] == [1, 2, 1, 2]


def test_sctop__once(run, monkeypatch):
    for arguments, check in (([], lambda out: "90 %" in out and "7 7 | . 9" in out and "1 of 2" in out),
                             (["--json"], lambda out: json.loads(out)["jobs"][0]["efficiency"] == pytest.approx(0.9))):
        monkeypatch.setattr(FakeLink, "receive", lambda _: moment(104, 7.2))
        code, out, _, asked = run(top, ["--once", *arguments], moment(100, 0))
        assert code == 0 and check(out) and asked == [{"op": "activity", "every_s": 2.0}]


# ---- scpool ----

def test_agents__script_for_ssh_and_for_a_command(monkeypatch):
    calls = []

    def called(words_of_it, env, **_):
        calls.append(words_of_it)
        assert env["PDSH_SSH_ARGS_APPEND"] == "-F mine -oBatchMode=yes"
        return subprocess.CompletedProcess(words_of_it, 0, "", None)
    monkeypatch.setenv("PDSH_SSH_ARGS_APPEND", "-F mine")
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/pdsh")
    monkeypatch.setattr(subprocess, "run", called)
    scnodeds.Scnodeds(["n0", "n1"], "/tmp/pool").up("/opt/a b/scnoded", "head:1", None, [])
    scnodeds.Scnodeds(["n0"], "/tmp/pool", ["enter", "%h"]).down()
    by_ssh, by_command = calls
    assert by_ssh[by_ssh.index("-R") + 1:-1] == ["ssh", "-w", "n0,n1"]
    assert "'/opt/a b/scnoded' --server head:1 --listen 0" in by_ssh[-1]
    assert "--run /tmp/pool.$(uname -n | cut -d. -f1)/run" in by_ssh[-1]
    assert by_command[by_command.index("-R") + 1:-1] == ["exec", "-w", "n0", "enter", "%h", "sh", "-c"]
    assert "rm -rf /tmp/pool.%h" in by_command[-1] and "-exec rmdir {} \\;" in by_command[-1]


@pytest.mark.parametrize("arguments, said", [([], "COMMAND"), (["up"], "HOSTS"), (["up", "n[0"], "at character"),
                                             (["down", "--", "x"], "takes no command"),
                                             (["up", "n0", "--name", "/"], "name of"),
                                             (["down", "--name", "no-such-pool"], "there is no private cluster")])
def test_scpool__wrong_calls(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(sys, "argv", ["scpool", *arguments])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    try:
        code = pool.main()
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert code in (1, 2) and out == "" and said in err


# ---- answers of a scored that lies ----

STRANGE = (None, [], {"x": 1}, "text", -1, 1 << 70, 1.5, 1e308)


def variants(value, at=()):
    """(where, the value with one part of it missing, or another)."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, one in items:
        def made(new, key=key):
            return {**value, key: new} if isinstance(value, dict) else [new if i == key else v for i, v in items]
        if key == "op":
            continue
        yield from (((*at, key, repr(new)), made(new)) for new in STRANGE)
        if isinstance(value, dict):
            yield (*at, key, "missing"), {k: v for k, v in items if k != key}
        if isinstance(one, (dict, list)):
            yield from ((where, made(new)) for where, new in variants(one, (*at, key)))


@pytest.mark.parametrize("module, words_of, answer", [
    (info, [], CLUSTER), (info, ["--hosts"], CLUSTER), (info, ["n9"], CLUSTER), (info, ["--check"], CLUSTER),
    (info, ["--json"], CLUSTER), (queue, [], {"op": "jobs", "jobs": [RUNNING, QUEUED, ENDED]}),
    (cancel, ["--all"], {"op": "ok", "count": 1})])
def test_strange_answers__a_line_and_no_traceback(run, module, words_of, answer):
    for where, strange in variants(answer):
        code, _, err, _ = run(module, words_of, strange)
        assert code in (0, 1, 3), where
        assert code != 3 or ("makes no sense" in err and err.count("\n") == 1), where


def test_cores_beyond_number__no_column_for_each(run):
    code, out, _, _ = run(info, ["n9"], {**CLUSTER, "hosts": [{**HOST, "n_cores": 10**9}]})
    assert code == 0 and "core 1" in out and "core 2" not in out


@pytest.mark.parametrize("module, arguments", [(info, []), (cancel, ["7"]), (queue, [])])
def test_refusal__its_control_characters(run, module, arguments):
    _, out, err, _ = run(module, arguments, {"op": "error", "text": "no\x1b]0;t\x07\x9b2J\u202e\rx"})
    assert "no?]0;t??2J??x\n" in err and "\x1b" not in out + err
