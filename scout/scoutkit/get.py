# SPDX-License-Identifier: BSD-3-Clause
"""get - "scout -get": a file of each host to DIR/HOST/NAME here, whole or not at all."""

import os
import signal

from scorelink import frames

from . import agents as states
from . import fanout, result, staged
from .shell import raise_when_interrupted


class Copy:
    """Of one host."""

    def __init__(self, agent, path, directory):
        import hashlib
        self.agent, self.path, self.size = agent, path, 0
        self._place = os.path.join(directory, agent.host)
        self.target = os.path.join(self._place, os.path.basename(path))
        self._temporary = f"{self.target}.scout-{os.getpid()}"
        self._digest, self._handle, self._head, self._owed = hashlib.sha256(), -1, None, 0
        self.words, self.code, self.is_over = "", 0, False

    def start(self, path, now):
        """Asks for it."""
        self.agent.send({"op": "get", "id": self.agent.open(self, now), "path": path})

    def fail(self, words, code):
        """Nothing of it stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
            os.unlink(self._temporary)
        self.words, self.code, self.is_over = words, code, True

    def lost(self, agent):
        """Of agents.py."""
        self.fail(agent.why, result.NOT_REACHED)

    def message(self, agent, number, head, body):
        """Of agents.py."""
        if self.is_over:
            if head["op"] in ("failed", "file_done"):
                agent.close(number)
            return
        try:
            self._take(agent, number, head, body)
        except OSError as problem:
            self.fail(f"{self.target} here: {problem.strerror}", 1)
            agent.send({"op": "signal", "id": number, "signal": int(signal.SIGKILL)})

    def _take(self, agent, number, head, body):
        op = head["op"]
        if op == "file":
            self._begin(head)
        elif op == "data" and self._head:
            self._digest.update(body)
            view = memoryview(body)
            while view:
                view = view[os.write(self._handle, view):]
            self._give_back(agent, number, len(body))
        elif op == "file_done" and self._head:
            self._finish(frames.text(head, "sha256"))
        elif op in ("failed", "error"):
            self.fail(result.plain(head, self.agent.host), 1)

    def _give_back(self, agent, number, size):
        self._owed += size
        if self._owed >= fanout.GIVE_BACK:
            agent.send({"op": "out_room", "id": number, "bytes": self._owed})
            self._owed = 0

    def _begin(self, head):
        self.size = frames.number(head, "size")
        self._head = (frames.number(head, "mode", high=0o7777), frames.number(head, "mtime_ns", low=-1 << 63))
        os.makedirs(self._place, exist_ok=True)
        self._handle = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def _finish(self, sha256):
        if sha256 != self._digest.hexdigest():
            self.fail("the checksum of what came is another: it was changed while it was read", 1)
            return
        mode, mtime_ns = self._head
        os.fchmod(self._handle, mode & 0o777)
        os.utime(self._handle, ns=(mtime_ns, mtime_ns))
        os.fsync(self._handle)
        os.rename(self._temporary, self.target)
        os.close(self._handle)
        self._handle, self.is_over = -1, True


def run(agents, options):
    """The exit code."""
    path, directory = options.words
    raise_when_interrupted(agents.loop)
    copies = [Copy(agent, path, directory) for agent in agents.all]
    words = "interrupted", 130
    try:
        agents.loop.run_until(agents.are_known)
        limit = staged.Limit(agents.loop, options.timeout)
        for copy in copies:
            if copy.agent.state == states.READY:
                copy.start(path, agents.loop.now())
            else:
                copy.lost(copy.agent)
        agents.loop.run_until(lambda: limit.is_over or all(copy.is_over for copy in copies))
        limit.close()
        words = staged.LATE
    finally:
        for copy in copies:
            if not copy.is_over:
                copy.fail(*words)
    return staged.tell([staged.End(copy.agent.host, path, copy.target, copy.size, copy.words, copy.code)
                        for copy in copies], options)
