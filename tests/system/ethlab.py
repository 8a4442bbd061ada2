# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the ethernet tests: a lab whose hosts run pm-ethernetd, and guests in it: processes
that obey one command after the other (ethguest.py). Knows how to reach them, not what they do.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

from systest import BUILD, HERE, ROOT

sys.path.insert(0, f"{ROOT}/pm-ethernet/ctl")
from pmethernet import daemon                                           # noqa: E402

SCLAB = f"{ROOT}/tests/lab/sclab"
CTL = f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl"
PYTHON = "/usr/bin/python3"
TOPICS = {"status": daemon.STATUS, "rails": daemon.RAILS, "peers": daemon.PEERS, "counters": daemon.COUNTERS}
ANSWER_S = 60
ENVIRONMENT = dict(os.environ, PM_BUILD=BUILD)
ENVIRONMENT.pop("PM_OPTIONS", None)


def skip_reason():
    """Why these tests can't run here, or ''."""
    if os.geteuid():
        return "network namespaces and pm-ethernetd need root"
    if not os.path.exists(f"{BUILD}/bin/pm-ethernetd"):
        return "pm-ethernetd is not built here"
    missing = [tool for tool in ("ip", "bridge") if not shutil.which(tool)]
    return f"{' '.join(missing)} missing (install iproute2)" if missing else ""


def wait_until(condition, seconds=5.0):
    """Polls what another process tells; seconds it took, None if it never held."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        if condition():
            return time.monotonic() - start
        time.sleep(0.01)
    return None


class MemoryGroup:
    """A group of processes whose memory the kernel counts, of either version of cgroups."""

    def __init__(self, name):
        old = os.path.isdir("/sys/fs/cgroup/memory")
        self.path = f"/sys/fs/cgroup/{'memory/' if old else ''}{name}"
        self.used = f"{self.path}/memory.{'usage_in_bytes' if old else 'current'}"
        self.most = f"{self.path}/memory.{'limit_in_bytes' if old else 'max'}"
        os.mkdir(self.path)
        self.before = 0

    @staticmethod
    def are_there():
        roots = ("/sys/fs/cgroup/cgroup.subtree_control", "/sys/fs/cgroup/memory/cgroup.procs")
        texts = [open(root, encoding="ascii").read() for root in roots if os.path.exists(root)]
        return os.path.exists(roots[1]) or "memory" in "".join(texts[:1])

    def add(self, pid):
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(pid))

    def limit(self, count):
        with open(self.most, "w", encoding="ascii") as f:
            f.write(str(count))

    def bytes(self):
        """More than at the last start()."""
        with open(self.used, encoding="ascii") as f:
            return int(f.read()) - self.before

    def start(self):
        self.before += self.bytes()

    def remove(self):
        """When its processes have ended."""
        wait_until(lambda: not open(f"{self.path}/cgroup.procs", encoding="ascii").read(), ANSWER_S)
        os.rmdir(self.path)


class Refused(Exception):
    """A guest could not do what it was told."""


class Guest:
    """A process in a host, or in a network namespace; ends with its standard input."""

    def __init__(self, words):
        self.process = subprocess.Popen([*words, PYTHON, f"{HERE}/ethguest.py"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=ENVIRONMENT)
        self.pid = self.hear()["pid"]

    def tell(self, what, **arguments):
        self.process.stdin.write(json.dumps([what, arguments]) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise Refused("the guest has ended")
        answer = json.loads(line)
        if "trouble" in answer:
            raise Refused(answer["trouble"])
        return answer

    def do(self, what, **arguments):
        self.tell(what, **arguments)
        return self.hear()

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def results(sender, receiver):
    """The results of pm_send and pm_take, which are under way. The receiver goes on until the sender knows that all
    messages have arrived."""
    taken = receiver.hear()
    receiver.do("pm_serve")
    sent = sender.hear()
    receiver.do("nothing")      # this is what pm_serve answers
    receiver.hear()
    return sent, taken


class Lab:
    """Hosts h0, h1, ... with NICs eth1, eth2, ..., NIC N of all on switch swN."""

    def __init__(self, name, hosts, nics, *more):
        self.name = name
        self.guests = []
        done = self.sclab("up", "--hosts", str(hosts), "--nics", str(nics), "--share", BUILD, *more)
        if done.returncode:
            raise RuntimeError(f"sclab up: {done.stderr}")

    def sclab(self, *words, **keywords):
        return subprocess.run(self.words(*words), capture_output=True, text=True, check=False,
                              env=ENVIRONMENT, **{"timeout": ANSWER_S, **keywords})

    def words(self, *words):
        return [SCLAB, "--name", self.name, *words]

    def inside(self, host, *words, **keywords):
        return self.sclab("exec", host, "--", *words, **keywords)

    def ip(self, place, *words):
        subprocess.run(["ip", "-n", f"{self.name}-{place}", *words], check=True,
                       capture_output=True, timeout=ANSWER_S)

    def guest(self, host, user=None):
        words = ("-u", user) if user else ()
        return self.add(Guest(self.words("exec", *words, host, "--")))

    def listener(self, switch, port):
        """A guest that hears what a host sends, at the switch."""
        guest = self.add(Guest(["ip", "netns", "exec", f"{self.name}-{switch}"]))
        guest.do("wire_open", nic=port)
        return guest

    def wire(self, host, nic):
        """A guest of root that sends frames from the NIC of a host."""
        guest = self.guest(host)
        guest.do("wire_open", nic=nic)
        return guest

    def add(self, guest):
        self.guests.append(guest)
        return guest

    def dismiss(self):
        while self.guests:
            self.guests.pop().close()

    def report(self, host, topic):
        """The report that pm-ethernetctl would print, without starting it in the host."""
        try:
            return daemon.report(f"/proc/{self.daemon(host)}/root{daemon.RUN}", TOPICS[topic])
        except (daemon.Unreachable, daemon.Refused) as e:
            raise RuntimeError(f"{topic} of {host}: {e}") from e

    def contexts(self, host):
        return self.report(host, "status")["contexts"]

    def taken_back(self, host):
        """Seconds until the daemon holds no context any more, looked at without starting a program."""
        def is_empty():
            with open(f"/proc/{pid}/root" "/run/pm-ethernet/state", encoding="ascii") as f:
                return not json.load(f)["contexts"]
        pid = self.daemon(host)
        return wait_until(is_empty)

    def drops(self, host, rail=None):
        """Frames dropped by reason: those that came by a rail, or from ports."""
        counters = self.report(host, "counters")
        return counters["ports"]["drops"] if rail is None else counters["rails"][rail]["drops"]

    def daemon(self, host):
        """Process id of the host's pm-ethernetd."""
        space = os.stat(f"/run/netns/{self.name}-{host}").st_ino
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{pid}/ns/net").st_ino == space and \
                        os.readlink(f"/proc/{pid}/exe") == f"{BUILD}/bin/pm-ethernetd":
                    return int(pid)
        raise RuntimeError(f"no pm-ethernetd in {host}")

    def kill_daemon(self, host, how=signal.SIGKILL):
        """Returns when it has ended, and with it the lock of its directory."""
        pid = self.daemon(host)
        end = os.pidfd_open(pid)
        os.kill(pid, how)
        select.select([end], [], [], ANSWER_S)
        os.close(end)

    def start_daemon(self, host, nics, *options, before=""):
        """Anew, as `up` did, by the command @before; ends with the lab."""
        log = "/run/pm-ethernetd.log"
        command = f"exec {before} {BUILD}/bin/pm-ethernetd --nics {nics} {' '.join(options)} 2>>{log}"
        process = subprocess.Popen(self.words("exec", host, "--", "sh", "-c", command),
                                   stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        if "ready" not in process.stdout.readline():
            raise RuntimeError(f"pm-ethernetd in {host}: {self.inside(host, 'tail', log).stdout}")
        return process

    def wait_for_peers(self, host, n_rails):
        """Until the daemon of @host has heard that many rails of others."""
        def heard():
            return sum(rail["is_alive"] for peer in self.report(host, "peers")["peers"]
                       for rail in peer["rails"])
        return wait_until(lambda: heard() >= n_rails, 15) is not None

    def down(self):
        self.dismiss()
        self.sclab("down")


@contextlib.contextmanager
def lab(suffix, hosts, nics, *more):
    one = Lab(f"e{suffix}{os.getpid()}", hosts, nics, *more)
    try:
        yield one
    finally:
        one.down()
