#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet while things break: processes and daemons killed, cables pulled, switches that swallow frames, a
firewall that turns datagrams away, NICs deleted; and IP beside it. Labs with the real daemon, nodes of PM and MPI
programs in them. Pauses are measured and frames are counted, so this test runs alone; ethernet-jobs.t has the
rest. Needs root. TAP.
"""
import contextlib
import errno
import json
import signal
import sys
import time

import ethframe
import ethlab
from ethjob import RALLY, Job, config, run_parts, runner
from systest import BUILD, Tap

UDP = "17"      # its number: not every system has /etc/protocols
KEY = 0x0ff1ce
WITHIN_S = 1.0              # what a dead process held is taken back
STALL_MS = 50               # longest pause when one of two rails fails
PACE_US = 250
STREAM = 8000               # messages, so 2 s
SMALL_MIB = 48              # of a daemon's control group
TRIES = 3                   # a pause can be the machine's own
tap = Tap()


@contextlib.contextmanager
def nodes(lab, attach, *more, hosts=("h0", "h1")):
    """A node of PM in each host, each knowing the other."""
    pair = [lab.guest(host) for host in hosts]
    told = [guest.do("pm_open", number=n, key=KEY, config=config(attach, *more))
            for n, guest in enumerate(pair)]
    for n, guest in enumerate(pair):
        guest.do("pm_add", node=1 - n, address=told[1 - n]["address"])
    try:
        yield pair
    finally:
        for guest in pair:
            guest.close()


def stream(pair, meanwhile, count=STREAM, first=0):
    """Messages at a steady pace from the first node to the second; what both say."""
    sender, receiver = pair
    receiver.tell("pm_take", count=count, first=first, limit_s=10)
    sender.tell("pm_send", node=1, count=count, first=first, gap_us=PACE_US, limit_s=20)
    meanwhile()
    return ethlab.results(sender, receiver)


def is_whole(told, count=STREAM):
    sent, taken = told
    return (sent["error"], taken["error"], taken["came"], taken["late"], taken["wrong"]) == \
        ("", "", count, 0, 0)


def rails_of(lab, host, guest):
    done = lab.inside(host, f"{BUILD}/bin/pmstat", "--json", "--pid", str(guest.pid))
    return {rail["name"]: rail for rail in json.loads(done.stdout)["contexts"][0]["rails"]}


# ---- processes and daemons ----

def test_killed_node(lab):
    for attach in ("direct", "port"):
        with nodes(lab, attach) as pair:
            tap.ok(is_whole(stream(pair, lambda: None, 200), 200), f"{attach}: two nodes talk")
            victim = pair[1]
            pair[0].tell("pm_send", node=1, count=100000, first=200, gap_us=PACE_US, limit_s=20)
            start = time.monotonic()
            victim.kill()
            gone = lab.taken_back("h1")
            tap.ok(gone is not None and gone <= WITHIN_S,
                   f"{attach}: a killed process's context is back within a second", gone)
            tap.equal(lab.contexts("h1"), [], f"{attach}: status shows no more of it")
            sent = pair[0].hear()
            seconds = time.monotonic() - start
            tap.ok(sent["error"] == "EPIPE" and "process is gone" in sent["why"],
                   f"{attach}: the other one is told that it is dead", f"{seconds:.1f} s {sent}")
            heir = lab.guest("h1", "nobody")
            tap.equal(heir.do("attach", key=77, attach=1)["why"], "",
                      f"{attach}: another user's job has the queues at once")
            heir.close()


def test_killed_daemon(lab):
    for attach in ("direct", "port"):
        job = Job(lab, "h0:1,h1:1", RALLY, "60", options=config(attach))
        said = job.await_traffic()
        leftover = lab.guest("h0", "nobody")
        leftover.do("attach", key=78, attach=2)
        lab.kill_daemon("h0")
        leftover.kill()
        lab.start_daemon("h0", "eth1,eth2")
        live = [c for c in lab.contexts("h0") if c["is_adopted"]]
        tap.equal(len(live), 1, f"{attach}: daemon killed and started anew: adopted what lives, took the rest")
        job.enough()
        code, out = job.end()
        tap.ok(code == 0 and "OK rally" in out, f"{attach}: the MPI job noticed nothing", f"{code} {said}{out}")
        gone = lab.taken_back("h0")
        tap.ok(gone is not None and gone <= WITHIN_S, f"{attach}: and its context was taken back", gone)


def bounces(lab, frame, is_over):
    """How often a probe to h1 comes back saying that its context is no more, until is_over(so often)."""
    wire, ear = lab.wire("h2", "eth1"), lab.listener("sw1", "h1")
    wire.do("wire_send", frames=[frame.bytes().hex()])
    kinds = []

    def listen():
        frames = ear.do("wire_take", ethertype=f"{ethframe.TYPE:04x}")["frames"]
        kinds.extend(bytes.fromhex(f)[15] for f in frames)
        return is_over(kinds.count(ethframe.GONE))
    ethlab.wait_until(listen, 3)
    wire.close()
    ear.close()
    return kinds.count(ethframe.GONE)


def test_suspended(lab):
    """A context without sockets is none that ended: who probes it is not told so."""
    for attach, attach in (("direct", 1), ("port", 2)):
        sleeper = lab.guest("h1", "nobody")
        told = sleeper.do("attach", key=KEY, attach=attach)
        probe = ethframe.Frame(dst_mac=bytes.fromhex(told["macs"][0]), key=KEY, flags=1,
                               dst_host=told["host"], dst_context=told["context"], src_host=0x7777)
        sleeper.do("ask", op=2, key=KEY)
        before = lab.drops("h1", 0).get("detached", 0)

        def dropped(before=before):
            return lab.drops("h1", 0).get("detached", 0) - before
        tap.equal((bounces(lab, probe, lambda count, dropped=dropped: count or dropped()), dropped()), (0, 1),
                  f"{attach}: a probe to a suspended context is dropped and counted")
        lab.kill_daemon("h1")
        lab.start_daemon("h1", "eth1,eth2")
        tap.equal(bounces(lab, probe, lambda _: True), 0, f"{attach}: also when the daemon is another one")
        sleeper.close()
        ethlab.wait_until(lambda: not lab.contexts("h1"))
        tap.equal(bounces(lab, probe, bool), 1, f"{attach}: one to a context that ended comes back")


def test_small_memory(lab):
    """A daemon whose group may have little memory, and a user who attaches as often as he can. He is refused, the
    daemon lives, and others get some of what is left."""
    if not ethlab.MemoryGroup.are_there():
        tap.skip("a daemon with little memory", "no memory cgroups")
        return
    lab.kill_daemon("h2", signal.SIGTERM)
    process, daemon = lab.start_daemon("h2", "eth1,eth2", "--mode", "tc"), lab.daemon("h2")
    group = ethlab.MemoryGroup(f"{lab.name}-small")
    group.add(daemon)
    group.limit(SMALL_MIB << 20)
    greedy, other = lab.guest("h2", "nobody"), lab.guest("h2", "daemon")
    for packets in (64, 4096):
        told = greedy.do("crowd", count=100, key=51, attach=2, packets=packets)
        errors = {int(e): n for e, n in told["errors"].items()}
        tap.ok(set(errors) == {0, errno.ENOMEM} and errors[0] >= 3 and
               "MemoryMax=" in told["whys"][str(errno.ENOMEM)],
               f"{packets} packets: a user gets no more than the daemon's memory allows, and is told", told)
        print(f"# {packets} packets: {errors[0]} contexts, {group.bytes() >> 20} MiB of {SMALL_MIB}", flush=True)
        answer = other.do("ask", op=1, key=52, attach=2)
        tap.equal(answer["error"], 0, f"{packets} packets: another user gets a context beside him")
        greedy.do("leave")
        ethlab.wait_until(lambda: not lab.contexts("h2") and group.bytes() < SMALL_MIB << 18, 5)
    tap.ok(process.poll() is None and lab.daemon("h2") == daemon, "the daemon lives")
    for guest in (greedy, other):
        guest.close()
    lab.kill_daemon("h2", signal.SIGTERM)
    process.wait()
    process.stdout.close()
    group.remove()
    lab.start_daemon("h2", "eth1,eth2", "--mode", "tc")


# ---- rails ----

def joins(lab, pair, first, what):
    """Streams, until eth2 of the sender carries its part of one; the number of the next message."""
    before = rails_of(lab, "h0", pair[0])["eth2"]["tx_packets"]
    broken = []

    def is_used():
        nonlocal first
        told = stream(pair, lambda: None, 200, first=first)
        first += 200
        if not is_whole(told, 200):
            broken.append(told)
        return broken or rails_of(lab, "h0", pair[0])["eth2"]["tx_packets"] > before + 50

    tap.ok(ethlab.wait_until(is_used, 5) is not None and not broken, what,
           f"{broken} {rails_of(lab, 'h0', pair[0])['eth2']}")
    return first


def broken_rail(lab, pair, what, breaking, mending):
    """The best of some tries: a stream over two rails while one breaks, and after it is mended."""
    best, first = None, 0
    for _ in range(TRIES):
        def meanwhile():
            time.sleep(0.5)         # the stream runs; nothing tells of its middle
            breaking()
            time.sleep(1)
            mending()
        told = stream(pair, meanwhile, first=first)
        first += STREAM
        if not is_whole(told):
            tap.ok(False, f"{what}: no message is lost", told)
            return
        best = min(best or told[1]["gap_ms"], told[1]["gap_ms"])
        if best < STALL_MS:
            break
    tap.ok(True, f"{what}: no message is lost")
    tap.ok(best < STALL_MS, f"{what}: traffic pauses for less than {STALL_MS} ms", f"{best:.0f} ms")
    print(f"# {what}: longest pause {best:.1f} ms", flush=True)
    joins(lab, pair, first, f"{what}: the rail joins again by itself")


def test_rails(lab):
    for attach in ("direct", "port"):
        lab.wait_for_peers("h0", 4)
        for end in ("h0", "h1"):
            with nodes(lab, attach) as pair:
                broken_rail(lab, pair, f"{attach}: no carrier at the {'sender' if end == 'h0' else 'receiver'}",
                            lambda end=end: lab.sclab("link", f"{end}:eth2", "down"),
                            lambda end=end: lab.sclab("link", f"{end}:eth2", "up"))
        with nodes(lab, attach) as pair:
            broken_rail(lab, pair, f"{attach}: a switch that swallows everything",
                        lambda: lab.sclab("loss", "h1:eth2", "100%"),
                        lambda: lab.sclab("loss", "h1:eth2", "0"))


def replace_nic(lab):
    """eth2 of h0, deleted before, is made and cabled anew."""
    mac = next(ear["mac"] for peer in lab.report("h1", "peers")["peers"] for ear in peer["rails"]
               if ear["nic"] == "eth2")
    lab.ip("h0", "link", "add", "eth2", "address", mac, "type", "veth", "peer", "name", "h0", "netns",
           f"{lab.name}-sw2")
    lab.ip("sw2", "link", "set", "h0", "master", "br", "up")
    lab.ip("h0", "link", "set", "eth2", "up")
    ethlab.wait_until(lambda: lab.report("h0", "rails")["rails"][1]["state"] == "up")


def test_deleted_nics(lab):
    with nodes(lab, "direct") as direct, nodes(lab, "port") as port:
        told = stream(direct, lambda: (time.sleep(0.5), lab.ip("h0", "link", "del", "eth2")))
        tap.ok(is_whole(told), "direct: a NIC is deleted, all messages arrive by the other", told)
        tap.ok(told[1]["gap_ms"] < 1000, "direct: at once", told)
        told = stream(port, lambda: None, 1000)
        tap.ok(is_whole(told, 1000), "port: the same", told)
        replace_nic(lab)
        told = stream(direct, lambda: None, 1000, first=STREAM)
        tap.ok(is_whole(told, 1000) and told[1]["gap_ms"] < 1000,
               "direct: another NIC in its place is none for those who had the old one", told)
        taken = joins(lab, port, 1000, "port: another NIC in its place is used")
        lab.ip("h0", "link", "del", "eth2")
        for name, pair, first in (("direct", direct, STREAM + 1000), ("port", port, taken)):
            pair[0].tell("pm_send", node=1, count=10 ** 6, first=first, gap_us=PACE_US, limit_s=20)
            if name == "direct":
                lab.ip("h0", "link", "del", "eth1")
            start = time.monotonic()
            sent = pair[0].hear()
            tap.ok(sent["error"] not in ("", "ENOBUFS") and "eth1" in sent["why"],
                   f"{name}: without any NIC the program is told",
                   f"{time.monotonic() - start:.1f} s {sent}")
    note = lab.guest("h0").do("pm_open", number=0, key=KEY, config=config("auto"))["note"]
    tap.ok("gone: eth1 eth2" in note, "a new program is told which NICs are gone", note)


def test_deleted_nic_and_daemon(lab):
    """The daemon is dead, a NIC goes; the next daemon serves what is left, and the NIC when it is back."""
    with nodes(lab, "port") as pair:
        lab.kill_daemon("h0")
        told = stream(pair, lambda: (time.sleep(0.5), lab.ip("h0", "link", "del", "eth2")))
        tap.ok(is_whole(told), "no daemon when a NIC is deleted: all messages arrive", told)
        lab.start_daemon("h0", "eth1,eth2")
        tap.equal([rail["state"] for rail in lab.report("h0", "rails")["rails"]], ["up", "gone"],
                  "a daemon started anew does without it")
        replace_nic(lab)
        joins(lab, pair, STREAM, "and takes it when it is back")


def test_mtu(lab):
    lab.ip("h2", "link", "set", "eth1", "mtu", "1400")
    ethlab.wait_until(lambda: lab.report("h2", "rails")["rails"][0]["mtu"] == 1400, 5)
    pair = [lab.guest(host) for host in ("h0", "h2")]
    told = [guest.do("pm_open", number=n, key=KEY, config=config("port")) for n, guest in enumerate(pair)]
    for n, guest in enumerate(pair):
        try:
            guest.do("pm_add", node=1 - n, address=told[1 - n]["address"])
            why = "no error"
        except ethlab.Refused as e:
            why = str(e)
        tap.ok(all(word in why for word in ("eth1", "1400", "1500", "host 1677721")),
               "an MTU that differs is refused with NIC, host and both values", why)
    lab.ip("h2", "link", "set", "eth1", "mtu", "1500")


# ---- long data by datagrams ----

def sent_by(lab, host, is_lane):
    """Packets that a job's contexts in a host have sent by rails of datagrams, or by those of frames."""
    done = lab.inside(host, f"{BUILD}/bin/pmstat", "--json")
    rails = [rail for context in json.loads(done.stdout)["contexts"] for rail in context["rails"]]
    return sum(rail["tx_packets"] for rail in rails if rail["name"].endswith(":udp") == is_lane)


def grows(lab, host, is_lane, by):
    before = sent_by(lab, host, is_lane)
    return ethlab.wait_until(lambda: sent_by(lab, host, is_lane) > before + by, 10) is not None


def test_lane(lab):
    for attach in ("direct", "port"):
        job = Job(lab, "h0:1,h1:1", RALLY, "60", options=config(attach, "ethernet.lane=always"))
        job.await_traffic()
        tap.ok(grows(lab, "h0", True, 1000), f"{attach}: long messages go by datagrams")
        lab.ip("h1", "rule", "add", "pref", "1", "ipproto", UDP, "prohibit")
        tap.ok(grows(lab, "h1", False, 10000), f"{attach}: a firewall turns them away, and frames carry everything")
        lab.ip("h1", "rule", "del", "pref", "1")
        tap.ok(grows(lab, "h1", True, 1000), f"{attach}: it lets them through again, and they are used again")
        job.enough()
        code, out = job.end()
        tap.ok(code == 0 and "OK rally" in out, f"{attach}: the MPI job noticed nothing", f"{code} {out}")
    with nodes(lab, "direct", "ethernet.lane=never") as pair:
        tap.equal(sorted(rails_of(lab, "h0", pair[0])), ["eth1", "eth2"], "ethernet.lane=never: no datagrams")
    lab.ip("h1", "address", "flush", "dev", "eth2")
    with nodes(lab, "direct", "ethernet.lane=always") as pair:
        tap.equal(sorted(rails_of(lab, "h1", pair[1])), ["eth1", "eth1:udp", "eth2"],
                  "a NIC without an address has frames only")
        tap.ok(is_whole(stream(pair, lambda: None, 200), 200), "and all messages arrive")
    told = lab.guest("h1").do("pm_open", number=1, key=KEY,
                              config=config("direct", "ethernet.lane=always", "ethernet.rails=eth2"))
    tap.ok("ethernet.lane" in told["note"] and "no rail has an IPv4 address" in told["note"],
           "ethernet.lane=always without any address: ethernet is left out, and says why", told)


# ---- IP beside it ----

def test_ip(lab):
    for attach in ("direct", "port"):
        with nodes(lab, attach) as pair:
            server, client = lab.guest("h1"), lab.guest("h0")
            pings, echoed = [], []

            def meanwhile():
                server.do("tcp_serve", port=7777)
                echoed.append(client.do("tcp_send", host="h1-eth1", port=7777, count=8 << 20))
                echoed.append(server.hear())
                pings.append(client.do("ping", host="h1-eth2", count=20))

            told = stream(pair, meanwhile)
            tap.ok(is_whole(told), f"{attach}: messages arrive beside TCP", told)
            tap.equal(echoed, [{"echoed": 8 << 20}, {"bytes": 8 << 20}],
                      f"{attach}: a TCP stream over the same NIC arrives in full")
            tap.equal(pings, [{"answered": 20}], f"{attach}: and pings are answered")
            for guest in (server, client):
                guest.close()


def main():
    run_parts("f", (test_killed_node, test_killed_daemon, test_suspended, test_small_memory, test_ip, test_rails,
                    test_mtu, test_lane), 3, 2, "--ethernet", "--mode", "tc")
    run_parts("f", (test_deleted_nic_and_daemon, test_deleted_nics), 2, 2, "--ethernet")
    return tap.end()


if __name__ == "__main__":
    if reason := ethlab.skip_reason():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    if not runner.is_built():
        sys.exit(0)
    sys.exit(main())
