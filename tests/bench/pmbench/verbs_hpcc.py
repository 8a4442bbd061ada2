# SPDX-License-Identifier: BSD-3-Clause
"""How often the memory of a zero-copy transfer is registered already, in a program that nobody here wrote: Debian's
hpcc over mtl pm and verbs, one rank in each of two virtual machines with rdma_rxe. Counters, no times: that the guests
are emulated changes nothing. pmstat is asked once a second; what a rank told last counts.

hpcc is ended where it begins to send 2 MB around a ring, for minutes, which would add hits alone: what comes before is
PTRANS, whose results it checks, RandomAccess, FFT and the latencies. Linpack, which comes last, is not reached.
"""
from __future__ import annotations

import contextlib
import json
import pathlib
import shutil

from .command import BUILD, over_pm
from .eth import Sides
from .figure import CannotRun, Contestant, Failed, Figure
from .verbs_vm import two_guests, vmlab

EXAMPLE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
# Lines of the input: a matrix that is transposed in seconds, in blocks that are large enough to go without a copy.
CHANGES = {5: "320 Ns", 7: "80 NBs", 10: "1 Ps", 11: "2 Qs"}
LIMIT_S = 200
MEMORY_MIB = 640
PLACE = "/tmp/hpcc"  # in each guest
OUTPUT = f"{PLACE}/hpccoutf.txt"
RUN = f"""
{{mpirun}} &
while kill -0 $! && ! grep -qs 'Avg Random Order Latency' {OUTPUT}; do sleep 1; done
grep -q 'Avg Random Order Latency' {OUTPUT} && grep '5 tests completed and passed residual checks' {OUTPUT}
status=$?
[ $status = 0 ] || tail -n 30 {OUTPUT}
kill $! && wait $!
exit $status
"""
SAMPLER = f"while sleep 1; do {BUILD}/bin/pmstat --json >>{PLACE}/counters; done"


def hpcc_input() -> str:
    lines = EXAMPLE.read_text(encoding="ascii").splitlines()
    for number, line in CHANGES.items():
        lines[number] = line
    return "\n".join(lines)


def mpirun_words(agent: str) -> list[str]:
    args, env = over_pm("self+verbs")
    exports = [word for key, value in env.items() for word in ("-x", f"{key}={value}")]
    return ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1",
            "--mca", "oob_tcp_if_include", "eth1", "-np", "2", "-H", "a,b", *args, *exports, "-wdir", PLACE, "hpcc"]


def counted(text: str) -> tuple[int, int]:
    """Hits and misses of the rank whose samples these are: the last that has any."""
    links = [link for line in text.splitlines() if line.startswith("{") and line.endswith("}")
             for context in json.loads(line)["contexts"] for link in context["links"] if link["pinned_hits"]]
    return (links[-1]["pinned_hits"], links[-1]["pinned_misses"]) if links else (0, 0)


def hit_rate(lab: vmlab.Lab, agent: str) -> float:
    """Per cent, both ranks together."""
    for guest in lab.guests:
        guest.must(f"rm -rf {PLACE} && mkdir {PLACE} && cat >{PLACE}/hpccinf.txt <<'END'\n{hpcc_input()}\nEND")
        guest.start(f"timeout {LIMIT_S} bash -c '{SAMPLER}'", LIMIT_S)
    status, text = lab.guests[0].run(RUN.format(mpirun=" ".join(mpirun_words(agent))), LIMIT_S)
    if status:
        raise Failed(f"hpcc: {text}")
    counts = [counted(guest.must(f"cat {PLACE}/counters")) for guest in lab.guests]
    hits, misses = (sum(each) for each in zip(*counts))
    if not hits:
        raise Failed("hpcc registered nothing")
    return 100 * hits / (hits + misses)


@contextlib.contextmanager
def with_hpcc() -> Sides:
    if not shutil.which("hpcc") or not EXAMPLE.exists():
        raise CannotRun("hpcc is not installed (Debian package hpcc)")
    with two_guests(9000, memory_mib=MEMORY_MIB) as lab:
        agent = lab.serve_rsh(LIMIT_S)
        yield Contestant("hpcc", lambda: hit_rate(lab, agent)), [Contestant("all", lambda: 100.0)]


FIGURES = [
    Figure("verbs-hit-rate-hpcc", 0.95, False, "%",
           "transfers of hpcc, without Linpack and bandwidths, over mtl pm and verbs whose memory was registered "
           "already, two ranks in two emulated guests; the goal is our own", with_hpcc, rounds=1),
]
