#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files through scremote: put on one host and down a tree of hosts, got back, and all that can go wrong on the way.
Each host is a scremote with a home directory of its own. TAP. Needs root for a small file system, and munged."""
import contextlib
import hashlib
import os
import select
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from remotelab import Unreachable, connect                              # noqa: E402
from systest import Tap                                                 # noqa: E402

SIZE = 5_000_000        # several times what may be under way
CREDIT = 1 << 20        # LINK_FULL of link.h
CHUNK = 1 << 16
HOSTS = 7
STALL_S = 15            # a host that takes nothing is cut by then, see branch.h
GONE_S = 8
SEND_S = 60
NAME = "there"
TAP = Tap()


class Host:
    def __init__(self, cluster, number):
        self.name = f"n{number}"
        self.home = f"{cluster.directory}/{self.name}"
        os.mkdir(self.home)
        self.agent, self.child = connect(cluster.munge, "--host", self.name, HOME=self.home)
        self.link = self.agent.link
        self.link.send({"op": "door_wanted"})
        self.port = self.link.receive()["port"]
        self.answers = []

    def end(self):
        self.link.socket.close()
        self.child.wait()

    def path(self, name=NAME):
        return f"{self.home}/{name}"

    def left(self):
        return sorted(os.listdir(self.home))

    def below(self, children):
        """As a child in a tree."""
        return {"host": self.name, "address": f"127.0.0.1:{self.port}", "children": children}

    def holds(self, data, name=NAME):
        with contextlib.suppress(OSError), open(self.path(name), "rb") as file:
            return file.read() == data
        return False


@contextlib.contextmanager
def hosts(cluster, number=HOSTS):
    there = [Host(cluster, i) for i in range(number)]
    try:
        yield there
    finally:
        for host in there:
            host.end()
            subprocess.run(["rm", "-rf", host.home], check=True)


def tree(there, at=0):
    """Children of host @at in a tree in which each has two."""
    return [there[i].below(tree(there, i)) for i in (2 * at + 1, 2 * at + 2) if i < len(there)]


def head_of(data, children=(), **more):
    return {"op": "put", "id": 1, "path": NAME, "mode": 0o640, "size": len(data), "children": list(children),
            "sha256": hashlib.sha256(data).hexdigest(), **more}


def hear(there, seconds, number=1):
    """Stores the answers of the hosts; returns the bytes that they have room for, in the put of that number."""
    room = 0
    ready, _, _ = select.select([host.link.socket for host in there], [], [], seconds)
    for host in there:
        # Others may wait in the buffer.
        while host.link.socket in ready or host.link.waiting:
            with contextlib.suppress(Unreachable):
                said = host.link.receive()
                if said["op"] == "in_room":
                    room += said["bytes"] * (said["id"] == number)
                else:
                    host.answers.append(said)
            if not host.link.waiting:
                break
    return room


def send(there, head, data, midway=lambda: None):
    """The whole file to the first host, as it has room; midway() when hosts three levels below have begun."""
    link, room, at = there[0].link, CREDIT, 0
    until = time.monotonic() + SEND_S
    link.send(head)
    while at < len(data):
        while room < min(CHUNK, len(data) - at):
            room += hear(there, STALL_S + 5, head["id"])
            if time.monotonic() > until:
                raise TimeoutError(f"no room for the rest of the file: {answers(there)}")
        chunk = data[at:at + CHUNK]
        link.send({"op": "data", "id": head["id"]}, chunk)
        room -= len(chunk)
        if at < len(data) * 4 // 5 <= at + len(chunk):
            midway()
        at += len(chunk)
    link.send({"op": "data", "id": head["id"]})


def settle(there, seconds=STALL_S):
    """Until all have said what became of their own file, behind what was cut below them; those who have not."""
    def late():
        return [host.name for host in there if all(said["op"] == "cut" for said in host.answers)]
    until = time.monotonic() + seconds
    while late() and time.monotonic() < until:
        hear([host for host in there if host.child.poll() is None], 0.1)
    return late()


def answers(there):
    return [host.answers[0]["op"] if host.answers else "" for host in there]


# ---- what goes well ----

def one(cluster, data):
    with hosts(cluster, 1) as there:
        host = there[0]
        send(there, head_of(data, mtime_ns=1_000_000_007_000_000_005), data)
        settle(there)
        found = os.stat(host.path())
        TAP.ok(host.holds(data) and host.answers[0]["sha256"] == hashlib.sha256(data).hexdigest(), "a file is put",
               host.answers)
        TAP.equal((stat.S_IMODE(found.st_mode), found.st_mtime_ns, host.left()),
                  (0o640, 1_000_000_007_000_000_005, [NAME]), "with mode and time, and nothing beside it")
        host.answers.clear()
        send(there, head_of(b""), b"")
        settle(there)
        TAP.ok(host.holds(b""), "an empty one takes its place", host.answers)
        path = f"{host.home}/absolute"
        send(there, head_of(data, path=path, id=2), data)
        TAP.ok(schedlocal.wait_until(lambda: (hear(there, 0.1), host.holds(data, "absolute"))[1], GONE_S),
               "an absolute path", host.answers)
        host.answers.clear()
        got, first, last = get(host, path)
        TAP.ok(got == data and first["size"] == len(data) and first["mode"] == 0o640, "it is got back", first)
        TAP.equal(last["sha256"], hashlib.sha256(data).hexdigest(), "and its sum is told")
        for name, path, error in (("a directory", host.home, "EISDIR"), ("nothing", "nothing", "ENOENT"),
                                  ("a device", "/dev/null", "EINVAL")):
            TAP.equal(get(host, path)[2].get("error"), error, f"{name} is not got")
        abandoned(host)


def abandoned(host):
    """A large file of which somebody wants no more."""
    with open(f"{host.home}/large", "wb") as file:
        file.truncate(1 << 30)
    host.link.send({"op": "get", "id": 6, "path": f"{host.home}/large"})
    about(host, 6)
    host.link.send({"op": "signal", "id": 6, "signal": 9})
    said = about(host, 6)
    while said["op"] == "data":
        said = about(host, 6)
    TAP.equal((said["op"], said.get("error")), ("failed", "ECANCELED"), "one that nobody wants any more is cancelled")
    children = f"/proc/{host.child.pid}/task/{host.child.pid}/children"

    def readers():
        with open(children, encoding="utf-8") as file:
            return file.read()

    TAP.ok(schedlocal.wait_until(lambda: not readers(), GONE_S), "and its reader ends", readers())
    os.unlink(f"{host.home}/large")


def about(host, number):
    """The next that it says about this file."""
    while True:
        said = host.link.receive()
        if said["id"] == number:
            return said


def get(host, path):
    """(bytes, the first answer, the last)"""
    host.link.send({"op": "get", "id": 5, "path": path})
    first, data = about(host, 5), []
    if first["op"] == "failed":
        return b"", first, first
    while True:
        said = about(host, 5)
        if said["op"] != "data":
            return b"".join(data), first, said
        data.append(host.link.body)
        if data[-1]:
            host.link.send({"op": "out_room", "id": 5, "bytes": len(data[-1])})


def whole_tree(cluster, data):
    with hosts(cluster) as there:
        send(there, head_of(data, tree(there)), data)
        late = settle(there)
        TAP.ok(not late and all(host.holds(data) for host in there), f"a tree of {HOSTS} hosts", late)
        for host in there:
            host.answers.clear()
        send(there, head_of(b"", tree(there), id=2), b"")
        late = settle(there)
        TAP.ok(not late and all(host.holds(b"") for host in there), "an empty file down the tree", late)


# ---- what goes wrong ----

def killed(cluster, data):
    with hosts(cluster) as there:
        send(there, head_of(data, tree(there)), data, midway=there[1].child.kill)
        lost = {"n1"}
        settle([host for host in there if host.name not in lost])
        cuts = [said for said in there[0].answers if said["op"] == "cut"]
        TAP.equal([sorted(said["hosts"]) for said in cuts], [["n1", "n3", "n4"]],
                  "a host in the tree is killed: those below it are told to be cut")
        TAP.ok(all(there[i].holds(data) for i in (0, 2, 5, 6)), "the others have the file", answers(there))
        TAP.ok(schedlocal.wait_until(lambda: not any(there[i].left() for i in (1, 3, 4)), GONE_S),
               "nothing is left where it was cut", [host.left() for host in there])
        TAP.equal([there[i].answers[0]["op"] for i in (3, 4)], ["failed"] * 2, "hosts below it say so themselves")


def unreachable(cluster, data):
    with hosts(cluster, 3) as there:
        there[1].port = schedlocal.free_port()
        send(there, head_of(data, tree(there)), data)
        settle([there[0], there[2]])
        cuts = [said for said in there[0].answers if said["op"] == "cut"]
        TAP.ok([said["hosts"] for said in cuts] == [["n1"]] and "refused" in cuts[0]["text"],
               "a host that cannot be reached", cuts)
        TAP.ok(there[0].holds(data) and there[2].holds(data), "the others have the file")


def stopped(cluster, data):
    with hosts(cluster, 3) as there:
        there[1].child.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        send(there, head_of(data, tree(there)), data)
        settle([there[0], there[2]])
        there[1].child.send_signal(signal.SIGCONT)
        cuts = [said["hosts"] for said in there[0].answers if said["op"] == "cut"]
        TAP.equal(cuts, [["n1"]], "a host that is stopped is cut")
        TAP.between(1, time.monotonic() - began, STALL_S + 5, "after some seconds")
        TAP.ok(there[0].holds(data) and there[2].holds(data), "the others have the file")


def no_room(cluster, data):
    with hosts(cluster, 3) as there:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE // 2}", "none", there[0].home], check=True)
        try:
            send(there, head_of(data, tree(there)), data)
            settle(there)
            TAP.equal((there[0].answers[0].get("error"), there[0].left()), ("ENOSPC", []),
                      "no room on the disk: said, and nothing is left")
            TAP.ok(there[1].holds(data) and there[2].holds(data), "those below it have the file", answers(there))
        finally:
            subprocess.run(["umount", there[0].home], check=True)


def refused(cluster, data):
    with hosts(cluster, 1) as there:
        host = there[0]
        os.mkdir(host.path("directory"))
        cases = (("a directory", {"path": "directory"}, "EISDIR"), ("no directory", {"path": "no/file"}, "ENOENT"),
                 ("a wrong sum", {"sha256": "0" * 64}, "EBADMSG"), ("too few bytes", {"size": len(data) + 1}, "EPIPE"),
                 ("no sum", {"sha256": "x"}, "EINVAL"), ("a path of no bytes", {"path": ""}, "EINVAL"))
        for number, (name, wrong, error) in enumerate(cases, 2):
            host.answers.clear()
            send(there, {**head_of(data, id=number), **wrong}, data)
            settle(there)
            TAP.equal((host.answers[0].get("error"), host.left()), (error, ["directory"]), f"{name}: {error}")
        host.link.send(head_of(data))
        host.link.send({"op": "data", "id": 1}, data[:CHUNK])
        schedlocal.wait_until(lambda: len(host.left()) == 2, GONE_S)
        host.child.kill()
        TAP.ok(schedlocal.wait_until(lambda: host.left() == ["directory"], GONE_S),
               "scremote is killed: nothing is left", host.left())


def main():
    why = schedlocal.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    data = os.urandom(SIZE)
    with schedlocal.Cluster() as cluster:
        cluster.munge, _ = cluster.start_munge()
        for test in (one, whole_tree, killed, unreachable, stopped, no_room, refused):
            test(cluster, data)
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
