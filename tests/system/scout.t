#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scout on four hosts of a lab: outputs, codes, input, hosts that are down or hang, ends, files, sessions. TAP."""
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys

from schedlab import kill, wait_until
from scoutlab import SCOUT, Lab, interrupt, missing
from systest import BUILD, Tap

tap = Tap()
EACH = "echo $SCOUT_HOST"


def nothing_left(lab, after):
    tap.equal(lab.left(), [], f"{after}: no process is left")


def check(done, code, out, name, err=None):
    is_same = (done.code, done.out) == (code, out) and (err is None or done.said() == err)
    tap.ok(is_same, name, f"{done}; want {code}, {out!r}, {err!r}")


# ---- what is printed ----

def outputs(lab):
    check(lab.scout("-no-lock", "-g", lab.all, "echo", "a  b", "*"), 0, b"h[0-3]:\na  b *\n",
          "several words are executed as they are, equal outputs printed once", "")
    check(lab.scout("-no-lock", "-g", "h[0-3]~h2", "uname -n; test -d /nonexistent || echo no >&2"), 0,
          b"h0:\nh0\nh1:\nh1\nh3:\nh3\n", "one word is for the shell, each host has its name",
          "h0:\nno\nh1:\nno\nh3:\nno\n")
    check(lab.scout("-g", lab.all, "echo a\n\techo b"), 0, b"h[0-3]:\na\nb\n",
          "a command of several lines, with a lock", "")
    odd = "test $((${SCOUT_HOST#h} % 2)) = 0 && echo even || echo odd"
    check(lab.scout("-no-lock", "-g", "h3,h[0-2]", odd), 0, b"h[1,3]:\nodd\nh[0,2]:\neven\n",
          "two kinds of output under two lists")
    check(lab.scout("-no-lock", "-g", "h[2-3],h0", "-sort", EACH), 0, b"h2:\nh2\nh3:\nh3\nh0:\nh0\n",
          "-sort: in the order of the list")
    check(lab.scout("-no-lock", "-g", "h[2-3],h0", "-rev", EACH), 0, b"h0:\nh0\nh3:\nh3\nh2:\nh2\n", "-rev: backwards")
    late = f"{EACH}; test $SCOUT_HOST != h0 || sleep 1"
    done = lab.scout("-no-lock", "-g", "h[0-2]", "-nosort", late)
    tap.ok(done.code == 0 and done.out.endswith(b"h0:\nh0\n"), "-nosort: who ends last comes last", done)
    done = lab.scout("-no-lock", "-g", "h[0-1]", "-label", "echo a; printf b; echo c >&2")
    tap.ok(done.code == 0 and sorted(done.out.splitlines()) == [b"h0: a", b"h0: b", b"h1: a", b"h1: b"]
           and sorted(done.err.splitlines()) == [b"h0: c", b"h1: c"], "-label: whole lines behind the host", done)
    both = r"printf '\377'; echo e >&2; test $SCOUT_HOST = h0 || kill $$"
    done = lab.scout("-no-lock", "-g", "h[0-1]", "--json", both)
    got = {one["host"]: one for one in map(json.loads, done.out.splitlines())}
    tap.ok(done.code == 143 and got["h0"]["stdout_base64"] == "/w==" and got["h0"]["stderr"] == "e\n"
           and (got["h0"]["status"], got["h0"]["signal"]) == (0, None)
           and (got["h1"]["status"], got["h1"]["signal"], got["h1"]["code"]) == (None, 15, 143),
           "--json: bytes, status and signal of each", done)


def much_output(lab):
    done = lab.scout("-no-lock", "-g", lab.all, "seq 200000")
    want = b"h[0-3]:\n" + b"".join(b"%d\n" % number for number in range(1, 200001))
    tap.ok(done.code == 0 and done.out == want, "more than 1 MB of each, merged", f"{done.code} {len(done.out)}")
    data = os.urandom(1_500_000)
    with open(f"{BUILD}/scout-test.data", "wb") as file:
        file.write(data)
    try:
        done = lab.scout("-no-lock", "-g", "h1", "cat", f"{BUILD}/scout-test.data")
        tap.ok(done.out == data, "binary bytes of one host are passed on as they are", f"{len(done.out)} bytes")
    finally:
        os.unlink(f"{BUILD}/scout-test.data")


def codes(lab):
    check(lab.scout("-no-lock", "-g", lab.all, "exit ${SCOUT_HOST#h}"), 3, b"", "the largest code counts",
          "scout: h1: exit 1; h2: exit 2; h3: exit 3\n")
    check(lab.scout("-no-lock", "-g", lab.all, "test $((${SCOUT_HOST#h} % 2)) = 0"), 1, b"",
          "half of the hosts fail: folded", "scout: h[1,3]: exit 1\n")
    check(lab.scout("-no-lock", "-g", lab.all, "kill -9 $$"), 137, b"", "death by a signal is none of 0",
          "scout: h[0-3]: killed by signal 9 (SIGKILL)\n")
    done = lab.scout("-no-lock", "-g", lab.all, "no-such-program", "x")
    tap.ok(done.code == 127 and done.said().startswith("scout: h[0-3]: no-such-program"), "127: there is none", done)
    done = lab.scout("-no-lock", "-g", "h0", "/etc/passwd")
    tap.ok(done.code == 126 and "/etc/passwd" in done.said(), "126: it can't be executed", done)
    for words, said in ((("-g", "h[0", "x"), "at character 2"), (("x",), "on which hosts"), (("-frob", "x"), "no such"),
                        ((), "this is no session")):
        done = lab.scout(*words)
        tap.ok(done.code == 2 and said in done.said(), f"2: {' '.join(words) or 'no words'}", done)


def odd_callers(lab):
    script = f"exec 0<&- 2>&-; mkdir /run/gone; cd /run/gone; rmdir /run/gone; {SCOUT} -no-lock -g h1 pwd"
    done = lab.scout("-c", script, program="sh")
    check(done, 0, b"/root\n", "without standard input, in a directory that is gone")
    check(lab.scout("-g", "h[0-3]", "-x", "h0", "-nostdin", "cat"), 0, b"", "nothing said, nothing shown", "")


def stdin(lab):
    data = os.urandom(3_000_000)
    want = f"h[0-3]:\n{hashlib.sha256(data).hexdigest()}  -\n".encode()
    check(lab.scout("-no-lock", "-g", lab.all, "sha256sum", stdin=data), 0, want,
          "all hosts get standard input as it is")
    check(lab.scout("-no-lock", "-g", lab.all, "head", "-c", "2", stdin=b"abc" * 1_000_000), 0, b"h[0-3]:\nab\n",
          "who does not read it all ends all the same")
    check(lab.scout("-no-lock", "-g", lab.all, "-nostdin", "wc", "-c", stdin=b"abc"), 0, b"h[0-3]:\n0\n", "-nostdin")


def chosen(lab):
    done = lab.scout("-v", "-g", "h[0-2]", "true")
    tap.ok(done.code == 0 and done.said().startswith("scout: h[0-2]: lock ") and "3 hosts in " in done.said(),
           "-v: the lock, and how long it took", done)
    check(lab.scout("-no-lock", "-g", "all~low", EACH), 0, b"h2:\nh2\nh3:\nh3\n", "groups of the lab")
    path = f"{BUILD}/scout-test.hosts"
    with open(path, "w", encoding="ascii") as file:
        file.write("# two of them\nh[1-2]\nh3 # and one\n")
    try:
        check(lab.scout("-no-lock", "-F", path, "-x", "h2", EACH), 0, b"h1:\nh1\nh3:\nh3\n", "-F and -x")
    finally:
        os.unlink(path)


# ---- ends ----

def timeouts(lab):
    done = lab.scout("-no-lock", "-g", lab.all, "-timeout", "1", "test $SCOUT_HOST = h0 || sleep 100")
    tap.ok(done.code == 124 and done.said() == "scout: h[1-3]: timed out\n" and done.seconds < 3, "-timeout: 124",
           done)
    done = lab.scout("-no-lock", "-g", "h0", "-timeout", "0.5", "trap '' TERM; sleep 100 & while :; do wait; done")
    tap.ok(done.code == 124 and done.seconds < 6, "-timeout: who ignores SIGTERM is killed with all it started", done)
    nothing_left(lab, "after -timeout")


def running(lab, program, count):
    """Waits for it on so many hosts."""
    return wait_until(lambda: len(lab.find(program)) >= count, 10)


def interrupts(lab):
    process = lab.popen("-no-lock", "-nostdin", "-g", lab.all, "sleep", "100")
    running(lab, "sleep", 4)
    interrupt(process)
    done = lab.finish(process)
    tap.ok(done.code == 130 and done.seconds < 3 and "h[0-3]: killed by signal 2 (SIGINT)" in done.said(),
           "^C reaches the command on all hosts", done)
    stubborn = "trap '' INT; setsid sleep 100 & sleep 100"
    for times, low, high in ((1, 4, 9), (2, 0, 3)):
        process = lab.popen("-no-lock", "-nostdin", "-g", lab.all, stubborn)
        running(lab, "sleep", 8)
        interrupt(process)
        if times == 2:
            interrupt(process)
        done = lab.finish(process)
        tap.ok(done.code == 137 and low <= done.seconds <= high,
               f"what ignores ^C is killed {'5 s later' if times == 1 else 'at the second'}", done)
        nothing_left(lab, "after ^C")
    process = lab.popen("-no-lock", "-nostdin", "-g", lab.all, stubborn)
    running(lab, "sleep", 8)
    kill(process.pid)
    lab.finish(process)
    nothing_left(lab, "after scout was killed")
    done = lab.scout("-no-lock", "-g", lab.all, "sleep 60 >/dev/null 2>&1 </dev/null & echo started")
    # The shell may end before its child has become the sleep.
    live_on = running(lab, "sleep", 4)
    tap.ok(done.code == 0 and done.out == b"h[0-3]:\nstarted\n" and live_on,
           "what is left in the background on purpose lives on", done)
    for pid in lab.find("sleep"):
        kill(pid)


# ---- hosts that are not well ----

@contextlib.contextmanager
def hanging(lab):
    """An agent that is stopped in mid-run: it takes its 10 s, so other tests run meanwhile."""
    process = lab.popen("-no-lock", "-nostdin", "-g", "h[1-3]", "echo begun; test $SCOUT_HOST != h2 || sleep 100")
    running(lab, "sleep", 1)
    stopped = lab.agents("h2")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    yield
    done = lab.finish(process)
    tap.ok(done.code == 255 and done.said() == "scout: h2: lost: nothing was heard of it for 10 s\n"
           and done.out.startswith(b"h[1,3]:\nbegun\n"), "a host that hangs is lost", done)
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    nothing_left(lab, "after a host hung")


def down(lab):
    kill(lab.find("scnoded", "h3")[0])
    done = lab.scout("-no-lock", "-rsh", "scnoded", "-g", lab.all, "hostname")
    tap.ok(done.code == 255 and done.out.count(b"\n") == 6
           and done.said() == "scout: h3: not reached: port 7711: Connection refused\n", "a host without scnoded", done)
    lab.restart("scnoded", "h3")
    stopped = lab.find("scnoded", "h3")[0]
    os.kill(stopped, signal.SIGSTOP)
    done = lab.scout("-no-lock", "-connect", "4", "-g", "h[2-3]", "true")
    os.kill(stopped, signal.SIGCONT)
    tap.ok(done.code == 255 and done.said() == "scout: h3: not reached: nothing was heard of it within 4 s\n",
           "a host whose scnoded hangs is given up", done)
    subprocess.run(["ip", "-n", f"{lab.name}-h3", "link", "set", "eth0", "down"], check=True)
    done = lab.scout("-no-lock", "-connect", "4", "-g", "h[2-3]", EACH)
    subprocess.run(["ip", "-n", f"{lab.name}-h3", "link", "set", "eth0", "up"], check=True)
    tap.ok(done.code == 255 and "h3: not reached: " in done.said() and done.out == b"h2:\nh2\n", "a host without link",
           done)
    done = lab.scout("-no-lock", "-g", "h0,nosuchhost", "true")
    tap.ok(done.code == 255 and "nosuchhost: not reached: " in done.said(), "a host that nobody knows", done)


# ---- other ways to the hosts ----

def by_pdsh(lab):
    check(lab.outside("-g", lab.all, "uname -n; exit 3"), 3, b"h[0-3]:\n%s\n" % os.uname().nodename.encode(),
          "pdsh -R exec: agents on this machine", "scout: h[0-3]: exit 3\n")
    check(lab.outside("-g", "h1,h[8-9]", "echo x"), 255, b"h1:\nx\n", "pdsh -R exec: its words about absent hosts",
          f'scout: h8: not reached: Cannot open network namespace "{lab.name}-h8": No such file or directory; '
          f'h9: not reached: Cannot open network namespace "{lab.name}-h9": No such file or directory\n')
    ssh = f"{BUILD}/scout-test.bin"
    os.makedirs(ssh, exist_ok=True)
    with open(f"{ssh}/ssh", "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\ncase "$*" in *h2*) echo "ssh: connect to host h2 port 22: No route to host" >&2\n'
                   f'exit 255;; esac\nexec {os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}/lab/sclab '
                   f'--name {lab.name} rsh-agent "$@"\n')
    os.chmod(f"{ssh}/ssh", 0o755)
    try:
        kill(lab.find("scnoded", "h1")[0])
        data = os.urandom(300_000)
        path = f"{ssh}:{BUILD}/bin:{os.environ['PATH']}"
        for rsh in ("ssh", "auto"):
            done = lab.scout("-no-lock", "-rsh", rsh, "-g", "h[0-3]~h2", "sha256sum", stdin=data, env={"PATH": path})
            check(done, 0, f"h[0-1,3]:\n{hashlib.sha256(data).hexdigest()}  -\n".encode(),
                  f"-rsh {rsh}: agents that connect back, known by munge")
        check(lab.scout("-no-lock", "-rsh", "ssh", "-g", "h[1-2]", "echo x", env={"PATH": path}), 255, b"h1:\nx\n",
              "-rsh ssh: what ssh says is told",
              "scout: h2: not reached: ssh: connect to host h2 port 22: No route to host\n")
        lab.restart("scnoded", "h1")
    finally:
        os.unlink(f"{ssh}/ssh")
        os.rmdir(ssh)
    nothing_left(lab, "after pdsh")


# ---- files ----

def listing(lab, directory):
    done = lab.scout("-no-lock", "-g", lab.all, f"ls -A {directory}")
    return done.out.decode()


def files(lab):
    lab.scout("-no-lock", "-g", lab.all, "mkdir -p /run/staged /run/small")
    data = os.urandom(3_000_000)
    path = f"{BUILD}/scout-test.file"
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o750)
    os.utime(path, (10**9, 10**9))
    try:
        check(lab.scout("-no-lock", "-g", lab.all, "-put", path, "/run/staged/"), 0, b"", "-put to all hosts", "")
        check(lab.scout("-no-lock", "-g", lab.all, "cd /run/staged; sha256sum *; stat -c '%a %Y' *"), 0,
              f"h[0-3]:\n{hashlib.sha256(data).hexdigest()}  scout-test.file\n750 {10**9}\n".encode(),
              "-put: content, mode and time")
        lab.run("mount", "-t", "tmpfs", "-o", "size=64k", "small", "/run/small", host="h1")
        done = lab.scout("-no-lock", "-g", lab.all, "-put", path, "/run/small/file")
        tap.ok(done.code == 1 and done.said().startswith("scout: h1: ") and "No space left" in done.said(),
               "-put: a full disk is told, for its host", done)
        tap.equal(listing(lab, "/run/small"), "h[0,2-3]:\nfile\n", "-put: and leaves nothing behind there")
        lab.run("umount", "/run/small", host="h1")
        out = f"{BUILD}/scout-test.copies"
        done = lab.scout("-no-lock", "-g", lab.all, "-get", "/run/small/file", out)
        found = sorted(os.path.join(at, name) for at, _, names in os.walk(out) for name in names)
        tap.ok(done.code == 1 and "scout: h1: " in done.said() and found == [f"{out}/h{i}/file" for i in (0, 2, 3)],
               "-get: from all that have it", f"{done} {found}")
        tap.ok(all(open(name, "rb").read() == data for name in found), "-get: the same bytes")
        subprocess.run(["rm", "-rf", out], check=True)
    finally:
        os.unlink(path)
    nothing_left(lab, "after -put and -get")


# ---- sessions ----

SCRIPT = """
scout
$SCOUT_PROGRAM echo one
echo fed | $SCOUT_PROGRAM -g h2 cat
$SCOUT_PROGRAM -x h0 'exit 4'; echo code $?
$SCOUT_PROGRAM -g h9 true; echo code $?
env -u SCORE_SERVER scrun -nodes=3x1 -q sh -c 'uname -n' | sort
timeout 5 scrun -nodes=1x1 true
"""


def sessions(lab):
    done = lab.scout("-g", "h[0-2]", "--programs", f"{BUILD}/bin", stdin=SCRIPT.encode())
    lines = done.out.decode().splitlines()
    tap.ok(lines[:1] and lines[0].startswith("session of process ") and ", lock " in lines[0]
           and lines[1] == "h[0-2]: ready", "scout in a session: its hosts and lock", done)
    tap.equal(lines[2:8], ["h[0-2]:", "one", "fed", "code 4", "code 2", "h0"],
              "commands in it leave the script of its shell alone")
    tap.equal(lines[7:], ["h0", "h1", "h2"], "scrun in it has a scored of its own")
    tap.ok("leads out of this scout session" in done.said(), "and says where SCORE_SERVER leads", done)
    tap.ok("h[1-2]: exit 4" in done.said() and "h9: not in this session" in done.said(), "what they say", done)
    nothing_left(lab, "after a session")
    left = lab.scout("-no-lock", "-g", lab.all, "ls -d /tmp/openscore-pool* /tmp/scout-* 2>/dev/null")
    tap.equal(left.out, b"", "after a session: no file is left")


def locked(lab):
    process = lab.popen("-g", "h[1-2]", "-e", "sleep", "3")
    running(lab, "sleep", 1)
    check(lab.scout("-g", "h[0-1]", "echo x"), 0, b"h[0-1]:\nx\n", "one's own locks are in nobody's way")
    done = lab.scout("-g", "h[0-3]", "true", user="nobody")
    tap.ok(done.code == 3 and "locked by root" in done.said() and "scout session" in done.said(),
           "hosts of a session are taken: 3, and by whom", done)
    check(lab.scout("-g", lab.all, "-n", "2", "-scatter", f"{EACH}; id -un", user="nobody"), 0,
          b"h0:\nh0\nnobody\nh3:\nh3\nnobody\n", "-n: those that are free, as the user")
    done = lab.scout("-g", "h[0-2]", "-wait", EACH, user="nobody")
    tap.ok(done.code == 0 and done.out == b"h0:\nh0\nh1:\nh1\nh2:\nh2\n" and "waiting for the hosts" in done.said(),
           "-wait: when the session has ended", done)
    tap.equal(lab.finish(process).code, 0, "-e: its code")
    check(lab.scout("-g", "h1", "-e", "sh", "-c", "exit 7"), 7, b"", "-e: its code, 7")
    process = lab.popen("-g", "h[1-2]")
    running(lab, "scremote", 2)
    process.stdin.write(b"$SCOUT_PROGRAM 'setsid sleep 100 & sleep 100'\n")
    process.stdin.flush()
    running(lab, "sleep", 4)
    kill(process.pid)
    process.communicate()
    nothing_left(lab, "after a session was killed with a command in it")


def main():
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with Lab("scout", 4) as lab:
        outputs(lab)
        with hanging(lab):
            much_output(lab)
            codes(lab)
            odd_callers(lab)
            stdin(lab)
            chosen(lab)
        timeouts(lab)
        interrupts(lab)
        files(lab)
        down(lab)
        by_pdsh(lab)
        sessions(lab)
        locked(lab)
        tap.equal(lab.leftovers(), [], "in the end: nothing is left")
    return tap.end()


sys.exit(main())
