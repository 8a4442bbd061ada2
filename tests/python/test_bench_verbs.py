# SPDX-License-Identifier: BSD-3-Clause
"""Values that the figures of pm-verbs read from the output of the programs that they run."""
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import verbs_cpu, verbs_hpcc, verbs_peers, verbs_vm  # noqa: E402
from pmbench.figure import CannotRun, Failed  # noqa: E402

WRITE_BW = f""" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 {verbs_vm.BLOCK}      {verbs_vm.BLOCKS}              13.47              11.50              0.000184
"""


class Ends:
    """Of a program in two guests."""

    def __init__(self, *ends):
        self.ends = list(ends)

    def talk(self, *_):
        return self.ends


def sample(*links):
    return json.dumps({"contexts": [{"links": [{"name": "verbs", "pinned_hits": hits, "pinned_misses": misses}
                                               for hits, misses in links]}]})


def test_perftest__average_in_mb():
    rail = Ends((0, WRITE_BW), (0, ""))
    assert verbs_vm.perftest_bandwidth(rail, "ib_write_bw", 1024) == pytest.approx(11.5 * 1.048576)


def test_pingpong__half_of_a_round_trip():
    assert verbs_vm.ibv_latency(Ends((0, "600 iters in 0.60 seconds = 1001.50 usec/iter"), (0, "")), 8, 1024,
                                "poll") == 500.75


@pytest.mark.parametrize("ends", [((1, WRITE_BW), (0, "")), ((0, WRITE_BW), (1, "")), ((0, "died"), (0, ""))])
def test_perftest__failed(ends):
    with pytest.raises(Failed):
        verbs_vm.perftest_bandwidth(Ends(*ends), "ib_write_bw", 1024)


def test_counted__last_sample_that_has_any():
    text = "\n".join([sample((0, 1)), sample((0, 0), (8, 2)), sample((0, 0), (90, 10)), '{"contexts": []}', ""])
    assert verbs_hpcc.counted(text) == (90, 10)
    assert verbs_hpcc.counted(sample((0, 0))) == (0, 0)


def test_two_guests__none_here(monkeypatch):
    monkeypatch.setattr(verbs_vm, "program", lambda relative: relative)
    monkeypatch.setattr(verbs_vm.vmlab, "skip_reason", lambda build: "no kernel for guests")
    with pytest.raises(CannotRun, match="no kernel"), verbs_vm.two_guests(1500):
        pass


def test_instructions__start_does_not_count(monkeypatch):
    monkeypatch.setattr(verbs_cpu, "total", lambda case, size, count: 100000 + 7 * count)
    assert verbs_cpu.instructions("message", 8) == 7


def test_per_connection__what_grew_since_they_are_known(monkeypatch):
    counts = {"alone": {"memory": 1}, "known": {"memory": 500}, "connected": {"memory": 500 + 100 * 42}}
    monkeypatch.setattr(verbs_peers, "program", lambda relative: relative)
    monkeypatch.setattr(verbs_peers, "run_json", lambda command: counts)
    assert verbs_peers.per_connection("memory") == 42
