#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that run short: of descriptors, of room on disks, of memory for a daemon. Jobs of others go on, start and end,
each failure is one line that names the thing and the remedy, and when there is more again all goes on. TAP. Needs root,
munged and two users that are in the passwd file."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from schedlocal import HOSTILE, OWNER, PYTHON, become, job                  # noqa: E402
from systest import ROOT, Tap, told                                     # noqa: E402

sys.path.insert(0, f"{ROOT}/scheduler/ctl")
from scorelink.frames import preamble                                   # noqa: E402

FILES = 64                      # descriptors of a daemon that has few
FEW_OF_STEP = 80                # of scnoded and of the scstepds that it starts
SPOKEN = 3 << 20                # bytes of output of a rank
STRANGERS = 200                 # that connect to it
GREEDY = 16                     # jobs that want more descriptors than there are
MEMORY_MIB = 24                 # that a daemon with a limit may have more than it has
CUT = 60                        # large requests of which half comes: more than fit into that
WATCHED_S = 2
SPIN_S = 0.5                    # of a processor, in that time
SLOW_S = 5
TAP = Tap()


def cpu_s(daemon):
    """Time that its main thread has had a processor."""
    pid = daemon.child.pid
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def is_calm(daemon, name):
    before = cpu_s(daemon)
    time.sleep(WATCHED_S)       # what is measured
    spent = cpu_s(daemon) - before
    TAP.ok(spent < SPIN_S, f"{name}: {daemon.name} does not spin", f"{spent:.2f} s of {WATCHED_S} s")


def begins_and_ends(cluster, name, *words):
    """Another user's job."""
    begun = time.monotonic()
    done = cluster.scrun("-nodes=1x1", *words, "true", user=OWNER)
    took = time.monotonic() - begun
    TAP.ok(done.returncode == 0 and took < SLOW_S, name, f"{took:.1f} s {told(done)}")


def lives_on(cluster, child, said, name):
    TAP.ok(child.poll() is None and not re.search("said nothing|is lost", cluster.scored.log()), name,
           said() + cluster.scored.log()[-2000:])


@contextlib.contextmanager
def strangers(port, number=None):
    """More connections that say nothing, or for which job they are, than there are descriptors."""
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(STRANGERS)]
    for one in held if number else ():
        one.sendall(preamble(number))
    yield
    for one in held:
        one.close()


def door_of(host):
    return int(host.log().split("port ")[1].split(",")[0])


def greedy_jobs(cluster, child, said):
    """As many jobs of one user as leave their host no descriptor: some fail, and say why; those of others are not
    harmed."""
    scruns = []
    for _ in range(GREEDY):
        scruns.append(subprocess.Popen(become(HOSTILE, [schedlocal.SCRUN, "-nodes=1x1", "--hosts", "h1", "sh", "-c",
                                                        "echo here; exec sleep 60"]),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, cwd=cluster.directory,
                                       env={**os.environ, **cluster.environment()}))
        scruns[-1].stdout.readline()    # until it runs or has ended: strangers at the doors are few
    is_calm(cluster.hosts["h1"], "a host without descriptors")
    for one in scruns:
        one.terminate()
    ends = [(one.wait(20), one.communicate()[1]) for one in scruns]
    failed = [text for code, text in ends if code == 125]
    TAP.ok(failed and all("host h1" in text and "Too many open files" in text and "LimitNOFILE=" in text and
                          len(text.splitlines()) == 1 for text in failed),
           f"{GREEDY} jobs want more descriptors than there are: those that fail name the limit", ends)
    lives_on(cluster, child, said, "a job of another user goes on there")


def descriptors():
    """scored and scnoded with few descriptors."""
    few = ("prlimit", f"--nofile={FILES}:{FILES}")
    with schedlocal.Cluster() as cluster:
        cluster.munge, cluster.munged = cluster.start_munge()
        cluster.server, cluster.scored = cluster.start_scored("--rows", str(GREEDY), through=few)
        if not cluster.scored.says("ready"):
            raise RuntimeError(cluster.scored.log())
        host = cluster.start_host("h1", through=few)
        if not host.says("registered with"):
            raise RuntimeError(host.log())
        with job(cluster, "-nodes=1x1", "sh", "-c", "echo here; exec sleep 60") as (child, said):
            for daemon, port in ((cluster.scored, int(cluster.server.rsplit(":", 1)[1])), (host, door_of(host))):
                with strangers(port):
                    begins_and_ends(cluster, f"a job, while {STRANGERS} strangers are at the door of {daemon.name}, "
                                    f"which has {FILES} descriptors")
                    is_calm(daemon, "among strangers")
                TAP.ok(daemon.log().count("descriptors are short") == 1 and "LimitNOFILE=" in daemon.log(),
                       "its log says so once, and what helps", daemon.log())
            greedy_links(cluster)
            greedy_jobs(cluster, child, said)
            begins_and_ends(cluster, "when they are gone a job starts there again")
        TAP.equal(cluster.settled(), [], "nothing is left, no group either")


def files_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def few_of_scstepd(cluster):
    """A scnoded that may not raise its limit hands it on to scstepd. Jobs that need more are refused at once, and those
    who knock at the door of one that runs have a part of it only."""
    few = ("setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource", "prlimit",
           f"--nofile={FEW_OF_STEP}:{FEW_OF_STEP}")
    host = cluster.start_host("h4", through=few)
    TAP.ok(host.says("registered with"), f"a host whose programs have {FEW_OF_STEP} descriptors", host.log())
    with job(cluster, "-nodes=1x2", "--hosts", "h4", "sh", "-c", "echo $SCORE_JOBID; echo here; exec sleep 60") as \
            (child, said):
        number, = (int(word) for word in set(said().split()) if word.isdigit())
        done = cluster.scrun("-nodes=1x40", "--oversubscribe", "--hosts", "h4", "true", user=HOSTILE)
        TAP.ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1 and "host h4" in done.stderr and
               "40 ranks there need" in done.stderr and "LimitNOFILE=" in done.stderr,
               "a job that needs more: one line with the numbers and the remedy", told(done))
        step, = schedlocal.steps_of(cluster, OWNER)
        before = files_of(step)
        with strangers(door_of(host), number):
            schedlocal.wait_until(lambda: files_of(step) > before + FEW_OF_STEP // 8, 1)
            most = max(files_of(step) for _ in range(50))
            TAP.ok(before < most <= before + FEW_OF_STEP // 8 + 1,
                   f"{STRANGERS} strangers at the door of a job have an eighth of its descriptors", (before, most))
        lives_on(cluster, child, said, "the job goes on")
        begins_and_ends(cluster, "and others start there", "--hosts", "h4")
    TAP.equal(cluster.settled(), [], "nothing of them is left")
    host.end()
    cluster.daemons.remove(host)
    cluster.hosts.pop("h4")


def few_of_scrun(cluster):
    """scrun itself, with fewer descriptors than its files and connections want."""
    base = f"{cluster.directory}/files"
    os.mkdir(base)
    for limit, code, words, where in ((6, 125, (), "scored, "), (24, 1, ("--output", f"{base}/%r"), f"{base}/")):
        done = subprocess.run(["prlimit", f"--nofile={limit}:{limit}", schedlocal.SCRUN, "-nodes=1x40",
                               "--oversubscribe", *words, "sh", "-c", "echo hello; exec sleep 9"],
                              capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=20, cwd=cluster.directory,
                              env={**os.environ, **cluster.environment()})
        TAP.ok(done.returncode == code and where in done.stderr and "Too many open files" in done.stderr and
               "ulimit -n" in done.stderr and len(done.stderr.strip().splitlines()) == 1,
               f"scrun with {limit} descriptors: one line, with the remedy", told(done))


def memory_of_scrun(cluster):
    """scrun itself, in more and more address space: each end before the first whole one is one line about memory."""
    whole, ends, kib = 0, [], 2048
    while whole < 3 and kib < 65536:
        done = subprocess.run(["prlimit", f"--as={kib << 10}", schedlocal.SCRUN, "-nodes=2x1", "sh", "-c",
                               f"head -c {SPOKEN} /dev/zero | tr '\\0' x"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=20, cwd=cluster.directory,
                              env={**os.environ, **cluster.environment()})
        lines = done.stderr.splitlines()
        if done.returncode:
            ends.append((kib, done.returncode, done.stderr))
            if len(lines) != 1 or not re.search("memory|shared object", lines[0]):
                TAP.ok(False, f"scrun with {kib} KiB: one line about memory", told(done)[-1000:])
                return
        whole = 0 if done.returncode or lines or len(done.stdout) != 2 * SPOKEN else whole + 1
        kib += 64
    jobs = [line for _, _, line in ends if "scrun: job " in line]
    TAP.ok(whole == 3 and jobs and all("ulimit -v" in line for line in jobs),
           f"scrun with too little memory: {len(ends)} times one line about it, {len(jobs)} of them in a job", ends)


def greedy_links(cluster):
    """Users who hold all connections that scored has for users: hosts, root and another user still get in."""
    hold = ("import sys\nsys.path.insert(0, sys.argv[3])\nfrom scorelink.link import Link, Unreachable\n"
            "from scorelink.munge import Refused\nkept, said = [], ''\n"
            "try:\n while True:\n  kept.append(Link(sys.argv[1], munge_socket=sys.argv[2]))\n"
            "  kept[-1].ask({'op': 'jobs'})\n"
            "except (Unreachable, Refused, OSError) as end: said = str(end)\n"
            "print(said, flush=True)\nsys.stdin.read()\n")
    users = [subprocess.Popen(become(uid, [PYTHON, "-c", hold, cluster.server, cluster.munge,
                                           f"{ROOT}/scheduler/ctl"]), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) for uid in (HOSTILE, 2)]
    said = [one.stdout.readline().strip() for one in users]
    TAP.ok(any("limit of open files" in text for text in said), "users who hold all connections are told of the limit",
           said)
    begins_and_ends(cluster, "a third user gets in beside them")
    done = cluster.scrun("-nodes=1x1", "true")
    TAP.equal((done.returncode, done.stderr), (0, ""), "root gets in beside them")
    late = cluster.start_host("late")
    TAP.ok(late.says("registered with"), "so does a host", late.log())
    for one in users:
        one.communicate()
    late.end()
    cluster.daemons.remove(late)
    cluster.hosts.pop("late")


@contextlib.contextmanager
def small_disk(path, size):
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(directory):
    with contextlib.suppress(OSError), open(f"{directory}/filler", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def outputs(cluster, disk):
    """Output onto a full disk: the failure is said once, with a code, and nothing of it is taken for a success."""
    for program in (("seq", "300000"), ("sh", "-c", "seq 300000; exec sleep 60")):
        done = cluster.scrun("-nodes=2x1", "--output", f"{disk}/out.%r", *program, user=OWNER)
        TAP.ok(done.returncode == 1 and re.fullmatch(f"scrun: job \\d+: {disk}/out.[01]: cannot be written: .*; make "
                                                     "room.*\n", done.stderr),
               f"--output of {program[0]} on a full disk: the job ends, one line", told(done))
        for name in os.listdir(disk):
            os.unlink(f"{disk}/{name}")
    fill(disk)
    ctl = f"{ROOT}/scheduler/ctl"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for words, error in (((schedlocal.SCRUN, "-nodes=1x1", "echo", "hello"), "standard output: cannot be written: "),
                         ((schedlocal.SCRUN, "--help"), "standard output: cannot be written: "),
                         ((PYTHON, f"{ctl}/scqueue", "--json"), "scqueue: standard output: "),
                         ((PYTHON, f"{ctl}/scinfo"), "scinfo: standard output: ")):
        with open(f"{disk}/said", "wb") as said:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.PIPE, text=True,
                                  check=False, timeout=20, env={**buffered, **cluster.environment()})
        name = f"{os.path.basename(words[0] if words[0] != PYTHON else words[1])} {words[-1]} to a full disk"
        if "python3-rich" in done.stderr:
            TAP.skip(name, done.stderr.strip())
            continue
        TAP.ok(done.returncode not in (0, 2) and error in done.stderr and "make room" in done.stderr and
               len(done.stderr.strip().splitlines()) == 1, name, f"{done.returncode} {done.stderr}")
    os.unlink(f"{disk}/filler")
    done = cluster.scrun("-nodes=1x1", "--output", f"{disk}/out", "echo", "hello", user=OWNER)
    TAP.equal((done.returncode, done.stderr), (0, ""), "when there is room again output is written")


def run_directory(cluster, disk):
    """A host whose run directory and log are on a full disk, with a job that runs, killed meanwhile."""
    log = f"{disk}/log"
    host = cluster.start_host("h3", run=f"{disk}/run", through=("sh", "-c", f'exec "$@" 2>{log}', "sh"))

    def said_there():
        with open(log, encoding="utf-8") as file:
            return file.read()

    TAP.ok(schedlocal.wait_until(lambda: os.path.exists(log) and "registered with" in said_there(), SLOW_S),
           "a host with its run directory and its log on a small disk")
    with job(cluster, "-nodes=2x1", "--hosts", "h1,h3", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        fill(disk)
        done = cluster.scrun("-nodes=1x1", "--hosts", "h3", "true", user=HOSTILE)
        TAP.ok(done.returncode == 125 and "host h3" in done.stderr and f"{disk}/run" in done.stderr and
               "make room" in done.stderr, "full: a job that starts there is told the place and the remedy", told(done))
        host.end(signal.SIGKILL)
        cluster.daemons.remove(host)
        host = cluster.start_host("h3", run=f"{disk}/run")
        TAP.ok(host.says("registered with"), "its scnoded starts on the full disk", host.log())
        lives_on(cluster, child, said, "and the job goes on")
        os.unlink(f"{disk}/filler")
        begins_and_ends(cluster, "when there is room again a job starts there", "--hosts", "h3")
    TAP.equal(cluster.settled(), [], "all is swept")
    host.end()
    cluster.daemons.remove(host)
    cluster.hosts.pop("h3")


def temporary_files(cluster, disk):
    """$TMPDIR of a job is no part of the run directory's file system, which is smaller than what the job writes, and
    counts for the job's memory."""
    host = cluster.start_host("h5", run=f"{disk}/run")
    TAP.ok(host.says("registered with"), "a host with its run directory on a small disk", host.log())
    free = os.statvfs(disk).f_bfree
    with job(cluster, "-nodes=1x1", "--hosts", "h5", "sh", "-c", "head -c 8M /dev/zero >$TMPDIR/filler && echo here; "
             "exec sleep 60", user=HOSTILE) as (child, said):
        TAP.ok(os.statvfs(disk).f_bfree > free // 2, "a job's temporary files take no room from it",
               (free, os.statvfs(disk).f_bfree))
        begins_and_ends(cluster, "another user's job starts beside them", "--hosts", "h5")
        lives_on(cluster, child, said, "and theirs goes on")
    if "no cgroup controller memory" in host.log():
        TAP.skip("temporary files count for the job's memory", "no cgroup controller memory here")
    else:
        done = cluster.scrun("-nodes=1x1,memory=64M", "--hosts", "h5", "sh", "-c",
                             "exec head -c 300M /dev/zero >$TMPDIR/filler", user=HOSTILE)
        TAP.ok(done.returncode == 137 and "host h5" in done.stderr and "64 MiB" in done.stderr and
               len(done.stderr.splitlines()) == 1, "temporary files count for the job's memory", told(done))
    TAP.equal(cluster.settled(), [], "all is swept")
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        TAP.equal([line for line in mounts if f"{disk}/run" in line], [], "nothing stays mounted")
    host.end()
    cluster.daemons.remove(host)
    cluster.hosts.pop("h5")


def memory_now(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith(f"{key}:"))


@contextlib.contextmanager
def greedy_requests(cluster):
    child = subprocess.Popen(become(HOSTILE, [PYTHON, f"{ROOT}/tests/system/schedhostile.py", cluster.server,
                                              cluster.munge, "cut", str(CUT)]), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        said = list(iter(lambda: child.stdout.readline().strip() or "held", "held"))
        yield said
    finally:
        child.communicate()


def address_space(cluster):
    """scored may have no more than so much; a user asks for more."""
    pid = cluster.scored.child.pid
    limit = memory_now(pid, "VmSize") + MEMORY_MIB << 20
    with job(cluster, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        subprocess.run(["prlimit", f"--pid={pid}", f"--as={limit}:unlimited"], check=True)
        with greedy_requests(cluster) as heard:
            TAP.ok(heard.count("waits") and heard.count("waits") < CUT / 2,
                   f"of {CUT} requests those are kept that fit", heard)
        TAP.ok(re.search(rf"no memory for a message that comes, of user {HOSTILE}; raise", cluster.scored.log()),
               "scored's log tells whose, and what helps", cluster.scored.log()[-1000:])
        begins_and_ends(cluster, "another user's job then")
        lives_on(cluster, child, said, "a job goes on while scored has no memory")
        subprocess.run(["prlimit", f"--pid={pid}", "--as=unlimited:"], check=False)


@contextlib.contextmanager
def memory_group(pid):
    """As MemoryMax= of a unit does it."""
    group = f"/sys/fs/cgroup/memory/openscore-faults-{os.getpid()}"
    if not os.path.isdir("/sys/fs/cgroup/memory"):
        yield False
        return
    os.mkdir(group)
    with open(f"{group}/memory.limit_in_bytes", "w", encoding="ascii") as file:
        file.write(str(memory_now(pid, "VmRSS") + MEMORY_MIB << 20))
    with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(pid))
    try:
        yield True
    finally:
        schedlocal.wait_until(lambda: not open(f"{group}/cgroup.procs", encoding="ascii").read(), SLOW_S)
        os.rmdir(group)


def killed_for_memory(cluster):
    """scored has used up its group's memory, and is killed: when it is started again the job is still there."""
    with job(cluster, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        with memory_group(cluster.scored.child.pid) as is_held:
            if not is_held:
                TAP.skip("a scored that is killed for its memory", "no controller memory of cgroup v1")
                return
            with greedy_requests(cluster):
                TAP.ok(schedlocal.wait_until(lambda: cluster.scored.child.poll() is not None, SLOW_S) and
                       cluster.scored.child.returncode == -signal.SIGKILL, "scored is killed for the memory it takes")
        times = {name: host.log().count("registered with") for name, host in cluster.hosts.items()}
        cluster.scored = cluster.start("scored-again", f"{schedlocal.BUILD}/bin/scored", "--listen", cluster.server,
                                       "--state", f"{cluster.directory}/scored-state", "--munge-socket", cluster.munge)
        TAP.ok(all(schedlocal.wait_until(lambda n=name: cluster.hosts[n].log().count("registered with") > times[n],
                                         schedlocal.READY_S) for name in times), "the next one has all hosts",
               cluster.scored.log())
        begins_and_ends(cluster, "another user's job then")
        lives_on(cluster, child, said, "the job that ran goes on")


def main():
    why = schedlocal.missing("setpriv", "prlimit", "mount")
    if why:
        TAP.skip("hosts that run short", why)
        return TAP.end()
    descriptors()
    with schedlocal.Cluster() as cluster:
        cluster.up("h1", "h2", scored=("--user-memory", "1024"))
        with small_disk(f"{cluster.directory}/small", "1m") as disk:
            outputs(cluster, disk)
        with small_disk(f"{cluster.directory}/smaller", "128k") as disk:
            run_directory(cluster, disk)
        with small_disk(f"{cluster.directory}/tiny", "1m") as disk:
            temporary_files(cluster, disk)
        few_of_scstepd(cluster)
        few_of_scrun(cluster)
        memory_of_scrun(cluster)
        address_space(cluster)
        killed_for_memory(cluster)
        TAP.equal(cluster.settled(), [], "nothing is left")
    return TAP.end()


sys.exit(main())
