# SPDX-License-Identifier: BSD-3-Clause
"""A user's connections to scored that ask for too much, or for half of something; run as that user. Prints what each is
told, then "held", and keeps them until its input ends.
usage: schedhostile.py SERVER MUNGE_SOCKET KIND N

MUNGE_SOCKET may be empty: the usual one. KIND is one of
fill     jobs that have to wait
run      jobs that run until the input ends
cut      beginnings of large requests
follow   100 jobs with 100 kB of arguments that wait, then connections that want to be told the activity as often as
         can be, and read it
ask      N times the question of scqueue over a connection of its own, to each of some servers in turns; prints the
         milliseconds
lock     the host h1 for himself, until the input ends
remote   what a scout says at a host's door; prints the answer, and how nice what was started is
garbage  needs no munge: N credentials per second that are none, from four addresses of the loopback; says "held" when
         it begins, and at the end how many there were in a second
"""
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, f"{os.path.dirname(os.path.realpath(__file__))}/../../scheduler/ctl")
from scorelink.frames import MAGIC                                      # noqa: E402
from scorelink.link import Link, Unreachable                            # noqa: E402

FRAME = 2304 << 10              # bytes of the largest request
PART = FRAME // 2               # that are sent of it
JOBS = 100                      # that follow has
ARGUMENT = 100000               # bytes of arguments of each
STRANGERS = 4                   # addresses of garbage
BURST = 100                     # of garbage before the input is looked at
KEPT = 800                      # connections of it that are open


def job(nodes, *arguments):
    return {"name": "greedy", "ranks": nodes, "nodes": nodes, "per_node": 1, "class": "exclusive", "cwd": "/",
            "env": [], "apps": [{"argv": ["/bin/true", *arguments], "env": [], "ranks": nodes}]}


def fill(link):
    """A job that has to wait."""
    link.send({"op": "submit", "job": job(2)})
    answer = link.receive()
    return f"{answer['op']} {answer.get('text', '')}"


def run(link):
    """A job that runs."""
    link.send({"op": "submit", "job": {**job(1, "1000"), "class": "shared",
                                       "apps": [{"argv": ["/bin/sleep", "1000"], "env": [], "ranks": 1}]}})
    answer = {"op": "queued"}
    while answer["op"] == "queued":
        answer = link.receive()
    return f"{answer['op']} {answer.get('text', '')}"


def cut(link):
    """Half of a large request and no more. scored makes room for all of it once its first bytes are there."""
    half = struct.pack(">II", FRAME - 4, FRAME - 8) + b'{"op":"submit"'.ljust(PART)
    try:
        link.socket.sendall(link.seal.push(half))
    except OSError:
        pass    # scored has answered before it had all of it
    link.socket.settimeout(0.01)
    try:
        return f"{link.receive()['text']}"
    except Unreachable as silence:
        return "waits" if isinstance(silence.__context__, TimeoutError) else "end"


def follow(server, munge, number):
    jobs = [Link(server, munge_socket=munge) for _ in range(JOBS)]
    for link in jobs:
        link.send({"op": "submit", "job": job(2, "x" * ARGUMENT)})
        print(link.receive()["op"], flush=True)
    links = [Link(server, munge_socket=munge) for _ in range(number)]
    for link in links:
        link.send({"op": "activity", "every_s": 0.01})
    for link in links:
        answer = link.receive()
        print(answer["op"], answer.get("text", ""), flush=True)
    print("held", flush=True)
    watched = {link.socket.fileno(): link.socket for link in links}
    poll = select.poll()
    for fd in (sys.stdin.fileno(), *watched):
        poll.register(fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd not in watched:
                return
            if not watched[fd].recv(1 << 20):
                poll.unregister(fd)


def ask(servers, munges, number):
    for _ in range(number):
        for server, munge in zip(servers.split(","), munges.split(",") if munges else [None], strict=True):
            begun = time.monotonic()
            Link(server, munge_socket=munge).ask({"op": "jobs"})
            print(f"{1000 * (time.monotonic() - begun):.3f}", end=" ", flush=True)
        print(flush=True)


def lock(server, munge, _):
    link = Link(server, munge_socket=munge)
    answer = link.ask({"op": "lock", "hosts": ["h1"], "mode": "exclusive", "reason": "disks"})
    print(answer["op"], flush=True)
    print("held", flush=True)
    sys.stdin.read()
    link.ask({"op": "unlock", "id": answer["id"]})


def remote(server, munge, _):
    link = Link(server, role="scout", munge_socket=munge)
    link.send({"op": "remote"})
    answer = link.receive()
    nice = os.getpriority(os.PRIO_PROCESS, answer["pid"]) if "pid" in answer else ""
    print(answer["op"], answer.get("text", nice), flush=True)


def frame(head):
    return struct.pack(">II", 4 + len(head), len(head)) + head


def garbage(server, rate):
    host, port = server.rsplit(":", 1)
    hello = (b'{"op": "hello", "nonce": "%s", "role": "scrun", "key": "%s", "cipher": "aes256gcm", '
             b'"credential": "MUNGE:%s:"}') % (b"0" * 32, b"1" * 64, b"QUJD" * 60)
    whole = MAGIC + struct.pack(">Q", 0) + frame(hello)
    begun, sent, kept = time.monotonic(), 0, []
    print("held", flush=True)
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        # On a machine that can't keep up the end of the input is seen all the same.
        for _ in range(min(BURST, int((time.monotonic() - begun) * rate) - sent)):
            place = (f"127.0.7.{1 + sent % STRANGERS}", 0) if host.startswith("127.") else None
            one = socket.create_connection((host, int(port)), source_address=place)
            one.sendall(whole)
            kept.append(one)
            sent += 1
            if len(kept) > KEPT:
                kept.pop(0).close()
    print(f"{sent / (time.monotonic() - begun):.0f}", flush=True)


def main(server, munge, what, number):
    munge = munge or None
    if what == "garbage":
        garbage(server, int(number))
        return
    whole = {"follow": follow, "ask": ask, "lock": lock, "remote": remote}.get(what)
    if whole:
        whole(server, munge, int(number))
        return
    links = []
    for _ in range(int(number)):
        link = Link(server, munge_socket=munge)
        print({"fill": fill, "run": run, "cut": cut}[what](link), flush=True)
        links.append(link)
    print("held", flush=True)
    sys.stdin.read()
    for link in links[::2]:     # every other goes with a reset
        link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for link in links:
        link.socket.close()


main(*sys.argv[1:])
