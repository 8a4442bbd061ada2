# SPDX-License-Identifier: BSD-3-Clause
"""result - how a command ended on a host: its code, and in words what was not right. Pure."""

import os
import signal

from scorelink import frames

NOT_REACHED, TIMED_OUT = 255, 124
_DETAILS_MAX = 300


def signal_name(number):
    """9 (SIGKILL)."""
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def plain(head, host):
    """An agent's text about a failure, without its host: the summary shows equal texts of several hosts once."""
    return frames.text(head, "text", frames.text(head, "error", "failed")).replace(f", host {host}", "")


class Result:
    """status: of waitpid(2), None when it is not known: then error says why, as when the host was not reached. text:
    why the command could not be started. stdout, stderr: collect.Output. seconds: how long it took."""

    __slots__ = ("host", "status", "error", "text", "is_timed_out", "stdout", "stderr", "seconds")

    def __init__(self, host, stdout=None, stderr=None):
        self.host, self.stdout, self.stderr = host, stdout, stderr
        self.status = self.error = self.text = None
        self.is_timed_out = False
        self.seconds = 0.0

    @property
    def code(self):
        """The exit code that stands for it."""
        if self.status is None:
            return NOT_REACHED
        if self.is_timed_out:
            return TIMED_OUT
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else 128 + os.WTERMSIG(self.status)

    @property
    def signal(self):
        """The signal that ended it, None: none did."""
        if self.status is None or os.WIFEXITED(self.status):
            return None
        return os.WTERMSIG(self.status)

    def words(self):
        """The failure in words; "" when there was none."""
        if self.error:
            return self.error[:_DETAILS_MAX]
        if self.text:
            return self.text[:_DETAILS_MAX]
        if self.is_timed_out:
            return "timed out"
        if self.signal:
            return f"killed by signal {signal_name(self.signal)}"
        return f"exit {self.code}" if self.code else ""


def code_of_all(results):
    """The largest."""
    return max((result.code for result in results), default=0)


def _without_host(words, host):
    """With %h for the host's name, so that what pdsh and ssh say of many hosts can be equal."""
    if host not in words:
        return words
    import re
    return re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "%h", words)


def summary(results, fold):
    """One line about those that did not end well: what happened, under the folded list of hosts; "": all is well."""
    what = {}
    for one in results:
        words = one.words()
        if words:
            what.setdefault(_without_host(words, one.host), []).append(one)
    return "; ".join(f"{fold([one.host for one in alike])}: {words if len(alike) > 1 else alike[0].words()}"
                     for words, alike in what.items())
