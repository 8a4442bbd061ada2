#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scout, scpool and the launch by hand of docs/running.md over OpenSSH's own sshd in four hosts of a lab: codes, bytes,
ends, refusals, files, another user. TAP."""
import hashlib
import os
import sys

from schedlab import SCRUN, kill, wait_until
from scoutlab import SCOUT, interrupt
from sshlab import GUEST, Lab, missing
from systest import BUILD, ROOT, Tap, told

tap = Tap()
SCPOOL = f"{ROOT}/scheduler/ctl/scpool"


def check(done, code, out, name, err=None):
    is_same = (done.code, done.out) == (code, out) and (err is None or done.said() == err)
    tap.ok(is_same, name, f"{done}; want {code}, {out!r}, {err!r}")


def nothing_left(lab, after):
    tap.equal(lab.left(), [], f"{after}: no process is left")


# ---- scout ----

def ends(lab):
    done = lab.ssh("-g", lab.all, "uname -n; exit ${SCOUT_HOST#h}")
    check(done, 3, b"".join(b"h%d:\nh%d\n" % (i, i) for i in range(4)), "exit codes of all hosts",
          "scout: h1: exit 1; h2: exit 2; h3: exit 3\n")
    check(lab.ssh("-g", lab.all, "test $SCOUT_HOST != h1 || kill -9 $$"), 137, b"", "death by a signal",
          "scout: h1: killed by signal 9 (SIGKILL)\n")
    done = lab.ssh("-g", "h[1-3]", "-timeout", "0.5", "test $SCOUT_HOST = h1 || sleep 100")
    check(done, 124, b"", "-timeout", "scout: h[2-3]: timed out\n")
    nothing_left(lab, "after all ends")


def content(lab):
    data = bytes(range(256)) * 4096 + os.urandom(1_000_001)
    want = f"h[0-3]:\n{hashlib.sha256(data).hexdigest()}  -\n".encode()
    check(lab.ssh("-g", lab.all, "sha256sum", stdin=data), 0, want, "standard input, byte by byte")
    done = lab.ssh("-g", "h2", "cat", stdin=data)
    tap.ok(done.code == 0 and done.out == data, "and back again", f"{done.code} {len(done.out)} bytes {done.said()}")
    check(lab.ssh("-g", "h[1-2]", "echo out; echo err >&2"), 0, b"h[1-2]:\nout\n", "standard error is apart",
          "h[1-2]:\nerr\n")


def running(lab, program, count):
    return wait_until(lambda: len(lab.find(program)) >= count, 10)


def interrupts(lab):
    process = lab.popen(*lab.by_ssh(), "-nostdin", "-g", lab.all, "setsid sleep 100 & sleep 100", env=lab.ssh_env)
    running(lab, "sleep", 8)
    interrupt(process)
    done = lab.finish(process)
    tap.ok(done.code == 130 and "h[0-3]: killed by signal 2 (SIGINT)" in done.said(), "^C reaches the command", done)
    for pid in lab.find("sleep"):
        kill(pid)   # of setsid, in the background on purpose
    nothing_left(lab, "after ^C")
    process = lab.popen(*lab.by_ssh(), "-nostdin", "-g", lab.all, "trap '' INT TERM; sleep 100 & sleep 100",
                        env=lab.ssh_env)
    running(lab, "sleep", 8)
    kill(process.pid)
    lab.finish(process)
    nothing_left(lab, "after scout was killed")


def cut(lab):
    """ssh only starts the agent: the end of its connection is not the end of the command."""
    process = lab.popen(*lab.by_ssh(), "-g", "h[1-3]", "dd status=none; exit 5", env=lab.ssh_env)
    running(lab, "dd", 3)
    for pid in lab.logins():
        kill(pid)
    wait_until(lambda: not lab.find("ssh"), 5)
    done = lab.finish(process, b"fed")
    tap.ok(done.code == 5 and done.out == b"h[1-3]:\nfed\n" and done.said().endswith("scout: h[1-3]: exit 5\n"),
           "a command whose ssh is cut off goes on", done)
    nothing_left(lab, "after the ssh's were cut off")


def refusals(lab):
    """Each host in a way of its own, in one call."""
    lab.stop_sshd("h2")
    lab.run("ip", "link", "set", "eth0", "down", host="h3")
    done = lab.ssh("-connect", "10", "-g", "h[1-3],h9", "echo x")
    lab.run("ip", "link", "set", "eth0", "up", host="h3")
    said = done.said()
    tap.ok(done.code == 255 and done.out == b"h1:\nx\n", "those that are there answer", done)
    tap.ok("h2: not reached: ssh: connect to host h2 port 22: Connection refused" in said, "no sshd", said)
    tap.ok("h3: not reached: " in said and said.count("not reached") == 3, "a host without link", said)
    tap.ok("h9: not reached: ssh: Could not resolve hostname h9" in said, "a host that nobody knows", said)
    lab.start_sshd("h2")
    stranger = {"PDSH_SSH_ARGS_APPEND": f"-F {lab.directory}/stranger_config"}
    check(lab.ssh("-g", "h[1-2]", "true", env=stranger), 255, b"", "a key that is not known there",
          "scout: h[1-2]: not reached: root@%h: Permission denied (publickey).\n")
    unknown = {"PDSH_SSH_ARGS_APPEND": f"-F {lab.config} -oUserKnownHostsFile=/dev/null"}
    done = lab.ssh("-g", "h[1-2]", "true", env=unknown)
    tap.ok(done.code == 255 and "Host key verification failed" in done.said(), "a host whose key is not known here",
           done)
    done = lab.ssh("-g", "h1", "--programs", "/nonexistent", "true")
    tap.ok(done.code == 255 and "scremote is not in /nonexistent" in done.said(), "no agent in that place", done)
    nothing_left(lab, "after refusals")


def files(lab):
    data = os.urandom(1_000_000)
    path, copies = f"{lab.directory}/staged", f"{lab.directory}/copies"
    with open(path, "wb") as file:
        file.write(data)
    check(lab.ssh("-g", lab.all, "-put", path, "/run/staged"), 0, b"", "-put", "")
    check(lab.ssh("-g", lab.all, "-get", "/run/staged", copies), 0, b"", "-get", "")
    got = []
    for host in lab.hosts:
        with open(f"{copies}/{host}/staged", "rb") as file:
            got.append(file.read() == data)
    tap.equal(got, [True] * 4, "-put and -get: the same bytes")


def other_user(lab):
    """A user whose user number is not the number of his group."""
    mine = {"user": GUEST, "env": lab.guest_env}
    check(lab.ssh("-g", "h[1-2]", "id -un; cat", stdin=b"fed", **mine), 0, f"h[1-2]:\n{GUEST}\nfed\n".encode(),
          "as a user", "")


SESSION = f"""{SCOUT} -x h0 uname -n
env -u SCORE_SERVER {SCRUN} -nodes=3x1 -q uname -n | sort
"""


def session(lab):
    done = lab.ssh("-g", "h[0-2]", stdin=SESSION.encode())
    check(done, 0, b"h1:\nh1\nh2:\nh2\nh0\nh1\nh2\n", "a session, and scrun in it")
    nothing_left(lab, "after a session")


# ---- a private cluster ----

def pool(lab):
    done = lab.run("env", f"PATH={BUILD}/bin:/usr/sbin:/usr/bin:/bin", SCPOOL, "run", "--name", lab.name, "--programs",
                   f"{BUILD}/bin", "h[1-3]", "--", SCRUN, "-nodes=3x1", "-q", "uname", "-n", env=lab.ssh_env)
    tap.ok(done.returncode == 0 and sorted(done.stdout.split()) == ["h1", "h2", "h3"], "scpool run by pdsh -R ssh",
           told(done))
    nothing_left(lab, "after scpool")


# The lines of docs/running.md, with the programs of the build tree and munged of the lab; ended by number, as the
# hosts of a lab see each other's processes.
BY_HAND = f"""export PATH={BUILD}/bin:$PATH
scored --listen 7720 --state /tmp/pool-state >/dev/null 2>&1 &
pdsh -R ssh -w 'h[1-3]' 'echo $$ >/tmp/pool-pid; exec {BUILD}/bin/scnoded --server h0:7720 --listen 7721 \\
    --run /tmp/pool-run --munge-socket '$SCORE_MUNGE_SOCKET' \\
    --cgroup openscore-lab/'$SCLAB_NAME'/pool-$(uname -n)' >/dev/null 2>&1 &
export SCORE_SERVER=$(hostname):7720
{ROOT}/scheduler/ctl/scinfo --wait 3 >&2 && scrun -nodes=3x1 -q uname -n
pdsh -R ssh -w 'h[1-3]' 'kill $(cat /tmp/pool-pid)'; kill %1; wait
"""


def by_hand(lab):
    done = lab.run("bash", "-c", BY_HAND, env=lab.ssh_env)
    tap.ok(sorted(done.stdout.split()) == ["h1", "h2", "h3"], "scnoded by pdsh -R ssh, by hand",
           told(done))
    nothing_left(lab, "after the launch by hand")


def main():
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with Lab(f"ssh{os.getpid()}", 4) as lab:
        for part in (ends, content, interrupts, cut, refusals, files, other_user, session, pool, by_hand):
            part(lab)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
