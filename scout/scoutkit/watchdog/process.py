# SPDX-License-Identifier: BSD-3-Clause
"""process - a child of the watchdog: the daemon, a probe, a hook. It leads a session of its own, and does not outlive
the watchdog. Its end is told by a descriptor."""

import ctypes
import os
import signal
import sys
import traceback

from .said import Said

_PR_SET_PDEATHSIG = 1
_OURS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_libc = ctypes.CDLL(None, use_errno=True)


def run(words, env):
    """Work that becomes a command."""
    def become():
        try:
            os.execvpe(words[0], words, env)
        except OSError as problem:
            print(f"sc_watch: {words[0]}: {problem.strerror}", file=sys.stderr, flush=True)
            os._exit(127 if isinstance(problem, FileNotFoundError) else 126)
    return become


class Process:
    """work: called in the child; what it returns is the exit code. orphaned: the signal it gets when the watchdog is no
    more. is_quiet: the last line it prints is told with how it ended; said, None without that, is to be heard."""

    def __init__(self, work, orphaned, is_quiet=False):
        self.said = Said() if is_quiet else None
        parent = os.getpid()
        sys.stderr.flush()
        # A signal that comes before the child is itself waits until it is.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
        self.pid = os.fork()
        if not self.pid:
            self._be_child(work, orphaned, parent, mask)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self.fd = os.pidfd_open(self.pid)
        if self.said:
            self.said.let_go()

    def _be_child(self, work, orphaned, parent, mask):
        code = 126
        try:
            os.setsid()
            _libc.prctl(_PR_SET_PDEATHSIG, orphaned, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(code)
            signal.set_wakeup_fd(-1)
            for number in (*_OURS, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            with open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), 0)
            if self.said:
                self.said.become_outputs()
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def signal(self, number):
        """To the process itself; one that has ended is no error."""
        try:
            signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            pass

    def kill(self):
        """It and all of its session that did not leave its group; not to be called after take()."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            self.signal(signal.SIGKILL)     # it has not come to setsid() yet

    def take(self, with_group=False):
        """How it ended, in words, "" = with 0; when the descriptor is readable. with_group: what it started and left in
        its group ends, too."""
        if with_group:
            self.kill()     # its number is nobody else's until it is waited for
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        said = self.said.close() if self.said else ""
        how = ending(status)
        return f"{how}: {said}" if how and said else how


def ending(status):
    """Of waitpid(2), in words; "" = it went well."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"killed by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            return f"killed by signal {number}"
    code = os.WEXITSTATUS(status)
    return f"exit {code}" if code else ""
