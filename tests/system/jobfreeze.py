# SPDX-License-Identifier: BSD-3-Clause
"""A process that wants more of the processors than its job's turns. Says "here" and goes on for some seconds; as
somebody outside of the job, whose processes it is given, it says so and goes on, too.
usage: jobfreeze.py KIND SECONDS [PID...]

spin     honestly
seize    a child that spins, and is interrupted and let go by its parent who traces it
attach   the same with PTRACE_ATTACH and PTRACE_CONT
storm    children that execute a program, one after the other
sqpoll   a thread of the kernel that looks for work of io_uring, and never sleeps; code 77: there is no io_uring here
outside  traces PID... as attach does
"""
import contextlib
import ctypes
import os
import signal
import sys
import time

CONT, ATTACH, SEIZE, INTERRUPT = 7, 16, 0x4206, 0x4207     # of ptrace(2)
IO_URING_SETUP, SQPOLL, PARAMS_BYTES = 425, 1 << 1, 120
IDLE_MS = 600000
SKIPPED = 77
STOPS = 50                      # turns of a tracer from one to the next
WALL = 0x40000000               # __WALL of waitpid(2)
LIBC = ctypes.CDLL(None, use_errno=True)
UNTIL = time.monotonic() + float(sys.argv[2])


def ptrace(request, pid, data=0):
    return LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_void_p(0), ctypes.c_void_p(data))


def spin():
    while time.monotonic() < UNTIL:
        pass


def child():
    pid = os.fork()
    if not pid:
        LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)      # PR_SET_PDEATHSIG
        spin()
        os._exit(0)
    return pid


def stop(pid, is_seized):
    if is_seized:
        ptrace(INTERRUPT, pid)
    else:
        os.kill(pid, signal.SIGSTOP)


def drive(pids, is_seized):
    """Stops them now and then, and lets go of who is stopped at once."""
    for pid in pids:
        ptrace(SEIZE if is_seized else ATTACH, pid)
    turn = 0
    while time.monotonic() < UNTIL:
        turn += 1
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if turn % STOPS == 0:
                    stop(pid, is_seized)
                os.waitpid(pid, os.WNOHANG | WALL)
                ptrace(CONT, pid)
        time.sleep(0.001)       # of the tracer, who would take his own job's time


def storm():
    while time.monotonic() < UNTIL:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def sqpoll():
    params = (ctypes.c_uint32 * (PARAMS_BYTES // 4))()
    params[2], params[4] = SQPOLL, IDLE_MS
    if LIBC.syscall(ctypes.c_long(IO_URING_SETUP), ctypes.c_uint(8), params) < 0:
        print("io_uring_setup:", os.strerror(ctypes.get_errno()), flush=True)
        sys.exit(SKIPPED)
    time.sleep(max(0, UNTIL - time.monotonic()))


def main(kind, pids):
    # in one write, also where PYTHONUNBUFFERED is set: others say so at the same time
    print(f"here {os.getpid()}\n", end="", flush=True)
    if kind in ("seize", "attach"):
        drive([child()], kind == "seize")
    elif kind == "outside":
        drive(pids, False)
    else:
        {"spin": spin, "storm": storm, "sqpoll": sqpoll}[kind]()


main(sys.argv[1], [int(word) for word in sys.argv[3:]])
