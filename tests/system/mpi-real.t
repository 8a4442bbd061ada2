#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs nobody here wrote, over mtl/pm, judged by their own verification. They are Debian's hpcc
(HPL, PTRANS, RandomAccess, FFT, DGEMM, STREAM, latency and bandwidth) on this host and on four
hosts of a lab, and NetPIPE's integrity check over every size. TAP. The lab needs root.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
from runner import BUILD, ONLY, environment, mpirun, run                # noqa: E402

HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
LIMIT_S = 120                   # of one run, many times what it takes
TAP = runner.Tap()


def write_hpcc_input(directory):
    """Debian's example with a problem that is small enough for two cores."""
    with open(HPCC_INPUT, encoding="ascii") as f:
        lines = f.read().splitlines()
    lines[5] = "800          Ns"
    lines[7] = "40           NBs"
    with open(f"{directory}/hpccinf.txt", "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


def judge_hpcc(text):
    """Failed and missing checks of hpcc's own, as a list."""
    wrong = []
    if "Success=1" not in text:
        wrong.append("no Success=1")
    wrong += re.findall(r"^.*(?:FAILED|[1-9]\d* tests completed and failed).*$", text, re.M)
    wrong += re.findall(r"^(?:Node\(s\) with error|Failures =) *[1-9].*$", text, re.M)
    wrong += re.findall(r"^\w*RandomAccess\w*_ErrorsFraction=(?!0$).*$", text, re.M)
    for needed in (r"1 tests completed and passed residual checks",
                   r"MPIRandomAccess_ErrorsFraction=0$", r"PTRANS_residual=0", r"MPIFFT_maxErr="):
        if not re.search(needed, text, re.M):
            wrong.append(f"no line '{needed}'")
    return wrong


def hpcc(name, command):
    # A lab's hosts have a /tmp of their own; the build directory is seen by all.
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        write_hpcc_input(directory)
        code, out = run([*command, "-wdir", directory, "hpcc"], environment(), LIMIT_S, directory)
        try:
            with open(f"{directory}/hpccoutf.txt", encoding="ascii", errors="replace") as f:
                wrong = judge_hpcc(f.read())
        except FileNotFoundError:
            wrong = ["no output file"]
    TAP.ok(code == 0 and not wrong, name, f"exit {code}\n{out}\n" + "\n".join(wrong))


def netpipe(name, devices, *flags):
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        code, out = run([*mpirun(2, *ONLY), "NPopenmpi", "-i", "-u", "1048576", *flags],
                        environment(devices), LIMIT_S, directory)
    passed = len(re.findall(r"Integrity check passed", out))
    TAP.ok(code == 0 and passed > 20 and "failed" not in out.lower(),
           f"{name}: {passed} sizes intact", f"exit {code}\n{out}")


def lab():
    name = "hpcc: 4 lab hosts, its own verification"
    if not runner.can_lab():
        TAP.skip(name, "needs root and iproute2")
        return
    with runner.lab(TAP, 4) as on_first:
        hpcc(name, [*on_first, *mpirun(4, *ONLY, "-H", "h0:1,h1:1,h2:1,h3:1")])


def main():
    if not runner.is_built():
        return 0
    if shutil.which("hpcc"):
        hpcc("hpcc: 4 ranks on one host, its own verification", mpirun(4, *ONLY))
        lab()
    else:
        TAP.skip("hpcc", "install hpcc")
    if shutil.which("NPopenmpi"):
        netpipe("NetPIPE over shmem", "self+shmem")
        netpipe("NetPIPE over udp", "self+udp")
        netpipe("NetPIPE, posted ahead, over shmem", "self+shmem", "-a")
    else:
        TAP.skip("NetPIPE", "install netpipe-openmpi")
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
