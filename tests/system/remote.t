#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scremote as scnoded starts it for a user, and as it connects by itself: who it is, what it holds, what is left of it,
who is refused. TAP. Needs root, munged and a user that is in the passwd file."""
import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from systest import BUILD, Tap                                          # noqa: E402
from remotelab import Agent, Guest, Link, Unreachable                   # noqa: E402

USER = 65534                    # nobody
USER_MAX = 64                   # see remote.h of scnoded
GONE_S = 8
PIDFD_GETFD = 438               # system call
NAP = 86311                     # seconds that nobody else sleeps
TAP = Tap()


def address_of(host):
    """Where its scnoded is reached."""
    words = open(f"/proc/{host.child.pid}/cmdline", encoding="utf-8").read().split("\0")
    return words[words.index("--listen") + 1]


def call(host, munge, role="scout", **more):
    """(connection, the answer to "remote")"""
    link = Link(address_of(host), role, munge_socket=munge)
    link.send({"op": "remote", **more})
    return link, link.receive()


def as_user(uid, work):
    """The result of work() called as that user; a text, if it fails."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            said = work()
        except Exception as problem:        # pylint: disable=broad-except
            said = repr(problem)
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = json.load(pipe)
    os.waitpid(child, 0)
    return said


def naps(number=NAP):
    """Processes that sleep so long."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read().split(b"\0")[:2] == [b"sleep", str(number).encode()]:
                found.append(int(pid))
    return found


def are_gone(number=NAP):
    return schedlocal.wait_until(lambda: not naps(number), GONE_S)


def groups_of(pid):
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        return file.read()


def pen_of(pid):
    """The control group that a scremote has with its commands, as scnoded names it; '' = none."""
    return "".join(word for word in groups_of(pid).split("/") if word.startswith("pen-")).strip()


def pens(cluster):
    return [path for path in cluster.cgroups() if os.path.basename(path).startswith(("pen-", "scout-"))]


def keepers_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def links_of(pid):
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


# ---- through scnoded ----

def ours(cluster, host):
    link, ready = call(host, cluster.munge)
    TAP.equal((ready["op"], ready["host"]), ("remote_ready", "h0"), "scnoded gives the connection to a scremote")
    held = links_of(ready["pid"])
    TAP.ok(sum(path.startswith("socket:") for path in held) == 1 and "/" not in "".join(
        path for path in held if path.startswith("/") and path.split("/")[1] not in ("dev", "tmp")),
        "it holds nothing of scnoded's", held)
    groups = groups_of(ready["pid"])
    TAP.ok(pen_of(ready["pid"]) and not pen_of(host.child.pid) and "/job-" not in groups,
           "it has a control group of its own, and is in no job's", groups)
    agent = Agent(link)
    TAP.equal(agent.do("sh", "-c", "echo $HOME; exit 3"), (3 << 8, "/root\n"), "a command's output and exit code")
    TAP.equal(agent.do("sh", "-c", "kill -9 $$"), (9, ""), "a command's signal")
    agent.run("sh", "-c", f"trap '' HUP; sleep {NAP} & setsid sleep {NAP}")
    TAP.ok(schedlocal.wait_until(lambda: len(naps()) == 2, GONE_S), "a command with two processes", naps())
    link.socket.close()
    TAP.ok(are_gone(), "the connection is lost: nothing is left", naps())


def escaped(cluster, host):
    """Twice forked, in sessions of their own, and those who watched over them are killed."""
    def begin():
        link, ready = call(host, cluster.munge)
        agent = Agent(link)
        agent.run("sh", "-c", f"setsid sh -c 'setsid sleep {NAP} & setsid sleep {NAP} &'; sleep {NAP}")
        schedlocal.wait_until(lambda: len(naps()) == 3, GONE_S)
        for keeper in keepers_of(ready["pid"]):
            os.kill(keeper, signal.SIGKILL)
        return link, ready["pid"]

    link, _ = begin()
    TAP.equal(len(naps()), 3, "keepers are killed: what they watched lives on")
    link.socket.close()
    TAP.ok(are_gone(), "until the connection ends", naps())
    _, pid = begin()
    os.kill(pid, signal.SIGKILL)
    TAP.ok(are_gone(), "keepers and scremote are killed: nothing is left", naps())
    TAP.ok(schedlocal.wait_until(lambda: not pens(cluster), GONE_S), "nor a control group", pens(cluster))


def daemons(cluster, host):
    link, _ = call(host, cluster.munge)
    TAP.equal(Agent(link).do("sh", "-c", f"setsid sleep {NAP} >/dev/null 2>&1 &"), (0, ""),
              "a command that leaves a daemon")
    link.socket.close()
    schedlocal.wait_until(lambda: False, 4)      # longer than what is cut off may take to end
    TAP.equal(len(naps()), 1, "which lives on when the command has ended by itself")
    TAP.ok(any(path.endswith(f"/scout-0/{pen_of(naps()[0])}") for path in pens(cluster)), "in its control group",
           pens(cluster))
    for pid in naps():
        os.kill(pid, signal.SIGKILL)
    TAP.ok(schedlocal.wait_until(lambda: not pens(cluster), GONE_S), "which goes with it", pens(cluster))


BOMB = f"""
import os, time
while True:
    try:
        if not os.fork():
            os.setsid()
            os.execvp("sleep", ["sleep", "{NAP}"])
    except OSError:
        time.sleep(0.01)
"""


def bomb(cluster):
    """A user's program that forks without end."""
    host = cluster.start_host("h5", "--processes", "64")
    host.says("ready")

    def explode():
        link, ready = call(host, cluster.munge)
        Agent(link).run(sys.executable, "-c", BOMB)
        count = schedlocal.wait_until(lambda: len(naps()) > 50, GONE_S) and len(naps())
        begun = time.monotonic()
        other = call(host, cluster.munge)[1]["op"]
        return [count, ready["op"], other, time.monotonic() - begun]

    count, _, other, seconds = as_user(USER, explode)
    TAP.ok(50 < count < 64, "a user who forks without end has the processes that --processes says", count)
    TAP.ok(other == "remote_ready" and seconds < 2, "scnoded answers meanwhile", (other, seconds))
    TAP.ok(are_gone(), "his scout is gone: nothing is left", len(naps()))
    host.end()


def errlog(cluster, host):
    """A user's own text on the standard error of his scremote."""
    def write():
        link, ready = call(host, cluster.munge)
        system = ctypes.CDLL(None, use_errno=True).syscall
        stderr = system(PIDFD_GETFD, os.pidfd_open(ready["pid"]), 2, 0)
        with open(stderr, "wb", buffering=0) as err:
            err.write(b"host h9 \x1b[2J is down\n" + b"x" * 200 + b"\n")
            with contextlib.suppress(OSError):
                for _ in range(1000):
                    err.write(b"scored: noise\n")
        return Agent(link).do("echo", "well")

    before = len(host.log())
    TAP.equal(as_user(USER, write), [0, "well\n"], "a user who writes to scremote's standard error")
    named = f"scout of user {USER}: host h9 ?[2J is down\n"
    schedlocal.wait_until(lambda: named in host.log()[before:], GONE_S)
    said = host.log()[before:]
    TAP.ok(named in said, "scnoded's log names him", said[:200])
    TAP.ok(len(said) < 2000 and all(line.startswith("scnoded: ") for line in said.splitlines()),
           "and has little of it", len(said))


def others(cluster, host):
    def work():
        link, ready = call(host, cluster.munge)
        agent = Agent(link)
        return [ready["op"], agent.do("id", "-u"), agent.do("id", "-g"), agent.do("test", "-r", "/etc/shadow")[0]]

    said = as_user(USER, work)
    TAP.ok(said[:3] == ["remote_ready", [0, f"{USER}\n"], [0, f"{USER}\n"]] and said[3],
           "another user's commands run as that user", said)


def survives(cluster):
    host = cluster.start_host("h1")
    host.says("ready")
    link, ready = call(host, cluster.munge)
    agent = Agent(link)
    number = agent.run("cat", stdin=True)
    host.end()
    link.send({"op": "in", "id": number}, b"after\n")
    link.send({"op": "in", "id": number})
    TAP.equal(agent.end_of(number), (0, "after\n"), "scnoded ends, the scremote goes on")
    number = agent.run("sh", "-c", f"sleep {NAP} & setsid sleep {NAP}")
    schedlocal.wait_until(lambda: len(naps()) == 2, GONE_S)
    os.kill(ready["pid"], signal.SIGKILL)
    TAP.ok(are_gone(), "scremote is killed: nothing is left", naps())


def transient(cluster):
    host = cluster.start_host("h2", "--transient")
    host.says("ready")
    link, _ = call(host, cluster.munge)
    Agent(link).run("sleep", str(NAP))
    schedlocal.wait_until(naps, GONE_S)
    host.end()
    TAP.ok(are_gone(), "a transient scnoded takes them with it", naps())
    TAP.equal([path for path in pens(cluster) if "/h2/" in path], [], "and leaves no control group")


def is_ended(link):
    try:
        link.receive()
    except Unreachable:
        return True
    return False


def refused(cluster, host):
    answer = call(host, cluster.munge, role="tool")[1]
    TAP.ok(answer["op"] == "error" and "tool" in answer["text"], "somebody who is no scout", answer)
    link = Link(address_of(host), "scout", munge_socket=cluster.munge)
    message = json.dumps({"op": "remote"}).encode()
    link.socket.sendall(link.seal.push(2 * (struct.pack(">II", 4 + len(message), len(message)) + message)))
    answer = link.receive()
    TAP.equal((answer["op"], answer["error"]), ("error", "EPROTO"), "a scout who speaks before he is answered")
    link = Link(address_of(host), "scout", munge_socket=cluster.munge)
    link.socket.sendall(struct.pack(">II", 4 + len(message), len(message)) + message)
    TAP.ok(is_ended(link), "a message that is not sealed ends the connection")
    shut = cluster.start_host("h3", "--no-remote")
    shut.says("ready")
    answer = call(shut, cluster.munge)[1]
    TAP.ok((answer["op"], answer["error"]) == ("error", "EPERM") and "-rsh" in answer["text"], "--no-remote", answer)
    wrong = cluster.start_host("h4", "--scremote", "/nowhere/scremote")
    wrong.says("ready")
    answer = call(wrong, cluster.munge)[1]
    TAP.ok((answer["op"], answer["error"]) == ("error", "ENOENT") and "/nowhere" in answer["text"],
           "a scremote that is not there", answer)


def many(cluster, host):
    links = [call(host, cluster.munge) for _ in range(USER_MAX)]
    TAP.equal({ready["op"] for _, ready in links}, {"remote_ready"}, f"{USER_MAX} scouts of one user")
    answer = call(host, cluster.munge)[1]
    TAP.equal((answer["op"], answer.get("error")), ("error", "EAGAIN"), "one more is refused")
    TAP.equal(as_user(USER, lambda: call(host, cluster.munge)[1]["op"]), "remote_ready", "another user's is not")
    for link, _ in links:
        link.socket.close()
    TAP.ok(schedlocal.wait_until(lambda: call(host, cluster.munge)[1]["op"] == "remote_ready", GONE_S),
           "when they are gone there is room again")


# ---- by itself ----

def connects(cluster):
    with socket.create_server(("127.0.0.1", 0)) as door:
        child = subprocess.Popen([f"{BUILD}/bin/scremote", "--connect", "%s:%d" % door.getsockname(), "--key", "k1",
                                  "--host", "far", "--munge-socket", cluster.munge])
        guest = Guest(door.accept()[0], cluster.munge)
    TAP.equal(guest.welcome(), ("remote", 0), "scremote --connect says who it is")
    ready = guest.receive()
    TAP.equal((ready["op"], ready["key"], ready["host"], ready["pid"]), ("remote_ready", "k1", "far", child.pid),
              "and which of our calls it is")
    TAP.equal(Agent(guest).do("echo", "hi"), (0, "hi\n"), "it runs a command")
    Agent(guest).run("sleep", str(NAP))
    schedlocal.wait_until(naps, GONE_S)
    child.terminate()
    TAP.equal(child.wait(), 0, "SIGTERM ends it")
    TAP.ok(are_gone(), "and what it has started", naps())


def listening(path):
    """A program of USER's that listens there."""
    child = subprocess.Popen(["setpriv", f"--reuid={USER}", "--clear-groups", sys.executable, "-c",
                              "import socket, sys, time; s = socket.create_server(sys.argv[1], family=socket.AF_UNIX); "
                              "print('up', flush=True); time.sleep(60)", path], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def local(cluster):
    directory = f"{cluster.directory}/open"
    os.mkdir(directory)
    os.chmod(directory, 0o777)
    path = f"{directory}/ours"
    with socket.create_server(path, family=socket.AF_UNIX) as door:
        child = subprocess.Popen([f"{BUILD}/bin/scremote", "--connect", path])
        guest = Guest(door.accept()[0], cluster.munge)
        TAP.equal(guest.receive()["pid"], child.pid, "scremote --connect to a unix socket")
        guest.socket.close()
        TAP.equal(child.wait(GONE_S), 0, "it ends when it is closed")
    with listening(f"{directory}/theirs") as other:
        done = subprocess.run([f"{BUILD}/bin/scremote", "--connect", f"{directory}/theirs"], capture_output=True,
                              text=True, timeout=GONE_S, check=False)
        other.kill()
    TAP.ok(done.returncode == 1 and "not permitted" in done.stderr, "a socket of another user's is refused", done)


def main():
    why = schedlocal.missing("setpriv")
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with schedlocal.Cluster() as cluster:
        cluster.up("h0")
        host = cluster.hosts["h0"]
        try:
            ours(cluster, host)
            escaped(cluster, host)
            daemons(cluster, host)
            bomb(cluster)
            errlog(cluster, host)
            others(cluster, host)
            survives(cluster)
            transient(cluster)
            refused(cluster, host)
            many(cluster, host)
            connects(cluster)
            local(cluster)
        except Unreachable as problem:
            TAP.ok(False, "the connection", str(problem) + host.log())
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
