#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A user may not see, touch, stop or slow down another user's jobs, nor the daemons that run as root. TAP.
Needs root, munged and two users that are in the passwd file."""
import contextlib
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from schedlocal import HOSTILE, OWNER, PYTHON, as_user, become, job, status_of, steps_of, tool     # noqa: E402
from systest import ROOT, Tap, told                                        # noqa: E402

sys.path.insert(0, f"{ROOT}/scheduler/ctl")
from scorelink.link import Link, Unreachable                            # noqa: E402
from scorelink.munge import Refused                                     # noqa: E402

SLOW_S = 5
GARBAGE_HZ = 2456
FOLLOWERS = 400
QUESTIONS = 50
FLOOD_TIMES = 5                 # as long an answer may take
GARBAGE_S = 6                   # longer than a handshake may take
READ_S = 0.0007                 # of a credential: fewer than that are read
GRACE_S = 6                     # more than scored's, and a beat
FLOOD = 1500
IDLE = 1000                     # strangers at each door
JOBS = 20                       # of one user that may wait
FILES = 64                      # descriptors of a scored that has few
PLACES = FILES * 5 // 8         # of them that it has for connections of users
RUNS = 22                       # jobs that one of two users wants to run, who want to have all places
TAP_BYTES = 8 << 20             # of packets until they are read
ETH_P_ALL, SO_RCVBUFFORCE = 3, 33
CUT = 40                        # requests of which only the head comes: more than --user-memory holds
MAGIC = b"OSCORE1\n"            # see frame.h
FORGED = 120000                 # counter files of a stranger in /dev/shm
SEGMENTS = 3000                 # whose names change hands
SWAP_S = 0.0002
BEATS = 6                       # of a host that are watched
BEAT_S = 0.1                    # figure scnoded-beat: processor time of the worst of them
TAP = Tap()


def others_job(cluster):
    """Secrets, signals and directories of somebody else's job."""
    secret = "geheim-4711"
    with job(cluster, "-nodes=1x1", "sh", "-c", f"echo $TMPDIR; echo here; exec sleep 30 # {secret}") as (child, said):
        tmp = said().split()[0]
        number = tmp.split("/")[-2]
        shown = tool(cluster, "scqueue", "--json")
        if shown.returncode == 0:
            TAP.ok(secret not in shown.stdout and cluster.directory not in shown.stdout,
                   "scqueue of another user: no program, no arguments, no directory", told(shown))
        else:
            TAP.skip("scqueue of another user", shown.stderr.strip())
        done = tool(cluster, "scancel", number)
        TAP.ok(done.returncode != 0 and child.poll() is None, "scancel of another user: refused", told(done))
        for path in (tmp, f"{os.path.dirname(tmp)}/order.json", f"{os.path.dirname(tmp)}"):
            TAP.ok(as_user(HOSTILE, "find" if os.path.isdir(path) else "cat", path).returncode,
                   f"{os.path.basename(path)} of a job: not readable by others")
        steps = steps_of(cluster, OWNER)
        TAP.ok(len(steps) == 1, "the job's scstepd belongs to its user", steps)
        for pid in steps:
            TAP.ok(as_user(OWNER, "ls", f"/proc/{pid}/fd").returncode, "descriptors of scstepd: not even its user's")
            status = status_of(pid)
            TAP.equal((status["Gid"], status["CapPrm"], status["CapEff"]), ("\t".join(["1"] * 4), "0" * 16, "0" * 16),
                      "scstepd: its user's group, no capability")
        TAP.ok(child.poll() is None, "the job went on")


def pmix(cluster):
    """Whoever is at PMIx's port of a job has programs started under the name of its user."""
    with job(cluster, "-nodes=1x1", "sh", "-c", "echo $PMIX_SERVER_URI2; echo here; exec sleep 30") as (_, said):
        port = said().split()[0].rsplit(":", 1)[1]
        TAP.ok(port.isdigit(), "PMIx's server has a port", said())
        # PMIx waits for a client's first bytes as long as it likes: an end at once is ours.
        knock = ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); "
                 "s.settimeout(1)\ntry:\n print('end' if s.recv(1) == b'' else 'bytes')\n"
                 "except TimeoutError:\n print('waits')\nexcept ConnectionResetError:\n print('end')")
        for uid, want in ((HOSTILE, "end"), (OWNER, "waits")):
            done = as_user(uid, PYTHON, "-c", knock, port)
            TAP.equal(done.stdout.strip(), want, f"PMIx's server of user {OWNER}, to user {uid}")


def local_socket(cluster):
    """scnoded.sock is for scstepds."""
    path = f"{cluster.directory}/h1-run/scnoded.sock"
    ask = ("import json, socket, struct, sys\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
           "head = json.dumps({'op': 'rejoin', 'id': int(sys.argv[2]), 'pid': int(sys.argv[3]), 'ranks': []})\n"
           "head = head.encode()\n"
           "s.settimeout(3)\n"
           "try:\n s.sendall(struct.pack('>II', 4 + len(head), len(head)) + head)\n print(s.recv(100) or 'end')\n"
           "except (BrokenPipeError, ConnectionResetError):\n print('end')\n")
    with job(cluster, "-nodes=1x1", "sh", "-c", "echo $SCORE_JOBID; echo here; exec sleep 30") as (child, said):
        number = said().split()[0]
        for uid in (HOSTILE, OWNER):
            done = as_user(uid, PYTHON, "-c", ask, path, number, str(steps_of(cluster, OWNER)[0]))
            TAP.equal(done.stdout.strip(), "end", f"user {uid} in the place of a scstepd: shown out")
        idle = []
        for _ in range(FLOOD):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            idle.append(one)
        ended = 0
        for one in idle:
            one.settimeout(3)
            with contextlib.suppress(OSError):
                ended += one.recv(1) == b""
            one.close()
        TAP.equal(ended, FLOOD, "idle connections of nobody: none is kept")
        TAP.ok(child.poll() is None, "the job went on")


def in_time(cluster, name, *words, user=OWNER):
    """Another user's job starts and ends as if nothing were."""
    begun = time.monotonic()
    done = cluster.scrun(*(words or ("-nodes=2x1",)), "true", user=user)
    took = time.monotonic() - begun
    TAP.ok(done.returncode == 0 and took < SLOW_S, name, f"{took:.1f} s {told(done)}")


@contextlib.contextmanager
def hostile(cluster, what, number, server=None, user=HOSTILE):
    """The answers to a hostile user's connections, which stay open until the block ends; then his last words."""
    child = subprocess.Popen(become(user, [PYTHON, f"{ROOT}/tests/system/schedhostile.py", server or cluster.server,
                                              cluster.munge, what, str(number)]),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = list(iter(lambda: child.stdout.readline().strip() or "held", "held"))
    try:
        yield said
    finally:
        said += child.communicate(timeout=20)[0].split()


def answers(*clusters):
    """Median milliseconds of another user's question for the jobs, to each cluster."""
    done = as_user(OWNER, PYTHON, f"{ROOT}/tests/system/schedhostile.py", ",".join(each.server for each in clusters),
                   ",".join(each.munge for each in clusters), "ask", str(QUESTIONS))
    if done.returncode:
        raise RuntimeError(told(done))
    return [statistics.median(column) for column in
            zip(*(map(float, line.split()) for line in done.stdout.splitlines()), strict=True)]


def followed(calm):
    """A user whose many connections follow jobs with long arguments, beside strangers. The cluster @calm is asked at
    the same time: the machine is as busy for both."""
    with schedlocal.Cluster() as cluster:
        cluster.up("h1", "h2", scored=("--rows", "1"))
        with job(cluster, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 60") as (child, _):
            with hostile(cluster, "follow", FOLLOWERS) as said:
                words = [line.split()[0] for line in said]
                TAP.equal((words.count("queued"), words.count("activity"), words.count("error")),
                          (100, 8, FOLLOWERS - 8), "a user may follow the activity over 8 connections")
                TAP.ok("sctop" in said[-1], "one more: why, and what helps", said[-1])
                with hostile(cluster, "garbage", GARBAGE_HZ):
                    flooded_ms, calm_ms = answers(cluster, calm)
            TAP.ok(flooded_ms <= FLOOD_TIMES * calm_ms,
                   f"another user's scqueue: {flooded_ms:.1f} ms under the attack, {calm_ms:.1f} ms without")
            TAP.ok(child.poll() is None and "said nothing" not in cluster.scored.log(), "his job goes on",
                   cluster.scored.log()[-2000:])
        TAP.equal(cluster.settled(), [], "nothing is left of it")


@contextlib.contextmanager
def slow_cluster():
    """One whose daemons ask a munged that reads fewer credentials than strangers send, as root: for root's jobs."""
    with schedlocal.Cluster() as cluster:
        cluster.munge, cluster.munged = cluster.start_munge()
        slow = f"{cluster.directory}/slow"
        cluster.start("slow-munge", PYTHON, f"{ROOT}/tests/system/slowmunge.py", cluster.munge, slow, str(READ_S))
        if not schedlocal.wait_until(lambda: os.path.exists(slow), schedlocal.READY_S):
            raise RuntimeError("no slow munged")
        cluster.server, cluster.scored = cluster.start_scored(munge=slow)
        for host in ("h1", "h2"):
            cluster.start_host(host, munge=slow)
        for host in ("h1", "h2"):
            if not cluster.hosts[host].says("registered with"):
                raise RuntimeError(cluster.hosts[host].log())
        yield cluster


def garbage(_):
    """Strangers without a key, who send more credentials than munged can read."""
    with slow_cluster() as cluster:
        with hostile(cluster, "garbage", GARBAGE_HZ) as said:
            time.sleep(GARBAGE_S)           # until what waits is as long as it gets
            for n in range(5):
                in_time(cluster, f"scrun {n} of 5 among garbage credentials", user=0)
        TAP.ok(int(said[-1]) > GARBAGE_HZ / 2, f"{said[-1]} of them came in a second, {GARBAGE_HZ} were wanted")
        TAP.ok("said nothing" not in cluster.scored.log(), "no host was lost", cluster.scored.log()[-2000:])
        door = f"127.0.0.1:{cluster.hosts['h1'].log().split('port ')[1].split(',')[0]}"
        with hostile(cluster, "garbage", GARBAGE_HZ, door):
            time.sleep(GARBAGE_S)
            reached = 0
            for _ in range(14):
                with contextlib.suppress(Unreachable, Refused):
                    Link(door, role="scout", munge_socket=cluster.munge).socket.close()
                    reached += 1
            TAP.equal(reached, 14, "scout at a host's door among them")
            in_time(cluster, "a job on that host", user=0)


def queue_quota(cluster):
    """A user at his limit of waiting jobs gets an error for one more; jobs of other users get in and start."""
    with job(cluster, "-nodes=1x2,group=h1", "sh", "-c", "echo here; exec sleep 30"):
        with hostile(cluster, "fill", JOBS + 2) as said:
            TAP.equal([line.split()[0] for line in said], ["queued"] * JOBS + ["error"] * 2,
                      f"{JOBS} jobs of one user may wait")
            TAP.ok("--user-jobs" in said[-1] and "scancel" in said[-1], "one more: why, and what helps", said[-1])
            in_time(cluster, "another user's job among them", "-nodes=1x1")
            done = cluster.scrun("-nodes=1x1", "true", user=HOSTILE)
            TAP.ok(done.returncode != 0 and len(done.stderr.splitlines()) == 1 and "--user-jobs" in done.stderr,
                   "scrun of the one who has too many: one line", told(done))
    done = cluster.scrun("-nodes=1x1", "true", user=HOSTILE)
    TAP.equal(done.returncode, 0, "when they are gone he gets in")


def greedy_runs():
    """Users whose running jobs hold as many connections of scored as they can get: another one still gets in."""
    few = ("prlimit", f"--nofile={FILES}:{FILES}")
    with schedlocal.Cluster() as cluster, contextlib.ExitStack() as held:
        cluster.munge, cluster.munged = cluster.start_munge()
        cluster.server, cluster.scored = cluster.start_scored("--rows", str(PLACES), through=few)
        if not cluster.scored.says("ready") or not cluster.start_host("h1").says("registered with"):
            raise RuntimeError(cluster.scored.log())
        got = [held.enter_context(hostile(cluster, "run", runs, user=user)) for user, runs in ((HOSTILE, RUNS),
                                                                                               (2, PLACES - RUNS))]
        TAP.equal([sum(text.startswith("placed") for text in said) for said in got], [PLACES // 2, PLACES // 4],
                  "a user's running jobs leave as many connections to others as they hold")
        TAP.ok(all("LimitNOFILE=" in text for said in got for text in said if not text.startswith("placed")),
               "those that are refused name the limit", got)
        done = tool(cluster, "scqueue", "--json", user=OWNER)
        TAP.ok(done.returncode == 0 and len(json.loads(done.stdout)) == PLACES // 2 + PLACES // 4,
               "another user is answered, and all their jobs run", told(done))
        in_time(cluster, "another user's job starts and ends", "-nodes=1x1")
        held.close()
        TAP.equal(cluster.settled(20), [], "nothing is left of them")


def oversized(cluster):
    """More environment than a request may have: scored says so, scrun passes it on, and that is all."""
    whole = ("import os, resource, sys\n"
             "resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
             "n, size = map(int, sys.argv[1:3])\n"
             "more = {f'V{i}': 'x' * size for i in range(n)}\n"
             "os.execve(sys.argv[3], sys.argv[3:], {**os.environ, **more})\n")
    for n, size, limit in ((30, 100000, "2304 KiB"), (70000, 1, "65536 values")):
        begun = time.monotonic()
        done = as_user(HOSTILE, PYTHON, "-c", whole, str(n), str(size), schedlocal.SCRUN, "-nodes=1x1", "true",
                       env={**os.environ, **cluster.environment()}, cwd=cluster.directory)
        TAP.ok(done.returncode != 0 and limit in done.stderr and len(done.stderr.splitlines()) == 1 and
               time.monotonic() - begun < SLOW_S, f"{n} variables of {size} bytes: one line about {limit}", told(done))


def cut_requests(cluster):
    """Requests that never end: their user runs out of memory, nobody else does."""
    with hostile(cluster, "cut", CUT) as said:
        TAP.ok(said[0] == "waits" and said.count("waits") < CUT and
               all("--user-memory" in line for line in said if line != "waits"),
               "requests of which half has come: as many as --user-memory holds", said)
        in_time(cluster, "another user's job among them")
    done = cluster.scrun("-nodes=1x1", "true", user=HOSTILE)
    TAP.equal(done.returncode, 0, "when they are cut he gets in")


def floods(cluster):
    """Connections that say nothing, half of it, or too much."""
    held = []
    ports = [cluster.server.rsplit(":", 1)[1], cluster.hosts["h1"].log().split("port ")[1].split(",")[0]]
    for port in ports:
        for n in range(IDLE):
            one = socket.create_connection(("127.0.0.1", int(port)))
            held.append(one)
            if n % 3 == 1:
                one.send(MAGIC[:4])
            elif n % 3 == 2:
                one.send(MAGIC + struct.pack(">QII", 0 if port == ports[0] else 10 ** 9, 0xffffff, 0xfffff0))
    in_time(cluster, f"a job among {len(held)} strangers")
    for one in held:
        one.close()


def leftovers(cluster):
    """Many files, deep directories, links to others' files: swept, and nothing else is."""
    victim = f"{cluster.directory}/victim"
    with open(victim, "w", encoding="utf-8") as file:
        file.write("whole")
    program = ("import os\nos.chdir(os.environ['TMPDIR'])\n"
               f"os.symlink('{victim}', 'link'); os.symlink('{cluster.directory}', 'folder')\n"
               "for n in range(20000): open(f'f{n}', 'w').close()\n"
               "for n in range(700): os.mkdir('d'); os.chdir('d')\n"
               "open('deep', 'w').close()\n")
    done = cluster.scrun("-nodes=1x1", PYTHON, "-c", program, user=OWNER)
    TAP.ok(done.returncode == 0, "a job that leaves files behind", told(done))
    TAP.equal(cluster.settled(), [], "is swept")
    with open(victim, encoding="utf-8") as file:
        TAP.equal(file.read(), "whole", "what it linked to is there")
    TAP.ok("said nothing" not in cluster.scored.log(), "no host was lost", cluster.scored.log())


def survivors(cluster):
    """Processes that a rank leaves running are ended."""
    program = ("import os, time\n"
               "for n in range(20):\n"
               " if not os.fork():\n"
               "  os.setsid()\n"
               "  if os.fork(): os._exit(0)\n"
               "  time.sleep(60)\n")
    done = cluster.scrun("-nodes=1x1", PYTHON, "-c", program, user=HOSTILE)
    TAP.ok(done.returncode == 0, "a rank whose children leave its session", told(done))
    TAP.equal(cluster.settled(), [], "they are ended")


def stopped_step(cluster):
    """A user who stops his scstepd stops nobody else."""
    with job(cluster, "-nodes=1x1", "sh", "-c", "echo here; exec sleep 60", user=HOSTILE) as (child, _):
        pids = steps_of(cluster, HOSTILE)
        as_user(HOSTILE, "kill", "-STOP", *map(str, pids))
        done = cluster.scrun("-nodes=1x1", "true", user=OWNER)
        TAP.ok(done.returncode == 0, "a job beside a scstepd that is stopped", told(done))
        child.kill()
        TAP.ok(schedlocal.wait_until(lambda: not steps_of(cluster, HOSTILE), 12), "which is ended all the same")


def stalls(cluster):
    """A daemon that stands still for a while takes its own silence for nobody's end."""
    with job(cluster, "-nodes=2x1", "sh", "-c", "echo here; exec sleep 120") as (child, _):
        for daemon, seconds in ((cluster.scored, 8), (cluster.hosts["h2"], 5)):
            before = cluster.scored.log().count("host h2 registered")
            daemon.child.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            daemon.child.send_signal(signal.SIGCONT)
            schedlocal.wait_until(lambda before=before: cluster.scored.log().count("host h2 registered") > before,
                                  GRACE_S)
            TAP.ok(not schedlocal.wait_until(lambda: child.poll() is not None, GRACE_S),
                   f"{daemon.name} stopped for {seconds} s: the job goes on",
                   cluster.scored.log()[-2000:])
    in_time(cluster, "a job after that")


def directories(cluster):
    """State and run directories that another user made first, or may write to."""
    state = f"{cluster.directory}/scored-state"
    files = os.listdir(state)
    TAP.ok("journal.sqlite-wal" in files and not any(os.stat(f"{state}/{name}").st_mode & 0o77 for name in files),
           "the journal of running jobs, its log too: private", files)
    common = ("--listen", "127.0.0.1:0", "--munge-socket", cluster.munge)
    daemons = {"scored": ("--state", *common), "scnoded": ("--run", "--server", cluster.server, *common),
               "pm-ethernetd": ("--run", "--nics", "lo")}
    makers = {"made by another user": lambda path: (os.mkdir(path, 0o700), os.chown(path, HOSTILE, HOSTILE)),
              "writable by others": lambda path: (os.mkdir(path), os.chmod(path, 0o1777)),
              "that is a link": lambda path: os.symlink(cluster.directory, path)}
    for name, (option, *words) in daemons.items():
        program = f"{schedlocal.BUILD}/bin/{name}"
        if not os.access(program, os.X_OK):
            TAP.skip(f"directories of {name}", "it is not built")
            continue
        for what, make in makers.items():
            path = f"{cluster.directory}/{name}-{what.split()[-1]}"
            make(path)
            done = subprocess.run([program, option, path, *words], capture_output=True, text=True, check=False,
                                  timeout=20)
            TAP.ok(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and path in done.stderr and
                   option in done.stderr, f"{name} in a directory {what}: one line", told(done))
            TAP.ok(os.path.islink(path) or not os.listdir(path), "which it leaves as it was")


@contextlib.contextmanager
def own_host(cluster, name):
    """One more host with a /dev/shm of its own, and the path of that."""
    script = 'mount -t tmpfs -o mode=1777,nr_inodes=0 none /dev/shm && exec "$@"'
    daemon = cluster.start_host(name, through=("unshare", "--mount", "sh", "-c", script, "sh"))
    try:
        if not daemon.says("registered with"):
            raise RuntimeError(daemon.log())
        yield daemon, os.path.join(f"/proc/{daemon.child.pid}", "root", "dev/shm")
    finally:
        cluster.hosts.pop(name)
        cluster.daemons.remove(daemon)
        daemon.end()


def run_ns(pid):
    """Time that the main thread of a process has had a processor."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def forged_counters(cluster):
    """Counter files that no context has written, in the names of a job's processes and in others."""
    forge = ("import os, sys\n"
             "uid, pids = sys.argv[2], sys.argv[3:]\n"
             "names = [f'{uid}.{pid}.{n}' for pid in pids for n in range(256)]\n"
             "names += [f'{os.getuid()}.{9000000 + n}.0' for n in range(int(sys.argv[1]) - len(names))]\n"
             "for name in names: os.close(os.open(f'openscore-stat.{name}', os.O_WRONLY | os.O_CREAT, 0o644))\n")
    with own_host(cluster, "h3") as (daemon, directory):
        with job(cluster, "-nodes=1x2,group=h3", "sh", "-c", "echo $$; echo here; exec sleep 60") as (child, said):
            pids = [word for word in said().split() if word.isdigit()]
            subprocess.run(become(HOSTILE, [PYTHON, "-c", forge, str(FORGED), str(OWNER), *pids]), check=True,
                           timeout=120, cwd=directory)
            TAP.equal(len(os.listdir(directory)), FORGED, f"{FORGED} counter files of a stranger")
            times = [run_ns(daemon.child.pid)]
            for _ in range(BEATS):
                time.sleep(1)       # the beats' own clock
                times.append(run_ns(daemon.child.pid))
            worst = max(after - before for before, after in zip(times, times[1:])) / 1e9
            print(f"# scnoded-beat {worst:.3f} s")
            TAP.ok(worst <= BEAT_S, "scnoded-beat: a second of scnoded among them", f"{worst:.3f} s of {BEAT_S} s")
            TAP.ok(child.poll() is None, "the job went on", said())
        TAP.equal(cluster.settled(), [], "it is swept")
        TAP.ok(not re.search("host h3.*said nothing", cluster.scored.log()), "the host was not lost",
               cluster.scored.log())


def swapped_segments(cluster):
    """Names of segments that are another user's files by the time when they are swept."""
    make = f"import time\nfor n in range({SEGMENTS}): open(f'/dev/shm/vader_segment.{{n}}', 'w').close()\n" \
           "print('here', flush=True)\ntime.sleep(60)\n"
    with own_host(cluster, "h4") as (_, directory):
        for n in range(SEGMENTS):
            with open(f"{directory}/whole.{n}", "wb"):
                os.chown(f"{directory}/whole.{n}", OWNER, OWNER)
        with job(cluster, "-nodes=1x1,group=h4", PYTHON, "-c", make, user=HOSTILE) as (child, _):
            child.terminate()
            for n in range(SEGMENTS):
                os.rename(f"{directory}/whole.{n}", f"{directory}/vader_segment.{n}")
                time.sleep(SWAP_S)      # spread over the time of the sweep
        TAP.equal(cluster.settled(), [], "a job whose segments change hands is swept")
        left = [os.stat(f"{directory}/{name}").st_uid for name in os.listdir(directory)]
        TAP.equal((left.count(OWNER), len(left)), (SEGMENTS, SEGMENTS), "what another user has by then is there")


def takes(mib, then=""):
    """A program that wants so much memory."""
    return PYTHON, "-c", f"x = bytearray({mib} << 20)\n{then}"


def ends(cluster, name, *words, says, code=137):
    """A job that ends with one line, which says all of @says."""
    done = cluster.scrun(*words, user=HOSTILE)
    TAP.ok(done.returncode == code and len(done.stderr.splitlines()) == 1 and
           all(each in done.stderr for each in says), name, told(done))


def memory(cluster):
    """A job that wants all memory of a host ends, and tells how much it may have; others go on."""
    if "no cgroup controller memory" in cluster.hosts["h1"].log():
        TAP.skip("memory of jobs", "no cgroup controller memory here")
        return
    with job(cluster, "-nodes=1x1,group=h1,memory=100M", "sh", "-c", "echo here; exec sleep 60") as (child, said):
        shown = tool(cluster, "scqueue", "--json")
        if shown.returncode == 0:
            TAP.ok('"memory": 104857600' in shown.stdout, "scqueue --json has the memory of each rank", told(shown))
        else:
            TAP.skip("scqueue --json has the memory of each rank", shown.stderr.strip())
        ends(cluster, "a rank that wants too much", "-nodes=1x1,group=h1,memory=64M", *takes(300),
             says=("host h1", "64 MiB", "--memory"))
        ends(cluster, "a shell whose program wants too much", "-nodes=1x1,group=h1,memory=64M", "sh", "-c",
             'exec 2>/dev/null; "$@"; exit 3', "sh", *takes(300), says=("host h1", "64 MiB", "--memory"))
        ends(cluster, "a program that goes on without its child", "-nodes=1x1,group=h1,memory=64M", "sh", "-c",
             'exec 2>/dev/null; "$@"; exec sleep 60', "sh", *takes(300), says=("host h1", "64 MiB", "--memory"))
        ends(cluster, "ranks of a host have their memory together", "-nodes=1x2,group=h2,memory=64M",
             *takes(300), says=("host h2", "128 MiB", "64 MiB for each of 2 ranks"))
        ends(cluster, "shared memory counts", "-nodes=1x1,group=h1,memory=64M", "sh", "-c",
             f"dd if=/dev/zero of=/dev/shm/openscore.{os.getpid()} bs=1M count=300 2>/dev/null",
             says=("host h1", "64 MiB"))
        done = cluster.scrun("-nodes=1x1,group=h1,memory=400M", *takes(300), user=HOSTILE)
        TAP.equal((done.returncode, done.stderr), (0, ""), "a job that asks for enough")
        ends(cluster, "more than a job may have on a host", "-nodes=1x1,memory=1000T", "true", code=125,
             says=("host h", "--memory", "ask for less"))
        TAP.ok(child.poll() is None, "another job of the host goes on", said())
    name = "h5"
    host = cluster.start_host(name, "--memory", "1")
    TAP.ok(host.says("registered with"), "a host that gives a job one percent of its memory", host.log())
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    ends(cluster, "a job that does not ask", f"-nodes=1x1,group={name}", *takes(total // 100 + 200),
         says=("host h5", "1 % of the host's", "scnoded --memory", "--nodes"))
    TAP.equal(cluster.settled(), [], "all is swept")
    cluster.hosts.pop(name)
    cluster.daemons.remove(host)
    host.end()


def locked_host(cluster):
    """A scout that asks scored for nothing, and goes straight to the door of a host that another has for himself."""
    def remote(user, host="h1"):
        door = f"127.0.0.1:{cluster.hosts[host].log().split('port ')[1].split(',')[0]}"
        return as_user(user, PYTHON, f"{ROOT}/tests/system/schedhostile.py", door, cluster.munge, "remote",
                       "1").stdout.strip()

    with hostile(cluster, "lock", 1, user=OWNER) as said:
        TAP.equal(said, ["locked"], "a user locks a host")
        answer = remote(HOSTILE)
        TAP.ok(answer.startswith("error host h1 is locked by daemon since") and "disks; msgb" in answer,
               "another one's commands have no place there", answer)
        TAP.equal(remote(HOSTILE, "h2"), "remote_ready 10", "on other hosts they run, and come after jobs")
        TAP.equal(remote(OWNER), "remote_ready 0", "his own run there as usual")
        TAP.equal(remote(0), "remote_ready 0", "root's too")
    TAP.equal(remote(HOSTILE), "remote_ready 10", "when the lock is given back others are let in")


def escapes(cluster):
    """Control characters of users."""
    with job(cluster, "-nodes=1x1", "sh", "-c", "echo here; exec sleep 30", "\x1b]0;title\x07\n\rfake") as _:
        shown = tool(cluster, "scqueue", user=0)
        if shown.returncode == 0:
            TAP.ok(not set(shown.stdout) & {"\x1b", "\x07", "\r"}, "scqueue shows no control character", shown.stdout)
        else:
            TAP.skip("scqueue shows no control character", shown.stderr.strip())
    log = cluster.scored.log() + cluster.hosts["h1"].log()
    TAP.ok(not set(log) & {"\x1b", "\x07", "\r"}, "nor do the logs")
    done = cluster.scrun("-nodes=1x1", "-priority=5", "true", user=HOSTILE)
    TAP.ok(done.returncode not in (0,), "priority above 0: for operators", told(done))


@contextlib.contextmanager
def wiretap():
    """Packets that pass the loopback device during the block, those there are when it ends, as bytes."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as tap:
        tap.bind(("lo", ETH_P_ALL))
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, TAP_BYTES)
        tap.setblocking(False)
        heard = []
        yield heard
        with contextlib.suppress(BlockingIOError):
            while True:
                heard.append(tap.recv(1 << 16))


def sealed(cluster):
    """A listener on the way reads neither a job's order nor its input and output, but sees that there are some."""
    secret = f"confidential-{os.getpid()}"
    with wiretap() as heard:
        done = cluster.scrun("-nodes=2x1", "sh", "-c", "echo $0; echo $TOLD", secret, env={"TOLD": f"{secret}-env"})
    TAP.ok(done.returncode == 0 and done.stdout.count(secret) == 4, "a job says its arguments and its environment",
           told(done))
    heard = b"".join(heard)
    TAP.ok(heard.count(b"OSCORE1") >= 3 and b"credential" in heard, "handshakes are heard", len(heard))
    TAP.ok(secret.encode() not in heard and b"submit" not in heard, "and nothing of what follows", len(heard))


def main():
    why = schedlocal.missing("setpriv", "unshare", "prlimit")
    if why:
        TAP.skip("security of the scheduler", why)
        return TAP.end()
    greedy_runs()
    with schedlocal.Cluster() as cluster:
        cluster.up("h1", "h2", scored=("--rows", "1", "--user-jobs", str(JOBS)))
        for part in (sealed, others_job, pmix, local_socket, floods, garbage, queue_quota, oversized, cut_requests,
                     leftovers, survivors, stopped_step, stalls, escapes, forged_counters, directories,
                     swapped_segments, followed, memory, locked_host):
            part(cluster)
        TAP.equal(cluster.settled(), [], "nothing is left")
        TAP.ok(all(daemon.child.poll() is None for daemon in cluster.daemons), "all daemons live")
    return TAP.end()


sys.exit(main())
