#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Public complaints of users of launchers, each as a test of scrun on the hosts of a lab. TAP. Needs root, and
Open MPI's compiler for half of it.

  complaint                                                             its test
  --- input
  it is not passed on, it hangs, it is not what was sent                scrun.t: 100 MB from a file to a rank and back
      (prrte#2373, prrte#2220)
  more than 64 KiB through a pipe come several times (prrte#2579)       scrun.t: the same through a pipe
  --stdin 1 gets stuck (ompi#12777)                                     scrun.t: the same through a pipe
  it does not come through another program (prrte#1259)                 scrun.t: the same through a pipe
  the launcher eats what the script wants to read (ompi#466)            here: script_input; scrun.t: background
  --- exit codes
  always 0 (prrte#92)                                                   scrun.t: codes
  0 when it could not be mapped, or has no slots (prrte#245, ompi#1344) scrun-bad.t: places
  0 when the daemons could not be set up (prrte#1317)                   here: no_daemons; scrun-bad.t: servers
  the code is that of another rank (prrte#437)                          here: code_of_the_first
  --- what stays and what hangs
  a daemon spins at 100 % (ompi#7790)                                   here: idle_daemons
  programs survive the death of a daemon (ompi#8925, ompi#1418)         scheduler.t: deaths; scrun.t: lost
  --timeout leaves processes (ompi#9369)                                here: timeout
  MPI_Abort hangs (ompi#1379)                                           here: abort
  something is left after the end (mpich#677, mpich#2043)               every test's "nothing is left"
  it waits for a detached grandchild (mpich#4937)                       here: grandchild
  a rank that never comes to MPI_Init lets the others wait (mpich#6124) here: never; mpich.t
  a program without launcher leaves a proxy (mpich#6181)                none: it has no daemon of ours
  a program that is not on all hosts hangs (flux-core#4195)             here: program_on_one_host
  a lost leader leaves the job "running" (flux-core#7673, #5780, #4990) scrun.t: lost, cut_off
  a job that cannot be killed (flux-core#6097)                          here: stopped_rank
  why did it end, or not, when a rank ended (flux-core#5820, #6304)     here: early_end
  --- signals
  TERM is not forwarded (ompi#8672)                                     scrun.t: signals
  TSTP during the launch hangs for ever (ompi-release#531, ompi#526)    here: stopped_launch
  USR1 and others do not reach the ranks (prrte#2136, ompi#13496)       here: signal_to_all; scrun.t: signals
  --- output
  labels are lost, or name the launcher's host (ompi#7710, prrte#1405)  scrun.t: lines
  labels in the middle of a line (psij-python#510, ompi#6948)           scrun.t: lines; unit: label_test
  options that the manual does not know (ompi#11032)                    here: manual
  --- places
  cores outside the cpuset, or none found (ompi#5266, #9647, #11371,    here: few_cores
      ompi#6966)
  more ranks than cores with a number per host (ompi#10216)             here: more_ranks_than_cores
  more ranks than cores are slow (ompi#10426, #2585, #6616)             here: more_ranks_than_cores
  hosts and mapping of each program of several (prrte#771, #2465)       here: hosts_of_a_program (refused, with remedy)
  every rank is rank 0 of 1                                             here: other_installation
  MPI_APPNUM is missing (ompi#11845)                                    here: appnum
  a host lacks a component, and MPI_Init fails or goes another way      here: missing_component
  spawned ranks land anywhere (prrte#400)                               here: spawn
  publish, lookup and connect are not there (Slurm's PMIx plug-in)      here: names
  --- environment
  a variable is not passed on, or for all programs only (prrte#371,     scrun.t: environment
      prrte#605, prrte#304, prrte#607)
  no list of what is passed on (ompi#4877)                              here: variables
  LD_LIBRARY_PATH is another on remote hosts (ompi#8801)                here: variables
  --- debuggers
  no MPIR, no attaching (ompi#6081, ompi#5115, flux-core#3293)          debugger.t; unit: mpir_test
  --- size and time
  as many sockets at the launcher as hosts (ompi#2270)                  here: sockets
  five fences, a jump at 2048 ranks (ompi#11166, flux-core#1469)        bench: launch-512-ranks
  a whole job cannot be stopped for long (flux-core#6820)               here: stopped_for_long
  slices of seconds and more (Slurm's gang scheduling)                  bench: gang-20ms, gang-200ms
  a daemon's restart kills jobs; hybrid cgroups are not known (Slurm)   scheduler.t: restart; unit: cgroup_test
  a job goes on without a rank that failed (prrte#2282, prrte#2284)     none: the first failure ends it
  hosts that come and go while a job runs (prrte#2491, #2616, #2128)    none: a job keeps its hosts
"""
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import time

import schedlab
from schedlab import BUILD, SCRUN, wait_until
from systest import ROOT, Tap, told

tap = Tap()
COMPILER = "mpicc"
LIMIT = 20
DEVICES = "devices=self+shmem+udp,udp.rails=eth1+eth2"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spawn(MPI_Comm parent, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;

    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    } else {
        MPI_Get_processor_name(host, &length);
        printf("child on %s\n", host);
    }
    MPI_Comm_disconnect(&parent);
}

/* For so long; rank 0 tells when it begins, and the longest pause. */
static void last(double seconds, int rank)
{
    double began = MPI_Wtime(), before = began, now, longest = 0;
    int is_over = 0, all_over = 0;

    if (!rank) {
        printf("begun\n");
        fflush(stdout);
    }
    while (!all_over) {
        now = MPI_Wtime();
        longest = now - before > longest ? now - before : longest;
        before = now;
        is_over = now - began >= seconds;
        MPI_Allreduce(&is_over, &all_over, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (!rank)
        printf("%g\n", longest);
}

static void names(int rank)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;

    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("complaint", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Unpublish_name("complaint", MPI_INFO_NULL, port);
    } else {
        MPI_Lookup_name("complaint", MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    }
    MPI_Comm_disconnect(&other);
    printf("rank %d met the other\n", rank);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, found, *number;
    MPI_Comm parent;

    if (!strcmp(how, "never") && !strcmp(getenv("SCORE_RANK"), "1"))
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (!strcmp(how, "appnum")) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
        printf("rank %d is of program %d\n", rank, found ? *number : -1);
    } else if (!strcmp(how, "abort") && rank == size - 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (!strcmp(how, "spawn")) {
        spawn(parent, argv);
    } else if (!strcmp(how, "last")) {
        last(atof(argv[2]), rank);
    } else if (!strcmp(how, "names")) {
        names(rank);
    } else if (!strcmp(how, "barriers")) {
        for (int i = 0; i < atoi(argv[2]); i++)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def end_of(job, seconds=LIMIT):
    """(code, stdout, stderr); the code of one that hangs is "hangs"."""
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        schedlab.kill(job.pid)
        out, err = job.communicate()
        return "hangs", out, err
    return job.returncode, out, err


def timed(lab, *words, env=None):
    """How it ends, and after how long."""
    began = time.monotonic()
    end = end_of(lab.start(*words, env=env))
    return (*end, time.monotonic() - began)


# ---- input ----

def script_input(lab):
    script = f"while read -r word; do {SCRUN} --stdin none echo \"$word\"; done"
    done = subprocess.run(lab.command("sh", "-c", script), input="one\ntwo\nthree\n", capture_output=True, text=True,
                          check=False, timeout=LIMIT)
    tap.equal(done.stdout, "one\ntwo\nthree\n", "a script reads on what scrun --stdin none leaves alone")


# ---- exit codes ----

def no_daemons(lab):
    if not shutil.which("pdsh"):
        tap.skip("a private cluster that does not come up", "pdsh is not installed")
        return
    scpool = f"{ROOT}/scheduler/ctl/scpool"
    done = lab.run(scpool, "run", "--name", lab.name, "--programs", f"{BUILD}/bin", "--through", "no-way-to %h", "h1",
                   "--", "true")
    tap.ok(done.returncode == 1 and "h1" in done.stderr, "a private cluster that does not come up is no success",
           told(done))
    lab.run(scpool, "down", "--name", lab.name, "--force")      # it was not reached, and is remembered


def code_of_the_first(lab):
    script = "[ $SCORE_RANK = 2 ] && exit 42; trap 'exit 7' TERM; sleep 20 & wait"
    code, _, err, _ = timed(lab, "-nodes=2x2", "sh", "-c", script)
    tap.ok(code == 42 and "rank 2 on" in err and err.count("\n") == 1,
           "the exit code is that of the rank that failed, not of those that were ended for it", f"{code} {err}")


# ---- what stays and what hangs ----

def processor_time(pids):
    """Seconds by pid."""
    spent = {}
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        spent[pid] = (int(fields[11]) + int(fields[12])) / CLOCK_TICKS
    return spent


def idle_daemons(lab):
    """Input at its end, output that nobody reads, ranks that sleep."""
    job = lab.start("-nodes=2x1", "sh", "-c", "exec 0<&- 1>&- 2>&-; exec sleep 60")
    wait_until(lambda: len(lab.find("sleep")) == 2, 5)
    pids = {pid: name for pid, (_, name) in lab.processes().items() if name.startswith("sc")}
    before = processor_time(pids)
    time.sleep(1)
    spent = {f"{pids[pid]} {pid}": after - before[pid] for pid, after in processor_time(pids).items()}
    tap.ok(len(spent) == 6 and max(spent.values()) < 0.1, "no daemon spins beside a job that sleeps", str(spent))
    job.send_signal(signal.SIGTERM)
    end_of(job)


def timeout(lab):
    script = "trap '' TERM INT HUP; setsid sh -c \"trap '' TERM; sleep 60; sleep 60\" & sleep 60; sleep 60"
    code, _, err, seconds = timed(lab, "--timeout", "0.3", "-nodes=2x1", "sh", "-c", script)
    tap.ok(code == 124 and seconds < 5, "--timeout ends what ignores signals and has sessions of its own",
           f"{code} {err} {seconds}")
    tap.equal(lab.settled(), [], "and leaves nothing")


def grandchild(lab):
    code, out, err, seconds = timed(lab, "-nodes=2x1", "sh", "-c", "setsid sleep 60 & echo done")
    tap.ok((code, out) == (0, "done\ndone\n") and seconds < 5, "a detached grandchild with output is not waited for",
           f"{code} {out} {err} {seconds}")
    tap.equal(lab.settled(), [], "and does not stay")


def program_on_one_host(lab):
    path = "/run/program"
    lab.run("sh", "-c", f"printf '#!/bin/sh\\nsleep 60\\n' >{path}; chmod +x {path}", host="h0")
    code, _, err, seconds = timed(lab, "-nodes=2x1", path)
    tap.ok(code == 127 and path in err and "host h1" in err and seconds < 5,
           "a program that is on one host only is told, with the other host", f"{code} {err} {seconds}")
    lab.run("rm", path, host="h0")


def stopped_rank(lab):
    job = lab.start("-nodes=2x1", "sh", "-c", "kill -STOP $$")
    wait_until(lambda: len(lab.find("sh")) == 2, 5)
    job.send_signal(signal.SIGTERM)
    code, _, err = end_of(job, 5)
    tap.ok(code == 143, "ranks that were stopped can be ended", f"{code} {err}")


def early_end(lab):
    code, out, err, _ = timed(lab, "-nodes=2x1", "sh", "-c", "[ $SCORE_RANK = 0 ] && exit 0; sleep 1; echo late")
    tap.equal((code, out, err), (0, "late\n", ""), "a rank that ends with 0 ends nobody else")


# ---- signals ----

def stopped_launch(lab):
    ends = []
    for after in (0.01, 0.02, 0.03, 0.04, 0.06, 0.08):
        job = lab.start("-nodes=2x2", "echo", "x")
        time.sleep(after)
        job.send_signal(signal.SIGTSTP)
        time.sleep(0.1)
        job.send_signal(signal.SIGCONT)
        ends.append(end_of(job, 5)[:2])
    tap.equal(ends, [(0, "x\n" * 4)] * 6, "^Z while the job starts, then fg")


def signal_to_all(lab):
    script = "trap 'echo got it; exit 0' USR1; echo there; while :; do sleep 0.05; done"
    job = lab.start("-nodes=2x2", "sh", "-c", script)
    said = "".join(job.stdout.readline() for _ in range(4))
    job.send_signal(signal.SIGUSR1)
    code, out, err = end_of(job, 5)
    tap.ok((code, said + out) == (0, "there\n" * 4 + "got it\n" * 4), "USR1 reaches all ranks on all hosts",
           f"{code} {said}{out}{err}")


# ---- output ----

def manual(lab):
    usage = lab.scrun("--help").stdout
    with open(f"{ROOT}/scheduler/man/scrun.1", encoding="utf-8") as f:
        page = f.read().replace("\\-", "-").replace("Fl -", "--")
    missing = [option for option in set(re.findall(r"--[a-z][a-z-]+", usage)) if option not in page]
    tap.ok(usage.count("--") > 20 and not missing, "what --help offers is in the manual page", str(missing))


# ---- places ----

def few_cores(lab):
    """A host whose scnoded may use the last core only."""
    core = max(os.sched_getaffinity(0))
    words = ["taskset", "-c", str(core), f"{BUILD}/bin/scnoded", "--server", "h0", "--name", "narrow", "--listen", "0",
             "--run", "/run/narrow", "--cgroup", f"openscore-lab/{lab.name}/narrow", "--transient"]
    daemon = subprocess.Popen(lab.command(*words, host="h1"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    while "registered with" not in (line := daemon.stderr.readline()) and line:
        pass
    show = ["--hosts", "narrow", "sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
    want = f"Cpus_allowed_list:\t{core}\n"
    for options in ([], ["--bind", "host"], ["--bind", "none"], ["-nodes=1x3", "--oversubscribe"]):
        done = lab.scrun(*options, *show)
        tap.equal((done.returncode, set(done.stdout.splitlines(True))), (0, {want}),
                  f"a host with part of its cores: {' '.join(options) or 'bound'}")
    done = lab.scrun("--report-bindings", "--hosts", "narrow", "true")
    tap.ok(f"(cpu {core})" in done.stderr, "and --report-bindings says which", told(done))
    done = lab.scrun("--hosts", "narrow", "-n", "2", "true")
    tap.ok(done.returncode == 125 and "--oversubscribe" in done.stderr, "nor are there more of them for -n 2",
           told(done))
    daemon.terminate()
    daemon.communicate(timeout=LIMIT)
    tap.ok("narrow" not in lab.listing("h1", "/run"), "its run directory ends with it")


def more_ranks_than_cores(lab, program, env):
    for options, ranks in ((["-nodes=2x6"], 12), (["-n", "9"], 9), (["--per-node", "5", "-n", "10"], 10)):
        done = lab.scrun(*options, "--oversubscribe", "--label", "echo", "x")
        hosts = re.findall(r"^\[\d+ (h\d)\] x$", done.stdout, re.M)
        tap.ok(done.returncode == 0 and len(hosts) == ranks and abs(hosts.count("h0") - hosts.count("h1")) < 2,
               f"more ranks than cores: {' '.join(options)}", told(done))
    if program:
        code, _, err, seconds = timed(lab, "-nodes=2x4", "--oversubscribe", program, "barriers", "200", env=env)
        tap.ok(code == 0 and seconds < 6, "200 barriers of 8 ranks on half as many cores",
               f"{code} {err} {seconds}")


def hosts_of_a_program(lab):
    done = lab.scrun("--hosts", "h0", "-n", "1", "true", ":", "--hosts", "h1", "-n", "1", "true")
    tap.ok(done.returncode == 2 and "--hosts" in done.stderr and "before the first program" in done.stderr,
           "hosts of one program of several are refused, not ignored", told(done))


# ---- environment ----

def variables(lab):
    env = {"APP_ONE": "1", "APP_TWO": "2", "SSH_THING": "3", "LD_LIBRARY_PATH": "/a:/b"}
    show = "echo $APP_ONE,$APP_TWO,$SSH_THING,$LD_LIBRARY_PATH"
    done = lab.scrun("-nodes=2x1", "--env", "SSH_TH*", "--no-env", "*_TWO", "sh", "-c", show, env=env)
    tap.equal(done.stdout, "1,,3,/a:/b\n" * 2, "variables by pattern, the same on all hosts")


# ---- size and time ----

def sockets(lab):
    counts = []
    for nodes in ("1x1", "2x2"):
        job = lab.start(f"-nodes={nodes}", "sh", "-c", "echo there; exec sleep 60")
        job.stdout.readline()
        paths = [f"/proc/{job.pid}/fd/{fd}" for fd in os.listdir(f"/proc/{job.pid}/fd")]
        counts.append(sum(os.readlink(path).startswith("socket:") for path in paths if os.path.lexists(path)))
        job.send_signal(signal.SIGTERM)
        end_of(job)
    tap.ok(counts[0] == counts[1] <= 2, "scrun has no more connections for more hosts", str(counts))


# ---- MPI programs ----

def mpi(lab, work):
    """The program and its environment, None: there is no compiler."""
    if not shutil.which(COMPILER) or not os.path.exists(f"{BUILD}/mca"):
        return None, {}
    with open(f"{work}/program.c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run([COMPILER, "-o", f"{work}/program", f"{work}/program.c"], check=True)
    return f"{work}/program", schedlab.over_pm(DEVICES)


def abort(lab, program, env):
    code, _, err, seconds = timed(lab, "-nodes=2x2", program, "abort", env=env)
    tap.ok(code == 7 and seconds < 5 and re.search(r"rank 3 on h\d called MPI_Abort with code 7", err),
           "MPI_Abort ends all, with its code", f"{code} {err} {seconds}")


def never(lab, program, env):
    for nodes in ("1x2", "2x1", "2x2"):
        code, _, err, seconds = timed(lab, f"-nodes={nodes}", program, "never", env=env)
        tap.ok(code == 1 and seconds < 5 and re.search(r"rank 1 on h\d: it ended before MPI_Init", err),
               f"-nodes={nodes}: a rank that ends before MPI_Init leaves nobody waiting", f"{code} {err} {seconds}")


def appnum(lab, program, env):
    words = ["-n", "1", program, "appnum", ":", "-n", "2", program, "appnum", ":", "-n", "1", program, "appnum"]
    _, out, err, _ = timed(lab, *words, env=env)
    tap.equal(sorted(out.splitlines()), [f"rank {rank} is of program {app}" for rank, app in enumerate((0, 1, 1, 2))],
              "MPI_APPNUM is the number of the program")


def other_installation(lab, program, _):
    """An Open MPI that knows nothing of us, with its own transport."""
    env = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"}
    words = ["-n", "1", program, "appnum", ":", "-n", "3", program, "appnum"]
    code, out, err, _ = timed(lab, *words, env=env)
    tap.equal((code, sorted(out.splitlines()), err),
              (0, [f"rank {rank} is of program {app}" for rank, app in enumerate((0, 1, 1, 1))], ""),
              "no rank is alone where Open MPI has no component of ours")


def missing_component(lab, program, env):
    """Of hosts that lack mtl/pm scrun says so, once."""
    env = {name: value for name, value in env.items() if name not in ("OMPI_MCA_pml", "OMPI_MCA_mtl")}
    words = ["-nodes=2x2", program, "appnum"]
    line = r"^scrun: %s: Open MPI has no mtl/pm there, or cannot use it, and takes another transport%s; install .*\n"
    code, _, err, _ = timed(lab, *words, env=env)
    tap.equal((code, err), (0, ""), "mtl/pm is on all hosts: not a word")
    with tempfile.TemporaryDirectory(dir=BUILD) as empty:
        for host, which, than in (("h1", "host h1", " than on the other hosts, which fails"),
                                  ("h0", "hosts h., h.", "")):
            lab.run("mount", "--bind", empty, f"{BUILD}/mca", host=host)
            code, _, err, _ = timed(lab, *words, env=env)
            found = re.findall(line % (which, than), err, re.M)
            tap.ok(len(found) == err.count("mtl/pm there") == 1, f"mtl/pm is not on {which}: one line says so", err)
        tap.equal(code, 0, "on no host: the program goes on")
        code, _, err, _ = timed(lab, *words, env={**env, "OMPI_MCA_pml": "ob1"})
        tap.equal((code, err), (0, ""), "another transport is chosen: not a word")
        for host in lab.hosts:
            lab.run("umount", f"{BUILD}/mca", host=host)


def spawn(lab, program, env):
    _, out, err, _ = timed(lab, "--hosts", "h1", "--cores", "1", program, "spawn", env=env)
    tap.equal(out, "child on h1\n" * 2, "spawned ranks are on hosts of the job")


def names(lab, program, env):
    code, out, err, _ = timed(lab, "-nodes=2x1", program, "names", env=env)
    tap.ok(code == 0 and sorted(out.splitlines()) == [f"rank {rank} met the other" for rank in (0, 1)],
           "MPI_Publish_name, MPI_Lookup_name and MPI_Comm_connect", f"{code} {out} {err}")


def stopped_for_long(lab, program, env):
    job = lab.start("-nodes=2x2", program, "last", "5", env=env)
    job.stdout.readline()
    job.send_signal(signal.SIGTSTP)
    time.sleep(4)
    job.send_signal(signal.SIGCONT)
    code, out, err = end_of(job)
    tap.ok(code == 0 and float(out or 0) > 3.5, "an MPI program goes on after 4 s of ^Z", f"{code} {out} {err}")


def main():
    why = schedlab.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 77
    only = sys.argv[1:]
    with schedlab.Lab(f"o{os.getpid()}", 2, "--nics", "2", "--cores", "2") as lab, \
            tempfile.TemporaryDirectory(dir=BUILD) as work:
        program, env = mpi(lab, work)
        for part in (script_input, no_daemons, code_of_the_first, idle_daemons, timeout, grandchild,
                     program_on_one_host, stopped_rank, early_end, stopped_launch, signal_to_all, manual,
                     hosts_of_a_program, variables, sockets):
            if not only or part.__name__ in only:
                part(lab)
        if not only or "more_ranks_than_cores" in only:
            more_ranks_than_cores(lab, program, env)
        for part in (abort, never, appnum, other_installation, missing_component, spawn, names, stopped_for_long):
            if program and (not only or part.__name__ in only):
                part(lab, program, env)
            elif not program:
                tap.skip(part.__name__, f"{COMPILER} is not installed")
        if not only or "few_cores" in only:
            few_cores(lab)
        tap.equal(lab.settled(), [], "nothing is left of all that")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
