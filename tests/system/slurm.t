#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A private cluster inside an allocation of Slurm: Debian's slurmctld and slurmd on two hosts of a lab, and in it what
docs/running.md tells a user to type, word for word. TAP. Needs root."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import schedlab
from schedlab import BUILD, wait_until
from schedlocal import Daemon
from systest import ROOT, Tap, told

tap = Tap()
USER = "daemon"
HOSTS = 2
READY_S, END_S = 10, 10
OURS = ("scored", "scnoded", "scstepd", "scrun", "srun", "salloc", "slurmstepd", "sleep", "program")
PROGRAM = f"{BUILD}/mpi/collectives"
CONF = """
ClusterName=lab
SlurmctldHost=h0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={work}/munge/socket
CredType=cred/munge
StateSaveLocation={work}/state
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
PlugStackConfig={work}/plugstack.conf
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
KillWait=8
NodeName=h[0-1] CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""
# Behind the lines of docs/running.md, in the same shell.
THEN_END = """
scrun -nodes=2x2 hostname
scrun -nodes=2x2 sleep 12321 &
until test "$(pgrep -c -u "$(id -u)" -f '^sleep 12321$')" = 4; do sleep 0.05; done
echo the end
"""
THEN_WAIT = """
scrun -nodes=2x2 sleep 12321
"""


def missing():
    if os.geteuid():
        return "needs root to make network namespaces"
    if len(os.sched_getaffinity(0)) < 2:
        return "needs two cores, for two ranks on each host"
    for tool in ("munged", "slurmctld", "slurmd", "salloc"):
        if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin"):
            return f"{tool} is not installed"
    for path in (f"{BUILD}/bin/scrun", PROGRAM):
        if not os.path.exists(path):
            return f"{path} is not built"
    return ""


def typed():
    """The commands that README.md tells a user to type: the words of salloc, and the lines for its shell."""
    with open(f"{ROOT}/docs/running.md", encoding="utf-8") as f:
        section = f.read().partition("## Inside a Slurm allocation")[2]
    block = re.search(r"\n\n((?:    .*\n)+)", section)[1]
    first, *lines = [line.strip() for line in block.splitlines()]
    return first.split(), "\n".join(lines)


class Slurm(schedlab.Lab):
    """A lab without a scheduler of ours, under Slurm."""

    def __init__(self, name, work):
        super().__init__(name, HOSTS)
        self.work = work
        self.daemons = []

    def __enter__(self):
        done = self.sclab("up", "--hosts", str(HOSTS), "--share", BUILD)
        if done.returncode:
            raise RuntimeError(done.stderr)
        try:
            self.start_all()
        except BaseException:
            self.__exit__()
            raise
        self.before = self.files()
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.end()
        super().__exit__()

    def daemon(self, name, *words):
        self.daemons.append(Daemon(name, self.work, *words))
        return self.daemons[-1]

    def start_all(self):
        munge = f"{self.work}/munge"
        for directory in (munge, f"{self.work}/state"):
            os.mkdir(directory, 0o755)
        with open(os.open(f"{munge}/key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
            f.write(os.urandom(128))
        munged = self.daemon("munged", shutil.which("munged", path=f"{os.environ['PATH']}:/usr/sbin"), "--foreground",
                             *(f"--{option}={munge}/{option.removesuffix('-file')}" for option in
                               ("socket", "key-file", "pid-file", "log-file", "seed-file")))
        if not wait_until(lambda: os.path.exists(f"{munge}/socket"), READY_S):
            raise RuntimeError(f"munged: {munged.log()}")
        for name, text in (("slurm.conf", CONF.format(work=self.work, cores=len(os.sched_getaffinity(0)))),
                           ("plugstack.conf", "")):
            with open(f"{self.work}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        os.environ.update(SLURM_CONF=f"{self.work}/slurm.conf", SCORE_MUNGE_SOCKET=f"{munge}/socket",
                          PATH=f"{BUILD}/bin:{ROOT}/scheduler/ctl:{os.environ['PATH']}:/usr/sbin")
        self.daemon("slurmctld", *self.command("slurmctld", "-D"))
        for host in self.hosts:
            self.daemon(f"slurmd-{host}", *self.command("slurmd", "-D", host=host))
        if not wait_until(lambda: self.run("sinfo", "-h", "-o", "%D %T").stdout == f"{HOSTS} idle\n", READY_S):
            raise RuntimeError("\n".join([told(self.run("sinfo", "-R")), *(daemon.log() for daemon in self.daemons)]))

    def start_allocation(self, words, script):
        return subprocess.Popen(self.command(*words, "sh", "-c", script, user=USER), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def files(self):
        return {host: self.run("ls", "-A", "/tmp", "/dev/shm", host=host).stdout for host in self.hosts}

    def leftovers(self):
        """Of an allocation that is over."""
        left = [f"process {pid} {name} in {host}" for pid, (host, name) in self.processes().items() if name in OURS]
        left += [f"{host}: {files}" for host, files in self.files().items() if files != self.before[host]]
        return left + self.run("squeue", "-h").stdout.splitlines()


def after_scancel(slurm, job):
    """On a loaded machine salloc 22.05 was seen to spin after its allocation had been revoked, with no child left and
    nothing in the queue. Nothing of ours can end it then, so that alone is no failure."""
    left, spinning = slurm.settled(END_S), f"process {job.pid} salloc in h0"
    tap.equal([what for what in left if what != spinning], [], "so does Slurm's scancel")
    if spinning in left:
        job.kill()
        job.communicate()
        tap.skip("and salloc says so", "it spins")
        return
    job.communicate(timeout=END_S)
    tap.ok(job.returncode, "and salloc says so")


def main():
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 77
    allocate, commands = typed()
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(dir=BUILD, prefix="slurm."))
        os.chmod(work, 0o755)
        os.symlink(PROGRAM, f"{work}/program")
        os.environ["OMPI_MCA_mca_base_component_path"] = schedlab.over_pm("")["OMPI_MCA_mca_base_component_path"]
        os.chdir(work)
        slurm = stack.enter_context(Slurm(f"s{os.getpid()}", work))
        done = slurm.run(*allocate, "sh", "-c", commands + THEN_END, user=USER)
        tap.ok(done.returncode == 0 and "OK collectives 4 ranks" in done.stdout, "an MPI program on all hosts",
               told(done))
        tap.equal(sorted(line for line in done.stdout.split() if line in slurm.hosts), ["h0", "h0", "h1", "h1"],
                  "scrun -nodes=2x2 hostname")
        tap.ok(done.stdout.endswith("the end\n"), "a job runs when the shell of the allocation ends", told(done))
        tap.equal(slurm.settled(END_S), [], "the end of the allocation ends all, and nothing is left")
        job = slurm.start_allocation(allocate, commands + THEN_WAIT)
        tap.ok(wait_until(lambda: len(slurm.find("sleep")) == 4, READY_S), "another allocation of the same user")
        number = slurm.run("squeue", "-h", "-o", "%A").stdout.strip()
        slurm.run("/usr/bin/scancel", number, user=USER)
        after_scancel(slurm, job)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
