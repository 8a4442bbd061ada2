# SPDX-License-Identifier: BSD-3-Clause
"""HPC Challenge: HPL, PTRANS, FFT, RandomAccess and rings in one program, which checks its results itself."""
from __future__ import annotations

import pathlib

from ..errors import Failed
from .program import Program, Results

EXAMPLE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
N = 1000
OUTPUT = "hpccoutf.txt"
BEGIN, END = "Begin of Summary section.", "End of Summary section."

# The names of the summary that are results, and those that are seconds of a part.
RESULTS = ("Success", "PTRANS_residual", "MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors", "MPIFFT_N", "HPL_N",
           "HPL_Anorm1", "HPL_AnormI", "HPL_Xnorm1", "HPL_XnormI")
SECONDS = {"HPL": ("HPL_time",), "PTRANS": ("PTRANS_time",), "RandomAccess": ("MPIRandomAccess_time",),
           "RandomAccess, LCG": ("MPIRandomAccess_LCG_time",),
           "FFT": tuple(f"MPIFFT_time{i}" for i in range(7))}
RING_LATENCY = "RandomlyOrderedRingLatency_usec"
RING_BYTES = 2e6  # of a message of the ring's bandwidth, as hpcc sends it
RING_RATE = "RandomlyOrderedRingBandwidth_GBytes"
PART_NAMES = (*SECONDS, "ring of 8 bytes", "ring of 2 MB")


def prepare(directory: pathlib.Path, ranks: int) -> None:
    lines = EXAMPLE.read_text(encoding="ascii").splitlines()
    for number, text in {5: f"{N} Ns", 7: "100 NBs", 10: f"{ranks // 2} Ps", 11: "2 Qs"}.items():
        lines[number] = text
    (directory / "hpccinf.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


def summary(directory: pathlib.Path) -> dict[str, str]:
    text = (directory / OUTPUT).read_text(encoding="ascii", errors="replace")
    if BEGIN not in text or END not in text:
        raise Failed(f"hpcc: no summary in {OUTPUT}, which ends with: {text[-500:]}")
    lines = text.split(BEGIN, maxsplit=1)[1].split(END, maxsplit=1)[0].splitlines()
    return dict(line.split("=", maxsplit=1) for line in lines if "=" in line)


def results(directory: pathlib.Path, printed: str) -> Results:
    told = summary(directory)
    missing = [name for name in RESULTS if name not in told]
    if missing or told["Success"] != "1":
        raise Failed(f"hpcc: its own checks failed, or it says nothing of {', '.join(missing) or 'the failure'}")
    return {name: told[name] for name in RESULTS}


def parts(directory: pathlib.Path) -> list[float]:
    """The seconds of PART_NAMES."""
    told = summary(directory)
    return [*(sum(float(told[name]) for name in names) for names in SECONDS.values()),
            float(told[RING_LATENCY]) / 1e6, RING_BYTES / 1e9 / float(told[RING_RATE])]


PROGRAMS = [
    Program("hpcc", "hpcc", "hpcc", f"HPC Challenge: HPL of {N} x {N}, PTRANS, FFT, RandomAccess, rings", prepare, (),
            results, tolerance=1e-9, needs=(EXAMPLE,), part_names=PART_NAMES, parts=parts),
]
