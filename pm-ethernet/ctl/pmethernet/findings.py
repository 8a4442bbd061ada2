# SPDX-License-Identifier: BSD-3-Clause
"""findings - what is wrong, judged from the daemon's reports and the NICs' settings. Pure: asks nobody.
Each finding names the NIC ("-": the host), what is wrong, and what to do."""

from dataclasses import dataclass

TROUBLE, NOTE = "trouble", "note"
_NAMED = 4  # hosts named in one finding


@dataclass(frozen=True)
class Finding:
    """One line of check."""
    weight: str  # TROUBLE: something does not work; NOTE: it works, this is good to know
    nic: str
    what: str
    remedy: str


def _some(names):
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _host(peer):
    return f"{peer['name']} (host {peer['host']})"


def _duplicate(status):
    if status["duplicate"]:
        yield Finding(TROUBLE, "-", status["duplicate"],
                      "give one of the two hosts another id (pm-ethernetd --host-id, or id in "
                      "cluster.toml); until then no program gets a context here")


def _links(rails):
    for rail in rails:
        nic = rail["nic"]
        if rail["state"] == "gone":
            yield Finding(TROUBLE, nic, "the interface is gone",
                          "bring it back (driver, card); the daemon takes it up again by itself")
        elif rail["state"] == "down":
            yield Finding(TROUBLE, nic, "no carrier, or the interface is down",
                          f"ip link set {nic} up; check cable and switch port")
        elif not rail["is_programmed"]:
            yield Finding(TROUBLE, nic, "the kernel program is not attached",
                          f"another program may sit there (ip link show {nic}); remove it and "
                          "restart pm-ethernetd")


def _hears(peer, nic):
    return any(ear["nic"] == nic and ear["is_alive"] for ear in peer["rails"])


def _is_alive(peer):
    return any(ear["is_alive"] for ear in peer["rails"])


def _silence(rails, peers, ethertype):
    """Rails where nobody, or not everybody, answers."""
    living = [peer for peer in peers if _is_alive(peer)]
    for rail in rails:
        if rail["state"] != "up":
            continue
        nic = rail["nic"]
        missing = [_host(peer) for peer in living if not _hears(peer, nic)]
        if not living:
            yield Finding(TROUBLE, nic, "no other host answers here, nor on any other rail",
                          f"start pm-ethernetd on the others; if it runs there, see whether the "
                          f"switch lets EtherType {ethertype} pass and the VLAN is the same")
        elif len(missing) == len(living):
            yield Finding(TROUBLE, nic, "no other host answers here, but on other rails they do",
                          f"check the cabling and VLAN of this NIC, and that its switch lets "
                          f"EtherType {ethertype} pass")
        elif missing:
            yield Finding(NOTE, nic, f"{_some(missing)} answers on other rails, but not here",
                          "if it should: check its link on this network")
    gone = [_host(peer) for peer in peers if not _is_alive(peer)]
    if gone:
        yield Finding(NOTE, "-", f"{_some(gone)} no longer answers",
                      "if it should: is it up, does pm-ethernetd run there?")


def _ears(peers):
    for peer in peers:
        for ear in peer["rails"]:
            yield peer, ear


def _groups(peers, key):
    """Living ears by key(ear), None left out: the key and the hosts with their NICs."""
    groups = {}
    for peer, ear in _ears(peers):
        if ear["is_alive"] and (of := key(ear)) is not None:
            groups.setdefault(of, []).append(f"{ear['their_nic']} of {_host(peer)}")
    return sorted(groups.items())


def _other_mtu(ear):
    return (ear["nic"], ear["own_mtu"], ear["mtu"]) if ear["mtu"] != ear["own_mtu"] else None


def _other_rail(ear):
    return (ear["nic"], ear["rail"], ear["their_rail"]) if ear["rail"] != ear["their_rail"] else None


def _lines(lines):
    """Neighbours of a hypercrossbar that are closed, by NIC and reason."""
    for line in lines:
        for why in sorted({closed["why"] for closed in line["closed"]} - {"our rail is down", "other MTU"}):
            hosts = [f"host {closed['host']}" for closed in line["closed"] if closed["why"] == why]
            yield Finding(NOTE if line["open"] else TROUBLE, line["nic"],
                          f"{_some(hosts)} of this line is closed: {why}",
                          "if it should be there: is it up, does pm-ethernetd run there with this topology, is "
                          "the cable in the switch of this line? Frames go around it meanwhile")


def _wiring(faults):
    for fault in faults:
        what, _, remedy = fault["what"].partition("; ")
        yield Finding(TROUBLE, fault["nic"], f"wiring: {what}", f"{remedy}; it is not used")


def _grid(grid):
    return [*_wiring(grid["faults"]), *_lines(grid["lines"])]


def _mismatches(rails, peers):
    for (nic, here, there), who in _groups(peers, _other_mtu):
        yield Finding(TROUBLE, nic, f"MTU {here} here, but {there} on {_some(who)}",
                      f"set all equal: ip link set {nic} mtu {there}, or mtu {here} there; no "
                      "program uses this rail between them now")
    mtus = {rail["mtu"] for rail in rails if rail["state"] != "gone"}
    if len(mtus) > 1:
        small = min(mtus)
        nics = [rail["nic"] for rail in rails if rail["mtu"] == small]
        yield Finding(NOTE, nics[0], f"MTU {small}, other rails of this host have {max(mtus)}",
                      "a trunk sends packets that fit its smallest rail; set them equal")


def _rivals(peers):
    for peer, ear in _ears(peers):
        if ear.get("rival"):
            yield Finding(TROUBLE, ear["nic"],
                          f"two machines say they are host {peer['host']}: {ear['mac']} "
                          f"({peer['name']}) and {ear['rival']}",
                          "give one of them another id (pm-ethernetd --host-id)")


def _crossed(peers):
    for (nic, here, there), who in _groups(peers, _other_rail):
        yield Finding(NOTE, nic, f"rail {here} here is rail {there} elsewhere: {_some(who)}",
                      "nothing: crossed cables work; the same order everywhere reads easier")


def _speeds(rails):
    known = {rail["speed_mbit"] for rail in rails if rail["speed_mbit"] and rail["state"] == "up"}
    if len(known) > 1:
        slow = min(known)
        nics = [rail["nic"] for rail in rails if rail["speed_mbit"] == slow]
        yield Finding(NOTE, nics[0], f"{slow} Mbit/s, others up to {max(known)}",
                      "nothing if that is the hardware: rails are used by their free room; else "
                      "check cable and switch port")


def offloads(nic, settings, mode):
    """Findings about offloads and coalescing of one NIC; settings as of facts()."""
    if settings["lro"]:
        yield Finding(TROUBLE, nic, "LRO is on: the NIC merges frames before our programs see them",
                      f"ethtool -K {nic} lro off, or pm-ethernetctl tune --apply")
    if settings["gro"] and mode != "native":
        yield Finding(NOTE, nic, f"GRO is on: in {mode} mode each packet waits for it, about 1 us",
                      f"ethtool -K {nic} gro off, or pm-ethernetctl tune --apply")
    if settings["gro"] and mode == "native":
        yield Finding(NOTE, nic, "GRO is on: does not matter, packets are taken before it",
                      "nothing")
    if settings["tso"] or settings["gso"]:
        yield Finding(NOTE, nic, "TSO/GSO is on: does not matter, our frames are never split",
                      "nothing")
    wait = settings["coalescing"]
    if wait and (wait["rx_usecs"] or wait["is_adaptive"]):
        cost = "an unknown time (adaptive)" if wait["is_adaptive"] else f"{wait['rx_usecs']} us"
        yield Finding(NOTE, nic, f"interrupts wait up to {cost}: a message's latency grows as much",
                      f"pm-ethernetctl coalesce {nic} --rx-usecs 0")


def judge(status, rails, peers, settings):
    """All findings, trouble first. settings: by NIC, None where they could not be read."""
    grid = status.get("grid")
    found = [*_duplicate(status), *_links(rails), *_mismatches(rails, peers), *_rivals(peers),
             *_speeds(rails)]
    # in a grid each rail hears other hosts
    found += _grid(grid) if grid else [*_silence(rails, peers, status["ethertype"]), *_crossed(peers)]
    for rail in rails:
        if settings.get(rail["nic"]):
            found += offloads(rail["nic"], settings[rail["nic"]], rail["mode"])
    return sorted(found, key=lambda finding: finding.weight != TROUBLE)
