# SPDX-License-Identifier: BSD-3-Clause
"""The [scheduler] section of cluster.toml."""

import json
import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import document, emit, resolve  # noqa: E402

HOSTS = '[[hosts]]\nrange = "n[0-3],~n4"\n[scheduler]\n'


@pytest.fixture
def load(tmp_path):
    """Text behind HOSTS -> (cluster.json's section, lines of problems)."""
    def run(text):
        path = tmp_path / "cluster.toml"
        path.write_text(HOSTS + text)
        cluster, problems = resolve.resolve(document.load(path))
        lines = [line.split("cluster.toml:", 1)[1] for line in problems.lines()]
        return cluster and json.loads("".join(emit.pieces(cluster)))["scheduler"], lines
    return run


def test_resolve__server_alone(load):
    assert load('server = "head.example"') == ({"server": "head.example"}, [])


def test_resolve__everything(load):
    text = ('server = "fd00::1"\nport = 8710\nnode_port = 8711\nquantum = "1s"\nrows = 64\n'
            'memory = 50\noperators = ["alice", "bob"]\nstate = "/srv/scored"\ncheckpoints = "/srv/images"')
    assert load(text) == ({"server": "fd00::1", "port": 8710, "node_port": 8711, "quantum_ms": 1000, "rows": 64,
                           "memory": 50, "operators": ["alice", "bob"], "state": "/srv/scored",
                           "checkpoints": "/srv/images"}, [])


def test_resolve__a_cluster_without_it_has_no_key(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('[[hosts]]\nrange = "n0"\n')
    cluster, _ = resolve.resolve(document.load(path))
    assert "scheduler" not in json.loads("".join(emit.pieces(cluster)))


@pytest.mark.parametrize("text, words", [
    ("port = 7710", ("3:", 'the key "server" is missing', 'server = "head"')),
    ('server = "n0:7710"', ("4:", "scheduler.server", 'server = "n0" and port = 7710')),
    ('server = "a b"', ("4:", "is no host", '"head"')),
    ('server = "n4"', ("4:", "defect", "name a host that works")),
    ('server = "n0"\nport = 7711', ("5:", "scheduler.port", "7711 is the port of both", "7712")),
    ('server = "n0"\nnode_port = 7710', ("5:", "scheduler.node_port", "both", "7711")),
    ('server = "n0"\nport = 0', ("5:", "scheduler.port", "from 1 to 65535")),
    ('server = "n0"\nquantum = 100', ("5:", "scheduler.quantum", '"100ms"')),
    ('server = "n0"\nquantum = "5ms"', ("5:", "scheduler.quantum", "10ms")),
    ('server = "n0"\nquantum_ms = 100', ("5:", "scheduler.quantum_ms", 'did you mean "quantum"')),
    ('server = "n0"\nrows = 65', ("5:", "scheduler.rows", "from 1 to 64")),
    ('server = "n0"\nmemory = 0', ("5:", "scheduler.memory", "from 1 to 100")),
    ('server = "n0"\noperators = "alice"', ("5:", "scheduler.operators", '["alice"]')),
    ('server = "n0"\noperators = ["a,b"]', ("5:", "scheduler.operators", "is no user name")),
    ('server = "n0"\noperators = ["a", "a"]', ("5:", "scheduler.operators", "named twice")),
    ('server = "n0"\nstate = "var"', ("5:", "scheduler.state", "absolute path")),
])
def test_resolve__what_is_wrong_is_told_with_line_key_and_remedy(load, text, words):
    section, lines = load(text)
    assert section is None and len(lines) == 1
    for word in words:
        assert word in lines[0]
