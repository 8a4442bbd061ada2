# SPDX-License-Identifier: BSD-3-Clause
#
# The record that a lab keeps between commands, under /run/openscore-lab/NAME: the options it was
# built from and its phase. Written whole and renamed into place BEFORE anything in the record is made,
# so that a killed `sclab up` leaves a list of what may exist.

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import signal

from . import kernel
from .errors import EXIT_NO_LAB, EXIT_REFUSED, LabError
from .plan import Options

BASE = "/run/openscore-lab"
NETNS = "/run/netns"
LOCK_TIMEOUT = 60          # seconds; a lab of a thousand hosts takes less

BUILDING = "building"      # also: left behind by a killed `sclab up`
UP = "up"
GOING = "going down"


@dataclasses.dataclass
class State:
    options: Options
    phase: str = BUILDING
    token: str = ""            # random; part of the marker in each of our network namespaces
    holder: int = 0            # pid of the process that keeps our mount namespace reachable
    holder_start: int = 0      # its start time, clock ticks: a recycled pid is not ours
    base_mnt: int = 0          # inode of the mount namespace the lab was built from
    boot: str = ""             # id of the boot it was built in: /run may outlive that
    namespaces: list = dataclasses.field(default_factory=list)    # names under /run/netns
    hosts: list = dataclasses.field(default_factory=list)
    maker: list = dataclasses.field(default_factory=list)         # the process it is tied to: see maker.py

    @property
    def directory(self):
        return directory_of(self.options.lab)

    @property
    def mark(self):
        return f"openscore-lab {self.options.lab} {self.token}"

    def bind_path(self, host, kind):
        """Where the 'mnt' or 'uts' namespace of a host is bound."""
        return f"{self.directory}/ns/{host}.{kind}"

    def keeper_path(self, host):
        """The file that names the process that keeps the host's mount namespace, where it could not be bound."""
        return f"{self.directory}/ns/{host}.keeper"

    def net_path(self, part):
        return f"{NETNS}/{self.options.lab}-{part}"

    @property
    def munge_socket(self):
        return f"{self.directory}/munge/socket"

    def save(self):
        write_file(f"{self.directory}/state.json", json.dumps(dataclasses.asdict(self)))


def directory_of(lab):
    return f"{BASE}/{lab}"


def compiled_path(state):
    """cluster.json of the lab."""
    return f"{state.directory}/cluster.json"


def write_file(path, text):
    """Whole or not at all."""
    temporary = f"{path}.new"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(temporary, path)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip()


def new_state(options, plan, maker=()):
    return State(options, token=secrets.token_hex(8), namespaces=plan.namespaces(),
                 hosts=[h.name for h in plan.hosts], boot=boot_id(), maker=list(maker),
                 base_mnt=kernel.namespace_inode("/proc/self/ns/mnt"))


def load(lab):
    """The state of a lab, or None when there is none."""
    try:
        with open(f"{directory_of(lab)}/state.json", encoding="utf-8") as f:
            fields = json.load(f)
        options = fields.pop("options")
        options["shape"] = tuple(options["shape"])
        state = State(Options(**options), **fields)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as e:     # no JSON, or the fields of another version
        raise LabError(f"{directory_of(lab)}/state.json is damaged ({e}): remove what is left of "
                       "the lab by hand, then this directory") from None
    if state.boot != boot_id():
        # nothing but files can be left of it; its numbers may mean other things now
        state.phase, state.holder = GOING, 0
        state.base_mnt = kernel.namespace_inode("/proc/self/ns/mnt")
    return state


def load_running(lab):
    state = load(lab)
    if state and state.phase == UP:
        return state
    if state:
        raise LabError(f"lab '{lab}' is {state.phase}: if nobody is at it, run 'sclab down' and "
                       "'sclab up'", EXIT_NO_LAB)
    others = [n for n in names() if n != lab]
    hint = f"name one of those that are, with --name: {', '.join(others)}" if others \
        else "run 'sclab up' first"
    raise LabError(f"lab '{lab}' is not up: {hint}", EXIT_NO_LAB)


def names():
    try:
        return sorted(n for n in os.listdir(BASE) if os.path.isdir(f"{BASE}/{n}"))
    except FileNotFoundError:
        return []


def lock(fd, lab):
    """Waits: of a killed `sclab up`, the processes that it forked hold the lock until they end."""
    def late(*_):
        raise LabError(f"another sclab has been building or removing lab '{lab}' for "
                       f"{LOCK_TIMEOUT} s: wait for it", EXIT_REFUSED)

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LOCK_TIMEOUT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def locked(lab):
    """Holds the lab against another `sclab up` or `down`; makes its directory."""
    path = directory_of(lab)
    while True:
        os.makedirs(path, mode=0o755, exist_ok=True)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            lock(fd, lab)
        except LabError:
            os.close(fd)
            raise
        # the holder before us may have removed the directory that we have just locked
        if os.path.exists(path) and os.stat(path).st_ino == os.fstat(fd).st_ino:
            break
        os.close(fd)
    try:
        yield
    finally:
        os.close(fd)


def remove_directory(lab):
    path = directory_of(lab)
    for name in os.listdir(path):
        if not os.path.isdir(f"{path}/{name}"):
            os.unlink(f"{path}/{name}")
    for directory in (f"{path}/ns", path, BASE):
        with contextlib.suppress(FileNotFoundError):
            try:
                os.rmdir(directory)
            except OSError:
                if directory != BASE:       # BASE: other labs live there
                    raise
