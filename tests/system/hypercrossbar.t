#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet in hypercrossbars: hosts that share no switch talk through relays that no process has a part
in; relays, their daemons and cables fail under traffic; a cable in the wrong switch is told. TAP."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import ethlab
from ethlab import CTL, wait_until
from systest import BUILD, HERE, ROOT, Tap, told

KEY = 0x0c0ffee
PACE_US = 500
STREAM = 4000               # messages, so 2 s
ROUNDS = 8                  # of a frame, which passes that many relays at most
PATIENCE_MS = 2000          # of silence, for a job that a relay cuts off
PAUSE_MS = 1000             # longest that a failure may stop traffic on a machine with other work
TALK = ("--test", "latency,bandwidth", "--size", "8,16K", "--seconds", "0.05", "--json")
tap = Tap()


class Grid(ethlab.Lab):
    """Hosts of a grid, the last coordinate fastest; a switch per line and lane; daemons with --config."""

    def __init__(self, name, mode):
        self.name, self.mode = name, mode
        self.guests, self.daemons, self.hosts = [], {}, {}
        self.config = f"/run/openscore-lab/{name}/cluster.json"

    def up(self, shape, nics, mtu):
        done = self.sclab("up", "--grid", shape, "--nics", str(nics), "--mtu", str(mtu), "--ethernet", "--share", BUILD)
        if done.returncode:
            raise RuntimeError(f"sclab up: {done.stderr}")
        with open(self.config, encoding="ascii") as f:
            self.hosts = {host["name"]: host for host in json.load(f)["hosts"]}
        if self.mode == "native":
            self.poll_cables()
        if self.mode != "generic":  # which the daemons take by themselves where they have several NICs
            self.restart(self.hosts)

    def restart(self, hosts, *more):
        for host in hosts:
            with contextlib.suppress(RuntimeError):
                self.kill_daemon(host)
        for host in hosts:
            self.start(host, *more)
        for host in hosts:
            if "ready" not in self.daemons[host].stdout.readline():
                raise RuntimeError(f"pm-ethernetd in {host}: {self.said(host)}")

    def poll_cables(self):
        """A native program sends into a veth only if its other end polls, which GRO makes it do."""
        for place in os.listdir("/run/netns"):
            if place.startswith(f"{self.name}-"):
                links = subprocess.run(["ip", "-j", "-n", place, "link", "show", "type", "veth"], check=True,
                                       capture_output=True, text=True, timeout=ethlab.ANSWER_S).stdout
                for link in json.loads(links or "[]"):
                    subprocess.run(["ip", "netns", "exec", place, "ethtool", "-K", link["ifname"], "gro", "on"],
                                   check=False, capture_output=True, timeout=ethlab.ANSWER_S)

    def start(self, host, *more):
        command = (f"exec {BUILD}/bin/pm-ethernetd --config {self.config} --mode {self.mode} "
                   f"{' '.join(more)} 2>>/run/pm-ethernetd.log")
        self.daemons[host] = subprocess.Popen(self.words("exec", host, "--", "sh", "-c", command), text=True,
                                              stdout=subprocess.PIPE, env=ethlab.ENVIRONMENT)

    def said(self, host):
        return self.inside(host, "cat", "/run/pm-ethernetd.log").stdout

    def at(self, *coords):
        return next(name for name, host in self.hosts.items() if host["coords"] == list(coords))

    def relayed(self, host):
        rails = self.report(host, "counters")["rails"]
        return sum(rail["relayed_frames"] for rail in rails), sum(rail["detours"] for rail in rails)

    def is_complete(self):
        """Every daemon has found all of its neighbours, and every kernel knows of it."""
        return all(self.closed(host) == 0 for host in self.hosts)

    def closed(self, host):
        """How many neighbours are closed."""
        lines = self.report(host, "status")["grid"]["lines"]
        return sum(len(line["closed"]) for line in lines)

    def nics(self, host, state):
        for rail in self.hosts[host]["rails"]:
            if rail["network"] == "raw":
                self.ip(host, "link", "set", rail["device"], state)

    def down(self):
        super().down()
        for process in self.daemons.values():
            process.wait(ethlab.ANSWER_S)
            process.stdout.close()


@contextlib.contextmanager
def grid(suffix, shape, mode, nics=1, mtu=1500):
    one = Grid(f"x{suffix}{os.getpid()}", mode)
    try:
        one.up(shape, nics, mtu)
        tap.ok(wait_until(one.is_complete, 15) is not None, f"{shape}: all neighbours are open",
               [one.said(host) for host in one.hosts if one.closed(host)])
        yield one
    finally:
        one.down()


def options(attach):
    return f"devices=self+ethernet,ethernet.attach={attach}"


def start(lab, host, *words, attach):
    return subprocess.Popen(lab.words("exec", host, "--", *words), text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=dict(ethlab.ENVIRONMENT, PM_OPTIONS=options(attach)))


def pmtest(lab, one, other, attach):
    """pmtest between two hosts: whether every byte was right, and the half round trip of 8 bytes."""
    listener = start(lab, other, f"{BUILD}/bin/pmtest", "--listen", "--once", attach=attach)
    line = listener.stderr.readline()
    client = start(lab, one, f"{BUILD}/bin/pmtest", *TALK, other, attach=attach)
    out, err = client.communicate(timeout=ethlab.ANSWER_S)
    said = listener.communicate(timeout=ethlab.ANSWER_S)
    results = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    is_good = client.returncode == 0 and listener.returncode == 0 and len(results) == 4 and \
        all(result["checked"] for result in results)
    return is_good, results[0]["half_rtt_us"]["median"] if is_good else 0, f"{line}{out}{err}{said}"


def scstest(lab, hosts, seconds, attach):
    """All of @hosts against each other, in the background."""
    agent = f"{ethlab.SCLAB} --name {lab.name} rsh-agent"
    words = ["mpirun", "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "eth0", "--map-by", "node",
             "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-x", "PM_OPTIONS", "-H",
             ",".join(f"{host}:1" for host in hosts), "-np", str(len(hosts)), f"{BUILD}/bin/scstest",
             "--seconds", str(seconds), "--max-size", "8K"]
    return start(lab, hosts[0], *words, attach=attach)


def is_sound(process, n_nodes):
    out, err = process.communicate(timeout=ethlab.ANSWER_S)
    return process.returncode == 0 and f"good: {n_nodes} nodes" in out, f"{process.returncode} {out}{err}"


@contextlib.contextmanager
def nodes(lab, hosts, attach):
    pair = [lab.guest(host) for host in hosts]
    opened = [guest.do("pm_open", number=n, key=KEY, config=options(attach)) for n, guest in enumerate(pair)]
    for n, guest in enumerate(pair):
        guest.do("pm_add", node=1 - n, address=opened[1 - n]["address"])
    try:
        yield pair
    finally:
        for guest in pair:
            guest.close()


def stream(pair, first, meanwhile, count=STREAM):
    """Messages at a steady pace while something happens: whether all came, and the longest pause."""
    pair[1].tell("pm_take", count=count, first=first, limit_s=10)
    pair[0].tell("pm_send", node=1, count=count, first=first, gap_us=PACE_US, limit_s=20)
    meanwhile()
    sent, taken = ethlab.results(*pair)
    is_whole = (sent["error"], taken["error"], taken["came"], taken["late"], taken["wrong"]) == \
        ("", "", count, 0, 0)
    return is_whole, taken.get("gap_ms", 0), (sent, taken)


# ---- who reaches whom ----

def check_pairs(lab, pairs, attach, what):
    for name, one, other in pairs:
        is_good, half_rtt, said = pmtest(lab, one, other, attach)
        tap.ok(is_good, f"{what}, {attach}: pmtest to a host that differs in {name}", said)
        print(f"# {what}, {attach}, {name}: half round trip {half_rtt:.1f} us", flush=True)


def test_cube(lab, attaches):
    pairs = [("x", lab.at(0, 0, 0), lab.at(1, 0, 0)), ("x and y", lab.at(0, 0, 0), lab.at(1, 1, 0)),
             ("x, y and z", lab.at(0, 0, 0), lab.at(1, 1, 1))]
    for attach in attaches:
        check_pairs(lab, pairs, attach, f"2x2x2 {lab.mode}")
    relays = [lab.at(1, 0, 0), lab.at(1, 1, 0)]
    tap.ok(all(lab.relayed(host)[0] > 100 for host in relays), "the relays of x, y, z count what passed",
           {host: lab.relayed(host) for host in lab.hosts})
    tap.equal(lab.relayed(lab.at(1, 0, 1)), (0, 0), "who is on no way relays nothing")
    job = scstest(lab, [lab.at(0, 0, 0), lab.at(1, 1, 0), lab.at(0, 1, 1), lab.at(1, 0, 1)], 1, "port")
    good, said = is_sound(job, 4)
    tap.ok(good, "2x2x2: scstest among hosts that share no switch", said)


# ---- what fails under traffic ----

def test_dead_daemons(lab):
    """The relays' kernels go on relaying and answering when their daemons are killed."""
    ends, relays = (lab.at(0, 0, 0), lab.at(1, 1, 1)), (lab.at(1, 0, 0), lab.at(1, 1, 0))
    with nodes(lab, ends, "port") as pair:
        before = lab.relayed(relays[0])

        def kill():
            time.sleep(0.3)         # the stream runs; nothing tells of its middle
            for host in relays:
                lab.kill_daemon(host)
        is_whole, pause, said = stream(pair, 0, kill)
        tap.ok(is_whole and pause < PAUSE_MS, "relays without daemons: traffic goes on", (pause, said))
        is_whole, pause, said = stream(pair, STREAM, lambda: None)
        tap.ok(is_whole, "relays without daemons: and on", (pause, said))
        tap.equal(lab.closed(ends[0]), 0, "relays without daemons: their kernels answer")
    lab.restart(relays)
    tap.ok(wait_until(lab.is_complete, 15) is not None, "relays with daemons started anew: all are open")
    print(f"# relayed before: {before}, after the restart: {lab.relayed(relays[0])}", flush=True)


def drops(lab, host):
    return sum(sum(rail["drops"].values()) for rail in lab.report(host, "counters")["rails"])


def test_restart_of_relay(lab, what, how, with_context=False):
    """A stream passes a relay whose daemon ends and is started anew: what is lost, or goes another way, is counted."""
    ends, relay = (lab.at(0, 0, 0), lab.at(1, 1, 1)), lab.at(1, 0, 0)
    guest = lab.guest(relay) if with_context else None
    if guest:
        guest.do("pm_open", number=0, key=KEY, config=options("port"))
    with nodes(lab, ends, "port") as pair:
        relayed, lost, detours = lab.relayed(relay)[0], drops(lab, relay), lab.relayed(ends[0])[1]

        def restart():
            time.sleep(0.2)         # the stream runs; nothing tells of its middle
            lab.kill_daemon(relay, how)
            lab.restart([relay])
        is_whole, pause, said = stream(pair, 0, restart)
        tap.ok(is_whole and pause < PAUSE_MS, f"{what}: no message is lost", (pause, said))
        # counters that begin anew would be below
        tap.ok(lab.relayed(relay)[0] - relayed >= STREAM // 2 and drops(lab, relay) == lost,
               f"{what}: it relays all the time, and drops nothing",
               (relayed, lab.relayed(relay), lost, drops(lab, relay)))
        tap.equal(lab.relayed(ends[0])[1], detours, f"{what}: nothing takes a detour")
        print(f"# {what}: longest pause {pause:.1f} ms", flush=True)
    tap.equal(len(lab.contexts(relay)), int(with_context), f"{what}: its contexts are as before")
    if guest:
        guest.close()
    tap.ok(wait_until(lab.is_complete, 15) is not None, f"{what}: all neighbours are open")


def test_farewell(lab):
    """A relay without contexts whose daemon gets SIGTERM leaves the network; frames go around it."""
    ends, relay = (lab.at(0, 0, 0), lab.at(1, 1, 1)), lab.at(1, 0, 0)
    with nodes(lab, ends, "port") as pair:
        def leave():
            time.sleep(0.2)         # the stream runs; nothing tells of its middle
            lab.kill_daemon(relay, signal.SIGTERM)
        is_whole, pause, said = stream(pair, 0, leave)
        tap.ok(is_whole and pause < PAUSE_MS, "SIGTERM to a relay's daemon: no message is lost", (pause, said))
        tap.ok(lab.closed(ends[0]) > 0 and "eth_" not in lab.inside(relay, f"{ROOT}/tests/system/bpfinfo.py").stdout,
               "SIGTERM to a relay's daemon: its programs are gone, its neighbours know")
    lab.restart([relay])
    tap.ok(wait_until(lab.is_complete, 15) is not None, "SIGTERM to a relay's daemon: started anew it is back")


def test_restart(lab):
    """A daemon started anew keeps contexts with the same grid only."""
    ends = lab.at(0, 0, 0), lab.at(1, 1, 1)
    other = f"{os.path.dirname(lab.config)}/other.json"
    with open(lab.config, encoding="ascii") as f:
        cluster = json.load(f)
    cluster["hosts"][1]["coords"], cluster["hosts"][2]["coords"] = (cluster["hosts"][n]["coords"] for n in (2, 1))
    with open(other, "w", encoding="ascii") as f:
        json.dump(cluster, f)
    with nodes(lab, ends, "port") as pair:
        lab.restart([ends[0]])
        is_whole, pause, said = stream(pair, 0, lambda: None, 500)
        tap.ok(is_whole and len(lab.contexts(ends[0])) == 1, "restart: the context goes on", (pause, said))
        try:
            lab.restart([ends[0]], "--config", other)
            tap.ok(False, "restart: another topology is refused while contexts are in use", lab.said(ends[0]))
        except RuntimeError as error:
            tap.ok("another topology" in str(error) and lab.daemons[ends[0]].wait(ethlab.ANSWER_S) == 2,
                   "restart: another topology is refused while contexts are in use", error)
        lab.restart([ends[0]])
        is_whole, pause, said = stream(pair, 500, lambda: None, 500)
        tap.ok(is_whole, "restart: and on", (pause, said))


def test_dead_relay(lab):
    """All NICs of a relay go down under traffic, and come up again; nobody else loses carrier."""
    ends, relay = (lab.at(0, 0, 0), lab.at(1, 1, 1)), lab.at(1, 0, 0)
    others = [lab.at(0, 0, 0), lab.at(1, 1, 1), lab.at(0, 1, 1), lab.at(1, 1, 0)]
    with nodes(lab, ends, "port") as pair:
        def pull():
            time.sleep(0.3)
            lab.nics(relay, "down")
        is_whole, pause, said = stream(pair, 0, pull)
        print(f"# a relay's NICs go down: {pause:.0f} ms without progress", flush=True)
        tap.ok(is_whole, "a relay dies: no message is lost", said)
        tap.ok(pause < PAUSE_MS, f"a relay dies: traffic pauses for less than {PAUSE_MS} ms", pause)
        tap.ok(lab.closed(ends[0]) > 0, "a relay dies: its neighbours know")
    job = scstest(lab, others, 1, "port")
    good, said = is_sound(job, 4)
    tap.ok(good, "a relay dies: scstest finds no wrong data on the detours", said)
    lab.nics(relay, "up")
    tap.ok(wait_until(lab.is_complete, 15) is not None, "the relay is back: all neighbours are open again")
    job = scstest(lab, others, 3, "port")
    time.sleep(1.5)                 # it is somewhere in its traffic
    lab.nics(relay, "down")
    good, said = is_sound(job, 4)
    tap.ok(good, "a relay dies under scstest: no wrong data", said)
    lab.nics(relay, "up")


def test_square(lab):
    corner, far = lab.at(0, 0), lab.at(2, 2)
    mtu = lab.report(corner, "rails")["rails"][0]["mtu"]
    check_pairs(lab, [("x and y", corner, far)], "port", f"3x3 {lab.mode} MTU {mtu}")
    tap.ok(lab.relayed(lab.at(2, 0))[0] > 100, "3x3: the corner between relays", lab.relayed(lab.at(2, 0)))


# ---- the operator's view ----

def test_operator(lab):
    corner = lab.at(0, 0)
    done = lab.inside(corner, CTL, "status")
    tap.ok(done.returncode == 0 and "0,0" in done.stdout and "3x3" in done.stdout,
           "pm-ethernetctl status: the place in the grid", told(done))
    done = lab.inside(corner, CTL, "check")
    tap.ok("wiring" not in done.stdout, "pm-ethernetctl check: no fault where there is none", told(done))
    # Discovery asks a rail every 2 s after it came up; neighbours are open by heartbeats, often before its answers.
    wait_until(lambda: {"at 2,0", "at 1,0", "at 0,1", "at 0,2"} <=
               set(re.findall(r"at \d,\d", lab.inside(corner, CTL, "peers").stdout)), 5)
    done = lab.inside(corner, CTL, "peers")
    tap.ok(done.returncode == 0 and "at 2,0" in done.stdout and "at 1,1" not in done.stdout,
           "pm-ethernetctl peers: where they stand", told(done))
    done = lab.inside(lab.at(2, 0), CTL, "counters")
    tap.ok("passed on" in done.stdout, "pm-ethernetctl counters: what was relayed", told(done))


def way(lab, host, to):
    """pm-ethernetctl route: exit code, its first way, and what it said."""
    done = lab.inside(host, CTL, "route", "--json", to)
    ways = json.loads(done.stdout)["ways"] if done.returncode < 2 else [None]
    return done.returncode, ways[0], told(done)


def dead(lab, host, to):
    """Of the first link that a way does not take: what of it is dead."""
    closed = way(lab, host, to)[1]["closed"]
    return closed and closed[0]["dead"]


def test_route(lab):
    corner, relay, far = lab.at(0, 0), lab.at(2, 0), lab.at(2, 2)
    code, found, said = way(lab, corner, far)
    description = f"{os.path.dirname(lab.config)}/cluster.toml"
    done = lab.inside(corner, f"{ROOT}/configs/scconf", "route", "--json", description, corner, far)
    configured = [hop["to"] for hop in json.loads(done.stdout)["hops"]]
    tap.ok(code == 0 and [hop["to_name"] for hop in found["hops"]] == configured == [relay, far] and
           (found["hops"][0]["nic"], found["hops"][0]["to_nic"], found["closed"]) == ("eth1", "eth1", []),
           "pm-ethernetctl route: as configured while all is well", (said, told(done)))
    done = lab.inside(corner, CTL, "route", "h99")
    tap.ok(done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "no host h99" in done.stderr,
           "pm-ethernetctl route: a host that there is not", told(done))
    lab.nics(relay, "down")
    tap.ok(wait_until(lambda: dead(lab, corner, far) == "host", 5) is not None, "route: names the dead relay",
           way(lab, corner, far)[2])
    code, found, said = way(lab, corner, "2,2")
    tap.ok(code == 0 and found["is_detour"] and [hop["to_name"] for hop in found["hops"]] == [lab.at(0, 2), far],
           "route: the detour around it", said)
    tap.ok(way(lab, corner, relay)[0] == 1 and "none of our rails" in way(lab, corner, relay)[2],
           "route: the dead relay is unreachable", way(lab, corner, relay)[2])
    lab.nics(relay, "up")
    lab.ip("x1-0", "link", "set", "dev", "br", "down")
    tap.ok(wait_until(lambda: dead(lab, corner, far) == "line", 5) is not None, "route: names a dead line",
           way(lab, corner, far)[2])
    lab.ip("x1-0", "link", "set", "dev", "br", "up")
    lab.ip(corner, "link", "set", "eth1", "down")
    tap.ok(wait_until(lambda: dead(lab, corner, far) == "rail", 5) is not None,
           "route: names our own rail that is down", way(lab, corner, far)[2])
    lab.ip(corner, "link", "set", "eth1", "up")
    tap.ok(wait_until(lambda: lab.is_complete() and not dead(lab, corner, far), 15) is not None,
           "route: mended, all is as configured", way(lab, corner, far)[2])


def test_crossed_cables(lab):
    """A host whose NICs are in each other's place: told by who hears it, and not used."""
    wrong, witness = lab.at(1, 1), lab.at(0, 1)
    lab.restart([wrong], "--nics", "eth2,eth1")
    heard = wait_until(lambda: lab.report(witness, "status")["grid"]["faults"], 15)
    done = lab.inside(witness, CTL, "check")
    tap.ok(heard is not None and done.returncode == 1 and "wiring" in done.stdout and wrong in done.stdout,
           "crossed cables: pm-ethernetctl check names NIC and host", told(done))
    lab.restart([wrong])
    tap.ok(wait_until(lambda: not lab.report(witness, "status")["grid"]["faults"] and lab.is_complete(), 15)
           is not None, "crossed cables: mended, nothing is told", lab.said(witness))


# ---- a relay that lies ----

class Liar:
    """relayhostile.py in a host of the grid, as a context."""

    def __init__(self, lab, host):
        nics = [rail["device"] for rail in lab.hosts[host]["rails"] if rail["network"] == "raw"]
        words = lab.words("exec", host, "--", ethlab.PYTHON, f"{HERE}/relayhostile.py", *nics)
        self.process = subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=ethlab.ENVIRONMENT)

    def __enter__(self):
        self.tell("count")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(ethlab.ANSWER_S)
        self.process.stdout.close()

    def tell(self, what):
        """Frames that it has made, or why it can't do that."""
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        return int(said) if said.isdigit() else said


def test_hostile_relay(lab):
    """A relay that sends altered, repeated, late and circling copies of all that passes it: packets with a checksum
    arrive right, and once."""
    ends, relay = (lab.at(0, 0, 0), lab.at(1, 1, 1)), lab.at(1, 0, 0)
    relays = [host for host in lab.hosts if host not in (relay, *ends)]
    with nodes(lab, ends, "port,channel.crc=1") as pair, Liar(lab, relay) as liar:
        liar.tell("beside")
        before, relayed = drops(lab, ends[1]), sum(lab.relayed(host)[0] for host in relays)
        is_whole, _, said = stream(pair, 0, lambda: None, 1000)
        made = liar.tell("count")
        tap.ok(is_whole and made >= 2000, f"hostile relay: messages arrive beside {made} altered, repeated, late and "
               "circling frames", said)
        passed = sum(lab.relayed(host)[0] for host in relays) - relayed
        tap.ok(passed <= ROUNDS * made, "hostile relay: circling frames end", (passed, made))
        tap.ok(drops(lab, ends[1]) > before, "hostile relay: altered heads are refused, and counted", before)


def test_deaf_relay(lab, what):
    """A relay that passes no packet on as it came, and answers its neighbours as one that is well. The job whose way it
    is hears of it in bounded time, nothing wrong arrives, and other ways are as before."""
    ends, relay = (lab.at(0, 0, 0), lab.at(1, 1, 1)), lab.at(1, 0, 0)
    others = lab.at(0, 1, 0), lab.at(0, 0, 1)
    patience = f"port,channel.crc=1,channel.peer_timeout={PATIENCE_MS}"
    with nodes(lab, ends, patience) as pair, nodes(lab, others, patience) as beside, Liar(lab, relay) as liar:
        is_whole, _, said = stream(pair, 0, lambda: None, 500)
        tap.ok(is_whole, f"{what}: messages pass it while it is honest", said)
        if isinstance(made := liar.tell(what), str):
            tap.skip(f"{what}: a relay that passes nothing on", made)
            return
        before, begun = drops(lab, ends[1]), time.monotonic()
        pair[1].tell("pm_take", count=STREAM, first=500, limit_s=4 * PATIENCE_MS / 1000)
        pair[0].tell("pm_send", node=1, count=STREAM, first=500, gap_us=PACE_US)
        is_whole, _, said = stream(beside, 0, lambda: None, 1000)
        sent, took, taken = pair[0].hear(), time.monotonic() - begun, pair[1].hear()
        tap.ok(sent["error"] == "EPIPE" and "node 1" in sent["why"] and "channel.peer_timeout" in sent["why"] and
               took < 4 * PATIENCE_MS / 1000, f"{what}: the sender is told of its peer within seconds", (took, sent))
        tap.ok(taken["wrong"] == taken["late"] == 0 and taken["came"] < STREAM and taken["error"],
               f"{what}: nothing wrong arrives, and the receiver does not wait for ever", taken)
        tap.ok(is_whole, f"{what}: a job whose way is another one goes on", said)
        if what == "forge":
            made = liar.tell("count") - made
            tap.ok(made > 100 and drops(lab, ends[1]) > before, f"{what}: {made} altered packets went on", made)
        tap.equal(lab.closed(ends[0]), 0, f"{what}: its neighbours take it for well")
        liar.tell("honest")
    with nodes(lab, ends, patience) as pair:
        is_whole, _, said = stream(pair, 0, lambda: None, 500)
        tap.ok(is_whole, f"{what}: when it is honest again a new job passes it", said)


def main():
    if reason := ethlab.skip_reason():
        print(f"1..0 # SKIP {reason}")
        return 0
    with grid("c", "2x2x2", "tc", nics=2) as lab:
        test_cube(lab, ["port", "direct"])
        test_dead_daemons(lab)
        test_restart_of_relay(lab, "a relay's daemon is killed and started anew", signal.SIGKILL)
        test_restart_of_relay(lab, "the same with a context on it", signal.SIGKILL, with_context=True)
        test_restart_of_relay(lab, "a relay's daemon is restarted by SIGUSR1", signal.SIGUSR1)
        test_farewell(lab)
        test_restart(lab)
        test_dead_relay(lab)
        test_hostile_relay(lab)
        for what in ("swallow", "forge"):
            test_deaf_relay(lab, what)
    with grid("g", "2x2x2", "generic") as lab:
        test_cube(lab, ["port", "direct"])
        test_farewell(lab)
    with grid("n", "3x3", "native", mtu=9000) as lab:
        test_square(lab)
        test_operator(lab)
        test_route(lab)
        test_crossed_cables(lab)
    return tap.end()


sys.exit(main())
