#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on other users of pm-ethernet, by a process with nothing but its port and by a host on the wire.
They do no harm, and every frame they try is counted under its reason. A lab of three hosts with two NICs and
the real daemon; the forger is a process of nobody that writes into its rings by itself. Needs root. TAP.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys

import ethframe
import ethlab
from ethframe import Frame
from ethhoard import QUOTA_MIB, Hoard
from systest import BUILD, Tap

SEED = int(os.environ.get("TEST_SEED", "4711"))
FORGER_KEY, OTHER_KEY = 0x1234567890abcdef, 0xfeedfacecafebeef
PORT = 2
PORTION = 100
SUSPEND, RESUME = 2, 3
ENOENT, ENOMEM, EMFILE, EDQUOT = 2, 12, 24, 122
WAYS = ("bound", "granted", "suspended")
OTHER_S = 10                    # for another user's attachment beside an attack; it took 49 s
TYPE_TEXT = f"{ethframe.TYPE:04x}"
tap = Tap()


def grown(before, after):
    return {k: n - before.get(k, 0) for k, n in after.items() if n != before.get(k, 0)}


def settled(lab, host, rail, before, want, besides=()):
    """Drops counted since @before, as soon as they are what is wanted; reasons in @besides don't matter."""
    def now():
        return {k: n for k, n in grown(before, lab.drops(host, rail)).items() if k not in besides}
    ethlab.wait_until(lambda: now() == want, 3)
    return now()


def received(guest, count):
    """The frames that a context got, as soon as they are so many: they come by the kernel's leave."""
    frames = []

    def are_all():
        frames.extend(guest.do("receive")["frames"])
        return len(frames) >= count
    ethlab.wait_until(are_all, 3)
    return frames


class Stage:
    """Forger on h0; on h1 a process of its job and a silent one of another; a listener on each switch."""

    def __init__(self, lab):
        self.lab = lab
        self.forger, self.mate, self.silent = (lab.guest(h, "nobody") for h in ("h0", "h1", "h1"))
        self.near = lab.guest("h0", "nobody")
        self.own = self.forger.do("attach", key=FORGER_KEY, attach=PORT)
        self.friend = self.mate.do("attach", key=FORGER_KEY, attach=PORT)
        self.other = self.silent.do("attach", key=OTHER_KEY, attach=PORT)
        self.next = self.near.do("attach", key=OTHER_KEY, attach=PORT)
        self.ears = [lab.listener(f"sw{rail}", "h0") for rail in (1, 2)]
        self.good = Frame(dst_mac=bytes.fromhex(self.friend["macs"][0]), key=FORGER_KEY,
                          dst_host=self.friend["host"], dst_context=self.friend["context"],
                          src_host=self.own["host"], src_context=self.own["context"])

    def verdict(self, frame):
        return ethframe.from_port(frame, self.own["host"], self.own["context"], FORGER_KEY, 2,
                                  {self.own["context"]: FORGER_KEY, self.next["context"]: OTHER_KEY})

    def heard(self, count=0):
        """Packets that left h0, any NIC, as soon as they are so many; control frames are its daemon's, ARP the
        kernel's."""
        packets = []

        def are_all():
            frames = [bytes.fromhex(f) for ear in self.ears for f in ear.do("wire_take")["frames"]]
            packets.extend(f for f in frames if f[12:14] != b"\x08\x06" and not (
                f[12:14] == b"\x88\xb5" and f[15] in (ethframe.QUERY, ethframe.ANSWER)))
            return len(packets) >= count
        ethlab.wait_until(are_all, 3)
        return packets


def test_valid(stage):
    frame = stage.good.but(src_mac=b"\2\xff\xff\xff\xff\xff").bytes()
    stage.forger.do("send", frames=[frame.hex(), stage.good.but(rail=1).bytes().hex()])
    came = received(stage.mate, 2)
    tap.ok([f[64:] for f in came] == [frame.hex()[64:]] * 2, "honest frames arrive by each rail", came)
    out = stage.heard(2)
    tap.ok(len(out) == 2 and {f[6:12].hex() for f in out} == set(stage.own["macs"]),
           "frames leave with the address of the NIC, whatever the process wrote",
           [f[:14].hex() for f in out])


def forgeries(stage):
    good, own = stage.good, stage.own
    yield "another host", "source", good.but(src_host=stage.friend["host"])
    yield "another context of the host", "source", good.but(src_context=stage.next["context"])
    yield "context 0", "source", good.but(src_context=0)
    yield "another key", "key", good.but(key=OTHER_KEY)
    yield "no key", "key", good.but(key=0)
    yield "another's key and context", "source", good.but(key=OTHER_KEY,
                                                          src_context=stage.next["context"])
    for name, number in (("IP", 0x800), ("ARP", 0x806), ("IPv6", 0x86dd), ("VLAN", 0x8100),
                         ("length 3", 3)):
        yield f"EtherType {name}", "type", good.but(type=number)
    for name, kind in (("a query", 2), ("an answer", 3), ("a bounce", 4), ("kind 0", 0), ("kind 9", 9)):
        yield name, "kind", good.but(kind=kind)
    yield "a rail that is not there", "rail", good.but(rail=2)
    yield "rail 255", "rail", good.but(rail=255)
    yield "another version", "version", good.but(version=2)
    yield "a length beyond its end", "length", good.but(length=21)
    for name, mac in (("everybody", b"\xff" * 6), ("a group", b"\1\0\x5e\0\0\1"),
                      ("a group of IPv6", b"\x33\x33\0\0\0\1"), ("a bridge's group", b"\1\x80\xc2\0\0\0")):
        yield name, "group", good.but(dst_mac=mac)
    yield "everybody, for this host", "group", good.but(dst_mac=b"\xff" * 6, dst_host=own["host"],
                                                        dst_context=own["context"])
    yield "the neighbour of another job", "key", good.but(dst_host=own["host"],
                                                          dst_context=stage.next["context"])
    yield "a neighbour that is not there", "context", good.but(dst_host=own["host"], dst_context=900)


def test_forgeries(stage):
    for name, reason, frame in forgeries(stage):
        before = stage.lab.drops("h0")
        stage.forger.do("send", frames=[frame.bytes().hex()] * 3)
        counted = settled(stage.lab, "h0", None, before, {reason: 3})
        tap.equal(counted, {reason: 3}, f"forged, {name}: counted as {reason}")
    before = stage.lab.drops("h0")
    whole = stage.good.bytes()
    stage.forger.do("send", frames=[whole[:n].hex() for n in range(14, 80)])
    tap.equal(settled(stage.lab, "h0", None, before, {"short": 66}), {"short": 66},
              "truncated anywhere: counted as short")
    stage.forger.do("send", frames=[whole[:n].hex() for n in range(1, 14)])
    tap.equal(stage.heard(), [], "none of them left the host")
    tap.equal((stage.mate.do("receive")["frames"], stage.near.do("receive")["frames"]), ([], []),
              "and none reached a process")


def damaged(rand, good):
    """Anything between random bytes and a frame with one wrong byte."""
    frame = bytearray(good)
    how = rand.randrange(4)
    if how == 0:
        return rand.randbytes(rand.randrange(14, 1500))
    if how == 1:
        return good[:14] + rand.randbytes(rand.randrange(0, 1400))
    if how == 2:
        return good[:16] + rand.randbytes(rand.randrange(0, 1400))
    frame[rand.randrange(12, 48)] ^= 1 << rand.randrange(8)
    return bytes(frame[:rand.randrange(14, len(frame))] if rand.randrange(4) == 0 else frame)


def test_random(stage, count=4000):
    rand = random.Random(SEED)
    print(f"# seed {SEED}", flush=True)
    frames = [damaged(rand, stage.good.bytes()) for _ in range(count)]
    fates = collections.Counter(map(stage.verdict, frames))
    allowed = fates.pop(ethframe.OUT, 0)
    fates.pop(ethframe.TAKEN, None)
    before = stage.lab.drops("h0")
    stage.forger.do("send", frames=[f.hex() for f in frames])
    tap.equal(settled(stage.lab, "h0", None, before, dict(fates)), dict(fates),
              f"{count} frames of noise from a port: each is counted under its reason")
    out = stage.heard(allowed)
    tap.ok(len(out) == allowed and all(
        (h[8], h[10], ethframe.key_of(f)) == (stage.own["host"], stage.own["context"], FORGER_KEY)
        for f in out for h in [ethframe.HEAD.unpack_from(f)]),
        "what leaves bears the process's own host, context and key", f"{len(out)} of {allowed}")
    stage.mate.do("receive")


def test_deaf(stage):
    """A context hears only of its own job, however well a frame is addressed to it."""
    frames = [stage.good.but(dst_context=stage.other["context"]),
              # an address that no switch has learnt: it goes to every host
              stage.good.but(dst_context=stage.other["context"], dst_mac=b"\2\xfe\0\0\0\1")]
    before = stage.lab.drops("h1", 0)
    stage.forger.do("send", frames=[f.bytes().hex() for f in frames] * 20)
    counted = settled(stage.lab, "h1", 0, before, {"key": 40})
    tap.equal(counted.get("key"), 40, "a foreign context as destination: dropped where it arrives")
    stage.forger.do("send", frames=[stage.good.bytes().hex()] * 200)
    tap.equal(len(received(stage.mate, 200)), 200, "its own job's packets arrive beside it")
    tap.equal((stage.silent.do("receive")["frames"], stage.near.do("receive")["frames"]), ([], []),
              "processes of another job on both hosts saw nothing of all that")


ABUSES = {
    "EINVAL": ("bind again", "bind to another"),
    "EBUSY": ("memory again", "ring 2 again", "ring 3 again", "ring 5 again"),
    "EPERM": ("new AF_XDP socket", "new AF_PACKET socket", "mark", "shrink the memory",
              "grow the memory", "interface down", "write to the inbox", "write to its producer",
              "write beyond its consumer", "another inbox by its number"),
    "524": ("look up in the inbox", "update in the inbox", "delete in the inbox"),
    "EACCES": ("write to the board", "open the board anew", "the daemon's files", "its state"),
}


def test_descriptors(stage):
    told = stage.forger.do("abuse")
    results = told["results"]
    tap.equal(told["early"], ["EINVAL"], "before they are bound its sockets can be bound nowhere else")
    for name, what in ABUSES.items():
        tap.equal({w: results[w] for w in what}, dict.fromkeys(what, name),
                  f"its descriptors allow nothing more: {name}")
    direct = stage.lab.guest("h2", "nobody")
    direct.do("attach", key=5, attach=1)
    told = direct.do("abuse")
    results = told["results"]
    tap.equal(told["early"], ["EINVAL"], "nor can those of a direct context")
    tap.equal({w: r for w, r in results.items() if r == "done"}, {}, "nor do those of a direct context")
    direct.close()


def test_leases(stage):
    """Nobody takes another's context, even with its key and the same user."""
    for user in ("nobody", "daemon"):
        thief = stage.lab.guest("h1", user)
        for op, name in ((SUSPEND, "suspended"), (RESUME, "resumed")):
            answer = thief.do("ask", op=op, key=FORGER_KEY, want=stage.friend["context"])
            tap.equal(answer["error"], ENOENT, f"another's context is not {name} by user {user}")
        answer = thief.do("attach", key=FORGER_KEY, want=stage.friend["context"], attach=PORT)
        tap.ok(answer["context"] != stage.friend["context"], f"nor given to user {user}", answer)
        thief.close()
    stage.forger.do("send", frames=[stage.good.bytes().hex()])
    tap.equal(len(received(stage.mate, 1)), 1, "it works on")


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable:")) >> 10


def test_limits(stage):
    crowd, other = stage.lab.guest("h2", "nobody"), stage.lab.guest("h2", "daemon")
    told = crowd.do("crowd", count=280, op=SUSPEND)
    tap.ok(told["errors"] == {str(ENOENT): 256, str(EDQUOT): 24}
           and "too many connections" in told["whys"][str(EDQUOT)],
           "a user has 256 connections and no more", told)
    tap.equal(other.do("attach", key=9, attach=PORT)["error"], 0, "another user is served beside them")
    late = stage.lab.guest("h2", "nobody").do("pm_open", number=1, key=3, config="devices=self+ethernet")
    tap.ok("too many connections" in late["note"], "a program refused so can say why", late)
    crowd.do("leave")
    if available_mib() < 8192:
        tap.skip("a user's packet memory is limited", "needs 8 GiB of free memory")
        return
    told = crowd.do("crowd", count=20, key=11, attach=PORT, packets=65536)
    errors = {int(e): n for e, n in told["errors"].items()}
    tap.ok(set(errors) == {0, EDQUOT} and errors[0] <= 15
           and "user 65534 holds" in told["whys"][str(EDQUOT)],
           "a user's packet memory is limited", told)
    fresh = stage.lab.guest("h2", "daemon")
    tap.equal(fresh.do("attach", key=12, attach=PORT)["error"], 0, "another user gets some beside it")
    crowd.do("leave")


def test_hoard(lab, mode):
    """Leases that are ended while their memory is kept."""
    if not ethlab.MemoryGroup.are_there():
        tap.skip(f"memory beyond leases, mode {mode}", "no memory cgroups")
        return
    hoard, worst = Hoard(lab, mode), 0
    for way, attach in [(way, PORT) for way in WAYS] + [("granted", 1)]:
        name = f"mode {mode}, {way} by {'a port' if attach == PORT else 'a NIC'}"
        told, waited = hoard.attack(way, attach)
        errors = {int(e): n for e, n in told["errors"].items()}
        # what the other user gave back is freed by and by
        ethlab.wait_until(lambda: hoard.kept() <= 0.9 * (QUOTA_MIB << 20), 1)
        kept = hoard.kept() / (QUOTA_MIB << 20)
        worst = max(worst, kept)
        tap.ok(set(errors) == {0, EDQUOT} and errors[0] < 40 and "MiB of it from contexts that ended" in told["why"],
               f"{name}: kept memory counts, up to the quota", told)
        tap.between(0.25, kept, 1.0, f"{name}: eth-memory-charged, bytes kept / quota")
        tap.between(0, waited, OTHER_S, f"{name}: another user attaches meanwhile")
        print(f"# eth-memory-charged {kept:.2f}, of it in the user's group "
              f"{hoard.user.bytes() / (QUOTA_MIB << 20):.2f}; another user waited {waited:.2f} s", flush=True)
        hoard.hoarder.do("leave")
        again = ethlab.wait_until(
            lambda: hoard.hoarder.do("ask", op=1, key=23, attach=PORT, packets=4096)["error"] == 0, 10)
        tap.ok(again is not None, f"{name}: when it is given back it counts no more")
        hoard.hoarder.close()
        hoard.honest.close()
        hoard.fresh()
    answer = hoard.hoarder.do("unfilled", key=24, attach=PORT)
    tap.ok(answer["error"] == ENOMEM and "has not filled its packet memory" in answer["why"],
           f"mode {mode}: memory that the process has not filled, and so pays for, is not bound", answer)
    hoard.close()
    print(f"# eth-memory-charged {worst:.2f}", flush=True)


FEW = 160
FEW_USERS = ("nobody", "daemon", "bin", "sys", "games", "man")


def lines_of_log(lab, host):
    return lab.inside(host, "cat", "/run/pm-ethernetd.log").stdout.splitlines()


def test_descriptors_run_out(lab):
    """Of a daemon that may have few descriptors one user gets a part; when all users took them it says so."""
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        tap.skip("descriptors of pm-ethernetd run out", "needs setpriv and prlimit")
        return
    lab.kill_daemon("h2", signal.SIGTERM)
    process = lab.start_daemon("h2", "eth1,eth2", "--mode", "tc", before="setpriv --bounding-set -sys_resource "
                               f"--inh-caps -sys_resource prlimit --nofile={FEW}:{FEW}")
    tap.ok(any(f"{FEW} descriptors are for 5 contexts of each user" in line for line in lines_of_log(lab, "h2")),
           "a daemon with few descriptors says what they are for", lines_of_log(lab, "h2"))
    crowds = [lab.guest("h2", user) for user in FEW_USERS]
    told = crowds[0].do("crowd", count=20, key=31, attach=PORT)
    tap.equal(told["errors"], {"0": 5, str(EDQUOT): 15}, "a user gets his part of them and no more")
    other = lab.guest("h2", "daemon")
    tap.equal(other.do("ask", op=1, key=32, attach=PORT)["error"], 0, "another user attaches beside him")
    other.close()
    for crowd in crowds[1:]:
        crowd.do("crowd", count=20, key=33, attach=PORT)
    before = len(lines_of_log(lab, "h2"))
    told = lab.guest("h2").do("crowd", count=3, key=34, attach=PORT)
    # A socket that one of them gave back meanwhile may serve a last one.
    tap.ok(set(told["errors"]) <= {"0", str(EMFILE)} and
           f"no descriptor left of {FEW}" in told["whys"].get(str(EMFILE), ""),
           "when all users took all of them the next one is told", told)
    tap.ok(len(lines_of_log(lab, "h2")) - before < 10, "and the daemon does not turn round and round",
           lines_of_log(lab, "h2")[before:before + 10])
    for crowd in crowds:
        crowd.close()
    late, answers = lab.guest("h2", "nobody"), []

    def is_served():
        answers.append(late.do("ask", op=1, key=35, attach=PORT))
        return answers[-1]["error"] == 0
    tap.ok(ethlab.wait_until(is_served, 10) is not None, "afterwards users are served again",
           (len(answers), answers[-1], lines_of_log(lab, "h2")[-5:]))
    lab.dismiss()
    lab.kill_daemon("h2", signal.SIGTERM)
    process.wait()
    process.stdout.close()
    lab.start_daemon("h2", "eth1,eth2", "--mode", "tc")


class Talk:
    """Two nodes of PM, on h0 and h1, and the wire between them."""

    def __init__(self, lab, options=""):
        self.lab = lab
        self.ear = lab.listener("sw1", "h0")
        self.wire, self.gate = lab.wire("h2", "eth1"), lab.guest("h1")
        self.sender, self.receiver = lab.guest("h0"), lab.guest("h1")
        config = "devices=self+ethernet,ethernet.attach=port,ethernet.rails=eth1" + options
        told = [guest.do("pm_open", number=n, key=0xabcdef, config=config)
                for n, guest in enumerate((self.sender, self.receiver))]
        self.sender.do("pm_add", node=1, address=told[1]["address"])
        self.receiver.do("pm_add", node=0, address=told[0]["address"])
        self.first = 0

    def recorded(self):
        return [f for f in self.ear.do("wire_take", ethertype=TYPE_TEXT)["frames"]
                if f[30:32] == "01"]

    def say(self, count, meanwhile=lambda: None):
        """Messages from h0 to h1; both sides' tales."""
        self.receiver.tell("pm_take", count=count, first=self.first)
        meanwhile()
        self.sender.tell("pm_send", node=1, count=count, first=self.first, gap_us=100)
        self.first += count
        return ethlab.results(self.sender, self.receiver)

    def inject(self, frames):
        """From h2, never more at once than a busy host's veth has room for (256 frames), so that none is lost."""
        def taken():
            return self.gate.do("nic_frames", nic="eth1")["count"]
        for at in range(0, len(frames), PORTION):
            portion = frames[at:at + PORTION]
            due = taken() + len(portion)
            self.wire.do("wire_send", frames=portion)
            ethlab.wait_until(lambda due=due: taken() >= due, 3)

    def drops(self):
        done = self.lab.inside("h1", f"{BUILD}/bin/pmstat", "--json", "--pid",
                               str(self.receiver.pid))
        drops = collections.Counter()
        for rail in json.loads(done.stdout)["contexts"][0]["rails"]:
            drops.update(rail["drops"])
        return {reason: n for reason, n in drops.items() if n}

    def close(self):
        for guest in (self.sender, self.receiver, self.wire, self.ear, self.gate):
            guest.close()


def is_well(told, count):
    sent, taken = told
    return (sent["error"], taken["error"], taken["came"], taken["late"], taken["wrong"]) == \
        ("", "", count, 0, 0)


def test_replay(lab):
    talk = Talk(lab)
    told = talk.say(2000)
    tap.ok(is_well(told, 2000), "messages arrive", told)
    frames = talk.recorded()
    before = talk.drops()
    told = talk.say(1000, lambda: talk.inject(frames[:1000]))
    tap.ok(is_well(told, 1000), "messages arrive once and in order while old frames are sent again", told)
    counted = grown(before, talk.drops())
    tap.ok(len(frames) >= 100 and counted.get("duplicate", 0) + counted.get("window", 0)
           >= 0.9 * min(len(frames), 1000), "frames sent again are counted, as duplicate or out of window",
           f"{len(frames)} frames, {counted}")
    talk.close()


def test_checksum(lab):
    talk = Talk(lab, ",channel.crc=1")
    told = talk.say(1000)
    tap.ok(is_well(told, 1000), "with checksums messages arrive", told)
    frames = [bytes.fromhex(f) for f in talk.recorded() if len(f) > 2 * 100][:300]
    broken = [(f[:90] + bytes([f[90] ^ 0x40]) + f[91:]).hex() for f in frames]
    before = talk.drops()
    told = talk.say(500, lambda: talk.inject(broken))
    tap.ok(is_well(told, 500), "nothing of a damaged frame is believed", told)
    counted = grown(before, talk.drops())
    tap.ok(len(broken) >= 100 and counted.get("crc", 0) == len(broken), "each is counted as crc",
           f"{len(broken)} frames, {counted}")
    talk.close()


def test_noise(lab):
    """Frames of a host nobody knows, and noise, while two nodes talk."""
    talk = Talk(lab)
    told = talk.say(100)
    contexts = {c["context"]: 0xabcdef for c in lab.contexts("h1") if c["pid"] == talk.receiver.pid}
    others = {c["context"]: -1 for c in lab.contexts("h1") if c["context"] not in contexts}
    host = lab.report("h1", "status")["host"]
    mac = next(r["mac"] for r in lab.report("h1", "rails")["rails"] if r["rail"] == 0)
    stranger = Frame(dst_mac=bytes.fromhex(mac.replace(":", "")), key=0xabcdef, dst_host=host,
                     dst_context=next(iter(contexts)), src_host=0x7777, src_context=5)
    rand = random.Random(SEED)
    frames = [damaged(rand, stranger.bytes()) for _ in range(10000)]
    # of our EtherType, from an address that a switch takes; no ASK, whose answer is another test's
    frames = [stranger.bytes()[:14] + f[14:31] + bytes(f[31:32] and 1) + f[32:] for f in frames]
    fates = collections.Counter(ethframe.from_nic(f, host, {**others, **contexts}) for f in frames)
    strangers = fates.pop(ethframe.TAKEN, 0) + 200
    fates.pop(ethframe.PASSED, 0)
    before, heard = lab.drops("h1", 0), talk.drops()
    told = talk.say(3000, lambda: talk.inject([f.hex() for f in frames] + [stranger.bytes().hex()] * 200))
    tap.ok(is_well(told, 3000), "messages arrive beside 10000 frames of noise on the wire", told)
    tap.equal(settled(lab, "h1", 0, before, dict(fates)), dict(fates),
              "each frame of noise is counted under its reason")
    counted = grown(heard, talk.drops())
    again = counted.pop("duplicate", 0)     # may be of the talk itself
    total = sum(counted.values())
    tap.ok(total <= strangers <= total + again, "well-formed frames of a stranger reach the context, and are "
           "counted there", f"{strangers} frames, {counted} {again}")
    tap.equal(lab.report("h1", "status")["n_peers"], 2, "and no host was made up by them")
    talk.close()


class Tagged:
    """A port of h1, and a stranger on the wire who knows its key and speaks in VLAN 5."""

    def __init__(self, lab):
        self.lab = lab
        self.target = lab.guest("h1", "nobody")
        self.ear, self.wire = lab.wire("h1", "eth1"), lab.wire("h2", "eth1")
        own = self.target.do("attach", key=FORGER_KEY, attach=PORT)
        self.good = Frame(dst_mac=bytes.fromhex(own["macs"][0]), key=FORGER_KEY, dst_host=own["host"],
                          dst_context=own["context"], src_host=0x7777, src_context=5)
        self.mac, self.stamp = b"\2\x77\0\0\0\1", 1000

    def say(self, frame, count=0):
        """Ten tagged frames: what the process got, as soon as it is @count, and what was counted as dropped."""
        before = self.lab.drops("h1", 0)
        self.wire.do("wire_send", frames=[ethframe.tagged(frame.bytes()).hex()], times=10)
        self.wire.do("wire_send", frames=[frame.but(version=9).bytes().hex()])     # the end of it
        ethlab.wait_until(lambda: grown(before, self.lab.drops("h1", 0)).get("version"), 3)
        counted = grown(before, self.lab.drops("h1", 0))
        counted.pop("version", None)
        return len(received(self.target, count)), counted

    def answered(self):
        """Which of a question in VLAN 5 and one without a tag is answered."""
        self.stamp += 2
        asked = [ethframe.query(self.mac, 0x7777, self.stamp + i) for i in (0, 1)]
        self.wire.do("wire_take")
        self.wire.do("wire_send", frames=[ethframe.tagged(asked[0]).hex(), asked[1].hex()])
        heard = set()

        def is_over():
            for text in self.wire.do("wire_take", ethertype=TYPE_TEXT)["frames"]:
                frame = bytes.fromhex(text)
                if frame[15] == ethframe.ANSWER and frame[:6] == self.mac:
                    heard.add(ethframe.stamp_of(frame) - self.stamp)
            return 1 in heard
        ethlab.wait_until(is_over, 3)
        return heard

    def show_tags(self, how):
        """Whether the switch leaves tags in the frames that it sends to h1, or hands them over beside it."""
        words = ("ethtool", "-K", "h1", "txvlan", how)
        subprocess.run(["ip", "netns", "exec", f"{self.lab.name}-sw1", *words], check=True,
                       capture_output=True, timeout=30)

    def left_alone(self, count=0):
        """Tagged frames of the stranger that came by the NIC's programs untouched, as soon as they are so many."""
        came = []

        def are_all():
            # it hears before the programs do, so the end of each portion as well
            came.extend(f for f in self.ear.do("wire_take")["frames"]
                        if f[12:24] == self.mac.hex() and f[28:30] != "09")
            return len(came) >= count
        ethlab.wait_until(are_all, 3)
        return len(came)


def test_tagged(lab):
    """A VLAN is another network, whether the NIC took the tag from the frame or not."""
    stage = Tagged(lab)
    good = stage.good.but(src_mac=stage.mac)
    tap.equal((stage.say(good), stage.say(good.but(key=OTHER_KEY))), ((0, {}), (0, {})),
              "in a VLAN whose tag the NIC took away: neither taken nor counted")
    tap.equal(stage.answered(), {1}, "no host is found by a question from there")
    if not shutil.which("ethtool"):
        tap.skip("a tag in the frame", "needs ethtool")
        return
    stage.show_tags("off")
    stage.left_alone()
    tap.equal((stage.say(good), stage.say(good.but(key=OTHER_KEY))), ((0, {}), (0, {})),
              "in a VLAN whose tag is in the frame: neither taken nor counted")
    tap.equal(stage.left_alone(20), 20, "the kernel gets them")
    tap.equal(stage.answered(), {1}, "and no host is found by a question from there")
    stage.show_tags("on")


def main():
    with ethlab.lab("s", 3, 2, "--ethernet", "--mode", "tc") as lab:
        for host in ("h0", "h1", "h2"):
            lab.wait_for_peers(host, 4)
        stage = Stage(lab)
        for test in (test_valid, test_forgeries, test_random, test_deaf, test_descriptors, test_leases,
                     test_limits):
            test(stage)
        lab.dismiss()
        for test in (test_replay, test_checksum, test_noise, test_tagged):
            test(lab)
        lab.dismiss()
        for mode in ("tc", "generic"):
            test_hoard(lab, mode)
        test_descriptors_run_out(lab)
        lab.dismiss()
        empty = ethlab.wait_until(lambda: not any(map(lab.contexts, ("h0", "h1"))), 2)
        tap.ok(empty is not None, "at the end no context is left", list(map(lab.contexts, ("h0", "h1"))))
    return tap.end()


if __name__ == "__main__":
    if reason := ethlab.skip_reason():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    sys.exit(main())
