# SPDX-License-Identifier: BSD-3-Clause
#
# Daemons inside hosts, started as a service manager of that host would: in a session of their own, with
# a log in /run, waited for until they give their word (sd_notify(3)). `down` ends them with the host.

import os
import select
import shutil
import signal
import socket

from . import kernel, run
from .errors import LabError

START_TIMEOUT = 20                    # seconds, for all hosts together
TREE = os.path.realpath(f"{os.path.dirname(__file__)}/../../..")


def program(name, remedy):
    """Path of a daemon: of the build in use, else as installed."""
    builds = [os.environ.get("PM_BUILD"), os.environ.get("BUILD"), f"{TREE}/build"]
    for build in filter(None, builds):
        path = os.path.realpath(f"{build}/bin/{name}")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin")
    if not found:
        raise LabError(f"{name} is neither built nor installed: run make, which says what it "
                       f"lacks, or {remedy}")
    return found


def log_path(name):
    """Inside the host."""
    return f"/run/{name}.log"


def last_words(name):
    """The end of the daemon's log, from inside its host."""
    with open(log_path(name), encoding="utf-8", errors="replace") as f:
        lines = f.read().strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def become(name, argv, notify):
    """In a child of the host's starter; does not return."""
    try:
        os.setsid()
        os.chdir("/")
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        log = os.open(log_path(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)
        os.environ["NOTIFY_SOCKET"] = notify
        run.replace(argv, os.environ)
    except (OSError, LabError) as e:
        os.write(2, f"{e}\n".encode())
    finally:
        os._exit(1)


def await_word(name, notify, pid, word):
    """Until the daemon says that word, or ends."""
    end = os.pidfd_open(pid)
    while True:
        ready = select.select([notify, end], [], [], START_TIMEOUT)[0]
        if notify in ready and word in notify.recv(4096).split(b"\n"):
            return ""
        if end in ready:
            return last_words(name)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return f"not ready within {START_TIMEOUT} s: {last_words(name)}"


def start_in(state, host, argv, word):
    """In a child of sclab: goes into the host and starts the daemon; what went wrong, or ''."""
    name = os.path.basename(argv[0])
    path = f"/run/{name}.notify"
    try:
        run.enter(state, host)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(path)
        pid = kernel.fork()
        if pid == 0:
            become(name, argv, path)
        said = await_word(name, notify, pid, word)
        os.unlink(path)
        return said
    except (OSError, LabError) as e:
        return str(e)


def start(state, hosts, argv_of, word=b"READY=1"):
    """The daemons of these hosts at once, each by argv_of(host); LabError with the words of the first that
    failed."""
    pipes = []
    for host in hosts:
        answer, tell = os.pipe()
        pid = kernel.fork()
        if pid == 0:
            try:
                os.close(answer)
                os.write(tell, start_in(state, host, argv_of(host), word).encode())
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
        name = os.path.basename(argv_of(host)[0])
        raise LabError(f"{name} of {host} did not start: {said.removeprefix(name + ': ')}")
