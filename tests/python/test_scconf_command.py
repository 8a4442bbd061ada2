# SPDX-License-Identifier: BSD-3-Clause
"""The command scconf as a user runs it: exit codes, output, files left behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import document, emit, options, schema  # noqa: E402
from pmtopo.resolve import resolve  # noqa: E402

SCCONF = str(TREE / "configs" / "scconf")
EXAMPLES = sorted((TREE / "configs" / "examples").glob("*.toml"))
GOLDEN = TREE / "tests" / "golden" / "scconf"
GOOD = '[[hosts]]\nrange = "n[0-3]"\n'
BAD = '[[hosts]]\nrange = "n[0-"\n'


def scconf(*args, **kwargs):
    return subprocess.run([SCCONF, *map(str, args)], capture_output=True, text=True, timeout=60,
                          **kwargs)


def one_clear_line(run, *words):
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in run.stderr, run.stderr


@pytest.fixture
def toml(tmp_path):
    """Writes a cluster.toml and gives its path."""
    def write(text):
        path = tmp_path / "cluster.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path
    return write


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_check__every_example_passes(example):
    run = scconf("check", example)
    assert (run.returncode, run.stderr) == (0, "")
    assert "ok" in run.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_show__every_example_prints_tables(example):
    run = scconf("show", example, env={**os.environ, "COLUMNS": "100"})
    assert (run.returncode, run.stderr) == (0, "")
    assert "hosts" in run.stdout
    assert len(run.stdout.splitlines()) < 120


def test_examples__are_the_four_promised():
    assert {path.stem for path in EXAMPLES} == {"two-host-lab", "flat-32", "pacs-cs",
                                                "grid-4x4x4"}


@pytest.mark.parametrize("name", ["two-host-lab", "flat-32", "grid-4x4x4"])
def test_show_json__equals_the_golden_file(name):
    run = scconf("show", "--json", TREE / "configs" / "examples" / f"{name}.toml")
    assert run.stdout == (GOLDEN / f"{name}.json").read_text()


@pytest.mark.parametrize("case", [pytest.param(path, id=path.stem)
                                  for path in sorted(GOLDEN.glob("*.bad.toml"))])
def test_check__reports_of_bad_files_equal_the_golden_ones(case):
    run = scconf("check", case.name, cwd=GOLDEN)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == case.with_suffix(".txt").read_text()


def test_compile__writes_what_show_prints(toml, tmp_path):
    path = toml(GOOD)
    run = scconf("compile", path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    text = (tmp_path / "cluster.json").read_text()
    assert text == scconf("show", "--json", path).stdout
    assert json.loads(text)["version"] == 1


def test_compile__same_input_same_bytes(toml, tmp_path):
    path = toml((TREE / "configs/examples/flat-32.toml").read_text())
    scconf("compile", path, "-o", tmp_path / "a.json")
    scconf("compile", path, "-o", tmp_path / "b.json", env={**os.environ, "PYTHONHASHSEED": "7"})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_compile__bad_file_writes_nothing(toml, tmp_path):
    run = scconf("compile", toml(BAD))
    assert run.returncode == 2
    assert "cluster.toml:2: hosts[0].range: " in run.stderr
    assert "nothing written" in run.stderr
    assert os.listdir(tmp_path) == ["cluster.toml"]


def test_compile__bad_file_keeps_the_old_output(toml, tmp_path):
    (tmp_path / "cluster.json").write_text("old")
    assert scconf("compile", toml(BAD)).returncode == 2
    assert (tmp_path / "cluster.json").read_text() == "old"


def test_compile__output_that_cannot_be_written(toml, tmp_path):
    path = toml(GOOD)
    for output in (tmp_path / "no" / "x.json", tmp_path, "/proc/x.json"):
        run = scconf("compile", path, "-o", output)
        assert run.returncode == 1, output
        one_clear_line(run, "cannot be written")
    assert os.listdir(tmp_path) == ["cluster.toml"]


def test_compile__output_is_the_input(toml, tmp_path):
    path = toml(GOOD)
    (tmp_path / "link.json").symlink_to(path)
    for output in (path, tmp_path / "link.json"):
        run = scconf("compile", path, "-o", output)
        assert run.returncode == 1
        one_clear_line(run, "is the input itself")
    assert path.read_text() == GOOD


def test_compile__follows_a_link_and_keeps_permissions(toml, tmp_path):
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    assert scconf("compile", toml(GOOD), "-o", tmp_path / "link.json").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(real.read_text())["hosts"]
    assert real.stat().st_mode & 0o777 == 0o640


def test_compile__new_file_obeys_the_umask(toml, tmp_path):
    subprocess.run(["sh", "-c", 'umask 027 && exec "$0" compile "$1"', SCCONF, toml(GOOD)],
                   check=True, timeout=60)
    assert (tmp_path / "cluster.json").stat().st_mode & 0o777 == 0o640


def test_write__name_taken_by_somebody_else(toml, tmp_path, monkeypatch):
    """Without nameless files: what lies at the temporary name is replaced, never written to."""
    cluster, _ = resolve(document.load(str(toml(GOOD))))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.link(victim, tmp_path / f".scconf-{os.getpid()}")
    monkeypatch.setattr(emit, "_open_nameless", lambda folder: None)
    emit.write(cluster, str(tmp_path / "cluster.json"))
    assert victim.read_text() == "precious"
    assert json.loads((tmp_path / "cluster.json").read_text())["hosts"]
    assert sorted(os.listdir(tmp_path)) == ["cluster.json", "cluster.toml", "victim"]


def test_compile__full_disk_leaves_nothing(toml, tmp_path):
    """A limit on the file size makes the write fail in the middle, as a full disk does."""
    (tmp_path / "cluster.json").write_text("old")
    run = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 8 && exec "$0" compile "$1"',
                          SCCONF, toml('[[hosts]]\nrange = "n[0-9999]"\n')],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    one_clear_line(run, "cannot be written", "nothing written")
    assert sorted(os.listdir(tmp_path)) == ["cluster.json", "cluster.toml"]
    assert (tmp_path / "cluster.json").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_compile__interrupted_at_any_time_shows_old_or_whole_file(toml, tmp_path, number):
    """Interrupts ever later; a reader finds the old file or the whole new one each time."""
    path = toml('[[hosts]]\nrange = "n[0-19999]"\naddress = "10.[1-2].[0-99].[0-99]"\n')
    output = tmp_path / "cluster.json"
    scconf("compile", path)
    whole = output.read_bytes()
    start = time.monotonic()
    scconf("compile", path)
    span = time.monotonic() - start
    seen = set()
    for step in range(10):
        output.write_bytes(b"old")
        process = subprocess.Popen([SCCONF, "compile", path], stderr=subprocess.DEVNULL)
        try:
            # the first ones early: on a busy machine the span was perhaps a long one
            process.wait(span * ((step + 1) / 9) ** 2)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        process.wait(30)
        content = output.read_bytes()
        assert content in (b"old", whole)
        seen.add(content)
    assert b"old" in seen
    assert sorted(os.listdir(tmp_path)) == ["cluster.json", "cluster.toml"]


@pytest.mark.parametrize("content, words", [
    (b"", ["empty"]),
    (b" \n\n", ["empty"]),
    (b"\xff\xfe[hosts]", [":1: byte 0xff is not UTF-8"]),
    (b"a = 1\n# \xe4\n", [":2: byte 0xe4 is not UTF-8"]),
    (b"a = 1\n\x00", [":2: not valid TOML"]),
    (b"a = [1,\n2\n", ["not valid TOML", 'add the closing "]"']),
    (b"a = 1\na = 2\n", [":2: not valid TOML", "given twice"]),
    (b"a = " + b"[" * 10000, ["nested too deeply"]),
    (b"a = " + b"9" * 5000, ["not valid TOML"]),
    (b"a = yes\n", [":1: not valid TOML", "quotes"]),
])
def test_check__unusable_content(toml, content, words):
    run = scconf("check", toml(content))
    assert run.returncode == 2
    one_clear_line(run, "cluster.toml", *words)


def test_check__bom_and_crlf_are_fine(toml):
    run = scconf("check", toml(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()))
    assert (run.returncode, run.stderr) == (0, "")


def test_check__unusable_files(tmp_path):
    secret = tmp_path / "secret.toml"
    secret.write_text(GOOD)
    secret.chmod(0)
    for path, word in ((tmp_path, "is a directory"), (tmp_path / "no.toml", "no such file"),
                       ("/dev/zero", "longer than"), (secret / "x", "cannot be read")):
        run = scconf("check", path)
        assert run.returncode in (1, 2), path
        one_clear_line(run, word)
    if os.geteuid() == 0:
        setpriv = ["setpriv", "--reuid=65534", "--clear-groups"]
        tmp_path.chmod(0o755)
        run = subprocess.run([*setpriv, "cat", SCCONF], capture_output=True, timeout=60)
        if run.returncode:
            return  # the tree itself is out of an unprivileged user's reach
        run = subprocess.run([*setpriv, SCCONF, "check", secret], capture_output=True, text=True,
                             timeout=60)
    else:
        run = scconf("check", secret)
    assert run.returncode == 1
    one_clear_line(run, "cannot be read: Permission denied")


def test_check__file_from_a_pipe():
    run = scconf("check", "/dev/stdin", input=GOOD)
    assert run.returncode == 0


def test_arguments__wrong_ones_give_1():
    for args in ((), ("nonsense",), ("check",), ("check", "a", "b"), ("show", "--nope", "x")):
        run = scconf(*args)
        assert run.returncode == 1, args
        assert "usage" in run.stderr


def test_help__names_commands_and_exit_codes():
    run = scconf("--help")
    assert run.returncode == 0
    commands = ("check", "compile", "show", "env", "route", "generate", "detect", "diff", "import")
    for word in (*commands, "Exit status"):
        assert word in run.stdout
    page = (TREE / "configs" / "man" / "scconf.1").read_text()
    for command in commands:
        helped = scconf(command, "--help")
        assert helped.returncode == 0 and f".It Cm {command}\n" in page
        for option in set(re.findall(r"--([a-z]+)", helped.stdout)) - {"help", "output"}:
            assert f"Fl -{option}" in page, (command, option)


def test_manual__examples_are_valid():
    page = (TREE / "configs" / "man" / "cluster.toml.5").read_text()
    examples = page.split(".Sh EXAMPLES\n")[1].split(".Bd -literal -offset indent\n")[1:]
    assert len(examples) == 2
    for example in examples:
        run = scconf("check", "/dev/stdin", input=example.split(".Ed")[0])
        assert (run.returncode, run.stderr) == (0, "")


def test_manual__names_every_key():
    page = (TREE / "configs" / "man" / "cluster.toml.5").read_text()
    for table in (schema.ROOT, *(schema.ROOT.keys[key] for key in ("cluster", "topology")),
                  schema.ROOT.keys["hosts"].item, schema.ROOT.keys["networks"].free[1]):
        for key in table.keys:
            assert re.search(rf"(Cm|Bq Cm) {key}\b", page), key
    for key in options.KEYS:
        assert key in page, key


def test_show__reader_that_stops_early(toml):
    path = toml('[[hosts]]\nrange = "n[0-9999]"\n')
    process = subprocess.Popen([SCCONF, "show", "--json", path], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(60)
    process.stderr.close()


def test_show__ascii_terminal(toml):
    run = scconf("show", toml(GOOD), env={"PATH": os.environ["PATH"], "LC_ALL": "C",
                                          "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert run.returncode == 0
    assert "n3" in run.stdout


def test_env__line_of_cluster_and_host():
    path = TREE / "configs" / "examples" / "flat-32.toml"
    common = scconf("env", path).stdout
    assert common == ("PM_OPTIONS=devices=self+shmem+udp,udp.rails=eth1+eth2,udp.mtu=9000,"
                      "udp.port=47000,shmem.large=ring,channel.crc=1,"
                      "channel.peer_timeout=20000\n")
    assert scconf("env", path, "n000").stdout == common
    assert scconf("env", path, "n016").stdout == common.replace("mtu=9000", "mtu=1500")


def test_env__unknown_host():
    run = scconf("env", TREE / "configs/examples/flat-32.toml", "n99")
    assert run.returncode == 1
    one_clear_line(run, 'no host "n99"')


def test_command__works_through_a_link(tmp_path):
    link = tmp_path / "scconf"
    link.symlink_to(SCCONF)
    run = subprocess.run([link, "check", EXAMPLES[0]], capture_output=True, cwd="/", timeout=60)
    assert run.returncode == 0
