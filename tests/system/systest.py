# SPDX-License-Identifier: BSD-3-Clause
"""Shared by all system tests: where the tree and the build lie, TAP lines, what a finished program said, control
groups, an end that leaves nothing when time is up."""
import os
import random
import shutil
import signal
import socket
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.realpath(os.environ.get("PM_BUILD", f"{ROOT}/build"))
TERMINATED = 128 + signal.SIGTERM
# Of the directories below BUILD, those that nothing is installed from.
OTHERS_OF_BUILD = {"bench", "criu", "debian", "debian13", "debs", "fuzz", "lab", "libfuzzer", "mpi", "sshd", "tests",
                   "vm"}


def _end_on_sigterm():
    """Of a time limit, which comes twice: labs go down on the way out. A child that was forked has made none."""
    test = os.getpid()

    def end(*_):
        if os.getpid() != test:
            os._exit(TERMINATED)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(TERMINATED)
    signal.signal(signal.SIGTERM, end)


_end_on_sigterm()
# Labs are tied to the test, so that `sclab sweep` finds those of a test that was killed.
os.environ["SCLAB_MAKER"] = str(os.getpid())


def free_port():
    """A TCP port for a program that starts later. The kernel gives it to nobody who names none, as that may be another
    test meanwhile."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first = int(f.read().split()[0])
    for port in random.sample(range(max(1024, first - 16384), first), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                pass
    raise RuntimeError(f"100 ports below {first} are taken")


class Tap:
    count = 0
    failed = 0

    def ok(self, is_ok, name, detail=""):
        self.count += 1
        self.failed += not is_ok
        if not is_ok:
            print(f"#   {name}: {detail}".replace("\n", "\n#   "), file=sys.stderr, flush=True)
        print(f"{'ok' if is_ok else 'not ok'} {self.count} - {name}", flush=True)

    def equal(self, got, want, name):
        self.ok(got == want, name, f"got {got!r}, want {want!r}")

    def between(self, low, value, high, name):
        self.ok(low <= value <= high, name, f"got {value:g}, want {low:g} to {high:g}")

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def end(self):
        """Prints the plan; the exit code."""
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def private_build(directory):
    """A copy of the build, without tests and unpacked systems, for goals that link anew: other tests run from BUILD."""
    def left_out(path, names):
        return set(names) & OTHERS_OF_BUILD if os.path.samefile(path, BUILD) else ()
    shutil.copytree(BUILD, directory, symlinks=True, ignore=left_out)
    return directory


def groups_below(group):
    """A control group and those in it, in every hierarchy that has it, as paths, deepest first."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        mounts = {line.split()[1] for line in f if line.split()[2] in ("cgroup", "cgroup2")}
    return [path for mount in sorted(mounts) for path, _, _ in os.walk(f"{mount}/{group}", topdown=False)]


def told(done):
    return f"status {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"
