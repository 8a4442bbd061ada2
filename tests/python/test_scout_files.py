# SPDX-License-Identifier: BSD-3-Clause
"""scout -put and -get, over fake agents."""

import hashlib
import json
import os
import types

import pytest

from fakeagent import FakeAgents, files

from scoutkit import get, put, tree


def options(*words, timeout=None, output="merge"):
    return types.SimpleNamespace(words=list(words), verbose=False, timeout=timeout, output=output)


CLUSTER = types.SimpleNamespace(address=lambda host: f"10.0.0.{host[1:]}")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.out"
    path.write_bytes(os.urandom(2_500_000))
    path.chmod(0o751)
    return path


def stores(tmp_path, *names):
    """A directory for each."""
    for name in names:
        (tmp_path / name).mkdir()
    return {name: files(tmp_path / name) for name in names}


# ---- where and by whom ----

@pytest.mark.parametrize("words, pairs", [
    (["a", "/x/b"], [("a", "/x/b")]), (["d/a", "/x/"], [("d/a", "/x/a")]), (["a", "."], [("a", "./a")]),
    (["d/a", "b", "x"], [("d/a", "x/a"), ("b", "x/b")])])
def test_targets(words, pairs):
    assert list(put.targets(words)) == pairs


@pytest.mark.parametrize("count, depth", [(0, 0), (1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (14, 3), (64, 6), (1000, 9)])
def test_children__two_of_each_and_few_rounds(count, depth):
    names = [f"n{i}" for i in range(count)]
    nodes = tree.children(names, lambda name: name + ":1")

    def deep(level):
        assert len(level) <= 2 and all(node["address"] == node["host"] + ":1" for node in level)
        return 1 + max(deep(node["children"]) for node in level) if level else 0
    assert sorted(tree.names(nodes)) == sorted(names) and deep(nodes) == depth
    assert all(sorted(below) == sorted(set(below)) for below in tree.below(nodes).values())


# ---- put ----

def test_put__to_two_hosts(tmp_path, source, capsys):
    with FakeAgents(stores(tmp_path, "n0", "n1")) as world:
        assert put.run(world.agents, options(str(source), "/t/b"), CLUSTER) == 0
        order = world.fakes["n0"].heard[0][0]
    assert (tmp_path / "n0" / "b").read_bytes() == (tmp_path / "n1" / "b").read_bytes() == source.read_bytes()
    assert (order["mode"], order["size"], order["path"], order["children"]) == (0o751, 2_500_000, "/t/b", [])
    assert order["mtime_ns"] == source.stat().st_mtime_ns and capsys.readouterr().err == ""


def passes_on(directory, held, cut=()):
    """A script that passes on: what has children is told for them, some as cut off. held: the FakeAgents, later."""
    store = files(directory)

    def script(fake, head, body):
        if head["op"] == "door_wanted":
            fake.say({"op": "door_open", "port": 4000 + int(fake.host[1:])})
            return
        if head["op"] == "put":
            for node in head["children"]:
                assert node["address"] == f"10.0.0.{node['host'][1:]}:{4000 + int(node['host'][1:])}"
            below = tree.names(head["children"])
            fake.below = [name for name in below if name not in cut]
            if set(below) & set(cut):
                fake.say({"op": "cut", "id": head["id"], "hosts": [name for name in below if name in cut],
                          "text": "no way there"})
        store(fake, head, body)
        if head["op"] == "data" and not body:
            for name in fake.below:
                held[0].fakes[name].say({"op": "file_done", "id": head["id"], "sha256": ""})
    return script


def test_put__through_a_tree_and_once_more_to_who_was_cut(tmp_path, source):
    names = [f"n{i}" for i in range(9)]
    held = []
    for name in names:
        (tmp_path / name).mkdir()
    with FakeAgents({name: passes_on(tmp_path / name, held, ("n3", "n7")) for name in names}) as world:
        held.append(world)
        assert put.run(world.agents, options(str(source), "/t/b"), CLUSTER) == 0
        fed = [name for name in names if "data" in world.fakes[name].ops()]
    assert sorted(fed) == ["n0", "n3", "n5", "n7"]
    assert (tmp_path / "n3" / "b").read_bytes() == source.read_bytes()


def test_put__a_lost_parent_costs_only_itself(tmp_path, source, capsys):
    names = [f"n{i}" for i in range(6)]
    held = []
    for name in names:
        (tmp_path / name).mkdir()
    scripts = {name: passes_on(tmp_path / name, held) for name in names}

    def dies(fake, head, body):
        if head["op"] == "data":
            fake.die()
        else:
            scripts["n1"](fake, head, body)
    with FakeAgents({**scripts, "n0": dies}) as world:
        held.append(world)
        assert put.run(world.agents, options(str(source), "/t/b"), CLUSTER) == 255
    assert "n0: lost: the connection was closed" in capsys.readouterr().err
    assert all((tmp_path / name / "b").read_bytes() == source.read_bytes() for name in ("n1", "n2", "n3"))


def test_put__a_full_disk_is_told(tmp_path, source, capsys):
    def full(fake, head, body):
        if head["op"] == "put":
            fake.say({"op": "failed", "id": head["id"], "error": "ENOSPC", "text": "/t/b: no space left on device"})
    with FakeAgents({**stores(tmp_path, "n0"), "n1": full, "n2": None}) as world:
        assert put.run(world.agents, options(str(source), "/t/b"), CLUSTER) == 255
    assert capsys.readouterr().err == ("scout: n1: /t/b: no space left on device; "
                                       "n2: not reached: no route to host\n")
    assert (tmp_path / "n0" / "b").read_bytes() == source.read_bytes()


def test_put__what_is_no_file(tmp_path, capsys):
    with FakeAgents(stores(tmp_path, "n0")) as world:
        assert put.run(world.agents, options(str(tmp_path), "/t/"), CLUSTER) == 1
        assert put.run(world.agents, options(str(tmp_path / "absent"), "/t/"), CLUSTER) == 1
        assert not world.fakes["n0"].heard
    err = capsys.readouterr().err
    assert f"it is a directory; send it so: tar c {tmp_path} | scout -g ... tar x -C /t\n" in err
    assert "No such file" in err


def starts_only(fake, head, _):
    """Takes orders and never ends."""


def test_put__timeout_and_json(tmp_path, source, capsys):
    with FakeAgents({**stores(tmp_path, "n0"), "n1": starts_only}) as world:
        call = options(str(source), str(source), "/t/", timeout=2, output="json")
        assert put.run(world.agents, call, CLUSTER) == 124
        assert world.fakes["n0"].ops().count("put") == 1
    out, err = capsys.readouterr()
    first, hanging, late, _ = map(json.loads, out.splitlines())
    assert first == {"host": "n0", "source": str(source), "target": "/t/a.out", "code": 0, "error": "",
                     "bytes": 2_500_000}
    assert (hanging["host"], hanging["code"], hanging["error"], hanging["bytes"]) == ("n1", 124, "timed out", 0)
    assert (late["host"], late["code"]) == ("n0", 124) and err == "scout: n[0-1]: timed out\n"


# ---- get ----

def test_get__a_copy_of_each(tmp_path, capsys):
    scripts = stores(tmp_path, "n0", "n1")
    data = os.urandom(3_000_000)
    (tmp_path / "n0" / "log").write_bytes(data)
    out = tmp_path / "copies"
    with FakeAgents({**scripts, "n2": None}) as world:
        assert get.run(world.agents, options("/var/log", str(out))) == 255
    assert (out / "n0" / "log").read_bytes() == data
    found = (out / "n0" / "log").stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o640, 10**18)
    assert capsys.readouterr().err == ("scout: n1: /var/log: it is not there; n2: not reached: no route to host\n")
    assert [path.name for path in (out / "n0").iterdir()] == ["log"] and not (out / "n1").exists()


def test_get__timeout_and_json(tmp_path, capsys):
    def stalls(fake, head, _):
        if head["op"] == "get":
            fake.say({"op": "file", "id": head["id"], "size": 2, "mode": 0o600, "mtime_ns": 0})
            fake.say({"op": "data", "id": head["id"]}, b"x")
    scripts = stores(tmp_path, "n0")
    (tmp_path / "n0" / "log").write_bytes(b"abc")
    out = tmp_path / "copies"
    with FakeAgents({**scripts, "n1": stalls}) as world:
        assert get.run(world.agents, options("/var/log", str(out), timeout=1, output="json")) == 124
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["host"], one["code"], one["error"], one["bytes"], one["target"]) for one in told] == [
        ("n0", 0, "", 3, f"{out}/n0/log"), ("n1", 124, "timed out", 0, f"{out}/n1/log")]
    assert list((out / "n1").iterdir()) == []


def test_get__another_checksum_leaves_nothing(tmp_path, capsys):
    def lies(fake, head, _):
        if head["op"] == "get":
            fake.say({"op": "file", "id": head["id"], "size": 1, "mode": 0o600, "mtime_ns": 0})
            fake.say({"op": "data", "id": head["id"]}, b"x")
            fake.say({"op": "file_done", "id": head["id"], "sha256": hashlib.sha256(b"y").hexdigest()})
    with FakeAgents({"n0": lies}) as world:
        assert get.run(world.agents, options("/a", str(tmp_path))) == 1
    assert "the checksum of what came is another" in capsys.readouterr().err
    assert not list((tmp_path / "n0").iterdir())


def test_get__that_cannot_be_kept_is_cancelled(tmp_path, capsys):
    def sends(fake, head, _):
        if head["op"] == "get":
            fake.say({"op": "file", "id": head["id"], "size": 9, "mode": 0o600, "mtime_ns": 0})
        elif head["op"] == "signal":
            fake.say({"op": "failed", "id": head["id"], "error": "ECANCELED", "text": "cancelled"})
    (tmp_path / "n0").write_text("a file where the directory should be")
    with FakeAgents({"n0": sends, "n1": sends}) as world:
        (tmp_path / "n1").write_text("as well")
        assert get.run(world.agents, options("/a", str(tmp_path))) == 1
        world.loop.run_until(lambda: not any(agent.exchanges for agent in world.agents.all))
        assert [fake.ops() for fake in world.fakes.values()] == 2 * [["get", "signal"]]
    assert "File exists" in capsys.readouterr().err
