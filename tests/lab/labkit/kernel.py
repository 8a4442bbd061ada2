# SPDX-License-Identifier: BSD-3-Clause
#
# The system calls that Python 3.11 has no function for: namespaces, mounts, and the link marker
# that tells our network namespaces from others. Knows nothing of labs. Every failure is an OSError.

import contextlib
import ctypes
import os
import signal
import socket
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SHARED = 1 << 20
MNT_DETACH = 2

# numbers of calls younger than the common table are the same on every architecture
SYS_OPEN_TREE = 428
SYS_MOVE_MOUNT = 429
AT_FDCWD = -100
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4

PR_SET_PDEATHSIG = 1

RTM_NEWLINK = 16
RTM_GETLINK = 18
NLM_F_REQUEST = 1
NLM_F_ACK = 4
NLMSG_ERROR = 2
IFLA_IFALIAS = 20
IFF_UP = 1
IFF_RUNNING = 0x40
LOOPBACK_INDEX = 1

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), what)
    return result


def fork():
    """As os.fork; stop signals wait until it is over, as Python would lose their exceptions in it,
    and end the child without one."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    return pid


def end_with_parent(parent, number):
    """This process gets that signal when its parent has ended."""
    check(libc.prctl(PR_SET_PDEATHSIG, number), "prctl")
    if os.getppid() != parent:      # it ended before
        os.kill(os.getpid(), number)


def outlive_parent():
    check(libc.prctl(PR_SET_PDEATHSIG, 0), "prctl")


def unshare(flags):
    check(libc.unshare(flags), "unshare")


def setns(fd, flag):
    check(libc.setns(fd, flag), "setns")


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [None if s is None else os.fsencode(s) for s in (source, target, kind, data)]
    check(libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
          target)


def umount(target):
    check(libc.umount2(os.fsencode(target), MNT_DETACH), target)


def clone_tree(path, recursive=True):
    """A detached copy of the mounts at `path`, to be attached in another mount namespace."""
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return check(libc.syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags), path)


def attach_tree(fd, path):
    check(libc.syscall(SYS_MOVE_MOUNT, fd, b"", AT_FDCWD, os.fsencode(path),
                       MOVE_MOUNT_F_EMPTY_PATH), path)


def take_root():
    """Makes the caller's root that of its mount namespace, where it is a mere directory so far, as below chroot(8).

    setns(2) leads to a namespace's own root. The namespace has to be one of the caller alone."""
    tree = clone_tree("/")
    attach_tree(tree, "/")
    # own namespace, for its root: what is mounted there can be made private and be replaced
    with open("/proc/self/ns/mnt", "rb") as own:
        setns(own.fileno(), CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    os.fchdir(tree)
    os.close(tree)
    check(libc.pivot_root(b".", b"."), "pivot_root")
    umount(".")
    os.chdir("/")


def is_namespace_file(path):
    """Whether a namespace is bound at `path`, or a process in it is named there."""
    try:
        return os.stat(path).st_dev == os.stat("/proc/self/ns/net").st_dev
    except (FileNotFoundError, ProcessLookupError):
        return False


def namespace_inode(path):
    return os.stat(path).st_ino


@contextlib.contextmanager
def inside_net(path):
    """Runs the body in the network namespace bound at `path`."""
    with open("/proc/self/ns/net", "rb") as home, open(path, "rb") as there:
        setns(there.fileno(), CLONE_NEWNET)
        try:
            yield
        finally:
            setns(home.fileno(), CLONE_NEWNET)


def attribute(kind, payload):
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def rtnetlink(sock, kind, flags, index, ifflags=0, change=0, attributes=b""):
    """One link request and its first answer: (type, payload)."""
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, ifflags, change) + attributes
    sock.send(struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | flags, 1, 0) + body)
    answer = sock.recv(65536)
    length, kind = struct.unpack_from("=IH", answer)
    if kind == NLMSG_ERROR:
        errno = -struct.unpack_from("=i", answer, 16)[0]
        if errno:
            raise OSError(errno, os.strerror(errno), "rtnetlink")
    return kind, answer[16:length]


def link_socket():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def mark_namespace(text):
    """Brings lo up and writes `text` as its alias, in the current network namespace."""
    with link_socket() as sock:
        rtnetlink(sock, RTM_NEWLINK, NLM_F_ACK, LOOPBACK_INDEX, IFF_UP, IFF_UP,
                  attribute(IFLA_IFALIAS, text.encode()))


def namespace_mark():
    """The alias of lo in the current network namespace, or ''."""
    with link_socket() as sock:
        _, answer = rtnetlink(sock, RTM_GETLINK, 0, LOOPBACK_INDEX)
    at = 16
    while at + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == IFLA_IFALIAS:
            return answer[at + 4:at + length].rstrip(b"\0").decode(errors="replace")
        at += (length + 3) & ~3 or 4
    return ""


def is_link_running(index):
    """Whether the link has carrier, in the current network namespace."""
    with link_socket() as sock:
        _, answer = rtnetlink(sock, RTM_GETLINK, 0, index)
    return bool(struct.unpack_from("=BxHiI", answer)[3] & IFF_RUNNING)
