# SPDX-License-Identifier: BSD-3-Clause
"""A rank that lies to the scstepd that has started it; run by scrun. Says "here", and "done" when it has said all; then
it waits. usage: jobhostile.py KIND

garbage  connections to PMIx's server with random bytes, and with headers of messages that have odd lengths
idle     as many connections as it may open, which say nothing
client   a client of PMIx that is let in, and then sends such bytes
puts     a client that puts and publishes without end
commits  one that commits what it puts, again and again
others   fences with ranks that there are not, ends of other jobs, events to all
lines    PMI-1: lines that are none, long ones, puts without end, keys of others, two barriers at once
"""
import contextlib
import ctypes
import os
import random
import re
import socket
import struct
import sys
import time

SEED, TRIALS, TRIAL_BYTES = 4711, 200, 4096
PUT_BYTES, COMMITS, PUTS = 1 << 20, 5, 40   # of each of two ranks, who publish more than scstepd keeps
IDLE = 2000
WAIT_S = 120
LENGTHS = (0, 1, 1 << 16, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
STRING = 3              # PMIX_STRING
NAME_MAX, KEY_MAX = 255, 511


def port():
    names = [f"PMIX_SERVER_URI{version}" for version in ("4", "41", "3", "2")]
    uri = next(os.environ[name] for name in names if name in os.environ)
    return int(re.search(r"tcp4://[0-9.]+:([0-9]+)", uri)[1])


def connected():
    return socket.create_connection(("127.0.0.1", port()), 5)


def random_bytes():
    """Some are a header of PMIx with a length that is none, in network order or in this machine's."""
    size = random.choice(LENGTHS)
    peer, tag = random.choice((-1, 0, 1, 1 << 30)), random.getrandbits(32)
    head = struct.pack(random.choice((">iIQ", "<iIQ")), peer, tag, size)
    return random.choice((head, b"")) + random.randbytes(random.randrange(TRIAL_BYTES))


def garbage():
    for _ in range(TRIALS):
        with contextlib.suppress(OSError), connected() as one:
            one.sendall(random_bytes())


def idle():
    kept = []
    with contextlib.suppress(OSError):
        while len(kept) < IDLE:
            kept.append(connected())
    print(f"{len(kept)} connections", flush=True)
    return kept


class Proc(ctypes.Structure):
    _fields_ = [("nspace", ctypes.c_char * (NAME_MAX + 1)), ("rank", ctypes.c_uint32)]


class Value(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint16), ("text", ctypes.c_char_p), ("more", ctypes.c_uint64 * 2)]


class Info(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char * (KEY_MAX + 1)), ("flags", ctypes.c_uint32), ("value", Value)]


def begun():
    """PMIx's library, and who we are."""
    library, me = ctypes.CDLL("libpmix.so.2"), Proc()
    code = library.PMIx_Init(ctypes.byref(me), None, ctypes.c_size_t(0))
    if code:
        raise RuntimeError(f"PMIx_Init: {code}")
    return library, me


def sockets():
    """Of this process: those that have a peer."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                one = socket.socket(fileno=os.dup(int(name)))
                with contextlib.suppress(OSError):
                    if one.family == socket.AF_INET and one.getpeername():
                        yield one


def client():
    begun()
    random.seed(SEED + int(os.environ.get("PMIX_RANK", 0)))
    for one in sockets():
        with contextlib.suppress(OSError):
            for _ in range(TRIALS):
                one.sendall(random_bytes())


def commit(library, value, times):
    for n in range(times):
        library.PMIx_Put(ctypes.c_uint8(3), f"key{n}".encode(), ctypes.byref(value))
        library.PMIx_Commit()


def commits():
    commit(begun()[0], Value(STRING, b"x" * PUT_BYTES), 100 * COMMITS)


def puts():
    library, me = begun()
    value = Value(STRING, b"x" * PUT_BYTES)
    commit(library, value, COMMITS)
    for n in range(PUTS):
        info = Info(f"name{n}.{me.rank}".encode(), 0, value)
        code = library.PMIx_Publish(ctypes.byref(info), ctypes.c_size_t(1))
    print(f"PMIx_Publish: {code}", flush=True)


def others():
    library, me = begun()
    for name, rank in ((me.nspace, 99999), (me.nspace, 0xfffffff0), (b"scored.1", 0), (b"x" * NAME_MAX, 1),
                       (b"\x1b]0;t\x07", 3)):
        other = (Proc * 2)(me, Proc(name, rank))
        library.PMIx_Fence(other, ctypes.c_size_t(2), None, ctypes.c_size_t(0))
        library.PMIx_Notify_event(ctypes.c_int(-200), ctypes.byref(other[1]), ctypes.c_uint8(5), None,
                                  ctypes.c_size_t(0), None, None)
        print("fence", library.PMIx_Abort(7, b"for \x1b[2Jothers", ctypes.byref(other[1]), ctypes.c_size_t(1)),
              flush=True)


def lines():
    number, rank = int(os.environ["PMI_FD"]), int(os.environ["PMI_RANK"])
    with socket.socket(fileno=os.dup(number)) as pmi:
        pmi.settimeout(5)

        def ask(line):
            pmi.sendall(line + b"\n")
            return pmi.recv(4096)
        ask(b"cmd=init pmi_version=1 pmi_subversion=1")
        name = re.search(rb"kvsname=(\S+)", ask(b"cmd=get_my_kvsname"))[1]
        for n in range(2000):
            ask(b"cmd=put kvsname=%s key=k%d value=%s" % (name, n, b"v" * 900))
        ask(b"cmd=put kvsname=other key=k value=v")
        ask(b"cmd=get kvsname=%s key=%s" % (name, b"\x1b[2J"))
        if rank == 0:
            pmi.sendall(b"cmd=barrier_in\ncmd=barrier_in\n" + b"cmd=get \0 key=" + b"x" * (1 << 20))
        else:
            pmi.sendall(random.randbytes(1 << 20))


def main(kind):
    random.seed(SEED)
    print("here", flush=True)
    kept = None
    try:
        kept = {"garbage": garbage, "idle": idle, "client": client, "puts": puts, "commits": commits,
                 "others": others, "lines": lines}[kind]()
    except OSError as problem:
        print(problem, flush=True)
    print("done", flush=True)
    time.sleep(WAIT_S)      # until it is ended
    return kept


main(sys.argv[1])
