# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab status`: what the kernel says about each cable of the lab, not what was once asked for.

import json
from concurrent.futures import ThreadPoolExecutor

from . import loss, shaping, tools
from .plan import PREFIX


def switch_status(plan, switch):
    """State of each port, by host name."""
    namespace = plan.namespace(switch.name)
    links = json.loads(tools.run([tools.find("ip"), "-json", "link", "show"], namespace=namespace))
    rates = {} if switch.is_management else shaping.limited(namespace)
    programs = {}
    if not switch.is_management:
        programs = loss.attached(namespace, [nic.port for nic in switch.nics])
    ports = {}
    for link in links:
        program = programs.get(link["ifname"])
        ppm, frames, lost = loss.read(program) if program else (0, 0, 0)
        ports[link["ifname"]] = {"link": "up" if "UP" in link["flags"] else "down",
                                 "rate": rates.get(link["ifname"], 0),
                                 "loss_ppm": ppm, "frames": frames, "lost": lost}
    return ports


def direct_status(plan, host):
    """The same for NICs without a switch, by NIC name."""
    links = json.loads(tools.run([tools.find("ip"), "-json", "link", "show"], namespace=plan.namespace(host.name)))
    return {link["ifname"]: {"link": "up" if "UP" in link["flags"] else "down", "rate": 0,
                             "loss_ppm": 0, "frames": 0, "lost": 0} for link in links}


def gather(plan, state):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda s: switch_status(plan, s), plan.switches))
    ports = dict(zip((s.name for s in plan.switches), found))
    hosts = []
    for host in plan.hosts:
        direct = direct_status(plan, host) if plan.options.direct else {}
        nics = []
        for nic in host.nics:
            cable = ports[nic.switch][nic.port] if nic.switch else direct[nic.name]
            nics.append({"name": nic.name, "switch": nic.switch, "mac": nic.mac,
                         "address": f"{nic.address}/{PREFIX}", **cable})
        hosts.append({"name": host.name, "coordinates": list(host.coordinates), "nics": nics})
    options = plan.options
    return {"lab": options.lab, "phase": state.phase, "mtu": options.mtu, "seed": options.seed,
            "hosts": hosts, "switches": [s.name for s in plan.switches]}


def rate_words(rate):
    if not rate:
        return "-"
    for unit, factor in (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)):
        if rate >= factor:
            return f"{rate / factor:g}{unit}"
    return f"{rate}bit"


def table(report):
    rows = [("HOST", "NIC", "SWITCH", "ADDRESS", "LINK", "RATE", "LOSS", "LOST/FRAMES")]
    for host in report["hosts"]:
        for nic in host["nics"]:
            lost = f"{nic['lost']}/{nic['frames']}" if nic["loss_ppm"] else "-"
            percent = f"{nic['loss_ppm'] / 10000:g}%" if nic["loss_ppm"] else "-"
            rows.append((host["name"], nic["name"], nic["switch"] or "(direct)", nic["address"],
                         nic["link"], rate_words(nic["rate"]), percent, lost))
    return columns(rows)


def columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip()
                     for row in rows)
