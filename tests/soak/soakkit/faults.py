# SPDX-License-Identifier: BSD-3-Clause
"""faults - everything that a round may break, with what has to come of it. Each takes a Scene and returns when it is
over: whatever ought to run again runs again then."""
import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass

import schedlab
from labkit import kernel
from systest import ROOT

GOES_ON, ENDS, ALL_END = "goes on", "ends", "both end"
CTL = f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl"
VISITS = 4          # short jobs of a third user in a round
STRANGERS = 300     # connections of strangers in a round
PORTS = (7710, 7711)


class Nothing(Exception):
    """There is nothing of that kind to break now."""


@dataclass
class Scene:
    """A lab with two jobs in it, and the random numbers of the round."""
    lab: schedlab.Lab
    chance: object          # random.Random
    job: object             # scrun of the job that may be broken
    uid: int                # its user
    lines: dict             # command lines of daemons by (program, host)

    def of_job(self, program):
        """Process ids of the job that may be broken."""
        return [pid for pid in self.lab.find(program) if uid_of(pid) == self.uid]

    def one(self, found):
        """One of these; Nothing."""
        if not found:
            raise Nothing
        return self.chance.choice(sorted(found))

    def host(self):
        return self.chance.choice(self.lab.hosts)


def uid_of(pid):
    """-1: it has ended."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return -1


def _start(scene, program, host):
    """A daemon that was killed, as a service manager starts it anew."""
    if program in ("scored", "scnoded"):
        scene.lab.restart(program, host)
        return
    line = scene.lines[program, host]
    if program == "munged":     # it goes to the background by itself, and has the file system of the machine
        with kernel.inside_net(f"/run/netns/{scene.lab.name}-{host}"):
            subprocess.run(line, check=True, timeout=schedlab.TIME_LIMIT, stdin=subprocess.DEVNULL, cwd="/")
        return
    subprocess.run(scene.lab.command("sh", "-c", 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null &', "sh",
                                     f"/run/{program}.log", *line, host=host), check=True, timeout=schedlab.TIME_LIMIT)
    if program == "pm-ethernetd" and not schedlab.wait_until(
            lambda: not scene.lab.run(CTL, "status", "--json", host=host).returncode, schedlab.READY_S):
        raise RuntimeError(f"pm-ethernetd in {host} does not answer")


def _kill(find):
    def apply(scene):
        if not schedlab.kill(scene.one(find(scene))):
            raise Nothing
    return apply


def _kill_daemon(program):
    def apply(scene):
        pid = scene.one(scene.lab.find(program) if program == "munged" else scene.lab.daemons(program))
        host = scene.lab.processes()[pid][0]
        schedlab.kill(pid)
        _start(scene, program, host)
    return apply


@contextlib.contextmanager
def _stopped(pid):
    try:
        os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _stop(find, shortest, longest):
    def apply(scene):
        with contextlib.suppress(ProcessLookupError), _stopped(scene.one(find(scene))):
            time.sleep(scene.chance.uniform(shortest, longest))
    return apply


def _steps(is_leading):
    def find(scene):
        where = scene.lab.leader()
        hosts = scene.lab.processes()
        return [pid for pid in scene.of_job("scstepd") if pid in hosts and (hosts[pid][0] == where) == is_leading]
    return find


def _sclab(scene, *words):
    done = scene.lab.sclab(*words)
    if done.returncode:
        raise RuntimeError(done.stderr)


def _cable(nics, shortest, longest):
    def apply(scene):
        link = f"{scene.host()}:{scene.chance.choice(nics)}"
        _sclab(scene, "link", link, "down")
        try:
            time.sleep(scene.chance.uniform(shortest, longest))
        finally:
            _sclab(scene, "link", link, "up")
    return apply


def _loss(percent):
    def apply(scene):
        _sclab(scene, "loss", "--all", percent)
        try:
            time.sleep(scene.chance.uniform(0.5, 2))
        finally:
            _sclab(scene, "loss", "--all", "0")
    return apply


def _host_falls(scene):
    """All processes of a host at once, as when it loses its power; its daemons start anew."""
    host = scene.chance.choice(scene.lab.hosts[1:])     # the first one has scored
    daemons = [(program, at) for program, at in scene.lines if at == host]
    for pid, (at, name) in scene.lab.processes().items():
        if at == host and name != "sclab":
            schedlab.kill(pid)
    for program, at in sorted(daemons):                 # pm-ethernetd before scnoded
        _start(scene, program, at)


def _strangers(scene):
    """Connections without a credential, all at once."""
    held = []
    with kernel.inside_net(f"/run/netns/{scene.lab.name}-h0"):
        for number in range(STRANGERS):
            try:
                one = socket.create_connection(("127.0.0.1", PORTS[number % 2]), 1)
            except OSError:
                continue
            held.append(one)
            with contextlib.suppress(OSError):
                one.sendall(scene.chance.randbytes(scene.chance.randrange(1, 400)))
    time.sleep(scene.chance.uniform(0, 1))
    for one in held:
        one.close()


def _visits(scene):
    """Another user comes and goes."""
    for _ in range(VISITS):
        done = scene.lab.scrun("-nodes=2x1", "/bin/true", user="bin")
        if done.returncode:
            raise RuntimeError(f"a short job of another user ended with {done.returncode}: {done.stderr[-500:]}")


@dataclass(frozen=True)
class Fault:
    """outcome: of the job that it meets. The job of another user goes on always, except where both end."""
    name: str
    outcome: str
    apply: object


ALL = (
    Fault("a rank killed", ENDS, _kill(lambda scene: scene.of_job("rally"))),
    Fault("scrun killed", ENDS, _kill(lambda scene: [scene.job.pid])),
    Fault("the leading scstepd killed", ENDS, _kill(_steps(True))),
    Fault("another scstepd killed", ENDS, _kill(_steps(False))),
    Fault("a host falls over", ALL_END, _host_falls),
    Fault("scored killed and started anew", GOES_ON, _kill_daemon("scored")),
    Fault("a scnoded killed and started anew", GOES_ON, _kill_daemon("scnoded")),
    Fault("a pm-ethernetd killed and started anew", GOES_ON, _kill_daemon("pm-ethernetd")),
    Fault("munged killed and started anew", GOES_ON, _kill_daemon("munged")),
    Fault("scored stopped for 4 to 7 s", GOES_ON, _stop(lambda scene: scene.lab.daemons("scored"), 4, 7)),
    Fault("a scnoded stopped for up to 2 s", GOES_ON, _stop(lambda scene: scene.lab.daemons("scnoded"), 0.2, 2)),
    Fault("a pm-ethernetd stopped for up to 2 s", GOES_ON,
          _stop(lambda scene: scene.lab.daemons("pm-ethernetd"), 0.2, 2)),
    Fault("a rank stopped for up to 2 s", GOES_ON, _stop(lambda scene: scene.of_job("rally"), 0.2, 2)),
    Fault("a scstepd stopped for up to 2 s", GOES_ON, _stop(lambda scene: scene.of_job("scstepd"), 0.2, 2)),
    Fault("a data cable out for up to 3 s", GOES_ON, _cable(("eth1", "eth2"), 0.1, 3)),
    Fault("a management cable out for up to 1 s", GOES_ON, _cable(("eth0",), 0.1, 1)),
    Fault("8 % of all frames lost", GOES_ON, _loss("8%")),
    Fault("30 % of all frames lost", GOES_ON, _loss("30%")),
    Fault("300 strangers at the daemons' ports", GOES_ON, _strangers),
    Fault("another user comes and goes", GOES_ON, _visits),
)
