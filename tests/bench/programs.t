#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs of tests/bench that measure many sizes, over mtl/pm in shared memory: each checks its data and
prints one JSON line per size. TAP; needs no root."""
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../mpi")]
import runner                                                           # noqa: E402
from runner import BUILD, ONLY, environment, mpirun, run                # noqa: E402

TAP = runner.Tap()
SIZES = ["64", "4096", "131072"]
QUICK = ["-t", "2"]  # milliseconds for a size
LAYOUTS = ("blocks", "doubles", "struct", "face")
OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "alltoall", "allgather", "reduce_scatter")


def told(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def measures(name, ranks, key, *options, sizes=SIZES):
    """A program prints a positive value for each size."""
    code, out = run(mpirun(ranks, *ONLY, f"{BUILD}/bench/{name}", *options, *QUICK, *sizes), environment("self+shmem"))
    lines = told(out)
    is_good = code == 0 and [str(line["bytes"]) for line in lines] == sizes and all(line[key] > 0 for line in lines)
    TAP.ok(is_good, " ".join([f"{ranks} ranks:", name, *options]), f"exit {code}\n{out}")


def refuses(name, *words):
    code, out = run(mpirun(2, *ONLY, f"{BUILD}/bench/{name}", *words), environment("self+shmem"))
    TAP.ok(code == 2 and f"usage: {name}" in out, " ".join(["usage:", name, *words]), f"exit {code}\n{out}")


def counts_calls():
    """callwatch.so sees what a program calls, and says of which slices of time."""
    base = f"{BUILD}/programs-calls.{os.getpid()}"
    words = ["env", f"LD_PRELOAD={BUILD}/bench/callwatch.so", f"CALLWATCH={base}", f"{BUILD}/bench/mpi_trip",
             *QUICK, "64"]
    code, out = run(mpirun(2, *ONLY, *words), environment("self+udp"))
    files = glob.glob(f"{base}.*")
    ranks = sorted((json.load(open(path)) for path in files), key=lambda one: one["rank"])
    for path in files:
        os.unlink(path)
    names = ("send", "sendto", "sendmsg", "sendmmsg")
    sent = [sum(one[5] for name in names for one in each["calls"][name]) for each in ranks]
    TAP.ok(code == 0 and [each["rank"] for each in ranks] == [0, 1] and min(sent, default=0) > 64 * 10,
           "callwatch: bytes that both ranks have sent", f"exit {code}, {sent}\n{out}")
    code, out = run(mpirun(2, *ONLY, f"{BUILD}/bench/mpi_trip", "-o", "7", "64"), environment("self+shmem"))
    lines = told(out)
    TAP.ok(code == 0 and (lines[0]["batches"], lines[0]["operations"]) == (1, 7)
           and 0 < lines[0]["from_ns"] < lines[0]["to_ns"], "mpi_trip -o: so many operations", f"exit {code}\n{out}")


def floors():
    """The sockets of mpi_floor have more room than a user may ask for."""
    if os.geteuid():
        TAP.skip("mpi_floor", "not root")
        return
    measures("mpi_floor", 2, "half_rtt_us", "-i", "lo")
    measures("mpi_floor", 2, "mb_per_s", "-i", "lo", "-w", "64")
    measures("mpi_floor", 2, "mb_per_s", "-i", "lo", "-w", "64", "-b")
    measures("mpi_floor", 2, "half_rtt_us", "-s", "-i", "lo")
    measures("mpi_floor", 2, "mb_per_s", "-s", "-i", "lo", "-w", "64", "-b")


def one_sided():
    """In memory that MPI has not allocated, so that operations are messages; and in a window that the ranks share."""
    for memory in (["-p"], []):
        measures("mpi_rma", 2, "us", "-c", "put", *memory)
        measures("mpi_rma", 2, "us", "-c", "get", *memory)
        measures("mpi_rma", 2, "us", "-c", "fetch", *memory, sizes=["4", "8"])
        measures("mpi_rma", 2, "mb_per_s", "-c", "burst", "-w", "7", *memory)
    measures("mpi_rma", 3, "mb_per_s", "-c", "burst", "-p", "-W", "-w", "7")
    refuses("mpi_rma", "8")
    refuses("mpi_rma", "-c", "swap", "8")
    refuses("mpi_rma", "-c", "fetch", "16")
    refuses("mpi_rma", "-c", "burst", "-w", "0", "8")


def main():
    if not runner.is_built():
        return 0
    measures("mpi_trip", 2, "half_rtt_us")
    measures("mpi_trip", 2, "half_rtt_us", "-d", "fresh")
    for layout in LAYOUTS:
        for side in ("sender", "receiver", "both"):
            measures("mpi_trip", 2, "half_rtt_us", "-d", layout, "-w", side)
    measures("mpi_trip", 3, "half_rtt_us")
    measures("mpi_trip", 3, "half_rtt_us", "-q", "1000")
    measures("mpi_window", 2, "mb_per_s")
    measures("mpi_window", 2, "mb_per_s", "-b")
    measures("mpi_trip", 2, "half_rtt_us", "-W")
    measures("mpi_window", 2, "mb_per_s", "-b", "-W")
    measures("mpi_exchange", 2, "us")
    measures("mpi_exchange", 2, "us", "-W")
    measures("mpi_exchange", 2, "us", "-c", "20")
    measures("mpi_overlap", 2, "us")
    measures("mpi_overlap", 2, "overlap", "-b", "-W")
    for side in ("sender", "receiver"):
        measures("mpi_overlap", 3, "us", "-w", side, "-c", "20")
    measures("mpi_threads", 2, "messages_per_s", "-T", "3")
    measures("mpi_threads", 2, "messages_per_s", "-s", "-c", "-w", "8")
    measures("mpi_threads", 3, "half_rtt_us", "-p")
    measures("mpi_threads", 2, "half_rtt_us", "-p", "-s", "-c", "-T", "4")
    for neighbours in ("2", "6", "26"):
        measures("mpi_halo", 2, "us", "-d", neighbours)
    for ranks in (3, 4, 8):
        measures("mpi_halo", ranks, "us", "-d", "26", "-e")
    floors()
    one_sided()
    for operation in OPERATIONS:
        measures("mpi_collective", 3, "us", "-c", operation)
    measures("mpi_collective", 2, "us", "-c", "alltoall", "-W")
    refuses("mpi_collective", "8")
    refuses("mpi_collective", "-c", "gossip", "8")
    refuses("mpi_trip", "-d", "star", "8")
    refuses("mpi_trip", "-q", "-1", "8")
    refuses("mpi_window")
    refuses("mpi_exchange", "0")
    refuses("mpi_overlap", "-w", "both", "8")
    refuses("mpi_overlap", "-b", "-w", "sender", "8")
    refuses("mpi_threads", "-T", "0", "8")
    refuses("mpi_floor", "-b", "8")
    refuses("mpi_halo", "-d", "3", "8")
    counts_calls()
    return TAP.end()


sys.exit(main())
