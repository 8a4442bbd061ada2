#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scout on 64 hosts of a lab: in a second, codes and outputs of all, files through the tree, a session, ^C. TAP."""
import hashlib
import os
import sys

from schedlab import kill, wait_until
from scoutlab import Lab, interrupt, missing
from systest import BUILD, Tap

HOSTS = 64
SECOND = 1.0
tap = Tap()


def fast(lab):
    times = []
    for _ in range(3):
        done = lab.scout("-g", lab.all, "--json", "true")
        times.append(done.seconds)
        if done.code or done.out.count(b"\n") != HOSTS:
            tap.ok(False, "true on 64 hosts", done)
            return
    # sclab's start-up and the lock are in it.
    tap.ok(min(times) <= SECOND, f"true on {HOSTS} hosts, with a lock: {min(times):.2f} s", times)


def all_of_them(lab):
    done = lab.scout("-no-lock", "-g", lab.all, "uname -n")
    want = b"".join(b"h%d:\nh%d\n" % (i, i) for i in range(HOSTS))
    tap.ok(done.code == 0 and done.out == want, "64 different outputs, in order", done)
    done = lab.scout("-no-lock", "-g", lab.all, "exit $((${SCOUT_HOST#h} % 2))")
    tap.ok(done.code == 1 and done.said() == f"scout: h[{','.join(map(str, range(1, HOSTS, 2)))}]: exit 1\n",
           "half of the hosts fail", done)
    data = os.urandom(1_000_000)
    done = lab.scout("-no-lock", "-g", lab.all, "sha256sum", stdin=data)
    tap.ok(done.code == 0 and done.out == f"h[0-63]:\n{hashlib.sha256(data).hexdigest()}  -\n".encode(),
           "1 MB of input for each", done)
    done = lab.scout("-no-lock", "-g", lab.all, "seq 150000")
    tap.ok(done.code == 0 and hashlib.sha256(done.out).digest() == hashlib.sha256(
        b"h[0-63]:\n" + b"".join(b"%d\n" % i for i in range(1, 150001))).digest(), "1 MB of output of each, once",
        f"{done.code} {len(done.out)} {done.said()}")


def some_are_not_well(lab):
    for host in ("h7", "h40"):
        kill(lab.find("scnoded", host)[0])
    done = lab.scout("-no-lock", "-rsh", "scnoded", "-g", lab.all, "echo x")
    tap.ok(done.code == 255 and done.out == b"h[0-6,8-39,41-63]:\nx\n"
           and done.said() == "scout: h[7,40]: not reached: port 7711: Connection refused\n", "two are down", done)
    for host in ("h7", "h40"):
        lab.restart("scnoded", host)


def interrupted(lab):
    process = lab.popen("-no-lock", "-nostdin", "-g", lab.all, "setsid sleep 100 & trap '' INT; sleep 100")
    wait_until(lambda: len(lab.find("sleep")) == 2 * HOSTS, 15)
    interrupt(process)
    interrupt(process)
    done = lab.finish(process)
    tap.ok(done.code == 137 and done.said().endswith("scout: h[0-63]: killed by signal 9 (SIGKILL)\n"), "^C twice",
           done)
    tap.equal(lab.left(), [], "after ^C: no process is left")


def staged(lab):
    path = f"{BUILD}/scout-64.file"
    data = os.urandom(2_000_000)
    with open(path, "wb") as file:
        file.write(data)
    try:
        done = lab.scout("-no-lock", "-v", "-g", lab.all, "-put", path, "/run/")
        tap.ok(done.code == 0 and "to 64 hosts" in done.said(), "-put: through a tree", done)
        done = lab.scout("-no-lock", "-g", lab.all, "sha256sum", "/run/scout-64.file")
        tap.equal(done.out, f"h[0-63]:\n{hashlib.sha256(data).hexdigest()}  /run/scout-64.file\n".encode(),
                  "-put: the same bytes on all")
    finally:
        os.unlink(path)


def session(lab):
    script = b"for i in 1 2 3 4 5; do $SCOUT_PROGRAM 'echo $0'; done; $SCOUT_PROGRAM -x h0 true; echo $?\n"
    done = lab.scout("-g", lab.all, stdin=script)
    tap.ok(done.code == 0 and done.out == 5 * b"h[0-63]:\n/bin/sh\n" + b"0\n", "a session of 64 hosts", done)
    tap.equal(lab.left(), [], "after a session: no process is left")


def main():
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with Lab("scout64", HOSTS) as lab:
        fast(lab)
        all_of_them(lab)
        some_are_not_well(lab)
        interrupted(lab)
        staged(lab)
        session(lab)
        tap.equal(lab.leftovers(), [], "in the end: nothing is left")
    return tap.end()


sys.exit(main())
