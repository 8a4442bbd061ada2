# SPDX-License-Identifier: BSD-3-Clause
"""private - a cluster of one's own: scored here, scnodeds on its hosts, a directory that remembers what is to
be ended. The caller (scpool, scout) gives the directory, and scnodeds.Scnodeds that reach the hosts."""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

from pmcommand import Failure
from scorelink.link import Link, Unreachable
from scorelink.munge import Refused

from . import command, words
from .scnodeds import Trouble

_READY_S, _END_S = 10, 20
_HERE = pathlib.Path(__file__).resolve()


def program(name, directory, who):
    """Where a daemon is, here and on the hosts."""
    # share/openscore/scheduler/ctl/scorectl of an installation has sbin five steps up.
    path = ":".join([directory] if directory else
                    [os.environ.get("PATH", ""), str(_HERE.parents[5] / "sbin"), "/usr/local/sbin", "/usr/sbin"])
    found = shutil.which(name, path=path)
    if not found:
        raise Failure(command.TROUBLE, f"{who}: {name} is not in {path}; name its place with --programs")
    return os.path.realpath(found)


def _await_ready(notify, process, log):
    """scored says so to its service manager, which we are."""
    end = time.monotonic() + _READY_S
    notify.settimeout(0.2)
    while time.monotonic() < end and process.poll() is None:
        try:
            if b"READY=1" in notify.recv(4096):
                return int(re.search(r"ready, port (\d+)", log.read_text())[1])
        except TimeoutError:
            continue
    raise Trouble(f"scored: {log.read_text().strip() or 'it does not get ready'}")


def _await_hosts(link, hosts, seconds):
    """Until all are registered; the names of those that are not."""
    end = time.monotonic() + seconds
    answer = link.ask({"op": "activity", "every_s": 0.2})
    while True:
        missing = set(hosts) - {host["name"] for host in answer["hosts"] if host["state"] == "up"}
        if not missing or time.monotonic() > end:
            return missing
        answer = link.receive()


def _await_no_jobs(link):
    end = time.monotonic() + _END_S
    link.ask({"op": "cancel", "all": True})
    answer = link.ask({"op": "activity", "every_s": 0.2})
    while answer["jobs"] and time.monotonic() < end:
        answer = link.receive()
    return len(answer["jobs"])


class Cluster:
    """place: its directory, on this host. who: the command, for what is said. make_scnodeds(record): scnodeds.Scnodeds.

    record: hosts, base (of the directories on the hosts), munge_socket, and when scored runs server, local (its
    address for others and for this host); what else make_scnodeds wants to find there.
    """

    def __init__(self, place, who, make_scnodeds):
        self.place, self.who, self._make_scnodeds = pathlib.Path(place), who, make_scnodeds
        self.record = None

    # ---- scored, here ----

    def _start_scored(self, path, options):
        call = [path, "--listen", "0", "--private", "--state", str(self.place / "state")]
        if options.quantum:
            call += ["--quantum", options.quantum]
        if options.munge_socket:
            call += ["--munge-socket", options.munge_socket]
        log = self.place / "scored.log"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, log.open("w") as out:
            notify.bind(str(self.place / "notify"))
            process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                       cwd="/", env={**os.environ, "NOTIFY_SOCKET": str(self.place / "notify")})
            (self.place / "scored.pid").write_text(str(process.pid))
            return _await_ready(notify, process, log)

    def _end_scored(self):
        try:
            pid = int((self.place / "scored.pid").read_text())
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "scored":
                return
            handle = os.pidfd_open(pid)
        except (OSError, ValueError):
            return  # it has ended before
        try:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            select.select([handle], [], [], _END_S)
        finally:
            os.close(handle)

    # ---- the whole ----

    def _write(self):
        (self.place / "pool.json").write_text(json.dumps(self.record))

    def read(self):
        """The record of one that is there, also in part; FileNotFoundError."""
        self.record = json.loads((self.place / "pool.json").read_text())
        return self.record

    def up(self, record, options):
        """The record, when all hosts have registered. options: programs, quantum, cores, address, munge_socket,
        wait."""
        scored, scnoded = (program(name, options.programs, self.who) for name in ("scored", "scnoded"))
        try:
            self.place.mkdir(0o700)
        except FileExistsError:
            if self.place.lstat().st_uid != os.geteuid():
                raise Failure(command.TROUBLE, f"{self.who}: {self.place} is not yours; choose another "
                              "name") from None
            raise Failure(command.TROUBLE, f"{self.who}: {self.place} is there: a private cluster runs, or was left "
                          f"behind; {self.who} down ends it") from None
        self.record = record
        try:
            self._start(scored, scnoded, options)
        except BaseException as problem:
            for text in self.down():
                command.complain(self.who, text)
            if isinstance(problem, (Trouble, Unreachable, Refused)):
                raise Failure(command.TROUBLE, f"{self.who}: {problem}") from None
            raise
        return self.record

    def _start(self, scored, scnoded, options):
        self._write()
        port = self._start_scored(scored, options)
        self.record |= {"local": f"localhost:{port}", "server": f"{options.address or socket.gethostname()}:{port}"}
        self._write()
        daemons, hosts = self._make_scnodeds(self.record), self.record["hosts"]
        extra = ["--cores", options.cores] if options.cores else []
        daemons.up(scnoded, self.record["server"], options.munge_socket, extra)
        missing = _await_hosts(Link(self.record["local"], munge_socket=options.munge_socket), hosts, options.wait)
        if missing:
            raise Trouble(f"{words.hosts(missing)} did not register with scored at {self.record['server']} within "
                          f"{options.wait:g} s; is that address reached from there (--address), does munged run with "
                          f"the same key? Last lines of scnoded:\n{daemons.log()}")

    def down(self, is_forced=False):
        """Ends all parts that are there. Returns sentences about what could not be done. If a host cannot be reached,
        the record stays for another try, unless forced."""
        said, is_reached = [], True
        try:
            left = _await_no_jobs(Link(self.record["local"], munge_socket=self.record["munge_socket"]))
            if left:
                said.append(f"{words.count(left, 'job')} did not end within {_END_S} s")
        except KeyError:
            pass  # it never had a scored
        except (Unreachable, Refused) as problem:
            said.append(f"jobs were not cancelled ({problem}); they end with their scnoded")
        try:
            self._make_scnodeds(self.record).down()
        except Trouble as problem:
            is_reached = False
            said.append(f"the hosts were not all reached, so something may be left there: '{self.who} down' tries "
                        f"again, with --force it forgets them\n{problem}")
        self._end_scored()
        if is_reached or is_forced:
            shutil.rmtree(self.place)
        return said
