# SPDX-License-Identifier: BSD-3-Clause
"""core - what a watchdog does when: events and the time go in, actions come out. Pure: knows no process, no clock.

    UP --ended--------------------> HOOKS --> PAUSE --> UP
     \\--silent--> ENDING --ended--/   \\--> LAST --> OVER (too many failures)
    any --stop--> STOPPING --> OVER

Actions are tuples, to be done in order:
    ("start",)                  the daemon; answered by started()
    ("end", is_hard)            SIGTERM, or SIGKILL, to the daemon; answered by ended()
    ("probe",) ("drop_probe",)  a probe begins; one that takes too long, or is of no use now, is killed. probed()
                                answers the first, nothing the second
    ("hook", name, reason, count)   answered by hooked()
    ("drop_hook",)              it is killed; answered by hooked(), too
    ("ready",)                  the daemon serves, for the first time
    ("say", event, text)        for the log
    ("exit", code)              all is over
"""

from dataclasses import dataclass

UP, ENDING, HOOKS, PAUSE, LAST, STOPPING, OVER = "up", "ending", "hooks", "pause", "last", "stopping", "over"

PAUSE_MAX_S = 60.0
FIRST_PROBE_S = 1.0     # after a start, if probes are not more frequent anyway
GIVE_UP = "give-up"     # name of the hook that runs then


@dataclass(frozen=True)
class Settings:
    """Times in seconds."""
    retries: int | None = 10    # starts after failures, None: without end
    healthy_s: float = 600.0    # up for so long, earlier failures are forgotten
    pause_s: float = 1.0        # before the first new start; doubled with each failure
    grace_s: float = 10.0       # between SIGTERM and SIGKILL
    every_s: float = 10.0       # between two probes
    within_s: float = 5.0       # a probe may take
    tries: int = 3              # failing probes one after the other: the daemon is silent
    hook_s: float = 60.0        # a hook may take
    has_probe: bool = False
    hooks: tuple = ()           # names of those that run after each failure, in order
    has_give_up: bool = False


class Watch:
    """Each method takes the time and returns actions."""

    def __init__(self, settings):
        self.settings = settings
        self.state = None
        self.count = 0              # failures since it was healthy
        self._reason = ""           # of the last one
        self._since = 0.0           # when it came up
        self._deadline = None       # of the state
        self._probe_at = None       # the next one begins
        self._probe_until = None    # the one that runs is given up
        self._bad = 0               # probes that failed, one after the other
        self._is_ready = False
        self._hooks = []            # that are still to run

    def deadline(self):
        """When time() wants to be called; None: only events count."""
        return min((at for at in (self._deadline, self._probe_at, self._probe_until) if at is not None), default=None)

    def begin(self, now):
        """The first start."""
        return self._start(now)

    def _start(self, now):
        self.state, self._since, self._bad = UP, now, 0
        self._deadline = None
        return [("start",)]

    def started(self, now, pid):
        """The daemon runs."""
        actions = [("say", "started", f"pid {pid}")]
        if self.settings.has_probe:
            self._probe_at = now + min(FIRST_PROBE_S, self.settings.every_s)
            return actions
        return actions + self._ready()

    def _ready(self):
        if self._is_ready:
            return []
        self._is_ready = True
        return [("ready",), ("say", "ready", "it serves")]

    # ---- failures ----

    def ended(self, now, how):
        """The daemon is no more; how: in words."""
        if self.state == STOPPING:
            return self._drop_probe() + [("say", "stopped", how)] + self._over(0)
        if self.state == UP:
            self._reason = how
        actions = self._drop_probe() + [("say", "ended", how)]
        if now - self._since >= self.settings.healthy_s:
            self.count = 0
        self.count += 1
        self.state, self._deadline, self._hooks = HOOKS, None, list(self.settings.hooks)
        return actions + self._next_hook(now)

    def probed(self, now, why):
        """The probe has ended; why it is bad, "" = it is not."""
        self._probe_until = None
        if self.state != UP:
            return []
        if not why:
            self._bad = 0
            self._probe_at = now + self.settings.every_s
            return self._ready()
        self._bad += 1
        if self._bad < self.settings.tries:
            self._probe_at = now + self.settings.every_s
            return [("say", "probe_failed", f"{why} ({self._bad} of {self.settings.tries})")]
        self._reason = f"silent: {why}"
        return [("say", "silent", why)] + self._end(now, ENDING)

    def _end(self, now, state):
        self.state, self._deadline, self._probe_at = state, now + self.settings.grace_s, None
        return [("end", False)]

    def _drop_probe(self):
        was_running = self._probe_until is not None
        self._probe_at = self._probe_until = None
        return [("drop_probe",)] if was_running else []

    # ---- hooks ----

    def _next_hook(self, now):
        if not self._hooks:
            return self._after_hooks(now)
        self._deadline = now + self.settings.hook_s
        return [("hook", self._hooks.pop(0), self._reason, self.count)]

    def _after_hooks(self, now):
        retries = self.settings.retries
        if retries is None or self.count <= retries:
            # The exponent is bounded, so that no number grows without end.
            pause = min(PAUSE_MAX_S, self.settings.pause_s * 2 ** min(self.count - 1, 20))
            self.state, self._deadline = PAUSE, now + pause
            return [("say", "restart", f"in {pause:g} s, number {self.count}"
                     f"{'' if retries is None else f' of {retries}'}")]
        self.state, self._deadline = LAST, now + self.settings.hook_s
        actions = [("say", "gave_up", f"failure number {self.count}: {self._reason}")]
        if self.settings.has_give_up:
            return actions + [("hook", GIVE_UP, self._reason, self.count)]
        return actions + self._over(1)

    def hooked(self, now, name, why):
        """A hook has ended; why it failed, "" = it did not. The next step does not depend on it."""
        actions = [("say", "hook_failed", f"{name}: {why}")] if why else []
        if self.state == HOOKS:
            return actions + self._next_hook(now)
        return actions + self._over(1 if self.state == LAST else 0)

    # ---- time, and the end ----

    def time(self, now):
        """To be called at the deadline."""
        actions = []
        if self._probe_until is not None and now >= self._probe_until:
            actions += self._drop_probe() + self.probed(now, f"no answer within {self.settings.within_s:g} s")
        if self._probe_at is not None and now >= self._probe_at:
            self._probe_at, self._probe_until = None, now + self.settings.within_s
            actions.append(("probe",))
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            actions += self._late(now)
        return actions

    def _late(self, now):
        if self.state == PAUSE:
            return self._start(now)
        if self.state in (HOOKS, LAST):
            return [("drop_hook",)]
        return [("say", "killed", f"still there after {self.settings.grace_s:g} s"), ("end", True)]

    def stop(self, now):
        """Somebody ends the watchdog, and with it the daemon."""
        if self.state in (STOPPING, OVER):
            return []
        was, actions = self.state, [("say", "stopping", "asked to")] + self._drop_probe()
        if was == UP:
            return actions + self._end(now, STOPPING)
        if was == ENDING:
            self.state = STOPPING       # SIGTERM has been sent, SIGKILL comes when it was to come
            return actions
        if was in (HOOKS, LAST):
            self.state, self._deadline, self._hooks = STOPPING, None, []
            return actions + [("drop_hook",)]
        return actions + self._over(0)

    def _over(self, code):
        self.state, self._deadline = OVER, None
        return [("exit", code)]
