#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A tree of processes in namespaces of its own is written to disk by CRIU while it runs, killed, and restored in new
ones; what can't be is said in a sentence. Without scheduler (criujob.c). TAP. Needs root and build/criu."""
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from schedlab import kill, wait_until
from systest import BUILD, HERE, Tap, told

CRIU = shutil.which("criu") or f"{BUILD}/criu/criu"
JOB = f"{BUILD}/tests/system/criujob"
LIMIT = 60
WAIT = 20
tap = Tap()


class Tree:
    """The job: its directories, its process 1 and what its counter says."""
    def __init__(self, directory):
        self.directory, self.images = directory, 0
        self.tmp, self.shm = f"{directory}/tmp", f"{directory}/shm"
        os.mkdir(self.tmp)
        os.mkdir(self.shm)
        self.init = self.process = None

    def _begin(self, *words):
        self.process = subprocess.Popen([JOB, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().strip()
        self.init = int(said) if said.isdigit() else None
        return said

    def start(self, *words):
        self._begin("start", self.tmp, self.shm, f"{HERE}/criutree.py", self.tmp, *words)
        wait_until(lambda: self.counts() and self.counts()[0] > 10, WAIT)

    def dump(self):
        """Of the program that dumps, and the directory of the image."""
        self.images += 1
        images = f"{self.directory}/image{self.images}"
        os.mkdir(images, 0o700)
        return subprocess.run([JOB, "dump", CRIU, images, str(self.init), self.tmp], capture_output=True, text=True,
                              timeout=LIMIT, check=False), images

    def restore(self, images):
        return self._begin("restore", CRIU, images, self.tmp, self.shm)

    def end(self):
        if self.init:
            kill(self.init)
        self.process.communicate(timeout=LIMIT)
        return self.process.returncode

    def path(self, name):
        return f"/proc/{self.init}/root{name}"

    def counts(self):
        """Of the two processes, and of the thread."""
        try:
            with open(self.path("/dev/shm/count"), "rb") as f:
                return struct.unpack("QQ", f.read(16))
        except (OSError, struct.error):
            return None

    def goes_on(self, after=(0, 0)):
        first = self.counts() or (0, 0)
        return all(a >= b for a, b in zip(first, after)) and wait_until(
            lambda: all(a > b + 10 for a, b in zip(self.counts() or (0, 0), first)), WAIT)


def at_dump(images):
    """Of the counter, as it was packed."""
    done = subprocess.run(["tar", "-xOf", f"{images}/files.tar", "dev/shm/count"], capture_output=True, check=True)
    return struct.unpack("QQ", done.stdout[:16])


def is_whole(tree):
    """Its files are there, as they were."""
    linked, second = os.stat(tree.path(f"{tree.tmp}/linked")), os.stat(tree.path(f"{tree.tmp}/second"))
    with open(tree.path(f"{tree.tmp}/linked"), encoding="ascii") as f:
        text = f.read()
    return (linked.st_ino == second.st_ino and text == "a name\n"
            and os.readlink(tree.path(f"{tree.tmp}/soft")) == "linked"
            and oct(os.stat(tree.path(f"{tree.tmp}/door")).st_mode) == "0o140600"
            and oct(os.stat(tree.path("/dev/shm/count")).st_mode) == "0o100640"
            and oct(os.stat(tree.path(tree.tmp)).st_mode) == "0o40700")


def there_and_back(tree):
    tree.start()
    done, images = tree.dump()
    tap.equal((done.returncode, done.stdout), (0, ""), "a tree of processes is written to disk while it runs")
    before = at_dump(images)
    tap.ok(tree.goes_on(before), "... and goes on", f"{tree.counts()} {before}")
    tree.end()
    for time in ("restored in new namespaces", "restored once more from the same image"):
        said = tree.restore(images)
        tap.ok(tree.init and tree.goes_on(before), f"it is {time}, and counts on", f"{said} {before} {tree.counts()}")
        tap.ok(is_whole(tree), "... its files are there, with owner, mode and links")
        numbers = sorted(int(name) for name in os.listdir(tree.path("/proc")) if name.isdigit())
        tap.equal(numbers, [1, 2, 3], "... its processes have their numbers, and no helper is left")
        done, again = tree.dump()
        tap.equal((done.returncode, done.stdout), (0, ""), "... it is written to disk anew")
        last = at_dump(again)
        tree.end()
    tree.restore(again)
    tap.ok(tree.goes_on(last), "one that was restored is restored again", f"{last} {tree.counts()}")
    with open(tree.path(f"{tree.tmp}/scstepd.log"), encoding="utf-8") as f:
        tap.equal(f.read(), "", "... and has said nothing")
    tree.end()
    return again


def ports(tree, images):
    """An address where the tree listens: the kernel keeps it for a minute, then somebody has it."""
    with open(f"{images}/ports", "rb") as f:
        found = [(port, listens) for port, listens in struct.iter_unpack("=2x2s24xI", f.read())]
    lone = next(port for port, listens in found if listens and [each[0] for each in found].count(port) == 1)
    port = int.from_bytes(lone, "big")
    with socket.socket() as door, socket.socket() as near:
        door.bind(("127.0.0.1", 0))
        door.listen()
        near.bind(("127.0.0.1", port))
        near.connect(door.getsockname())
        far = door.accept()[0]
        near.close()
        far.close()
    tree.restore(images)
    tap.ok(tree.goes_on(), "a port that the kernel keeps after the end of a connection is no obstacle")
    tree.end()
    with socket.socket() as door:
        door.bind(("127.0.0.1", port))
        door.listen()
        said = tree.restore(images)
        tap.ok(tree.init is None and f"another program listens at 127.0.0.1 port {port}, as the job does; " in said,
               "one where another program listens is named", said)
        tree.end()


def refused(tree):
    tree.start("ring")
    done, images = tree.dump()
    tap.ok(done.returncode == 1 and "host h0: job 7 can't be written to disk: CRIU exited with code 1: " in done.stdout
           and "send_fds failed" in done.stdout and "; the job goes on, and see dump.log" in done.stdout
           and done.stdout.count("\n") == 1, "a tree with an io_uring is refused in a sentence", told(done))
    tap.ok(tree.goes_on(), "... and goes on")
    tree.end()
    said = tree.restore(images)
    tap.ok(said.startswith("host h0: job 7 can't be restored: its image is not whole; take an older one"),
           "an image that is not whole is refused", said)
    tree.end()


def broken(tree, images):
    for name, words in (("core-3.img", "core"), ("files.tar", "tar, which unpacks files.tar, ")):
        bad = f"{images}.bad"
        shutil.copytree(images, bad)
        with open(f"{bad}/{name}", "wb") as f:
            f.write(b"broken" * 100)
        said = tree.restore(bad)
        tap.ok(tree.init is None and said.startswith("host h0: job 7 can't be restored: ") and words in said
               and "restore.log" in said, f"a broken {name} is refused in a sentence", said)
        tap.equal(tree.end(), 1, "... and its process 1 ends")
        shutil.rmtree(bad)


def left(directory):
    """Mounts and processes that have to do with the test."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        found = [line for line in f if directory in line]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().decode(errors="replace")
        except OSError:
            continue
        if directory in line and int(pid) != os.getpid():
            found.append(line)
    return found


def main():
    if os.geteuid():
        print("# needs root")
        return 77
    why = subprocess.run([JOB, "find", CRIU], capture_output=True, text=True, check=False)
    if why.returncode:
        print(f"# {why.stdout.strip()} (tests/criu/fetch build/criu)")
        return 77
    directory = tempfile.mkdtemp(prefix="criu-", dir="/var/tmp")
    tree = Tree(directory)
    try:
        images = there_and_back(tree)
        ports(tree, images)
        refused(tree)
        broken(tree, images)
        tap.equal(wait_until(lambda: not left(directory), WAIT) or left(directory), True, "nothing is left")
    finally:
        if tree.process.poll() is None:
            tree.end()
        shutil.rmtree(directory)
    return tap.end()


sys.exit(main())
