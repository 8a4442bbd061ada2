# SPDX-License-Identifier: BSD-3-Clause
"""report - what was found, as lists of hosts, as JSON and in words. Prints nothing."""

from scorectl import words

from . import judge

ALIVE, DOWN, DEFECTS = "alive", "down", "defects"
_BAD = (judge.DEAD, judge.TROUBLE)


class Report:
    """A Scene and what is to be said of it."""

    def __init__(self, scene):
        self.scene = scene
        self.findings = judge.judge(scene)
        self.levels = judge.level_of(self.findings)
        self.hosts = [view.name for view in scene.views]

    def is_well(self):
        """Nothing but notes."""
        return not any(found.level in _BAD for found in self.findings)

    def chosen(self, which):
        """Those that one can work with, those that are dead, or those to be left out."""
        wanted = {ALIVE: (None, judge.NOTE), DOWN: (judge.DEAD,), DEFECTS: _BAD}[which]
        return sorted((name for name in self.hosts if self.levels.get(name) in wanted), key=words.natural)

    def summary(self):
        """One line."""
        parts = []
        for level, word in ((judge.DEAD, "dead"), (judge.TROUBLE, "in trouble")):
            names = [name for name in self.hosts if self.levels.get(name) == level]
            if names:
                parts.append(f"{len(names)} {word} ({words.hosts(names)})")
        well = len(self.chosen(ALIVE))
        parts.insert(0, "all well" if well == len(self.hosts) else f"{well} well")
        return f"{words.count(len(self.hosts), 'host')}: {', '.join(parts)}"

    def rows(self):
        """Findings as scorectl's tables have them."""
        return [{"weight": found.level, "where": words.hosts(found.hosts), "what": found.what,
                 "remedy": found.remedy} for found in self.findings]

    def value(self):
        """All of it, for JSON."""
        return {"is_well": self.is_well(), "alive": self.chosen(ALIVE), "down": self.chosen(DOWN),
                "defects": self.chosen(DEFECTS),
                "findings": [{"level": found.level, "hosts": list(found.hosts), "what": found.what,
                              "remedy": found.remedy} for found in self.findings],
                "hosts": [self._host(view) for view in self.scene.views]}

    def _host(self, view):
        told = {"name": view.name, "level": self.levels.get(view.name), "door": view.door.state,
                "state": view.entry["state"] if view.entry else None, "error": view.error or None}
        facts = view.facts
        if not facts:
            return told
        least, most = judge.skew(self.scene, facts)
        return told | {
            "kernel": facts.kernel, "versions": facts.versions, "munge": facts.munge and facts.munge[0],
            "skew_s": [round(least, 3), round(most, 3)], "daemons": sorted(facts.daemons),
            "disks": {name: {"percent": disk.percent, "inodes_percent": disk.inodes_percent,
                             "available_kib": disk.available_kib} for name, disk in facts.disks.items()},
            "rails": {name: {"state": rail.state, "has_carrier": rail.has_carrier, "speed": rail.speed,
                             "mtu": rail.mtu} for name, rail in facts.rails.items()},
            "memory_kib": facts.memory_kib, "memory_free_kib": facts.memory_free_kib}

    def details(self):
        """A line per host."""
        return [self._detail(view) for view in self.scene.views]

    def _detail(self, view):
        parts = [f"{view.name}: {self.levels.get(view.name) or 'well'}", f"scnoded {view.door.state}"]
        if view.entry:
            parts.append(f"scored: {view.entry['state']}")
        if view.error:
            parts.append(view.error)
        if view.facts:
            facts = view.facts
            least, most = judge.skew(self.scene, facts)
            parts += [f"kernel {facts.kernel}", f"clock {least:+.2f} to {most:+.2f} s",
                      f"memory {words.size(facts.memory_free_kib << 10)} of {words.size(facts.memory_kib << 10)} free"]
            parts += [f"{name} {version}" for name, version in facts.versions.items()]
            parts += [f"{name} {disk.percent} %" for name, disk in facts.disks.items()]
            parts += [f"{name} {rail.state} {rail.speed or '?'} Mbit/s MTU {rail.mtu}"
                      for name, rail in facts.rails.items()]
        return ", ".join(parts)
