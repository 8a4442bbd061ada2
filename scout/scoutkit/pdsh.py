# SPDX-License-Identifier: BSD-3-Clause
"""pdsh - agents started by pdsh, which connect back. pdsh does no more than that: it has no standard input for them,
and loses how they end. Output of pdsh and its children is kept for the message about a host that did not come."""

import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess

from scorelink import frames, handshake
from scorelink.munge import Refused

from . import loop
from .stream import Stream
from .terminal import say

_WORDS_MAX = 300    # characters of what was said about a host
_BACKLOG = 1024
_STRANGERS_MAX = 256    # who have not said who they are
_SAY_S = 10             # by then they have


class Trouble(Exception):
    """pdsh can't be used here; names the remedy."""


def program(directory):
    """Where scremote is, here and on the hosts."""
    # share/openscore/scout/scoutkit of an installation has sbin four steps up.
    here = os.path.dirname(os.path.realpath(__file__))
    path = directory or ":".join([os.path.realpath(f"{here}/../../../../sbin"), os.environ.get("PATH", ""),
                                  "/usr/local/sbin", "/usr/sbin"])
    found = shutil.which("scremote", path=path)
    if not found:
        raise Trouble(f"scremote is not in {path}; name its place with --programs")
    return os.path.realpath(found)


def _directory():
    """Of pdsh, which wants one that is there."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


class Start:
    """Of agents on some hosts. ready(host, stream, head) for each that comes, failed(host, why) for the others."""

    def __init__(self, turns, hosts, options, munge, ready, failed):
        self.loop, self._munge, self._ready, self._failed = turns, munge, ready, failed
        self._key = os.urandom(16).hex()
        self._missing = dict.fromkeys(hosts, "")
        self._callers = {}      # timers by stream, in the order in which they came
        self._directory = self._listener = self._process = None
        self._rest = b""
        if not shutil.which("pdsh"):
            raise Trouble("pdsh is not installed: apt-get install pdsh, or start scnoded on the hosts")
        agent = program(options.programs)
        try:
            where = self._listen(options)
            self._process = self._spawn(self._command(hosts, options, agent, where))
        except OSError as problem:
            self.close()
            raise Trouble(f"pdsh: {problem.strerror}") from None
        self._listener.setblocking(False)
        turns.watch(self._listener.fileno(), loop.READ, self._on_caller)
        turns.watch(self._process.stdout.fileno(), loop.READ, self._on_words)

    def _listen(self, options):
        """Where agents connect to: a file of this kernel when they are started by a command of it, else a port."""
        if options.through and not options.address:
            self._directory = f"{os.environ.get('TMPDIR') or '/tmp'}/scout-{os.getpid()}-{os.urandom(4).hex()}"
            os.mkdir(self._directory, 0o700)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(f"{self._directory}/door")
            self._listener.listen(_BACKLOG)
            return f"{self._directory}/door"
        address = options.address or socket.gethostname()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server(("", 0), family=family, backlog=_BACKLOG)
        port = self._listener.getsockname()[1]
        return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

    def _command(self, hosts, options, agent, where):
        words = [agent, "--connect", where, "--key", self._key, "--host", "%h"]
        if options.munge_socket:
            words += ["--munge-socket", options.munge_socket]
        if options.through:
            through = shlex.split(options.through)
        else:
            # By exec as well: %h tells each agent which host it is, whatever its own name there.
            through = ["ssh", "-oBatchMode=yes", f"-oConnectTimeout={max(1, int(options.connect))}", "-x", "-a",
                       *shlex.split(os.environ.get("PDSH_SSH_ARGS_APPEND", "")), "%h"]
            words = [word if word == "%h" else shlex.quote(word) for word in words]
        # As many at once as there are: each stays for as long as its agent.
        return ["pdsh", "-R", "exec", "-f", str(len(hosts)), "-w", ",".join(hosts), *through, *words]

    @staticmethod
    def _spawn(command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True, cwd=_directory())

    def close(self):
        """Agents that came live on; nobody else is let in."""
        self._ready = self._failed = lambda *_: None
        for stream in list(self._callers):
            stream.close()
            self.forget(stream)
        if self._listener and self._listener.fileno() >= 0:
            self.loop.forget(self._listener.fileno())
            self._listener.close()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def end(self):
        """pdsh as well: agents whose connections are closed end by themselves, those on their way are told."""
        self.close()
        if not self._process:
            return
        self.loop.forget(self._process.stdout.fileno())
        self._process.stdout.close()
        try:
            self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        self._process = None

    # ---- what pdsh says ----

    def _on_words(self, _):
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        if not data:
            self.loop.forget(self._process.stdout.fileno())
            for host, words in list(self._missing.items()):
                self._give_up(host, words or "pdsh has ended without a word of it")
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._word(line.decode(errors="replace").strip())

    def _word(self, line):
        host, _, words = line.partition(": ")
        if host.startswith("pdsh@"):
            host, _, words = words.partition(": ")
            if host in self._missing and "exited" in words:
                self._give_up(host, self._missing[host] or words)
                return
        if host in self._missing:
            self._missing[host] = "; ".join(filter(None, (self._missing[host], words)))[:_WORDS_MAX]
        else:
            # Of a host that has come, or of pdsh itself: nobody else tells it.
            say(f"pdsh: {line}")

    def _give_up(self, host, words):
        if self._missing.pop(host, None) is not None:
            self._failed(host, words)

    # ---- who connects ----

    def _on_caller(self, _):
        try:
            caller, _ = self._listener.accept()
        except OSError:
            return
        # A crowd that says nothing is to leave descriptors for agents: the oldest goes.
        if len(self._callers) >= _STRANGERS_MAX:
            stream = next(iter(self._callers))
            stream.close()
            self.forget(stream)
        if caller.family == socket.AF_UNIX:
            uid = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            if uid not in (0, os.geteuid()):
                caller.close()
                return
        Caller(self, caller)

    def forget(self, stream):
        """Whether it is an agent is known, or will not be."""
        timer = self._callers.pop(stream, None)
        if timer:
            timer.cancel()

    def came(self, caller, stream, head):
        """An agent of ours, with its first message."""
        self.forget(stream)
        host = frames.text(head, "host")
        if head["op"] != "remote_ready" or head.get("key") != self._key or host not in self._missing:
            stream.close()
            return
        del self._missing[host]
        self._ready(host, stream, head)


class Caller:
    """Somebody who has connected, until it is known who."""

    def __init__(self, start, sock):
        self._start = start
        is_local = sock.family == socket.AF_UNIX
        where = None if is_local else handshake.place(sock.getsockname())
        self._stream = Stream(start.loop, sock, self._hear, self._gone)
        start._callers[self._stream] = start.loop.call_later(_SAY_S, self._end)
        self._shake = None
        if not is_local:
            self._stream.expect(frames.preamble())
            self._shake = handshake.Listener(start._munge, where, self._stream.send)

    def _gone(self, _=None):
        self._start.forget(self._stream)

    def _end(self):
        self._stream.close()
        self._gone()

    def _hear(self, head, _):
        try:
            if not self._shake:
                self._start.came(self, self._stream, head)
            elif self._shake.hear(head):
                self._stream.seal(self._shake.seal)
                self._stream.trust()
                self._shake = None
        except (Refused, frames.Broken):
            self._end()
