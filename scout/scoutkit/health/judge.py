# SPDX-License-Identifier: BSD-3-Clause
"""judge - from what is known of all hosts to findings: what is wrong, where, and what to do. Facts without a right
value of their own (versions, MTU, speed, memory) are compared: few hosts against many. Pure; scored's own numbers are
judged by scorectl's checks."""

import dataclasses
import statistics
from collections import Counter

from pmtopo import hostlist
from scorectl import checks, words

from . import doors

DEAD, TROUBLE, NOTE = "dead", "trouble", "note"
LEVELS = (DEAD, TROUBLE, NOTE)

CLOCK_BAD_S = 0.1           # what a fan-out of commands can prove; scored tells finer
DISK_FULL, DISK_FILLING = 98, 90    # percent
MEMORY_SMALL = 0.95         # of what hosts of this cluster have
MEMORY_SCARCE = 0.02        # of the host's own


@dataclasses.dataclass(frozen=True)
class Finding:
    """One sentence about some hosts. hosts () = about the cluster, or about the machine that asks."""
    level: str
    hosts: tuple
    what: str
    remedy: str


@dataclasses.dataclass
class View:
    """All data about one host."""
    name: str
    door: doors.Door = doors.Door(doors.ANSWERS)
    port: int = 7711
    entry: dict | None = None       # of scored's answer
    facts: object = None            # facts.Facts
    error: str = ""                 # why there are none; "" = nobody asked
    mtus: dict = dataclasses.field(default_factory=dict)    # interface that it should have -> MTU at least, 0 = any
    needs_ethernetd: bool = False


@dataclasses.dataclass
class Scene:
    """All that is known. began, ended: seconds of our own clock around the fan-out; each host's clock was read between.
    cluster: scored's answer, None: it was not asked, or scored_error tells why there is none."""
    views: list
    began: float = 0.0
    ended: float = 0.0
    is_scheduled: bool = True       # there should be a scored, and a scnoded on each host
    scored_error: str = ""
    cluster: dict | None = None


def outliers(values):
    """(the common value, {other value: hosts}) of {host: value}; no value is common when two are equally frequent: all
    are others then."""
    ranks = Counter(values.values()).most_common(2)
    if len(ranks) < 2:
        return (ranks[0][0] if ranks else None), {}
    common = None if ranks[0][1] == ranks[1][1] else ranks[0][0]
    others = {}
    for host, value in values.items():
        if value != common:
            others.setdefault(value, []).append(host)
    return common, others


# ---- who is there ----

_DOORS = {
    doors.SILENT: ("does not answer: {text}", "switch it on; look at its network (ping HOST)"),
    doors.NAMELESS: ("has no address: {text}", "give it one in /etc/hosts, DNS, or by address in cluster.toml"),
    doors.REFUSED: ("lives, but scnoded does not: nobody listens on port {port}",
                    "start it there: systemctl start scnoded; journalctl -u scnoded says why it ended"),
    doors.MUTE: ("scnoded hangs: {text}", "restart it there (jobs go on); look at the load of the host"),
    doors.STRANGER: ("what listens on port {port} is no scnoded: {text}",
                     "end it there, or give scnoded another port (node_port in cluster.toml)"),
}


def is_dead(view, scene):
    """Whether nothing can be done with the host."""
    if view.door.state in (doors.SILENT, doors.NAMELESS):
        return True
    return scene.is_scheduled and view.door.state != doors.ANSWERS


def is_absent(view):
    """Whether scored does not hear it."""
    return view.entry is None or view.entry["state"].startswith("absent")


def _dead(scene):
    for view in scene.views:
        if not is_dead(view, scene):
            continue
        what, remedy = _DOORS[view.door.state]
        yield Finding(DEAD, (view.name,), what.format(text=view.door.text, port=view.port), remedy)


def _scored(scene):
    if scene.scored_error:
        yield Finding(TROUBLE, (), scene.scored_error, "the state that scored gives hosts is not judged")
    if not scene.cluster:
        return
    for view in scene.views:
        if is_dead(view, scene):
            continue
        if is_absent(view):
            yield Finding(TROUBLE, (view.name,), "scnoded answers, but is not registered with scored",
                          "its log says why (journalctl -u scnoded): another scored, another munge key, a clock that "
                          "is off")


def _registered(scene):
    """Findings from scored's data on the hosts that are registered."""
    there = [view.entry for view in scene.views
             if not is_absent(view) and not is_dead(view, scene)]
    if scene.cluster:
        for found in checks.judge({**scene.cluster, "hosts": there}):
            level = TROUBLE if found.weight == checks.TROUBLE else NOTE
            yield Finding(level, tuple(hostlist.expand(found.where)), found.what, found.remedy)


def is_blind(scene):
    """Commands were to run, and ran nowhere: it is not the hosts that are to blame."""
    asked = [view for view in scene.views if view.facts or view.error]
    return bool(asked) and not any(view.facts for view in asked)


def _unasked(scene):
    where = "anywhere" if is_blind(scene) else "there"
    for view in scene.views:
        if view.error and not view.facts:
            yield Finding(TROUBLE, () if is_blind(scene) else (view.name,), f"no command runs {where}: {view.error}",
                          "try it: scout -g HOST true")


# ---- what they tell of themselves ----

def _told(scene):
    return {view.name: view.facts for view in scene.views if view.facts}


def skew(scene, facts):
    """(least, most) seconds that a host's clock is ahead of ours."""
    return facts.clock_ns[1] / 1e9 - scene.ended, facts.clock_ns[0] / 1e9 - scene.began


def _sure_skew(scene, facts):
    """The part of it that is certain, signed."""
    least, most = skew(scene, facts)
    return least if least > CLOCK_BAD_S else most if most < -CLOCK_BAD_S else 0.0


def _clocks(scene):
    told = _told(scene)
    off = {name: _sure_skew(scene, facts) for name, facts in told.items()}
    wrong = {name: seconds for name, seconds in off.items() if seconds}
    if len(told) > 2 and len(wrong) * 2 > len(told) and (min(wrong.values()) > 0 or max(wrong.values()) < 0):
        middle = statistics.median(wrong.values())
        yield Finding(TROUBLE, (), f"the clock of this machine is {_off(-middle)} most hosts",
                      "run an NTP daemon here; until then clocks of hosts are not judged")
        return
    for name, seconds in wrong.items():
        yield Finding(TROUBLE, (name,), f"clock is {_off(seconds)} this machine's",
                      "run an NTP or PTP daemon there; munge refuses hosts whose clocks differ by minutes")


def _off(seconds):
    amount = f"{abs(seconds):.1f} s" if abs(seconds) < 100 else words.duration(abs(seconds))
    return f"at least {amount} {'ahead of' if seconds > 0 else 'behind'}"


def _program_versions(scene):
    told = _told(scene)
    for program in sorted({name for facts in told.values() for name in facts.versions}):
        common, others = outliers({host: facts.versions.get(program, "") for host, facts in told.items()})
        for version, hosts in others.items():
            most = f"most hosts have {common}" if common else "the others differ" if common is None else \
                "most hosts do not have it"
            yield Finding(TROUBLE if common is None or common else NOTE, tuple(hosts),
                          f"{program} {version or 'is not installed'}; {most}", "install one version everywhere")


def _restarts(scene):
    for view in scene.views:
        if view.facts and view.entry:
            installed, runs = view.facts.versions.get("scnoded"), view.entry.get("version")
            if installed and runs and installed != runs:
                yield Finding(NOTE, (view.name,), f"scnoded {runs} runs, {installed} is installed",
                              "systemctl restart scnoded there; jobs go on")


def _kernels(scene):
    common, others = outliers({host: facts.kernel for host, facts in _told(scene).items()})
    for release, hosts in others.items():
        yield Finding(NOTE, tuple(hosts), f"kernel {release}; " +
                      (f"most hosts have {common}" if common else "the others differ"), "update, or boot the same one")


def _munges(scene):
    for host, facts in _told(scene).items():
        if facts.munge and facts.munge[0]:
            yield Finding(TROUBLE, (host,), f"munge does not work: {facts.munge[1] or 'it does not answer'}",
                          "systemctl restart munge there; the key is that of all other hosts")


def _disks(scene):
    for host, facts in _told(scene).items():
        seen = set()
        for directory, disk in facts.disks.items():
            if disk.target in seen:
                continue
            seen.add(disk.target)
            for percent, name in ((disk.percent, "space"), (disk.inodes_percent, "inodes")):
                yield from _disk(host, directory, percent, name)


def _disk(host, directory, percent, name):
    if percent >= DISK_FULL:
        yield Finding(TROUBLE, (host,), f"{directory} is full ({name}, {DISK_FULL} % or more)",
                      f"find what fills it there: du -xh {directory} | sort -h | tail")
    elif percent >= DISK_FILLING:
        yield Finding(NOTE, (host,), f"{directory} fills up ({name}, {DISK_FILLING} % or more)", "make room in time")


def _daemons(scene):
    for view in scene.views:
        if view.facts and view.needs_ethernetd and "pm-ethernetd" not in view.facts.daemons:
            yield Finding(TROUBLE, (view.name,), "pm-ethernetd does not run",
                          "start it there: systemctl start pm-ethernetd")


def _rails(scene):
    for view in scene.views:
        for name, least in view.mtus.items() if view.facts else ():
            rail = view.facts.rails.get(name)
            if rail is None or rail.state == "missing":
                yield Finding(TROUBLE, (view.name,), f"{name} is not there",
                              "look at the card and its driver, or correct the rails in cluster.toml")
            elif not rail.has_carrier or rail.state == "down":
                yield Finding(TROUBLE, (view.name,), f"{name} has no carrier, or is down",
                              f"ip link set {name} up there; check cable and switch port")
            elif rail.mtu < least:
                yield Finding(TROUBLE, (view.name,), f"{name} has MTU {rail.mtu}, cluster.toml says {least}",
                              f"ip link set {name} mtu {least} there, and in the network's configuration")


def _rails_compared(scene):
    told = _told(scene)
    for name in sorted({rail for facts in told.values() for rail in facts.rails}):
        there = {host: facts.rails[name] for host, facts in told.items()
                 if name in facts.rails and facts.rails[name].has_carrier}
        common, others = outliers({host: rail.mtu for host, rail in there.items()})
        for mtu, hosts in others.items():
            yield Finding(TROUBLE, tuple(hosts), f"{name} has MTU {mtu}; " +
                          (f"most hosts have {common}" if common else "the others differ"), "give all the same MTU")
        common, others = outliers({host: rail.speed for host, rail in there.items() if rail.speed})
        for speed, hosts in others.items():
            if common is None or speed < common:
                yield Finding(TROUBLE, tuple(hosts), f"{name} runs at {speed} Mbit/s; " +
                              (f"on most hosts at {common}" if common else "the others differ"),
                              "check cable, switch port and ethtool's settings there")


def _memories(scene):
    told = {host: facts for host, facts in _told(scene).items() if facts.memory_kib}
    if not told:
        return
    usual = statistics.median_high([facts.memory_kib for facts in told.values()])
    for host, facts in told.items():
        if facts.memory_kib < MEMORY_SMALL * usual:
            yield Finding(NOTE, (host,), f"has {words.size(facts.memory_kib << 10)} of memory, others "
                          f"{words.size(usual << 10)}", "look whether a module has failed")
        if facts.memory_free_kib < MEMORY_SCARCE * facts.memory_kib:
            yield Finding(NOTE, (host,), f"less than {MEMORY_SCARCE * 100:.0f} % of its memory is free",
                          "look what uses it: scinfo HOST, and there top -o %MEM")


# ---- all together ----

_LOOKS = (_dead, _scored, _unasked, _registered, _clocks, _program_versions, _munges, _daemons, _rails, _rails_compared,
          _disks, _restarts, _kernels, _memories)


def merged(findings):
    """The same sentence is said once, about all its hosts; the worst first."""
    said = {}
    for found in findings:
        hosts = said.setdefault((found.level, found.what, found.remedy), {})
        hosts.update(dict.fromkeys(found.hosts))
    all_of_them = [Finding(level, tuple(sorted(hosts, key=words.natural)), what, remedy)
                   for (level, what, remedy), hosts in said.items()]
    return sorted(all_of_them, key=lambda found: LEVELS.index(found.level))


def judge(scene):
    """All findings, merged, the worst first."""
    return merged(found for look in _LOOKS for found in look(scene))


def level_of(findings):
    """{host: its worst level}; a host that is well is not in it."""
    worst = {}
    for found in reversed(findings):
        worst.update(dict.fromkeys(found.hosts, found.level))
    return worst
