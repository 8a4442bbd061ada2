#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun as its user sees it, on the hosts of a lab. Shown are input and output byte for byte, exit
codes and the one line that goes with them, signals, the terminal, and daemons that go away while it
waits or runs. TAP. Needs root."""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time

import schedlab
from schedlab import SCRUN, kill, wait_until
from systest import ROOT, Tap, told

tap = Tap()
MEGABYTES = 100
LIMIT = 60
SCQUEUE = f"{ROOT}/scheduler/ctl/scqueue"


def md5(path):
    with open(path, "rb") as f:
        return hashlib.md5(f.read()).hexdigest()


# ---- bytes ----

def feed(lab, path, *words, slow=0.0, through="<"):
    """MD5 of what scrun prints when it reads @path as a file, or through a pipe ("|")."""
    shell = f"cat {path} | exec \"$@\"" if through == "|" else f"exec \"$@\" <{path}"
    with subprocess.Popen(["sh", "-c", shell, "sh", *lab.command(SCRUN, *words)], stdout=subprocess.PIPE) as job:
        time.sleep(slow)
        digest = hashlib.md5()
        while chunk := job.stdout.read(1 << 20):
            digest.update(chunk)
        return job.wait(LIMIT), digest.hexdigest()


def byte_for_byte(lab, work):
    path = f"{work}/input"
    with open(path, "wb") as f:
        for _ in range(MEGABYTES):
            f.write(os.urandom(1 << 20))
    want = (0, md5(path))
    tap.equal(feed(lab, path, "cat"), want, f"{MEGABYTES} MB from a file to a rank and back")
    tap.equal(feed(lab, path, "-nodes=2x1", "--stdin", "1", "cat", through="|"), want,
              "the same through a pipe, to a rank on another host")
    tap.equal(feed(lab, path, "cat", slow=1.0), want, "a reader that sleeps first")
    tap.equal(feed(lab, "/dev/null", "-nodes=2x1", "--stdin", path, "cat"), want, "--stdin FILE")
    feed(lab, path, "-nodes=2x1", "--stdin", "all", "--output", f"{work}/out.%r.%h.%s", "cat")
    copies = sorted(name for name in os.listdir(work) if name.startswith("out."))
    told_apart = [re.fullmatch(r"out\.(\d)\.(h\d)\.(out|err)", name) for name in copies]
    tap.equal([found and (found[1], found[3]) for found in told_apart],
              [(rank, stream) for rank in "01" for stream in ("err", "out")], "a file for each rank and stream")
    tap.equal([md5(f"{work}/{name}") for name in copies if name.endswith("out")], [want[1]] * 2,
              "all ranks get the input")
    for name in copies:
        os.unlink(f"{work}/{name}")
    done = lab.scrun("--stdin", "none", "-n", "2", "wc", "-c")
    tap.equal(done.stdout.split(), ["0", "0"], "--stdin none")


# A rank that writes until nobody has taken anything for half a second, and then says how much that was.
FILL = """import os, select
os.set_blocking(1, False)
n = 0
while select.select([], [1], [], 0.5)[1]:
    n += os.write(1, bytes(4096))
os.write(2, b"%d" % n)"""
REST = 400000   # bytes for which a rank would wait: its pipe, and a part of the room that its host has
LATE_S = 2.5    # longer than any daemon was once patient with an ended job


def unread(lab, *words):
    """(bytes of standard output, standard error, code) of a job whose output nobody reads for a while."""
    with subprocess.Popen(lab.command(SCRUN, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        time.sleep(LATE_S)
        out, said = job.communicate()
        return len(out), said.decode(), job.returncode


def read_late(lab):
    """As much as there is room for on the way: its job ends, and it is there for him who reads it later."""
    size = unread(lab, sys.executable, "-c", FILL)[0]
    sizes = [size - i * REST for i in range(1, 5)]  # how much goes varies
    tap.equal([unread(lab, "head", "-c", f"{size}", "/dev/zero") for size in sizes], [(size, "", 0) for size in sizes],
              "output that is read late")


def lines(lab):
    script = "for i in 1 2 3; do printf 'a%s' $i; sleep 0.02; echo b; done; printf end"
    done = lab.scrun("-nodes=2x2", "--label", "sh", "-c", script)
    host = {line[1]: line[3:5] for line in done.stdout.splitlines()}
    want = [f"[{r} {host.get(str(r))}] {text}" for r in range(4) for text in ("a1b", "a2b", "a3b", "end")]
    tap.equal(sorted(done.stdout.splitlines()), want, "labelled lines are whole, the last one too")
    tap.ok(host.get("0") == host.get("1") != host.get("2") == host.get("3"), "a rank's host is right", str(host))
    done = lab.scrun("-nodes=2x2", "--merge", "sh", "-c", "echo same; echo rank $SCORE_RANK >&2")
    tap.equal((done.stdout, sorted(done.stderr.splitlines())),
              ("[0-3] same\n", [f"[{r}] rank {r}" for r in range(4)]), "equal lines are merged, by stream")
    done = lab.scrun("printf", "no end")
    tap.equal(done.stdout, "no end", "without labels nothing is added")


# ---- exit codes ----

def codes(lab, work):
    plain = f"{work}/plain"
    with open(plain, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
    wrong = f"{work}/wrong"
    with open(wrong, "w", encoding="ascii") as f:
        f.write("A=1\nB\n")
    table = [
        (["sh", "-c", "exit 3"], 3, r"scrun: job \d+: rank 0 on h\d exited with code 3\n"),
        (["sh", "-c", "kill -9 $$"], 137, r"scrun: job \d+: rank 0 on h\d was killed by signal 9 \(Killed\)\n"),
        (["true"], 0, ""),
        (["no-such-program"], 127, r"scrun: job \d+: no-such-program, host h\d: .*\n"),
        ([plain], 126, rf"scrun: job \d+: {plain}, host h\d: .*\n"),
        (["--timeout", "0.5", "sleep", "60"], 124, r"scrun: job \d+: .* time limit of 0.5 s\n"),
        (["--nodes", "9", "true"], 125, r"scrun: 9 hosts are wanted, but the cluster has 2; .*\n"),
        (["--group", "nowhere", "true"], 125, r"scrun: .*nowhere.*; .*\n"),
        (["--nods", "2", "true"], 2, r"scrun: --nods: there is no such option; did you mean --nodes\?\n"),
        (["--stdin", f"{work}/none", "cat"], 125, rf"scrun: --stdin {work}/none: No such file .*; .*\n"),
        (["--output", f"{work}/none/x", "echo", "x"], 1, rf"scrun: job \d+: {work}/none/x: .*; .*\n"),
        (["--output", "/dev/full", "echo", "x"], 1, r"scrun: job \d+: /dev/full: .*No space left.*; .*\n"),
        (["--server", "h0:9", "true"], 125, r"scrun: scored, h0:9: .* refused; is .*\? Start it, or say where .*\n"),
        (["--munge-socket", f"{work}/none", "true"], 125, r"scrun: scored, .*munged.*: start it.*\n"),
        (["--dry-run", "true"], 0, r"scrun: the job can run on this cluster\n"),
        (["--dry-run", "--nodes", "9", "true"], 125, r"scrun: 9 hosts are wanted, but the cluster has 2; .*\n"),
        (["--dry-run", "--server", "h0:9", "true"], 125, r"scrun: scored, h0:9: .*\? Start it, or say where .*\n"),
        (["--json", "true"], 2, r"scrun: --json: .*--dry-run.*\n"),
        (["--env-file", f"{work}/none", "true"], 2, rf"scrun: --env-file {work}/none: No such file .*; .*\n"),
        (["--env-file", plain, "true"], 0, ""),
        (["--env-file", wrong, "true"], 2, rf"scrun: --env-file {wrong}, line 2: wanted is NAME=VALUE, .*\n"),
        (["--env", "NO_SUCH_NAME", "true"], 2, r"scrun: --env NO_SUCH_NAME: .*; .*\n"),
    ]
    for words, code, line in table:
        done = lab.scrun(*words)
        tap.ok(done.returncode == code and re.fullmatch(line, done.stderr), f"{code}: {' '.join(words)}", told(done))
    done = lab.run("sh", "-c", f"{SCRUN} yes | head -n 1")
    tap.equal((done.stdout, done.stderr), ("y\n", ""), "who reads us may leave")
    tap.equal(lab.settled(), [], "nothing is left of all that")


def dry_run(lab):
    done = lab.scrun("--dry-run", "-nodes=2x2", "true")
    first, second = (line.partition(":")[0] for line in done.stdout.splitlines()[:2])
    tap.equal((sorted((first, second)), done.stdout.splitlines()[:2]),
              (lab.hosts, [f"{first}: ranks 0-1, cores 0-1", f"{second}: ranks 2-3, cores 0-1"]),
              "--dry-run says where")
    told_all = json.loads(lab.scrun("--dry-run", "--json", "-nodes=2x2", "true").stdout)
    tap.equal(([r["rank"] for r in told_all["ranks"]], [r["host"] for r in told_all["ranks"]]),
              ([0, 1, 2, 3], [h["name"] for h in told_all["hosts"] for _ in range(h["ranks"])]), "--json for programs")
    job = start(lab, "-nodes=2x4", "--class", "exclusive", "sleep", "60")
    done = lab.scrun("--dry-run", "true")
    wanted = r"scrun: the job can run on this cluster, but not now: it waits for .*\n"
    tap.ok(done.returncode == 0 and re.fullmatch(wanted, done.stderr), "no room now: what it would wait for",
           told(done))
    job.terminate()
    end_of(job)
    numbers = [int(lab.scrun("sh", "-c", "echo $SCORE_JOBID").stdout)]
    lab.scrun("--dry-run", "true")
    numbers.append(int(lab.scrun("sh", "-c", "echo $SCORE_JOBID").stdout))
    tap.equal(numbers[1], numbers[0] + 1, "a dry run takes no job's number")


def bound(lab):
    """Said before as it is afterwards, on hosts whose cores are the machine's."""
    for words in (("-nodes=2x1",), ("-n", "1", "--bind", "host"), ("-nodes=2x1", "--bind", "none"),
                  ("--nodes", "1", "-n", "2", "--oversubscribe")):
        said = [line for line in lab.scrun("--dry-run", *words, "true").stdout.splitlines() if line.startswith("rank ")]
        got = [re.sub(r"(not bound) .*|core .* \((cpu .*)\)", r"\1\2", line).removeprefix("scrun: ")
               for line in lab.scrun("--report-bindings", *words, "true").stderr.splitlines()]
        tap.equal(sorted(got), sorted(said), f"{' '.join(words)}: bound as --dry-run told")


def collectives(lab):
    """The rules for collective operations go to jobs over PM, and to none whose user chose otherwise."""
    show = "echo ${OMPI_MCA_coll_tuned_dynamic_rules_filename##*/},$OMPI_MCA_coll_tuned_use_dynamic_rules"
    for words, expected in (((), "collectives.rules,1"), (("--collectives", "default"), ","),
                            (("-x", "OMPI_MCA_coll_tuned_use_dynamic_rules=0"), ",0"),
                            (("-x", "OMPI_MCA_btl=tcp,self"), ",")):
        done = lab.scrun(*words, "-nodes=2", "sh", "-c", show)
        tap.equal(done.stdout.split(), [expected] * 2, " ".join(["rules of collective operations:", *words]))


def environment(lab, work):
    path = f"{work}/variables"
    with open(path, "w", encoding="ascii") as f:
        f.write("# of this test\n\nFROM_FILE=a b\nA=0\n")
    done = lab.scrun("-n", "1", "-x", "A=1", "--env-file", path, "sh", "-c", "echo $FROM_FILE,$A", ":", "sh", "-c",
                     "echo $FROM_FILE")
    tap.equal(sorted(done.stdout.splitlines()), ["", "a b,1"], "--env-file, of one program; --env wins")
    env = {"FOR_ALL": "1", "SSH_AUTH_SOCK": "/x", "SLURM_JOB_ID": "1", "OMPI_MCA_btl": "self"}
    show = "echo $FOR_ALL,$SSH_AUTH_SOCK,$SLURM_JOB_ID,$OMPI_MCA_btl,$A"
    done = lab.scrun("-n", "1", "-x", "A=1", "sh", "-c", show, ":", "-n", "1", "--env", "SSH_AUTH_SOCK", "sh", "-c",
                     show, env=env)
    tap.equal(sorted(done.stdout.split()), ["1,,,self,1", "1,/x,,self,"], "environment, and each program's own")
    collectives(lab)
    done = lab.run("sh", "-c", f"cd /usr && umask 027 && ulimit -n 77 && {SCRUN} sh -c 'pwd; umask; ulimit -n'")
    tap.equal(done.stdout.split(), ["/usr", "0027", "77"], "directory, umask and limits")


# ---- signals ----

def start(lab, *words):
    """scrun in a process group of its own, and its ranks are there; who has a trap says so by a line."""
    before = len(lab.find("sleep")) + len(lab.find("sh"))
    job = subprocess.Popen(lab.command(SCRUN, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           stdin=subprocess.DEVNULL, process_group=0)
    wait_until(lambda: len(lab.find("sleep")) + len(lab.find("sh")) > before, 5)
    time.sleep(0.2)
    return job


def end_of(job, seconds=10):
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(job.pid)
        out, err = job.communicate()
        return "hangs", out, err
    return job.returncode, out, err


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()[0]


def signals(lab):
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGINT, 130)):
        job = start(lab, "-nodes=2x1", "sleep", "60")
        job.send_signal(number)
        got = end_of(job)
        tap.ok(got[0] == code and "was killed by signal" in got[2], f"{number.name} reaches the ranks", repr(got))
    job = start(lab, "sh", "-c", "trap 'echo usr2; exit 5' USR2; echo set; while :; do sleep 0.05; done")
    job.stdout.readline()
    job.send_signal(signal.SIGUSR2)
    got = end_of(job)
    tap.equal(got[:2], (5, "usr2\n"), "SIGUSR2 reaches a handler")
    job = start(lab, "sh", "-c", "trap '' INT; echo set; while :; do sleep 0.05; done")
    job.stdout.readline()
    job.send_signal(signal.SIGINT)
    time.sleep(0.3)
    is_running = job.poll() is None
    job.send_signal(signal.SIGINT)
    got = end_of(job)
    tap.ok(is_running and got[0] == 130 and "second interrupt" in got[2], "a second ^C ends what ignores it", repr(got))
    job = start(lab, "sh", "-c", "while :; do date +%s%N; sleep 0.02; done")
    job.send_signal(signal.SIGTSTP)
    tap.ok(wait_until(lambda: state_of(job.pid) == "T", 3), "^Z stops scrun")
    time.sleep(1.2)
    job.send_signal(signal.SIGCONT)
    time.sleep(0.7)
    job.send_signal(signal.SIGTERM)
    code, out, err = end_of(job)
    times = [int(line) for line in out.split()]
    gap = max((b - a for a, b in zip(times, times[1:])), default=0) / 1e9
    tap.ok(code == 143 and gap > 0.6, "the job stands still meanwhile, and goes on after", f"{code} {gap} {err}")
    tap.equal(lab.settled(), [], "nothing is left of all that")


def unanswered(lab):
    for words in (("--hosts", "h1"), ("-nodes=2x1",)):
        job = start(lab, *words, "sleep", "60")
        for pid in lab.find("scstepd"):
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        job.send_signal(signal.SIGTERM)
        got = end_of(job)
        tap.ok(got[0] == 143 and re.fullmatch(r"scrun: job \d+: its leader on host h\d does not answer to signal 15 "
                                              r"\(Terminated\); scored ends it\n", got[2]),
               f"SIGTERM while scstepd is stopped, {' '.join(words)}: one line", repr(got))
        tap.between(0, time.monotonic() - began, 5, "scrun ends in time")
        tap.equal(lab.settled(10), [], "scored has ended the job")


def statistics(lab):
    big = f"{sys.executable} -c 'bytearray(b\"x\" * (100 << 20))'"
    done = lab.scrun("-nodes=2x1", "--statistics", "sh", "-c", f"[ $SCORE_RANK = 0 ] || exec {big}")
    of_rank = re.search(r"\n  peak memory of a rank: ([\d.]+) MiB \(rank 1 on h\d\)\n", done.stderr)
    of_all = re.search(r"\n  peak memory, sum of 2 ranks: ([\d.]+) MiB\n", done.stderr)
    tap.ok(done.returncode == 0 and of_rank and of_all, "--statistics tells the ranks' memory", told(done))
    if of_rank and of_all:
        tap.between(100, float(of_rank[1]), 300, "the peak is that of the rank that has most, in MiB")
        tap.between(float(of_rank[1]) + 1, float(of_all[1]), float(of_rank[1]) + 100, "the sum has the other one, too")


# ---- the terminal ----

class Terminal:
    """scrun with a terminal of its own for its session."""

    def __init__(self, lab, *words, shell='stty rows 33 cols 99; "$@"; echo "code $?"', interpreter="sh"):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvp(interpreter, [interpreter, "-mc", shell, "sh", *lab.command(SCRUN, *words)])
        self.said = ""

    def expect(self, text, seconds=10):
        deadline = time.monotonic() + seconds
        while text not in self.said and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.fd, 4096).decode()
                except OSError:
                    break
        return text in self.said

    def type(self, text):
        os.write(self.fd, text.encode())

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def terminal(lab):
    script = "until stty size | grep -v '0 0'; do sleep 0.05; done; tty >&2; read a; echo got $a; exec sleep 60"
    at = Terminal(lab, "--pty", "sh", "-c", script)
    tap.ok(at.expect("33 99") and at.expect("/dev/pts/"), "--pty: the rank has a terminal of our size", at.said)
    tap.ok(at.is_raw(), "ours is raw meanwhile")
    at.type("word\r")
    tap.ok(at.expect("got word"), "what is typed reaches it", at.said)
    at.type("\x03")
    tap.ok(at.expect("code 130") and not at.is_raw(), "^C goes through it, and ours is as it was", at.said)
    at.close()
    at = Terminal(lab, "--pty", "sh", "-c", "echo there; exec sleep 60")
    at.expect("there")
    for pid in lab.find("scrun"):
        os.kill(pid, signal.SIGTERM)
    tap.ok(at.expect("code 143") and not at.is_raw(), "restored after SIGTERM", at.said)
    at.close()
    at = Terminal(lab, "--pty", "sh", "-c", "echo there; exec sleep 60")
    at.expect("there")
    for pid in lab.find("scrun"):
        os.kill(pid, signal.SIGSEGV)
    tap.ok(at.expect("code 139") and not at.is_raw(), "restored after a crash", at.said)
    at.close()
    at = Terminal(lab, "cat")
    at.type("one\n")
    tap.ok(at.expect("one\r\none\r\n"), "a line typed at a terminal comes back", at.said)
    at.type("\x04")
    tap.ok(at.expect("code 0"), "^D is the end of the input", at.said)
    at.close()


def background(lab):
    """In the background of a shell with job control: not stopped, and what is typed is left to the shell until fg."""
    at = Terminal(lab, "cat", shell='"$@" & sleep 0.5; echo now; sleep 1; fg; echo "code $?"', interpreter="bash")
    at.expect("now")
    at.type("word\n")
    tap.ok(at.expect("word\r\nword\r\n") or at.said.count("word") == 2, "fg: the job gets what is typed", at.said)
    at.type("\x04")
    tap.ok(at.expect("code 0") and "Stopped" not in at.said, "it was never stopped", at.said)
    at.close()


def shared(lab):
    """Nobody finds O_NONBLOCK on what is shared with scrun."""
    reader, writer = os.pipe()
    with subprocess.Popen(lab.command(SCRUN, "sleep", "0.5"), stdin=reader, stdout=writer) as job:
        time.sleep(0.4)
        flags = [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (reader, writer)]
        tap.equal((flags, job.wait(LIMIT)), ([0, 0], 0), "pipes stay as they are")
    os.close(reader)
    os.close(writer)


# ---- daemons that go ----

def lost(lab):
    job = start(lab, "sh", "-c", "sleep 2; exit 5")
    kill(lab.find("scored")[0])
    code, _, err = end_of(job)
    tap.ok(code == 5 and "goes on without it" in err, "scored dies: the job goes on and tells its end", f"{code} {err}")
    lab.restart("scored")
    first = start(lab, "-nodes=2x4", "--class", "exclusive", "sleep", "5")
    second = subprocess.Popen(lab.command(SCRUN, "-nodes=2x4", "--class", "exclusive", "echo", "at last"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    wait_until(lambda: '"queued"' in lab.run(SCQUEUE, "--json").stdout, LIMIT)
    kill(lab.find("scored")[0])
    lab.restart("scored")
    code, out, err = end_of(second, 20)
    tap.ok(code == 0 and out == 8 * "at last\n" and "waiting for it" in err and "submitted anew" in err,
           "scored dies: a queued job is submitted anew", f"{code} {out} {err}")
    end_of(first)
    for host in lab.hosts:      # one of them has the leader
        job = start(lab, "-nodes=2x1", "sleep", "60")
        began = time.monotonic()
        for pid in lab.find("scstepd", host):
            kill(pid)
        code, _, err = end_of(job, 15)
        tap.ok(code == 123 and err.count("\n") == 1, f"scstepd of {host} dies: code 123, one line", f"{code} {err}")
        tap.between(0, time.monotonic() - began, 5, "noticed in time")
    tap.equal(lab.settled(), [], "nothing is left of all that")


def cut_off(lab):
    job = start(lab, "--hosts", "h1", "sh", "-c", "echo begun; exec sleep 60")
    began = time.monotonic()
    lab.run("sh", "-c", "for nic in /sys/class/net/eth*; do ip link set ${nic##*/} down; done", host="h1")
    code, out, err = end_of(job, 15)
    tap.ok((code, out) == (123, "begun\n") and re.fullmatch(r"scrun: job \d+: host h1 is lost: .*\n", err),
           "the leader's host is cut off: code 123, one line", f"{code} {out} {err}")
    tap.between(0, time.monotonic() - began, 8, "noticed in time")


def main():
    why = schedlab.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 77
    with schedlab.Lab(f"r{os.getpid()}", 2, "--cores", "4") as lab, \
            tempfile.TemporaryDirectory(dir=schedlab.BUILD) as work:
        byte_for_byte(lab, work)
        read_late(lab)
        lines(lab)
        codes(lab, work)
        environment(lab, work)
        dry_run(lab)
        signals(lab)
        unanswered(lab)
        statistics(lab)
        terminal(lab)
        background(lab)
        shared(lab)
        lost(lab)
    with schedlab.Lab(f"c{os.getpid()}", 2, "--cores", "own") as lab:
        bound(lab)
        cut_off(lab)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
