#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs whose ranks give all their devices back and open others, again and again, while they run: at random
moments, under traffic of every kind. Each program checks its own data. On one host by mpirun, and by scrun on two hosts
of a lab. TAP. The lab needs root."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mpi"))
import runner                                                           # noqa: E402
import schedlab                                                         # noqa: E402
import suspendlib                                                       # noqa: E402
from runner import BUILD, environment, plain_mpirun                     # noqa: E402

CM = ("--mca", "pml", "cm", "--mca", "mtl", "pm")
BTL = ("--mca", "btl", "pm,self", "--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "pm")
OB1 = ("--mca", "pml", "ob1", *BTL)
LOSSES = "fault=11:dup=3%:reorder=3%/8:drop=1%"
ONE_HOST = ("devices=self+udp", "devices=self+shmem", "devices=self+shmem+udp", f"devices=self+udp,{LOSSES}")
TWO_HOSTS = ("devices=self+udp", "devices=self+shmem+udp", f"devices=self+shmem+udp,{LOSSES}",
             "devices=self+shmem+ethernet,ethernet.attach=port", "devices=self+shmem+ethernet,ethernet.attach=direct")
LIMIT_S = 90
PAUSE_S = 0.008
TAP = runner.Tap()


def restless(job, page, configs):
    """Suspends and revives the job until it ends: seconds of each round, and why one failed."""
    rounds = []
    try:
        while not page.is_present():
            if job.poll() is not None:
                return rounds, "it has not looked for orders"
            time.sleep(0.002)
        while job.poll() is None:
            time.sleep(page.random.random() * PAUSE_S)
            began = time.monotonic()
            if page.random.random() < 0.2:
                page.give_up(page.random.randint(1, 3))
            else:
                page.stop()
                page.go_on(page.random.choice(configs))
            rounds.append(time.monotonic() - began)
    except suspendlib.Ended:
        pass
    except suspendlib.Failed as failure:
        return rounds, str(failure)
    return rounds, ""


def end_of(job, why):
    try:
        out, _ = job.communicate(timeout=1 if why else LIMIT_S)
        return job.returncode, out
    except subprocess.TimeoutExpired:
        job.kill()
        out, _ = job.communicate()
        return "stopped", out


def check(title, job, page, configs, least, wanted):
    rounds, why = restless(job, page, configs)
    code, out = end_of(job, why)
    if rounds:
        print(f"# {len(rounds)} rounds, median {statistics.median(rounds) * 1e3:.1f} ms")
    TAP.ok(code == 0 and not why and wanted in out and len(rounds) >= least, f"{title}: at least {least} rounds",
           f"exit {code}, {len(rounds)} rounds, seed {page.seed}\n{why}\n{out}")


def one_host(folder):
    seed = 0
    for words, name, arguments, least in (
            (CM, "crowd", (), 3), (CM, "datatypes", (), 3), (CM, "flood", (), 1), (CM, "modes", (), 1),
            (CM, "rally", (), 10), (CM, "sizes", (), 1), (CM, "truncate", (), 1), (CM, "threads", (), 1),
            (CM, "model", ("3", "80"), 3), (OB1, "datatypes", (), 3), (OB1, "order", (), 1), (OB1, "threads", (), 1),
            (CM + BTL, "windows", ("known",), 1), (CM + BTL, "model", ("known", "4", "80"), 3),
            (CM + BTL, "model", ("storm", "5", "60"), 1)):
        seed += 1
        page = suspendlib.Page(f"{folder}/{seed}", 3, seed)
        program = page.wrap("OMPI_COMM_WORLD_RANK", [f"{BUILD}/mpi/{name}", *arguments])
        with subprocess.Popen(plain_mpirun(3, *words, *program), env=environment("self+shmem+udp"), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as job:
            by = "ob1 over btl/pm" if words is OB1 else "osc/rdma over btl/pm" if words is not CM else "mtl/pm"
            check(" ".join((name, *arguments[:1], "by", by)), job, page, ONE_HOST, least, f"OK {name}")


def refused(page, config, step):
    """The devices can't be opened, or lead nowhere; the ranks wait for others."""
    page.tell(config)
    try:
        page.order(suspendlib.REVIVE)
        page.tell_addresses()
        page.order(suspendlib.MEET)
    except suspendlib.Failed as failure:
        return step in str(failure)
    return False


def refused_run(page):
    try:
        page.order(suspendlib.RUN)
    except suspendlib.Failed as failure:
        return "can't go on" in str(failure)
    return False


def failures(folder):
    """Under traffic of which much waits for its turn: none of it may be tried by devices that lead nowhere."""
    page = suspendlib.Page(f"{folder}/f", 3, 1)
    program = page.wrap("OMPI_COMM_WORLD_RANK", [f"{BUILD}/mpi/crowd"])
    missing = nowhere = early = tries = 0
    why = ""
    with subprocess.Popen(plain_mpirun(3, *CM, *program), env=environment("self+udp"), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as job:
        while not page.is_present() and job.poll() is None:
            time.sleep(0.002)
        time.sleep(0.3)     # ranks that have not met yet miss nobody
        try:
            while tries < 8:
                page.stop()
                tries += 1
                missing += refused(page, "devices=nothing", "revive: ")
                nowhere += refused(page, "devices=self", "cannot be reached")
                early += refused_run(page)
                # the next devices are opened at once, or after the steps before them
                for step in (suspendlib.HOLD, suspendlib.QUIESCE, suspendlib.AWAY) if tries % 2 else ():
                    page.order(step)
                page.go_on(ONE_HOST[tries % len(ONE_HOST)])
                time.sleep(0.02)
        except suspendlib.Ended:
            pass
        except (suspendlib.Failed, suspendlib.Late) as problem:
            why = f"{problem} {page.slots()}"
        code, out = end_of(job, why)
    TAP.ok(tries and missing == tries, "a device that does not exist is refused with a reason", f"{missing} of {tries}")
    TAP.ok(nowhere == tries, "devices that lead to no other rank are refused", f"{nowhere} of {tries}")
    TAP.ok(early == tries, "and the program does not go on by them", f"{early} of {tries}")
    TAP.ok(code == 0 and "OK crowd" in out and not why, "by others it goes on to its end",
           f"exit {code}, {tries} tries\n{why}\n{out}")


def two_hosts():
    folder = tempfile.mkdtemp(dir=BUILD, prefix="suspend-")
    env = schedlab.over_pm("devices=self+shmem+udp")
    try:
        with schedlab.Lab(f"su{os.getpid()}", 2, "--ethernet") as lab:
            for seed, (name, words, more, least) in enumerate((
                    ("crowd", [], {}, 1), ("datatypes", [], {}, 1), ("flood", [], {}, 1), ("rally", [], {}, 5),
                    ("sizes", [], {}, 1), ("model", ["known", "5", "60"], schedlab.BY_BTL, 1))):
                page = suspendlib.Page(f"{folder}/{name}", 4, seed)
                job = lab.start("-nodes=2x2", *page.wrap("SCORE_RANK", [f"{BUILD}/mpi/{name}", *words]),
                                env={**env, **more})
                check(f"{name}: 2 hosts x 2 ranks", job, page, TWO_HOSTS, least, f"OK {name}")
    finally:
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def main():
    if not runner.is_built():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        one_host(folder)
        failures(folder)
    why = schedlab.missing()
    if why:
        TAP.skip("two hosts", why)
    else:
        two_hosts()
    return TAP.end()


sys.exit(main())
