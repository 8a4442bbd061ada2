# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab up --ethernet`: pm-ethernetd in every host, on all data NICs, as a service manager of that
# host would run it. Finds the program, starts it and waits for its word; `down` ends it with the
# host. Knows nothing of what it does.

import os
import select
import shutil
import signal
import socket

from . import kernel, run
from .errors import LabError

PROGRAM = "pm-ethernetd"
START_TIMEOUT = 20                    # seconds, for all hosts together
LOG = "/run/pm-ethernetd.log"         # inside the host
NOTIFY = "/run/pm-ethernetd.notify"   # inside the host
TREE = os.path.realpath(f"{os.path.dirname(__file__)}/../../..")


def program():
    """Path of pm-ethernetd: of the build in use, else as installed."""
    builds = [os.environ.get("PM_BUILD"), os.environ.get("BUILD"), f"{TREE}/build"]
    for build in filter(None, builds):
        path = os.path.realpath(f"{build}/bin/{PROGRAM}")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(PROGRAM, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin")
    if not found:
        raise LabError(f"{PROGRAM} is neither built nor installed: run make, which says what it "
                       "lacks, or leave out --ethernet")
    return found


def nics(plan):
    """What every host's daemon is given."""
    return ",".join(nic.name for nic in plan.hosts[0].nics if nic.dimension >= 0)


def last_words():
    """The end of the daemon's log, from inside its host."""
    with open(LOG, encoding="utf-8", errors="replace") as f:
        lines = f.read().strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def become_daemon(argv):
    """In a child of the host's starter; does not return."""
    try:
        os.setsid()
        os.chdir("/")
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)
        os.environ["NOTIFY_SOCKET"] = NOTIFY
        run.replace(argv, os.environ)
    except (OSError, LabError) as e:
        os.write(2, f"{e}\n".encode())
    finally:
        os._exit(1)


def await_word(notify, pid):
    """Until the daemon says that it is ready, or ends."""
    end = os.pidfd_open(pid)
    while True:
        ready = select.select([notify, end], [], [], START_TIMEOUT)[0]
        if notify in ready and b"READY=1" in notify.recv(4096).split(b"\n"):
            return ""
        if end in ready:
            return last_words()
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return f"not ready within {START_TIMEOUT} s: {last_words()}"


def start_in(state, host, argv):
    """In a child of sclab: goes into the host and starts the daemon; what went wrong, or ''."""
    try:
        run.enter(state, host)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(NOTIFY)
        pid = kernel.fork()
        if pid == 0:
            become_daemon(argv)
        said = await_word(notify, pid)
        os.unlink(NOTIFY)
        return said
    except (OSError, LabError) as e:
        return str(e)


def start(plan, state):
    """The daemons of all hosts at once; LabError with the words of the first that failed."""
    argv = [program(), "--nics", nics(plan)]
    pipes = []
    for host in state.hosts:
        answer, tell = os.pipe()
        pid = kernel.fork()
        if pid == 0:
            try:
                os.close(answer)
                os.write(tell, start_in(state, host, argv).encode())
            finally:
                os._exit(0)
        os.close(tell)
        pipes.append((host, pid, answer))
    failed = []
    for host, pid, answer in pipes:
        with open(answer, "rb") as f:
            said = f.read().decode(errors="replace")
        os.waitpid(pid, 0)
        if said:
            failed.append((host, said))
    if failed:
        host, said = failed[0]
        raise LabError(f"{PROGRAM} of {host} did not start: {said.removeprefix(PROGRAM + ': ')}")
