#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun, scored, scnoded and scstepd on the hosts of a lab: MPI programs across hosts, what users see, who dies and
what is left of it. TAP. SCHEDULER_ROUNDS: rounds of random deaths; SCHEDULER_SEED repeats those of a run. Needs
root."""
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time

import schedlab
from schedlab import BUILD, kill, over_pm, wait_until
from systest import ROOT, Tap, told

tap = Tap()
ROUNDS = int(os.environ.get("SCHEDULER_ROUNDS", "12"))
SEED = int(os.environ.get("SCHEDULER_SEED", str(random.SystemRandom().randrange(1 << 32))))
NOTICE_S = 5                # a death is noticed, and the job's remains are gone, within that time
UDP = "devices=self+shmem+udp,udp.rails=eth1+eth2"
ETHERNET = "devices=self+shmem+ethernet"
ALLREDUCE = f"{BUILD}/bench/mpi_allreduce"
OTHERS = ("daemon", "nobody")
PMI = {}


def environment(options):
    return {**over_pm(options), **PMI}


# ---- programs ----

def programs(lab, network, options):
    env = environment(options)
    done = lab.scrun("-nodes=4x2", ALLREDUCE, "8", "50", "3", env=env)
    tap.ok(done.returncode == 0 and '"bytes": 8' in done.stdout, f"{network}: an allreduce over 4 hosts x 2 ranks",
           told(done))
    done = lab.scrun("-nodes=2x2", f"{BUILD}/mpi/collectives", env=env)
    tap.ok(done.returncode == 0 and "OK collectives" in done.stdout, f"{network}: collectives on 2 hosts x 2",
           told(done))
    done = lab.scrun("-nodes=2x2", f"{BUILD}/mpi/windows", env=env)
    tap.ok(done.returncode == 0 and "OK windows" in done.stdout, f"{network}: windows on 2 hosts x 2", told(done))
    done = lab.scrun("-nodes=4x1", f"{BUILD}/mpi/spawn", env=env)
    tap.ok(done.returncode == 0 and "OK spawn" in done.stdout, f"{network}: MPI_Comm_spawn across hosts", told(done))
    done = lab.scrun("-nodes=2x1", f"{BUILD}/bin/pmtest", "--test", "latency", "--size", "8", "--iterations", "200",
                     "--json", env=env)
    tap.ok(done.returncode == 0 and f'"device": "{network}"' in done.stdout.replace('":"', '": "'),
           f"{network}: pmtest between two hosts", told(done))


def hpcc(lab):
    """Small problems: whether it runs at all, and what it checks itself."""
    work = f"{BUILD}/schedlab.{os.getpid()}"
    os.makedirs(work, exist_ok=True)
    with open(f"{ROOT}/tests/lab/hpccinf.txt", encoding="utf-8") as f:
        lines = f.readlines()
    lines = ["1            Ps\n" if line.split()[-1] == "Ps" else line for line in lines]
    with open(f"{work}/hpccinf.txt", "w", encoding="utf-8") as f:
        f.writelines(lines)
    done = lab.scrun("-nodes=2x1", "--cwd", work, "hpcc", env=environment(UDP))
    try:
        with open(f"{work}/hpccoutf.txt", encoding="utf-8") as f:
            said = f.read()
    except FileNotFoundError:
        said = ""
    tap.ok(done.returncode == 0 and "Success=1" in said and "FAILED" not in said, "hpcc on 2 hosts", told(done))
    subprocess.run(["rm", "-rf", work], check=True)


def words(lab):
    done = lab.scrun("-nodes=4x2", "--label", "/bin/hostname")
    lines = sorted(done.stdout.split("\n"))
    hosts = sorted(re.findall(r"^\[(\d+) (h\d)\] (h\d)$", done.stdout, re.M))
    tap.ok(len(hosts) == 8 and all(a == b for _, a, b in hosts) and len({r for r, _, _ in hosts}) == 8,
           "--label: rank and host before each line", f"{lines}\n{told(done)}")
    done = lab.scrun("-n", "2", "/bin/echo", "first", ":", "-n", "1", "/bin/echo", "second")
    tap.equal(sorted(done.stdout.split()), ["first", "first", "second"], "MPMD: each program has its ranks")
    codes = {"exit 7": 7, "kill -USR1 $$": 128 + signal.SIGUSR1, "true": 0}
    for script, code in codes.items():
        done = lab.scrun("-nodes=4x1", "/bin/sh", "-c", script)
        tap.equal(done.returncode, code, f"exit code of '{script}'")
    done = lab.scrun("-nodes=4x1", "/bin/sh", "-c", '[ "$PMIX_RANK" != 2 ] || kill -9 $$; exec sleep 60')
    tap.ok(done.returncode == 137 and re.search(r"rank 2 on h\d was killed by signal 9", done.stderr),
           "one rank killed: all end, and the line names rank, host and signal", told(done))
    done = lab.scrun("-nodes=1x1", "/no/such/program")
    tap.ok(done.returncode == 127 and "/no/such/program" in done.stderr, "a program that is not there", told(done))
    done = lab.scrun("-nodes=5x1", "/bin/true")
    tap.ok(done.returncode != 0 and "5 hosts are wanted" in done.stderr, "more hosts than there are", told(done))
    # Told to forget such a rank, PMIx hangs.
    done = lab.scrun("-nodes=2x1", "env", "PMIX_SECURITY_MODE=none", ALLREDUCE, "8", "1")
    tap.ok(done.returncode and "exited with code" in done.stderr, "ranks that PMIx does not let in", told(done))
    tap.equal(lab.settled(), [], "nothing is left of all that")


# ---- deaths ----

def ranks(lab):
    """Of the program that the rounds run."""
    return lab.find("mpi_allreduce")


def steps(lab, leader):
    """scstepds, of the host with rank 0 or of the others."""
    where = lab.leader()
    return [pid for pid, (host, name) in lab.processes().items()
            if name == "scstepd" and (host == where) == leader]


VICTIMS = {
    "scrun": (lambda lab, job: [job.pid], False),
    "scored": (lambda lab, job: lab.daemons("scored"), False),
    "scored, restarted": (lambda lab, job: lab.daemons("scored"), True),
    "scnoded": (lambda lab, job: lab.daemons("scnoded"), False),
    "scnoded, restarted": (lambda lab, job: lab.daemons("scnoded"), True),
    "leader's scstepd": (lambda lab, job: steps(lab, True), False),
    "other scstepd": (lambda lab, job: steps(lab, False), False),
    "rank": (lambda lab, job: ranks(lab), False),
}
SURVIVED = ("scored", "scored, restarted", "scnoded, restarted")   # the job may go on


def end_of(job, seconds):
    """(text, seconds) of a scrun that ends by itself; None if it does not."""
    began = time.monotonic()
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return out + err, time.monotonic() - began


def interrupt(job):
    """As ^C does; how it ended."""
    job.send_signal(signal.SIGINT)
    return end_of(job, NOTICE_S)


def judge(lab, kind, victim, job):
    """The fault in the end of the job, '' = none."""
    name, host = victim
    noticed = end_of(job, 1 if kind in SURVIVED else NOTICE_S)
    is_queued = kind == "scnoded" and not noticed and not lab.leader()      # for the host to come back
    if not noticed and kind not in SURVIVED and not is_queued:
        job.kill()
        job.communicate()
        return f"scrun did not end within {NOTICE_S} s"
    if not noticed and not interrupt(job):
        job.kill()
        job.communicate()
        return f"the job went on, and scrun did not end within {NOTICE_S} s of an interrupt"
    if kind == "scrun" or not noticed:
        return ""
    if job.returncode == 0:
        return f"scrun ended with 0: {noticed[0]}"
    if name != "scored" and host not in noticed[0]:
        return f"the message does not name {host}: {noticed[0]}"
    return ""


def death(lab, kind, after, env):
    """One round; '' or what went wrong."""
    job = lab.start("-nodes=4x1", ALLREDUCE, "8", "100000000", env=env)
    time.sleep(after)
    find, is_restarted = VICTIMS[kind]
    pids = find(lab, job)
    if not pids:
        # nothing of that kind yet: as soon as there is
        pids = wait_until(lambda: find(lab, job), schedlab.READY_S)
    victim = None
    if pids:
        pid = random.choice(pids)
        host, name = lab.processes().get(pid, ("?", "?"))
        victim = (name, host) if kill(pid) else None
    if not victim:
        interrupt(job)
        job.kill()
        job.communicate()
        return f"no {kind} was found"
    if is_restarted:
        lab.restart(name, host)
    wrong = judge(lab, kind, victim, job)
    lab.restart_missing()
    left = lab.settled(NOTICE_S)
    return "; ".join(filter(None, [wrong, f"left behind: {left}" if left else ""]))


def deaths(lab, envs):
    random.seed(SEED)
    print(f"# seed {SEED}", flush=True)
    kinds = list(VICTIMS)
    for number in range(ROUNDS):
        kind = kinds[number % len(kinds)]
        after = random.uniform(0, 0.8)
        wrong = death(lab, kind, after, envs[number // len(kinds) % len(envs)])
        tap.ok(not wrong, f"round {number}: kill -9 of {kind} after {after * 1000:.0f} ms", f"seed {SEED}: {wrong}")


def restart(lab, env):
    """A job goes on while scored is gone, and the next scored knows it."""
    job = lab.start("-nodes=4x1", ALLREDUCE, "8", "100000000", env=env)
    wait_until(lambda: len(ranks(lab)) == 4, 5)
    before = sorted(ranks(lab))
    kill(lab.find("scored")[0])
    lab.restart("scored")
    tap.equal(sorted(ranks(lab)), before, "scored killed and restarted: the ranks are the same")
    seen = lab.run("python3", "-c", ASK, '{"op": "jobs"}')
    tap.ok(ALLREDUCE in seen.stdout and '"running"' in seen.stdout, "the new scored lists the job as running",
           told(seen))
    ended = interrupt(job)
    tap.ok(ended and job.returncode, "and it can be interrupted still", str(ended))
    tap.equal(lab.settled(), [], "nothing is left of it")


# ---- users ----

ASK = f"""
import json, os, sys
sys.path.insert(0, {ROOT + "/scheduler/ctl"!r})
from scorelink.link import Link
from scorelink.munge import Refused
try:
    print(json.dumps(Link(os.environ["SCORE_SERVER"]).ask(json.loads(sys.argv[1]))))
except Refused as why:
    print("refused:", why)
"""
ATTACH = f"""
import os, sys
sys.path.insert(0, {ROOT + "/scheduler/ctl"!r})
from scorelink.link import Link
link = Link(sys.argv[1] + ":7711", role="scrun", job=int(sys.argv[2]))
link.send({{"op": "attach", "id": int(sys.argv[2]), "columns": 0, "rows": 0}})
print(link.receive())
"""


def users(lab):
    owner, other = OTHERS
    job = lab.start("-nodes=2x1", "/bin/sleep", "54321", user=owner)
    wait_until(lambda: len(lab.find("sleep")) == 2, 5)
    seen = lab.run("python3", "-c", ASK, '{"op": "jobs"}', user=owner)
    number = int(re.search(r'"id": (\d+)', seen.stdout)[1])
    tap.ok("54321" in seen.stdout, "the owner sees the arguments of the job", told(seen))
    seen = lab.run("python3", "-c", ASK, '{"op": "jobs"}', user=other)
    tap.ok(f'"id": {number}' in seen.stdout and "54321" not in seen.stdout and "sleep" not in seen.stdout,
           "another user sees that there is a job, not what it is", told(seen))
    for request in (f'{{"op": "cancel", "id": {number}}}', f'{{"op": "cancel", "id": {number}, "signal": 9}}',
                    f'{{"op": "suspend", "id": {number}, "is_suspended": true}}'):
        done = lab.run("python3", "-c", ASK, request, user=other)
        tap.ok("refused" in done.stdout or done.returncode, f"another user's {request} is refused", told(done))
    hosts = {host for host, name in lab.processes().values() if name == "scstepd"}
    said = [lab.run("python3", "-c", ATTACH, host, str(number), user=other) for host in hosts]
    tap.ok(all(done.returncode for done in said), "nobody else attaches to a job's output",
           "\n".join(map(told, said)))
    done = lab.run("sh", "-c", "kill -9 " + " ".join(map(str, lab.find("scstepd") + lab.find("sleep"))), user=other)
    tap.ok(done.returncode != 0 and job.poll() is None, "nor signals its processes", told(done))
    done = lab.run("python3", "-c", ASK, f'{{"op": "cancel", "id": {number}}}', user=owner)
    ended = end_of(job, NOTICE_S)
    tap.ok('"ok"' in done.stdout and ended and job.returncode, "the owner cancels it", f"{told(done)} {ended}")
    tap.equal(lab.settled(), [], "nothing is left of it")


def main():
    why = schedlab.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    networks = {"udp": UDP, "ethernet": ETHERNET}
    options = ["--nics", "2", "--cores", "2", "--ethernet"]
    with contextlib.ExitStack() as stack:
        try:
            lab = stack.enter_context(schedlab.Lab(f"sched{os.getpid()}", 4, *options))
        except RuntimeError as problem:
            if "pm-ethernetd" not in str(problem):
                raise
            tap.skip("over pm-ethernet", str(problem).strip())
            lab = stack.enter_context(schedlab.Lab(f"sched{os.getpid()}", 4, *options[:-1]))
            del networks["ethernet"]
        words(lab)
        for network, devices in networks.items():
            programs(lab, network, devices)
        users(lab)
        restart(lab, environment(UDP))
        deaths(lab, [environment(devices) for devices in networks.values()])
        hpcc(lab)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
