#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scconf detect, diff and route on a 2x2 hypercrossbar whose hosts run pm-ethernetd. TAP; skips without root."""
import json
import os
import subprocess
import sys
import tempfile

import ethlab
from systest import BUILD, ROOT, Tap

SCCONF = f"{ROOT}/configs/scconf"
HOSTS = "h[0-3]"

tap = Tap()


def scconf(*words):
    return subprocess.run([SCCONF, *words], capture_output=True, text=True, check=False, timeout=60)


class Grid(ethlab.Lab):
    """2x2 hosts with two NICs along each dimension."""

    def __init__(self, name):
        self.name, self.guests = name, []
        done = self.sclab("up", "--grid", "2x2", "--nics", "2", "--ethernet", "--share", BUILD)
        if done.returncode:
            raise RuntimeError(f"sclab up: {done.stderr}")


def ask(lab, *words):
    """scconf, which reaches hosts as a user of the lab does."""
    return scconf(*words, "--through", f"{ethlab.SCLAB} --name {lab.name} exec %h --", "--program", ethlab.CTL)


def differences(lab, config):
    found = json.loads(ask(lab, "diff", config, "--json").stdout)
    return [(each["kind"], each["host"], each["device"]) for each in found]


def wait_for_neighbours(lab):
    """Each host hears two rails of one other along each dimension."""
    return all(lab.wait_for_peers(f"h{number}", 4) for number in range(4))


def test_detect(lab, config, folder):
    done = ask(lab, "detect", HOSTS, "--name", lab.name, "--save", f"{folder}/reports", "-o", f"{folder}/found.toml")
    tap.equal((done.returncode, done.stderr), (0, ""), "detect writes what is there")
    found, made = (json.loads(scconf("show", "--json", file).stdout) for file in (f"{folder}/found.toml", config))
    tap.equal(found["topology"], made["topology"], "the shape is that of the lab")
    for key in ("name", "coords"):
        tap.equal([host[key] for host in found["hosts"]], [host[key] for host in made["hosts"]],
                  f"so are {key} of hosts")
    tap.equal(*([[{key: rail.get(key) for key in ("device", "dim", "mac")} for rail in host["rails"]
                  if rail["network"] == "raw"] for host in tree["hosts"]] for tree in (found, made)),
              "and rails with their dimensions and addresses")
    done = scconf("diff", config, "--from", f"{folder}/reports")
    tap.equal((done.returncode, done.stderr), (0, ""), "diff finds nothing in the saved reports")
    done = scconf("route", f"{folder}/found.toml", "h0", "h3", "--json")
    tap.equal([(hop["to"], hop["to_mac"]) for hop in json.loads(done.stdout)["hops"]],
              [("h2", "02:5c:01:00:00:02"), ("h3", "02:5c:03:00:00:03")], "route tells relays and addresses")


def test_diff(lab, config):
    # h3 leaves the switch that it shares with h2 along y for that of h0 and h1
    lab.ip("y1-1", "link", "set", "h3", "netns", f"{lab.name}-y1-0")
    lab.ip("y1-0", "link", "set", "dev", "h3", "master", "br", "up")
    wrong = [("wiring", "h3", "eth3")]
    tap.ok(ethlab.wait_until(lambda: differences(lab, config) == wrong, 12) is not None,
           "diff names the interface on the wrong switch", differences(lab, config))
    done = ask(lab, "diff", config)
    tap.ok(done.returncode == 1 and "h3 (1,1): eth3: is on the switch of rail 2, y line at x=0" in done.stdout
           and "plug it into that of rail 2, y line at x=1 (with h2)" in done.stdout, "and where it belongs",
           done.stdout + done.stderr)
    done = ask(lab, "detect", HOSTS)
    tap.ok(done.returncode == 1 and "eth3 of h3" in done.stderr, "detect names it as well", done.stderr)


def main():
    reason = ethlab.skip_reason()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    lab = Grid(f"ecfg{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = f"/run/openscore-lab/{lab.name}/cluster.toml"
            tap.ok(wait_for_neighbours(lab), "hosts hear their neighbours")
            test_detect(lab, config, folder)
            test_diff(lab, config)
    finally:
        lab.down()
    return tap.end()


sys.exit(main())
