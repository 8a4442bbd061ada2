# SPDX-License-Identifier: BSD-3-Clause
"""show - the reports as tables for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import route as places


def _print(title, columns, rows, empty):
    console = Console(highlight=False)
    if not rows:
        console.print(Text(f"{title}: {empty}"))
        return
    table = Table(title=title, title_justify="left", title_style="bold",
                  show_header=any(columns))
    for column in columns:
        name, _, side = column.partition(">")
        table.add_column(name, justify="right" if side else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)


def _yes(value):
    return "yes" if value else "no"


def _drops(drops):
    return " ".join(f"{name} {count}" for name, count in drops.items()) or "-"


def _by(numbers, between=","):
    return between.join(map(str, numbers))


def _closed(closed):
    return ", ".join(f"host {one['host']} ({one['why']})" for one in closed) or "-"


def status(report):
    """The daemon and its contexts."""
    rows = [("version", report["version"]), ("host", f"{report['host']} ({report['host_name']})"),
            ("EtherType", report["ethertype"]), ("mode", report["mode"]),
            ("frames of several buffers", _yes(report["is_frags"])),
            ("rails", report["n_rails"]), ("hosts heard", report["n_peers"])]
    if grid := report.get("grid"):
        rows += [("hypercrossbar", f"{_by(grid['dims'], 'x')}, {grid['hosts']} hosts"),
                 ("place", _by(grid["at"])),
                 ("neighbours are watched", f"every {grid['watch_ms']:g} ms" if grid["watch_ms"] else "no")]
    if report["duplicate"]:
        rows.append(("trouble", report["duplicate"]))
    _print("pm-ethernetd", ("", ""), rows, "")
    if grid:
        _print("neighbours", ("dimension>", "lane>", "NIC", "open>", "closed"),
               [(line["dim"], line["lane"], line["nic"], len(line["open"]), _closed(line["closed"]))
                for line in grid["lines"]], "none")
    _print("contexts", ("context>", "pid>", "uid>", "attachment", "port", "rails", "zero copy"),
           [(c["context"], c["pid"] or "-", c["uid"], c["attachment"], c.get("port", "-"),
             " ".join(c["rails"]), _yes(c["is_zero_copy"]) if "is_zero_copy" in c else "-")
            for c in report["contexts"]], "none")


def rails(report):
    """Our NICs."""
    _print("rails",
           ("rail>", "NIC", "state", "MTU>", "Mbit/s>", "MAC", "driver", "mode", "zero copy",
            "frames in>", "drops"),
           [(r["rail"], r["nic"], r["state"], r["mtu"], r["speed_mbit"] or "-", r["mac"],
             r["driver"] or "-", r["mode"] if r["is_programmed"] else "none", r["zero_copy"],
             r["rx_frames"], _drops(r["drops"])) for r in report["rails"]], "none")


def _ear_state(ear):
    if not ear["is_alive"]:
        return f"silent for {ear['heard_s']:.0f} s"
    if ear["mtu"] != ear["own_mtu"]:
        return f"MTU differs, {ear['own_mtu']} here"
    return "answers"


def _peer(peer):
    return f"{peer['host']} at {_by(peer['at'])}" if peer.get("at") else peer["host"]


def peers(report):
    """The peers that have answered, and on which rails."""
    _print("peers", ("host>", "name", "NIC here", "NIC there", "MAC", "MTU>", "RTT us>", "state"),
           [(_peer(p), p["name"], ear["nic"], f"{ear['their_nic']} (rail {ear['their_rail']})",
             ear["mac"], ear["mtu"], f"{ear['rtt_us']:.1f}", _ear_state(ear))
            for p in sorted(report["peers"], key=lambda p: p["host"]) for ear in p["rails"]],
           "nobody has answered so far")
    if report["no_room"]:
        print(f"{report['no_room']} answers of further hosts found no room in the table")


def counters(report):
    """Frames taken and dropped."""
    every = [*report["rails"], {"nic": "ports", **report["ports"]}]
    _print("frames", ("from", "frames>", "bytes>", "control>", "drops"),
           [(r["nic"], r["rx_frames"], r["rx_bytes"], r["control"], _drops(r["drops"])) for r in every], "none")
    if any(r.get("relayed_frames") or r.get("detours") for r in every):
        _print("passed on to other hosts", ("from", "frames>", "bytes>", "sent on detours>"),
               [(r["nic"], r["relayed_frames"], r["relayed_bytes"], r["detours"]) for r in every], "none")
    _print("discovery",
           ("NIC", "asked>", "answers>", "was asked>", "answered>", "stale>", "not sent>",
            "refused"),
           [(r["nic"], d["asked"], d["answers"], d["queries"], d["answered"], d["stale"],
             d["send_failed"], _drops(d["refused"]))
            for r in report["rails"] for d in (r["discovery"],)], "none")


def _hops(hops):
    return [(number, places.place(hop, "host"), hop["nic"] or f"rail {hop['rail']}",
             "-" if hop["dim"] is None else places.AXES[hop["dim"]], places.place(hop, "to"), hop["to_nic"] or "-",
             hop["to_mac"] or "-", hop["note"] or "") for number, hop in enumerate(hops, 1)]


def route(report):
    """The ways to a host, link by link."""
    ends = f"{places.place(report, 'from')} to {places.place(report, 'to')}"
    if not report["ways"]:
        print(f"{ends}: the same host, no network is used")
    for way in report["ways"]:
        _print(f"{ends}, {places.head(report, way)}",
               ("link>", "from", "by", "along", "to", "NIC there", "MAC there", ""), _hops(way["hops"]), "no link")
        for closed in way["closed"]:
            print(f"not taken: {places.reason(closed)}")


def findings(found):
    """The problems that check found."""
    _print("check", ("", "NIC", "what", "what to do"),
           [(f["weight"], f["nic"], f["what"], f["remedy"]) for f in found], "nothing found")


def coalescing(rows):
    """Waits of the interrupts and their cost."""
    _print("interrupt coalescing",
           ("NIC", "rx-usecs>", "rx-frames>", "adaptive", "half RTT us>", "latency"),
           [(r["nic"], r["rx_usecs"], r["rx_frames"], _yes(r["is_adaptive"]),
             "-" if r["half_rtt_us"] is None else f"{r['half_rtt_us']:.1f}", r["cost"])
            if r["is_supported"] else (r["nic"], "not supported", "-", "-",
             "-" if r["half_rtt_us"] is None else f"{r['half_rtt_us']:.1f}", r["cost"])
            for r in rows], "no rails")


def _value(change, value):
    if change["what"] == "coalescing":
        return f"rx-usecs {value[0]}, adaptive {'on' if value[1] else 'off'}"
    if change["what"] == "rings":
        return f"rx {value[0]}, tx {value[1]}"
    return "on" if value else "off"


def tuning(changes, is_applied):
    """The settings that tune would change, or has changed."""
    _print("tuned" if is_applied else "to tune (--apply does it)",
           ("NIC", "what", "before" if is_applied else "now", "after" if is_applied else "wanted",
            "why"),
           [(c["nic"], c["what"], _value(c, c["now"]), _value(c, c["want"]), c["why"])
            for c in changes], "everything is as wanted")


def undone(entries):
    """The settings that undo has set back."""
    _print("set back", ("NIC", "what", "to"),
           [(e["nic"], e["what"], _value(e, e["value"])) for e in entries], "nothing was changed")
