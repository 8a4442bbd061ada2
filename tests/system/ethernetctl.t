#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernetctl in a cluster of three hosts with two rails, one host cabled crosswise: who is found
where, and what check says of each thing that can be wrong. Needs root. TAP."""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from systest import BUILD, ROOT, Tap

ETHERNETD, CTL = f"{BUILD}/bin/pm-ethernetd", f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl"
TYPE = 0x88b5
ATTACH = struct.pack("=IIIIQIIIHH128sII", 0x48544550, 3, 1, 2, 0x5eed, 1, 64, 64, 0, 0, b"", 0, 0)
tap = Tap()


def run(*words, **keywords):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60,
                          **keywords)


def must(*words):
    done = run(*words)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def wait_until(condition, seconds=15):
    """Polls, as the state of another host has no descriptor to wait on."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


class Lab:
    """Hosts and switches as network namespaces; rail R of a host is NIC eth<R+1>."""

    def __init__(self):
        self.prefix = f"ectl{os.getpid()}"
        self.spaces = []
        self.runs = tempfile.mkdtemp(prefix="ethernetctl-")
        self.daemons = {}
        self.space("sw")
        for number in (1, 2):
            must("ip", "-n", self.ns("sw"), "link", "add", f"br{number}", "type", "bridge")
            must("ip", "-n", self.ns("sw"), "link", "set", f"br{number}", "up")

    def ns(self, name):
        return f"{self.prefix}-{name}"

    def space(self, name):
        must("ip", "netns", "add", self.ns(name))
        self.spaces.append(name)
        must("ip", "-n", self.ns(name), "link", "set", "lo", "up")

    def host(self, name, number, switches):
        """Its NIC eth<N> goes to the N-th of the switches."""
        self.space(name)
        for rail, switch in enumerate(switches, 1):
            must("ip", "link", "add", f"eth{rail}", "netns", self.ns(name), "address",
                 f"02:00:00:00:{number:02x}:{rail:02x}", "type", "veth", "peer", "name",
                 f"{name}{rail}", "netns", self.ns("sw"))
            must("ip", "-n", self.ns("sw"), "link", "set", f"{name}{rail}", "master",
                 f"br{switch}", "up")
            must("ip", "-n", self.ns(name), "link", "set", f"eth{rail}", "up")

    def start(self, name, host_id):
        log = open(f"{self.runs}/{name}.log", "w", encoding="utf-8")
        command = f"hostname {name} && exec {ETHERNETD} --nics eth1,eth2 --host-id {host_id} " \
            f"--run {self.runs}/{name}"
        self.daemons[name] = subprocess.Popen(
            ["ip", "netns", "exec", self.ns(name), "unshare", "--uts", "sh", "-c", command],
            stdout=log, stderr=subprocess.STDOUT)
        log.close()
        if not wait_until(lambda: "ready" in self.log(name) or self.daemons[name].poll()):
            raise RuntimeError(f"pm-ethernetd on {name} is not ready: {self.log(name)}")

    def log(self, name):
        with open(f"{self.runs}/{name}.log", encoding="utf-8") as file:
            return file.read()

    def stop(self, name, number=signal.SIGTERM):
        daemon = self.daemons.pop(name)
        daemon.send_signal(number)
        return daemon.wait(20)

    def ctl(self, name, *words):
        return run("ip", "netns", "exec", self.ns(name), CTL, *words, "--run",
                   f"{self.runs}/{name}")

    def report(self, name, topic):
        return json.loads(self.ctl(name, topic, "--json").stdout or "{}")

    def send(self, port, frames):
        """Frames into a switch port's link, so that the host at its end gets them."""
        code = "import socket, sys\n" \
            "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n" \
            f"s.bind(('{port}', 0))\n" \
            "for line in sys.stdin: s.send(bytes.fromhex(line))\n"
        done = run("ip", "netns", "exec", self.ns("sw"), sys.executable, "-c", code,
                   input="".join(frame.hex() + "\n" for frame in frames))
        if done.returncode:
            raise RuntimeError(done.stderr)

    def close(self):
        for name in list(self.daemons):
            self.stop(name)
        for name in self.spaces:
            run("ip", "netns", "del", self.ns(name))
        shutil.rmtree(self.runs, ignore_errors=True)


def seen(lab, name):
    """Live rails on which host @name hears others: {(host, NIC here): NIC there}."""
    return {(peer["name"], ear["nic"]): ear["their_nic"]
            for peer in lab.report(name, "peers").get("peers", ())
            for ear in peer["rails"] if ear["is_alive"]}


def found(lab, name, *words):
    """A trouble of check that names all words; None if there is none."""
    for finding in json.loads(lab.ctl(name, "check", "--json").stdout):
        text = f"{finding['nic']} {finding['what']} {finding['remedy']}"
        if finding["weight"] == "trouble" and all(word in text for word in words):
            return finding
    return None


def attach(path):
    """The daemon's answer to a request for a context: errno and sentence."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(10)
        sock.connect(path)
        sock.send(ATTACH)
        answer = sock.recv(8192)
    return struct.unpack_from("=i", answer, 8)[0], answer[12:268].split(b"\0")[0].decode()


def control(kind, src_host, dst_host, mac, stamp=1, version=1, mtu=1500, name=b"liar"):
    head = struct.pack("<6s6s", b"\2\0\0\0\1\1", mac) + struct.pack(">H", TYPE)
    head += struct.pack("<BBBBIIHHBB", version, kind, 1, 0, dst_host, src_host, 0, 0, 0, 0)
    return head + struct.pack("<QQIB3x16s64s", 77, stamp, mtu, 1, b"eth1", name)


def discovery(lab):
    everyone = {("b", "eth1"): "eth2", ("b", "eth2"): "eth1", ("c", "eth1"): "eth1",
                ("c", "eth2"): "eth2"}
    tap.ok(wait_until(lambda: seen(lab, "a") == everyone), "each host is found on the right rails",
           seen(lab, "a"))
    crossed = {("a", "eth1"): "eth2", ("a", "eth2"): "eth1", ("c", "eth1"): "eth2",
               ("c", "eth2"): "eth1"}
    tap.ok(wait_until(lambda: seen(lab, "b") == crossed), "crossed cables: the host itself as well",
           seen(lab, "b"))
    rtts = [ear["rtt_us"] for peer in lab.report("a", "peers")["peers"] for ear in peer["rails"]]
    tap.ok(len(rtts) == 4 and all(0 < rtt < 500000 for rtt in rtts), "each with its RTT", rtts)
    done = lab.ctl("a", "check")
    tap.ok(done.returncode == 0, "check finds no trouble", done.stdout + done.stderr)
    done = lab.ctl("a", "rails")
    tap.ok("eth1" in done.stdout and "up" in done.stdout, "rails are shown", done.stdout)


def mtu(lab):
    must("ip", "-n", lab.ns("c"), "link", "set", "eth2", "mtu", "1400")
    words = ("eth2", "c (host 3)", "1400", "1500")
    tap.ok(wait_until(lambda: found(lab, "a", *words)), "an MTU that differs is named",
           lab.ctl("a", "check", "--json").stdout)
    tap.ok(lab.ctl("a", "check").returncode == 1, "trouble is exit code 1")
    tap.ok("MTU" in lab.log("a") and "1400" in lab.log("a"), "the daemon says so too",
           lab.log("a"))
    must("ip", "-n", lab.ns("c"), "link", "set", "eth2", "mtu", "1500")
    tap.ok(wait_until(lambda: not found(lab, "a", *words)), "and it is forgotten when mended",
           lab.ctl("a", "check", "--json").stdout)


def carrier(lab):
    must("ip", "-n", lab.ns("sw"), "link", "set", "a2", "down")
    tap.ok(wait_until(lambda: found(lab, "a", "eth2", "carrier")), "carrier loss is shown",
           lab.ctl("a", "check", "--json").stdout)
    tap.ok(lab.report("a", "rails")["rails"][1]["state"] == "down", "in rails as well")
    tap.ok(sorted(seen(lab, "a")) == [("b", "eth1"), ("c", "eth1")], "nobody is heard there",
           seen(lab, "a"))
    must("ip", "-n", lab.ns("sw"), "link", "set", "a2", "up")
    tap.ok(wait_until(lambda: len(seen(lab, "a")) == 4), "the carrier is back, and the hosts",
           seen(lab, "a"))


def replaced(lab):
    must("ip", "-n", lab.ns("c"), "link", "del", "eth1")
    tap.ok(wait_until(lambda: found(lab, "c", "eth1", "gone")), "an interface that is gone is named",
           lab.ctl("c", "check", "--json").stdout)
    must("ip", "link", "add", "eth1", "netns", lab.ns("c"), "address", "02:00:00:00:03:99", "type",
         "veth", "peer", "name", "c1", "netns", lab.ns("sw"))
    must("ip", "-n", lab.ns("sw"), "link", "set", "c1", "master", "br1", "up")
    must("ip", "-n", lab.ns("c"), "link", "set", "eth1", "up")

    def known():
        return "02:00:00:00:03:99" in [ear["mac"] for peer in lab.report("a", "peers")["peers"]
                                       for ear in peer["rails"] if ear["is_alive"]]
    tap.ok(wait_until(known, 4), "another one in its place is known to all at once",
           lab.report("a", "peers"))


def silence(lab):
    """Right after carrier(): the fast questions to all make silence show soon."""
    lab.stop("c")
    tap.ok(wait_until(lambda: len(seen(lab, "a")) == 2, 50), "a host without daemon falls silent",
           seen(lab, "a"))
    notes = lab.ctl("a", "check", "--json").stdout
    tap.ok("c (host 3) no longer answers" in notes, "check says who", notes)
    lab.start("c", 3)
    tap.ok(wait_until(lambda: len(seen(lab, "a")) == 4), "and it is back at once", seen(lab, "a"))


def liars(lab):
    before = lab.report("a", "peers")
    frames = [control(3, host, 1, b"\2\7\0\0" + struct.pack(">H", host))
              for host in range(1000, 1300)]
    frames.append(control(3, 1, 1, b"\2\7\0\0\0\1"))
    frames.append(control(2, 1, 0xffffffff, b"\2\7\0\0\0\1"))
    frames += [control(2, 5, 0xffffffff, b"\2\7\0\0\0\2", version=9)] * 3
    frames += [control(2, 5, 0xffffffff, b"\2\7\0\0\0\2", mtu=0)] * 3
    frames += [control(2, 5, 0xffffffff, b"\2\7\0\0\0\2", name=b"\33[2J")] * 3
    frames += [control(2, 5, 1, b"\2\7\0\0\0\2")[:size] for size in range(60, 136, 5)]
    lab.send("a1", frames)

    def counted():
        here = lab.report("a", "counters")["rails"][0]["discovery"]
        return here if here["stale"] >= 301 and here["refused"].get("length", 0) >= 6 else None
    here = wait_until(counted)
    tap.ok(here, "answers nobody asked for are counted",
           lab.report("a", "counters")["rails"][0]["discovery"])
    tap.ok(here and here["refused"].get("short", 0) >= 16, "and damaged questions, by reason", here)
    after = lab.report("a", "peers")
    tap.ok(len(after["peers"]) == len(before["peers"]), "no liar becomes a host", after)
    tap.ok(not lab.report("a", "status")["duplicate"], "shouting takes nobody's id away",
           lab.report("a", "status")["duplicate"])


def duplicate(lab):
    lab.start("d", 1)
    told = wait_until(lambda: lab.report("a", "status")["duplicate"])
    tap.ok(told and "02:00:00:00:04:0" in told and " d " in told,
           "a second host 1 is named with MAC and name", told)
    tap.ok(found(lab, "a", "host id 1", "--host-id"), "check says what to do",
           lab.ctl("a", "check", "--json").stdout)
    error, why = attach(f"{lab.runs}/a/socket")
    tap.ok(error != 0 and "02:00:00:00:04:0" in why, "no context is given out meanwhile",
           f"{error} {why}")
    tap.ok(wait_until(lambda: lab.report("d", "status")["duplicate"]), "the second one knows it too")
    tap.ok(wait_until(lambda: found(lab, "b", "two machines", "host 1")), "and others see both",
           lab.ctl("b", "check", "--json").stdout)
    lab.stop("d")
    tap.ok(wait_until(lambda: not lab.report("a", "status")["duplicate"], 30),
           "it is over when the second one is gone", lab.report("a", "status")["duplicate"])
    error, why = attach(f"{lab.runs}/a/socket")
    tap.ok(error == 0, "then contexts are given out again", f"{error} {why}")


def settings(lab):
    done = lab.ctl("a", "coalesce")
    tap.ok(done.returncode == 0 and "eth1" in done.stdout and "half RTT" in done.stdout,
           "coalesce shows every rail", done.stdout + done.stderr)
    must("ip", "netns", "exec", lab.ns("a"), "ethtool", "-K", "eth1", "gro", "on")
    plan = json.loads(lab.ctl("a", "tune", "--json").stdout)
    tap.ok([(w["nic"], w["what"]) for w in plan] == [("eth1", "gro")], "tune would turn GRO off",
           plan)
    lab.ctl("a", "tune", "--apply")
    tap.ok(json.loads(lab.ctl("a", "tune", "--json").stdout) == [], "tune --apply does it")
    done = lab.ctl("a", "tune", "--undo")
    tap.ok(len(json.loads(lab.ctl("a", "tune", "--json").stdout)) == 1, "tune --undo sets it back",
           done.stdout + done.stderr)


def main():
    lab = Lab()
    try:
        lab.host("a", 1, (1, 2))
        lab.host("b", 2, (2, 1))
        lab.host("c", 3, (1, 2))
        lab.host("d", 4, (1, 2))
        for number, name in enumerate("abc", 1):
            lab.start(name, number)
        for part in (discovery, mtu, replaced, carrier, silence, liars, settings, duplicate):
            part(lab)
        done = lab.stop("a")
        tap.ok(done == 0, "the daemon ends as told", f"{done} {lab.log('a')}")
        done = lab.ctl("a", "status")
        tap.ok(done.returncode == 3 and "systemctl start" in done.stderr,
               "without a daemon: what to do", done.stderr)
    finally:
        lab.close()
    return tap.end()


if os.geteuid() != 0:
    print("1..0 # SKIP network namespaces and pm-ethernetd need root")
    sys.exit(0)
if not os.path.exists(ETHERNETD):
    print("1..0 # SKIP pm-ethernetd is not built here")
    sys.exit(0)
missing = [tool for tool in ("ip", "unshare", "ethtool") if not shutil.which(tool)]
if missing:
    print(f"1..0 # SKIP {' '.join(missing)} missing (install iproute2 util-linux ethtool)")
    sys.exit(0)
sys.exit(main())
