# SPDX-License-Identifier: BSD-3-Clause
#
# The inside of one host or switch: a process that puts itself into new namespaces, furnishes them
# and waits until its parent has bound them to names. If the parent dies first, the process ends
# and the namespaces go with it: nothing is left of a room that has no name.

import contextlib
import errno
import fcntl
import os
import socket

from . import holder, kernel, state as states
from .errors import LabError, status_of

PRIVATE = ("/tmp", "/run", "/dev/shm")
PASSED_THROUGH = ("/run/munge",)      # sockets of machine-wide services that hosts share

# several NICs of one host lie in different subnets: none may answer for another
SYSCTLS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/arp_ignore": "1",
    "net/ipv4/conf/default/arp_ignore": "1",
    "net/ipv4/conf/all/arp_announce": "2",
    "net/ipv4/conf/default/arp_announce": "2",
}
LAST_GROUP = 2147483647


def private_top(path):
    """The first directory below a private one on the way to `path`; None if it is visible anyway.

    '/tmp/clone/tests' gives '/tmp/clone': what lies beside the tree is wanted with it."""
    for private in PRIVATE:
        if path.startswith(f"{private}/"):
            return f"{private}/{path[len(private) + 1:].split('/')[0]}"
    return None


def groups():
    """All that this user namespace has, as the kernel takes no others."""
    with open("/proc/self/gid_map", encoding="ascii") as f:
        lasts = [int(first) + int(count) - 1 for first, _, count in map(str.split, f)]
    return f"0 {min(LAST_GROUP, max(lasts))}"


def set_sysctls():
    for name, value in {**SYSCTLS, "net/ipv4/ping_group_range": groups()}.items():
        # absent when the kernel was built or booted without IPv6
        with contextlib.suppress(FileNotFoundError), open(f"/proc/sys/{name}", "w") as f:
            f.write(value)


def mount_tmpfs(path, mode):
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"mode={mode}")


def mount_sysfs():
    """A /sys that shows this network namespace's NICs, with the machine's cgroups."""
    new = "/tmp/sys"
    os.mkdir(new)
    kernel.mount("sysfs", new, "sysfs")
    for part in ("fs/cgroup", "kernel/debug", "kernel/tracing"):
        if os.path.ismount(f"/sys/{part}"):
            kernel.mount(f"/sys/{part}", f"{new}/{part}", None, kernel.MS_BIND | kernel.MS_REC)
    kernel.mount(new, "/sys", None, kernel.MS_MOVE)
    os.rmdir(new)
    if os.path.isdir("/sys/fs/bpf"):
        with contextlib.suppress(PermissionError):      # in a user namespace, where nobody may use it
            kernel.mount("bpf", "/sys/fs/bpf", "bpf")


def show(path, tree):
    """Makes the detached mount visible at the place it had outside."""
    os.makedirs(path, exist_ok=True)
    kernel.attach_tree(tree, path)
    os.close(tree)


def own_mounts():
    """Later mounts are seen in here only."""
    try:
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    except OSError as e:
        if e.errno != errno.EINVAL:     # no mount point: we are below chroot(8)
            raise
        kernel.take_root()


def mount_hosts(path):
    """A file as /etc/hosts."""
    # a machine may have none; an empty one means the same, and there must be something to mount on
    os.close(os.open("/etc/hosts", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    kernel.mount(path, "/etc/hosts", None, kernel.MS_BIND)


def furnish(state, shares):
    """The mount namespace: private /tmp, /run and /dev/shm, own /sys and /etc/hosts."""
    trees = {path: kernel.clone_tree(path) for path in shares}
    # without what is mounted below: bind mounts of mount namespaces cannot be taken inside
    trees[state.directory] = kernel.clone_tree(state.directory, recursive=False)
    kernel.unshare(kernel.CLONE_NEWNS)
    own_mounts()
    mount_hosts(f"{state.directory}/hosts")
    mount_tmpfs("/tmp", "1777")
    mount_sysfs()
    mount_tmpfs("/dev/shm", "1777")
    mount_tmpfs("/run", "755")
    os.mkdir("/run/lock")
    os.chmod("/run/lock", 0o1777)
    for path, tree in trees.items():
        show(path, tree)
    # inside, the lab's files are for reading
    kernel.mount(None, state.directory, None,
                 kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY)


def need_way_back():
    """In a user namespace the network outside may be another's, as in containers that have their host's: nobody could
    go back to it from a host of the lab."""
    try:
        with kernel.inside_net(f"/proc/{os.getppid()}/ns/net"):
            pass
    except OSError as e:
        raise OSError(e.errno, f"{e.strerror}; give the container one of its own, as podman does with --network=none",
                      "this container has its host's network:") from None


def live(state, part, shares, ready, go):
    """Body of the forked process."""
    try:
        kernel.unshare(kernel.CLONE_NEWNET)
        need_way_back()
        set_sysctls()
        if part in state.hosts:
            # after the network namespace: its NICs are what the new /sys shows
            furnish(state, shares)
            kernel.unshare(kernel.CLONE_NEWUTS)
            socket.sethostname(part)
        # before the namespace gets its name: what bears our name without the mark is not ours
        kernel.mark_namespace(state.mark)
        os.write(ready, b"+")
    except OSError as e:
        os.write(ready, f"{e.errno} {e.filename or ''} {e.strerror}".encode())
    os.close(ready)
    os.read(go, 1)


class Room:
    """The parent's end of one such process."""

    def __init__(self, state, part, shares, go):
        self.state = state
        self.part = part
        self.ready, ready = os.pipe()
        self.pid = kernel.fork()
        if self.pid == 0:
            try:
                os.close(go[1])
                live(state, part, shares, ready, go[0])
            finally:
                os._exit(0)
        os.close(ready)

    def bind(self):
        """Waits until the room is furnished and gives its namespaces their names."""
        with open(self.ready, "rb") as f:
            answer = f.read()
        if answer != b"+":
            number, _, reason = answer.decode().partition(" ")
            raise LabError(f"cannot make the namespaces of {self.part}: {reason.strip() or 'its process was killed'}",
                           status_of(int(number or 0)))
        self.bind_one("net", self.state.net_path(self.part))
        if self.part in self.state.hosts:
            self.bind_one("uts", self.state.bind_path(self.part, "uts"))
            self.name_mounts()

    def bind_one(self, kind, path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))
        kernel.mount(f"/proc/{self.pid}/ns/{kind}", path, None, kernel.MS_BIND)

    def name_mounts(self):
        path = self.state.bind_path(self.part, "mnt")
        try:
            self.bind_one("mnt", path)
        except OSError as e:
            if e.errno != errno.EINVAL:
                raise
            os.unlink(path)
            holder.keep_mounts(self.state, self.part, self.pid)


def share_names():
    """Makes /run/netns a mount of its own, as ip-netns(8) does at its first namespace: doing that after us, it
    would cover our names by copies of them, and what is below could not be removed."""
    os.makedirs(states.NETNS, exist_ok=True)
    fd = os.open(states.NETNS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)      # ip takes it too
        try:
            kernel.mount("none", states.NETNS, None, kernel.MS_REC | kernel.MS_SHARED)
        except OSError as e:
            if e.errno != errno.EINVAL:     # no mount
                raise
            kernel.mount(states.NETNS, states.NETNS, None, kernel.MS_REC | kernel.MS_BIND)
            kernel.mount("none", states.NETNS, None, kernel.MS_REC | kernel.MS_SHARED)
    finally:
        os.close(fd)


def make_rooms(state, parts, shares):
    """Makes and names the namespaces of all hosts and switches."""
    share_names()
    go = os.pipe()
    rooms = []
    try:
        for part in parts:
            rooms.append(Room(state, part, shares, go))
        for room in rooms:
            room.bind()
    finally:
        os.close(go[0])
        os.close(go[1])
        for room in rooms:
            os.waitpid(room.pid, 0)
