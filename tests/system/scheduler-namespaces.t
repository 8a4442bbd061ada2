#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs with -checkpoint: their ranks are in pid and mount namespaces of the job, everybody outside knows them by the
host's numbers, and nothing is left of them. TAP. Needs root."""
import json
import os
import re
import signal
import subprocess
import sys

import schedlab
from schedlab import BUILD, kill, over_pm, wait_until
from systest import HERE, Tap, told

PMSTAT = f"{BUILD}/bin/pmstat"
USER = "bin"
LIMIT = 30
ORPHANS = 20
# Of one rank: what it sees of processes, of mounts and of memory.
LOOK = r"""
import json, os, sys
tmp = os.environ["TMPDIR"]
open(f"{tmp}/mine", "w").close()
open("/dev/shm/mine", "w").close()
names = {pid: open(f"/proc/{pid}/comm").read().strip() for pid in os.listdir("/proc") if pid.isdigit()}
mounts = [line.split() for line in open("/proc/self/mounts")]
print(json.dumps({"ns": os.readlink("/proc/self/ns/pid"), "ipc": os.readlink("/proc/self/ns/ipc"),
                  "names": names, "shm": os.listdir("/dev/shm"),
                  "tmp": [oct(os.stat(tmp).st_mode), os.stat(tmp).st_uid == os.getuid()],
                  "types": [m[2] for m in mounts if m[1] in (tmp, "/dev/shm")][-2:],
                  "others": [m[1] for m in mounts if "/jobs/" in m[1]
                             and os.path.dirname(m[1]) != os.path.dirname(tmp)]}))
"""
ORPHAN = f"""
import os, time
for _ in range({ORPHANS}):
    if not os.fork():
        if not os.fork():
            os._exit(0)
        os._exit(0)
    os.wait()
state = lambda pid: open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0]
def dead():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += state(pid) == "Z"
        except OSError:
            pass
    return found
end = time.monotonic() + 10
while dead() and time.monotonic() < end:
    time.sleep(0.01)
print("dead", dead())
if not os.fork():
    os.setsid()
    time.sleep(1000)
"""
# A process in the place of scstepd, as in scheduler-security.t.
ASK = """
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.connect("/run/openscore/scnoded.sock")
head = json.dumps({"op": "rejoin", "id": int(sys.argv[1])}).encode()
s.settimeout(5)
try:
    s.sendall(struct.pack(">II", 4 + len(head), len(head)) + head)
    print(s.recv(100) or "end")
except (BrokenPipeError, ConnectionResetError):
    print("end")
"""
tap = Tap()


def inner(pid):
    """Number of a process in its own namespace."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return int(re.search(r"^NSpid:.*?(\d+)$", f.read(), re.M)[1])


def seen_inside(lab):
    """Two hosts, each with namespaces of its own; another job is there already."""
    other = lab.start("-nodes=2x1", "sleep", "1000")
    wait_until(lambda: len(lab.find("sleep")) == 2, LIMIT)
    done = lab.scrun("-nodes=2x1", "-checkpoint", "python3", "-c", LOOK, user=USER)
    told_by = [json.loads(line) for line in done.stdout.splitlines()]
    tap.equal(done.returncode, 0, f"a job of user {USER} with -checkpoint ends well")
    ours = os.readlink("/proc/self/ns/pid")
    tap.ok(len({each["ns"] for each in told_by} | {ours}) == 3, "each host has a pid namespace of its own", told(done))
    ours = os.readlink("/proc/self/ns/ipc")
    tap.ok(len({each["ipc"] for each in told_by} | {ours}) == 3, "... and one for memory of System V", told(done))
    for each in told_by:
        names = sorted(each["names"].values())
        tap.equal((each["names"]["1"], each["names"]["2"], set(names)),
                  ("openscore-init", "scstepd", {"openscore-init", "scstepd", "python3"}),
                  "/proc shows the job's processes only, below its init")
        tap.equal(each["shm"], ["mine"], "/dev/shm is empty at the beginning")
        tap.equal((each["types"], each["tmp"]), (["tmpfs", "tmpfs"], ["0o40700", True]),
                  "/dev/shm and TMPDIR are file systems of the job, TMPDIR for its user alone")
        tap.equal(each["others"], [], "file systems of other jobs are not held")
    other.send_signal(signal.SIGTERM)
    other.communicate(timeout=LIMIT)
    tap.equal(lab.settled(), [], "nothing is left")


def endings(lab):
    for words, code, text in ((["sh", "-c", "exit 7"], 7, "exited with code 7"),
                              (["sh", "-c", "kill -SEGV $$"], 139, "killed by signal 11")):
        done = lab.scrun("-nodes=2x1,checkpoint", *words)
        tap.ok(done.returncode == code and text in done.stderr, f"{words[-1]}: {code}", told(done))
    done = lab.scrun("-nodes=1x1,checkpoint", "python3", "-c", ORPHAN)
    tap.equal((done.returncode, done.stdout), (0, "dead 0\n"), f"{ORPHANS} orphans: all are reaped")
    tap.equal(lab.settled(), [], "a process in a session of its own ends with the job")
    job = lab.start("-nodes=2x1,checkpoint", "sh", "-c",
                    "trap 'echo got; exit 0' USR1; echo here; while :; do sleep 0.1; done")
    job.stdout.readline(), job.stdout.readline()
    job.send_signal(signal.SIGUSR1)
    out, _ = job.communicate(timeout=LIMIT)
    tap.equal((out, job.returncode), ("got\ngot\n", 0), "a signal to scrun reaches the ranks")
    for program, signo, text in (("scstepd", signal.SIGKILL, "was killed by signal 9"),
                                 ("openscore-init", signal.SIGUSR1, "was killed by signal 10"),
                                 ("openscore-init", signal.SIGKILL, "was killed by signal 9")):
        job = lab.start("-nodes=1x1,checkpoint", "-hosts=h1", "sh", "-c", "echo here; exec sleep 1000")
        job.stdout.readline()
        os.kill(lab.find(program, "h1")[0], signo)
        _, err = job.communicate(timeout=LIMIT)
        tap.ok(job.returncode == 123, f"{program} gets signal {signo}: the job ends", f"{job.returncode} {err}")
        tap.ok(wait_until(lambda text=text: text in err, 0), f"... and scrun says that scstepd {text}", err)
        tap.equal(lab.settled(), [], "... and nothing is left")


def numbers(lab):
    """The numbers that pmstat and a debugger show."""
    env = over_pm("devices=self+shmem+ethernet")
    job = lab.start("-nodes=2x2,checkpoint", f"{BUILD}/mpi/rally", "1000", env=env)
    ranks = wait_until(lambda: lab.find("rally", "h0") if len(lab.find("rally")) == 4 else None, LIMIT)

    def shown(*words):
        done = lab.run(PMSTAT, "--json", *words)
        return sorted(each["pid"] for each in json.loads(done.stdout)["contexts"]) if done.returncode == 0 else []
    wait_until(lambda: len(shown()) == 2, LIMIT)
    tap.equal(shown(), sorted(ranks), "pmstat shows the ranks of its host, by the host's numbers")
    tap.equal(shown("--pid", str(ranks[0])), [ranks[0]], "pmstat --pid knows one")
    tap.ok(all(inner(pid) != pid for pid in ranks), "which are others than the ranks know", ranks)
    done = lab.run(f"{BUILD}/bin/pmstat", "--pid", str(inner(ranks[0])))
    tap.ok(done.returncode, "pmstat does not take a number of the namespace", told(done))
    job.send_signal(signal.SIGUSR1)
    out, err = job.communicate(timeout=LIMIT)
    tap.ok(job.returncode == 0 and "OK rally" in out, "... and the job ends well", out + err)
    tap.equal(lab.settled(), [], "nothing is left")
    debugger = lab.command(f"{HERE}/mpirdebug", schedlab.SCRUN, "-nodes=2x2", "-checkpoint", f"{BUILD}/mpi/order")
    with subprocess.Popen(debugger, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **env}) as child:
        seen = json.loads(child.stdout.readline() or "{}").get("processes", [])
        there = lab.processes()
        tap.equal([(each["host"], *there.get(each["pid"], ("", ""))) for each in seen],
                  [(each["host"], each["host"], "order") for each in seen], "a debugger is told the host's numbers")
        tap.equal(len(seen), 4, "of all ranks")
        _, err = child.communicate("\n\n", LIMIT)
        tap.equal((child.returncode, err), (0, ""), "and the job ends well")


def mpi(lab):
    for devices in ("self+shmem+udp", "self+shmem+ethernet"):
        for name in ("order", "collectives", "spawn"):
            done = lab.scrun("-nodes=2x2,checkpoint", f"{BUILD}/mpi/{name}", env=over_pm(f"devices={devices}"))
            tap.ok(done.returncode == 0 and f"OK {name}" in done.stdout, f"{name} by {devices}", told(done))
    tap.equal(lab.settled(), [], "nothing is left")


def restart(lab):
    """scnoded is killed, and the next one has the job; two jobs take turns meanwhile."""
    env = over_pm("devices=self+shmem+udp")
    jobs = [lab.start("-nodes=2x2,checkpoint", f"{BUILD}/mpi/rally", "1000", env=env) for _ in range(2)]
    wait_until(lambda: len(lab.find("rally")) == 8, LIMIT)
    for _ in range(2):
        kill(lab.daemons("scnoded", "h1")[0])
        lab.restart("scnoded", "h1")
    tap.equal([job.poll() for job in jobs], [None, None], "scnoded killed and started anew, twice: the jobs go on")
    log = lab.log("scnoded", "h1")
    for job in jobs:
        job.send_signal(signal.SIGUSR1)
    ended = [(job.communicate(timeout=LIMIT), job.returncode) for job in jobs]
    tap.ok(all(code == 0 and "OK rally" in out for (out, _), code in ended), "... and end well", f"{ended}\n{log}")
    tap.equal(lab.settled(), [], "... and nothing is left")
    job = lab.start("-nodes=2x1,checkpoint", "sh", "-c", "echo here; exec sleep 1000")
    job.stdout.readline(), job.stdout.readline()
    kill(lab.daemons("scnoded", "h1")[0])
    kill(lab.find("openscore-init", "h1")[0])
    lab.restart("scnoded", "h1")
    _, err = job.communicate(timeout=LIMIT)
    tap.ok(job.returncode == 123, "its init ends while no scnoded is there: the job ends", f"{job.returncode} {err}")
    tap.equal(lab.settled(), [], "... and nothing is left")


def strangers(lab):
    """The job's user in the place of scstepd, from inside and outside."""
    job = lab.start("-nodes=1x1,checkpoint", "sh", "-c", "echo $SCORE_JOBID; exec sleep 1000", user=USER)
    number = job.stdout.readline().strip()
    host = wait_until(lambda: next((host for host in lab.hosts if lab.find("sleep", host)), None), LIMIT)
    done = lab.run("python3", "-c", ASK, number, user=USER, host=host)
    tap.equal(done.stdout, "end\n", "a process outside that calls itself the job's scstepd is shown out")
    sleeper = lab.find("sleep", host)[0]
    done = subprocess.run(["nsenter", "-t", str(sleeper), "-n", "-m", "-p", "-S",
                           str(os.stat(f"/proc/{sleeper}").st_uid), "python3", "-c", ASK, number],
                          capture_output=True, text=True, check=False, timeout=LIMIT)
    tap.equal(done.stdout, "end\n", "a process inside, too")
    tap.equal(job.poll(), None, "the job goes on")
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=LIMIT)
    before = lab.lines["scnoded", "h1"]
    lab.lines["scnoded", "h1"] = [*before, "--scstepd", f"{HERE}/falsestep"]
    kill(lab.daemons("scnoded", "h1")[0])
    lab.restart("scnoded", "h1")
    outside = subprocess.Popen(lab.command("sleep", "1000", user=USER, host="h1"))
    try:
        done = lab.scrun("-nodes=1x1,checkpoint", "-hosts=h1", "true", str(outside.pid), user=USER)
        said = json.loads(re.search(r"\{.*\}", done.stderr)[0])
        for name, pid in (("init", 1), ("outside", outside.pid), ("none", 4711), ("cut", (1 << 32) + said["told"])):
            tap.equal(said[name], f"process {pid} is not of this job", f"a wrong process is refused: {name}")
        tap.ok(said["child"] == "adopted" and len(said["pids"]) == 1 and said["pids"][0][0] == said["told"] and
               said["pids"][0][1] != said["told"], "one of the job is taken, and the host's number told", said)
    finally:
        outside.kill()
        outside.wait()
    lab.lines["scnoded", "h1"] = before
    kill(lab.daemons("scnoded", "h1")[0])
    lab.restart("scnoded", "h1")
    tap.equal(lab.settled(), [], "nothing is left")


def refused(lab):
    before = lab.lines["scnoded", "h1"]
    lab.lines["scnoded", "h1"] = ["setpriv", "--bounding-set=-sys_admin", *before]
    kill(lab.daemons("scnoded", "h1")[0])
    lab.restart("scnoded", "h1")
    done = lab.scrun("-nodes=2x1,checkpoint", "true")
    tap.ok(done.returncode == 125 and "host h1: a job with -checkpoint needs namespaces of its own, which fails: "
           "Operation not permitted; run scnoded there as root with CAP_SYS_ADMIN" in done.stderr,
           "a scnoded that may not make namespaces: refused, with host and remedy", told(done))
    done = lab.scrun("-nodes=2x1", "true")
    tap.equal(done.returncode, 0, "other jobs run there")
    lab.lines["scnoded", "h1"] = before
    kill(lab.daemons("scnoded", "h1")[0])
    lab.restart("scnoded", "h1")
    tap.equal(lab.settled(), [], "nothing is left")


def main():
    why = schedlab.missing_pm()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with schedlab.Lab(f"sn{os.getpid()}", 2, "--ethernet") as lab:
        for part in (seen_inside, endings, numbers, mpi, restart, strangers, refused):
            part(lab)
        mounts = [line for host in lab.hosts
                  for line in lab.run("cat", "/proc/self/mounts", host=host).stdout.splitlines()
                  if line.startswith("openscore-job")]
        tap.equal(mounts, [], "no mount is left on the hosts")
    tap.equal(schedlab.left_of(lab.name), [], "the lab is gone")
    return tap.end()


sys.exit(main())
