# SPDX-License-Identifier: BSD-3-Clause
"""route - the way frames take from this host to another, from the daemon's reports. Pure: asks nobody. In a
hypercrossbar the daemon tells the way itself; where every host is heard on every rail, it is one link per rail."""

AXES = "xyzuvw"


class Unknown(Exception):
    """The host is not among those known here; the text says so."""


def _why_closed(rail, ear):
    if rail["state"] != "up" or not rail["is_programmed"]:
        return "rail", "our rail is down"
    if ear is None:
        return "link", "never heard"
    if not ear["is_alive"]:
        return "link", "silent"
    return ("link", "other MTU") if ear["mtu"] != ear["own_mtu"] else None


def _direct(status, rail, peer):
    """The way by one rail to a host that is heard there, or is not."""
    ear = next((ear for ear in peer["rails"] if ear["rail"] == rail["rail"]), None)
    ends = {"host": status["host"], "host_name": status["host_name"], "host_at": None}
    there = {"to": peer["host"], "to_name": peer["name"], "to_at": None}
    closed = _why_closed(rail, ear)
    way = {"lane": rail["rail"], "rails": [rail["nic"]], "is_reached": not closed, "is_detour": False,
           "why_not": closed and closed[1], "hops": [], "closed": []}
    if closed:
        way["closed"] = [{"rail": rail["rail"], "nic": rail["nic"], "dead": closed[0], "why": closed[1], **there}]
    else:
        way["hops"] = [{"rail": rail["rail"], "dim": None, "note": None, **ends, **there, "nic": rail["nic"],
                        "to_nic": ear["their_nic"], "to_mac": ear["mac"]}]
    return way


def flat(status, rails, peers, host):
    """The report of a host by name or id, where there is no hypercrossbar. Raises Unknown."""
    if host in (status["host_name"], str(status["host"])):
        peer, ways = {"host": status["host"], "name": status["host_name"]}, []
    else:
        peer = next((peer for peer in peers if host in (peer["name"], str(peer["host"]))), None)
        if peer is None:
            raise Unknown(f"no host {host} has ever answered here; see pm-ethernetctl peers, and whether "
                          "pm-ethernetd runs there")
        ways = [_direct(status, rail, peer) for rail in rails]
    return {"from": status["host"], "from_name": status["host_name"], "from_at": None, "to": peer["host"],
            "to_name": peer["name"], "to_at": None, "links_usual": int(bool(ways)), "ways": ways}


def is_reached(report):
    """By one way at least."""
    return not report["ways"] or any(way["is_reached"] for way in report["ways"])


def place(of, prefix):
    """A host for people: name and coordinates."""
    name = of[f"{prefix}_name"] or (f"host {of[prefix]}" if of[prefix] else "a point")
    at = of[f"{prefix}_at"]
    return f"{name} ({','.join(map(str, at))})" if at else name


def reason(closed):
    """Why a link is not taken: what of it is dead."""
    where = f"{closed['nic']} to {place(closed, 'to')}"
    if not closed["to"]:
        return f"{where}: {closed['why']}"
    return {"rail": f"{where}: {closed['why']}",
            "line": f"{where}: dead line, nobody answers on {closed['nic']}",
            "host": f"{where}: dead host, {closed['why']} on all our rails to it",
            "link": f"{where}: {closed['why']} on this rail"}[closed["dead"]]


def head(report, way):
    """One line about a way."""
    count = len(way["hops"])
    text = f"by {' '.join(way['rails'])}: "
    if not way["is_reached"]:
        return text + f"UNREACHABLE, {way['why_not']}" + (f"; frames are tried on {count} links" if count else "")
    text += f"{count} link{'s' if count != 1 else ''}"
    usual = report["links_usual"]
    return text + (f", a detour: {usual} without failures" if way["is_detour"] else "")
