# SPDX-License-Identifier: BSD-3-Clause
"""checks - judges what scored tells of the hosts: what is wrong, where, and what to do. Pure."""

import dataclasses

from . import words

TROUBLE, NOTE = "trouble", "note"
SKEW_BAD_NS = 1_000_000  # as scored tells it: switches of two hosts no longer meet
LATE_BAD = 0.01          # of all switches


@dataclasses.dataclass
class Finding:
    """One sentence about some hosts."""

    weight: str
    where: str
    what: str
    remedy: str


def _is_there(host):
    return not host["state"].startswith("absent")


def _groups(hosts, key):
    """Hosts with the same key together: (key, names); None is nothing to tell."""
    found = {}
    for host in hosts:
        value = key(host)
        if value is not None:
            found.setdefault(value, []).append(host["name"])
    return sorted(found.items())


def _absent(cluster):
    for note, names in _groups(cluster["hosts"], lambda h: None if _is_there(h) else h["note"] or ""):
        yield Finding(TROUBLE, words.hosts(names), f"not connected{f': {note}' if note else ''}",
                      "start scnoded there (systemctl start scnoded) and read what it says")


def _drained(cluster):
    for note, names in _groups(cluster["hosts"], lambda h: (h["note"] or "") if "drained" in h["state"] else None):
        yield Finding(NOTE, words.hosts(names), f"drained{f': {note}' if note else ''}",
                      "scinfo --undrain HOST when it may take jobs again")


def _versions(cluster):
    def other(host):
        version = host.get("version")
        return version if _is_there(host) and version != cluster["version"] else None
    for version, names in _groups(cluster["hosts"], other):
        yield Finding(TROUBLE, words.hosts(names), f"OpenSCore {version}, scored is {cluster['version']}",
                      "install one version everywhere and restart the daemons; jobs go on")


def _clocks(cluster):
    bad = [h for h in cluster["hosts"] if _is_there(h) and abs(h["skew_ns"]) > SKEW_BAD_NS]
    if bad:
        worst = max(bad, key=lambda h: abs(h["skew_ns"]))
        yield Finding(TROUBLE, words.hosts([h["name"] for h in bad]),
                      f"clock is off, {worst['name']} by {words.time_ns(worst['skew_ns'])}: turns do not meet",
                      "run an NTP or PTP daemon on all hosts; munge too refuses when clocks differ by minutes")


def _cgroups(cluster):
    names = [h["name"] for h in cluster["hosts"] if _is_there(h) and h.get("cgroups") == "none"]
    if names:
        yield Finding(TROUBLE, words.hosts(names), "no cgroups: ranks are stopped by signals, and what leaves its "
                      "session escapes", "run scnoded as root, or from a systemd unit with Delegate=yes")


def _realtime(cluster):
    names = [h["name"] for h in cluster["hosts"] if _is_there(h) and h.get("is_realtime") is False]
    if names:
        yield Finding(NOTE, words.hosts(names), "no right to real-time scheduling: switches come late on a busy host",
                      "run scnoded as root, or give it CAP_SYS_NICE and CAP_IPC_LOCK")


def _late(cluster):
    for host in cluster["hosts"]:
        switches = host["switches"]
        if switches["late"] > LATE_BAD * max(1, switches["done"]):
            yield Finding(NOTE, host["name"], f"{switches['late']} of {switches['done']} switches were late, the worst "
                          f"by {words.time_ns(switches['worst_ns'])}",
                          "look for what else keeps its cores busy (real-time processes, virtual machines)")


def _altered(cluster):
    if cluster.get("altered"):
        yield Finding(TROUBLE, "scored", f"{words.count(cluster['altered'], 'connection')} ended because bytes were "
                      "altered, repeated or left out on the way", "look who is between the hosts of the management "
                      "network; scored's log has the addresses")


def judge(cluster):
    """Findings, trouble first."""
    found = [finding for look in (_altered, _absent, _versions, _clocks, _cgroups, _drained, _realtime, _late)
             for finding in look(cluster)]
    return sorted(found, key=lambda finding: finding.weight != TROUBLE)
