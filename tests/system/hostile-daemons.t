#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scrun, scout and the tools against a scored or a scnoded that lies. No word of theirs commands a terminal, and
nothing that they say makes a program fail, hang or grow. Each ends with one clear line. TAP. Needs root and munged."""
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from falsedaemon import FalseDaemon, frame_of                                          # noqa: E402
from systest import ROOT, Tap                                         # noqa: E402

LIMIT_S = 30
GROWN_MIB = 64                  # more than any of these programs needs
NOTES_MIB = 12                  # of a scrun whose notes nobody reads: it takes 5
MIB = 1 << 20
EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m\u009d52;c;AAAA\u009c\r\u202etxt\u2066\u200f"
NAUGHTY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
HEAD = {"id": 7, "position": 0}
PLACE = {"op": "placed", "id": 7, "uid": os.geteuid(), "hosts": ["h1", "h2"], "ranks": [1, 1], "cores": [[0], [0]]}
TAP = Tap()


class Done:
    """How a program ended: code, out, err (bytes), mib: the most memory that it was seen to have, seconds."""

    def __init__(self, child, out, err, begun, mib):
        self.code, self.out, self.err, self.mib = child.wait(), out, err, mib
        self.seconds, self.is_late = time.monotonic() - begun, time.monotonic() - begun > LIMIT_S

    def told(self):
        return (f"code {self.code}, {self.seconds:.1f} s, {self.mib:.0f} MiB, {'killed' if self.is_late else ''}\n"
                f"{self.out[-600:]!r}\n{self.err[-600:]!r}")

    def lines(self):
        return self.err.decode(errors="replace").splitlines()


def _grown(child, most):
    """Appends the largest size of a child, looked at until it has ended. That of wait4() counts ours before exec."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        while child.poll() is None:
            with open(f"/proc/{child.pid}/status", encoding="ascii", errors="replace") as file:
                most.append(int(file.read().split("VmHWM:")[1].split()[0]) / 1024)
            time.sleep(0.01)


def _collect(fd, to):
    with contextlib.suppress(OSError):      # the end of a pty
        while data := os.read(fd, 1 << 16):
            to.append(data)
    os.close(fd)


def run(*words, stdin=subprocess.DEVNULL, env=None, terminal=False, unread_s=0):
    """The program with its outputs on pipes, or on a terminal each, which are read after some seconds."""
    ends = [pty.openpty() if terminal else os.pipe() for _ in range(2)]
    ours, theirs = [end[0] for end in ends], [end[1] for end in ends]
    begun = time.monotonic()
    child = subprocess.Popen(words, stdin=stdin, stdout=theirs[0], stderr=theirs[1], env={**os.environ, **(env or {})},
                             start_new_session=True)
    for fd in theirs:
        os.close(fd)
    read = [[], []]
    threads = [threading.Thread(target=_collect, args=pair) for pair in zip(ours, read)]
    late, most = threading.Timer(LIMIT_S, child.kill), [0]
    late.start()
    threads.append(threading.Thread(target=_grown, args=(child, most)))
    threads[-1].start()
    if unread_s:
        time.sleep(unread_s)
    for thread in threads[:2]:
        thread.start()
    for thread in threads:
        thread.join()
    late.cancel()
    return Done(child, b"".join(read[0]), b"".join(read[1]), begun, max(most))


def is_shown_safely(data):
    text = data.decode("utf-8", "surrogateescape")
    return not NAUGHTY.search(text.replace("\r\n", "\n")) and not re.search("[\udc80-\udcff]", text)


def ends(name, done, says="", code=None, lines=1):
    """It has ended by itself, not well, with a line that says @says, of harmless characters, and is small."""
    good = done.code == code if code is not None else 0 < done.code < 128 or done.code == 255
    err = done.err.decode(errors="replace")
    TAP.ok(good and not done.is_late and done.mib < GROWN_MIB and says in err and "Traceback" not in err and
           is_shown_safely(done.err) and is_shown_safely(done.out) and 0 < len(done.lines()) <= lines, name,
           done.told())


# ---- scrun ----

def over(caller):
    caller.say({"op": "ended", "code": 5, "text": "over"})


def scored_that(*messages, leader=None):
    """A false scored: the answers to a job; leader(caller) is its leader, after whom all has gone well."""
    gone = threading.Event()

    def script(caller, daemon):
        if caller.job:
            caller.hear()
            caller.say({"op": "attached", "hosts": ["h1", "h2"]})
            try:
                (leader or over)(caller)
                while True:
                    caller.hear()
            finally:
                gone.set()
            return
        caller.hear()
        for message in messages or ({"op": "queued", **HEAD}, PLACE):
            caller.say({**message, "leader": daemon.address} if message["op"] == "placed" else message)
        gone.wait(LIMIT_S)
        caller.say({"op": "ended", "id": 7, "code": 0, "text": ""})
        caller.hear()
    return script


def scrun(munge, script, *words, **how):
    with FalseDaemon(munge, script) as false:
        done = run(schedlocal.SCRUN, "--server", false.address, "--munge-socket", munge, *words, "prog", **how)
    if false.failed:
        raise false.failed
    return done


def leads(munge, leader, *words, **how):
    return scrun(munge, scored_that(leader=leader), "-n", "2", *words, **how)


def out(caller, world=0, rank=0, stream=1, data=b"x"):
    caller.say({"op": "out", "world": world, "rank": rank, "stream": stream}, data)


def scrun_words(munge):
    """Texts of scored and of the leader."""
    ends("scrun: a refusal", scrun(munge, scored_that({"op": "error", "error": "EPERM", "text": f"no {EVIL}"})), "no ")
    done = scrun(munge, scored_that({"op": "queued", **HEAD, "why": f"it waits {EVIL}"},
                                    {"op": "ended", "id": 7, "code": 3, "text": f"ends {EVIL}"}), terminal=True)
    ends("scrun: why a job waits and how it ended, on a terminal", done, "ends ", 3)
    hosts = {"hosts": [EVIL, "h2"], "ranks": [1, 1], "cores": [[0], [0]], "cpus": [[], []]}
    for words in ((), ("--json",)):
        done = scrun(munge, scored_that({"op": "ok", **hosts}), "-n", "2", "--dry-run", *words)
        ends(f"scrun --dry-run {' '.join(words)}: a host's name", done, "makes no sense", 125)
    done = scrun(munge, scored_that({**PLACE, "hosts": ["../../x", "h2"]}), "-n", "2", "--label")
    ends("scrun: names of a job's hosts", done, "makes no sense", 125)

    def told(caller):
        caller.say({"op": "note", "text": f"a note {EVIL}"})
        caller.say({"op": "ended", "code": 4, "text": f"all over {EVIL}"})
    ends("scrun: notes of the leader", leads(munge, told), "all over", lines=2)


def scrun_numbers(munge):
    """Numbers that are none."""
    for code, want in ((999, 255), (1 << 32, 255), (-(1 << 63), 255)):
        done = scrun(munge, scored_that({"op": "queued", **HEAD}, {"op": "ended", "id": 7, "code": code, "text": "x"}))
        ends(f"scrun: exit code {code} from scored", done, "x", want)
        done = leads(munge, lambda caller, code=code: caller.say({"op": "ended", "code": code, "text": "y"}))
        ends(f"scrun: exit code {code} from the leader", done, "y", want)
    for what in ({"ranks": [1 << 62, 1]}, {"ranks": [1]}, {"ranks": [1, "1"]}, {"hosts": "h1"}, {"ranks": [3, 1]}):
        done = scrun(munge, scored_that({"op": "queued", **HEAD}, {**PLACE, **what}), "-n", "2")
        ends(f"scrun: a place with {what}", done, "makes no sense", 125)
    huge = {"hosts": ["h1"] * 20000, "ranks": [1000000] * 20000, "cores": [[0]] * 20000}
    ends("scrun --dry-run: more ranks than the job has",
         scrun(munge, scored_that({"op": "ok", **huge}), "-n", "2", "--dry-run"), "makes no sense", 125)
    done = scrun(munge, scored_that({"op": "queued", **HEAD}, PLACE, PLACE, leader=lambda _: None), "-n", "2")
    ends("scrun: a job that is placed twice", done, "makes no sense", 125)


def scrun_fields(munge):
    """Messages whose fields are missing, or of another type."""
    for message in ({"op": "out", "world": 0, "rank": 0}, {"op": "in_room", "bytes": "1"}, {"op": "note", "text": 7},
                    {"op": "processes", "ranks": {}}, {"op": "ended", "code": "0", "text": ""}):
        done = leads(munge, lambda caller, message=message: caller.say(message))
        ends(f"scrun, from the leader: {message}", done, f"makes no sense ({message['op']}: ")
    for message in ({"op": "queued", "id": 0, "position": 0}, {"op": "ended", "id": 7, "text": ""}, {"op": "error"}):
        done = scrun(munge, scored_that(message), "-n", "2")
        ends(f"scrun, from scored: {message}", done, f"makes no sense ({message['op']}: ", 125)


def scrun_output(munge):
    """Output of ranks that there are not, and without end."""
    for words in (("--merge",), ("--label",), ()):
        for name, where in (("rank 2", {"rank": 2}), ("rank 2^32 - 1", {"rank": (1 << 32) - 1}),
                            ("rank 2^62", {"rank": 1 << 62}), ("rank -1", {"rank": -1}),
                            ("world 2^40", {"world": 1 << 40}), ("a rank beyond all of world 1",
                                                                 {"world": 1, "rank": 10000000})):
            def strange(caller, where=where):
                out(caller, data=b"well\n")
                out(caller, **where, data=b"strange\n")
            ends(f"scrun {' '.join(words)}: output of {name}", leads(munge, strange, *words), "output of")

    def endless(caller):
        for _ in range(GROWN_MIB * 16 + 1):
            out(caller, data=b"x" * (MIB // 16))
        caller.say({"op": "ended", "code": 5, "text": "over"})
    ends("scrun --label: much without the end of a line", leads(munge, endless, "--label"), "over", 5)

    def notes(caller):
        for _ in range(6000):
            caller.say({"op": "note", "text": "n" * 4000})
        caller.say({"op": "ended", "code": 5, "text": "over"})
    with open("/dev/null", "rb") as nothing:
        done = leads(munge, notes, stdin=nothing, unread_s=3)
    TAP.ok(done.mib < NOTES_MIB and done.code == 5, "scrun: notes without end, of which nobody reads any", done.told())

    def endings(caller):
        for n in range(60000):
            caller.say({"op": "rank_ended", "world": n, "rank": n, "host": f"host{n}{'x' * 200}", "status": 0,
                        "max_rss": 1, "group_peak": 1})
        caller.say({"op": "ended", "code": 5, "text": "over"})
    done = leads(munge, endings, "--statistics")
    TAP.ok(done.mib < GROWN_MIB and len(done.lines()) < 10 and is_shown_safely(done.err),
           "scrun --statistics: ends of ranks of hosts that there are not", done.told())


def scrun_input(munge):
    """Room for more input than there may be."""
    def rooms(caller):
        for _ in range(1000):
            caller.say({"op": "in_room", "bytes": 1 << 24})
        time.sleep(3)       # as long as it would take to read some hundred MiB
        caller.say({"op": "ended", "code": 5, "text": "over"})
    with open("/dev/zero", "rb") as zeros:
        ends("scrun: room for input that was not sent", leads(munge, rooms, stdin=zeros), "room")


def scrun_frames(munge):
    """Bytes that are no messages."""
    for name, data in (("lengths that do not fit", frame_of(12, 4000)), ("a length of 4 GiB", frame_of(0xffffffff, 2)),
                       ("a head that is no JSON", frame_of(8, 4, b"{\xff}}")),
                       ("a head that is no object", frame_of(8, 4, b"[12]")),
                       ("a head of 100000 brackets", frame_of(100004, 100000, b"[" * 100000)),
                       ("an op that is a number", frame_of(12, 8, b'{"op":1}'))):
        ends(f"scrun: {name}", scrun(munge, lambda caller, _, data=data: (caller.hear(), caller.send(data),
                                                                        caller.hear())))
        ends(f"scrun, from the leader: {name}", leads(munge, lambda caller, data=data: caller.send(data)))


# ---- scout ----

def agent_that(behaves):
    """A false scnoded, and the agent that it would start: behaves(caller, id of the command)."""
    def script(caller, _):
        caller.hear()
        caller.say({"op": "remote_ready", "pid": 1, "version": "1"})
        while True:
            head, _ = caller.hear()
            if head["op"] == "run":
                behaves(caller, head["id"])
            elif head["op"] == "ping":
                caller.say({"op": "pong", "id": head["id"]})
    return script


def scout(munge, script, *words, hosts=2, **how):
    with FalseDaemon(munge, script) as false, tempfile.TemporaryDirectory() as directory:
        document = {"format": 1, "groups": [], "scheduler": {"node_port": false.port},
                    "hosts": [{"name": f"h{n}", "address": "127.0.0.1"} for n in range(hosts)]}
        with open(f"{directory}/cluster.json", "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = run(f"{ROOT}/scout/scout", "-g", f"h[0-{hosts - 1}]" if hosts > 1 else "h0", "-no-lock", "-rsh",
                   "scnoded", "-munge-socket", munge, *words, "prog", **how,
                   env={"SCORE_CLUSTER": f"{directory}/cluster.json"})
    if false.failed:
        raise false.failed
    return done


def scout_output(munge):
    """Output of hosts is safe on a terminal, and has every byte elsewhere."""
    said = EVIL.encode("utf-8", "surrogateescape") + b"\x9b\xff\n" + "\x1b[1;31mGr\u00fc\u00dfe\x1b[0m\n".encode()

    def prints(caller, number):
        for at in range(len(said)):         # in the smallest pieces
            caller.say({"op": "out", "id": number, "stream": 1}, said[at:at + 1])
        caller.say({"op": "ended", "id": number, "status": 0})
    for words in ((), ("-sort",), ("-nosort",), ("-label",)):
        name = f"scout {' '.join(words)}"
        done = scout(munge, agent_that(prints), *words, terminal=True)
        colours = re.findall(rb"\x1b\[[0-9;]*m", done.out)
        plain = re.sub(rb"\x1b\[[0-9;]*m", b"", done.out)
        TAP.ok(done.code == 0 and is_shown_safely(plain) and b"\x1b[1;31m" in colours and
               "Gr\u00fc\u00dfe".encode() in plain, f"{name}: on a terminal", done.told())
        done = scout(munge, agent_that(prints), *words)
        TAP.ok(done.code == 0 and all(line in done.out for line in said.split(b"\n")), f"{name}: into a pipe",
               done.told())
    done = scout(munge, agent_that(prints), "-raw", terminal=True, hosts=1)
    TAP.equal(done.out.replace(b"\r\n", b"\n"), said.replace(b"\r\n", b"\n"),
              "scout -raw: all bytes, on a terminal, too")
    done = scout(munge, agent_that(prints), terminal=True, hosts=1)
    TAP.ok(is_shown_safely(re.sub(rb"\x1b\[[0-9;]*m", b"", done.out)), "scout: a single host, on a terminal",
           done.told())


def scout_lies(munge):
    """Messages that no agent sends."""
    cases = {
        "its words": (lambda c, n: c.say({"op": "failed", "id": n, "error": "EIO", "text": f"no {EVIL}"}), "no "),
        "a status of 20 digits": (lambda c, n: c.say({"op": "ended", "id": n, "status": 10**20}), "status"),
        "a status below 0": (lambda c, n: c.say({"op": "ended", "id": n, "status": -1}), "status"),
        "output on stream 7": (lambda c, n: c.say({"op": "out", "id": n, "stream": 7}, b"x"), "stream"),
        "room for 2^62 bytes": (lambda c, n: c.say({"op": "in_room", "id": n, "bytes": 1 << 62}), "bytes"),
        "lengths that do not fit": (lambda c, _: c.send(frame_of(12, 4000)), "lengths"),
        "a length of 4 GiB": (lambda c, _: c.send(frame_of(0xffffffff, 2)), "lengths"),
        "a head that is no JSON": (lambda c, _: c.send(frame_of(8, 4, b"{\xff}}")), "sends"),
        "a head of 100000 brackets": (lambda c, _: c.send(frame_of(100004, 100000, b"[" * 100000)), "sends"),
        "an op that is a number": (lambda c, _: c.send(frame_of(12, 8, b'{"op":1}')), "sends")}
    for name, (behaves, says) in cases.items():
        ends(f"scout: {name}", scout(munge, agent_that(behaves)), says)
    ends("scout: a scnoded that refuses", scout(munge, lambda caller, _: (caller.hear(), caller.say(
        {"op": "error", "error": "EPERM", "text": f"not here {EVIL}"}))), "not here")

    def rooms(caller, number):
        for _ in range(2000):
            caller.say({"op": "in_room", "id": number, "bytes": 1 << 20})
        time.sleep(2)
        caller.say({"op": "ended", "id": number, "status": 256})
    with open("/dev/zero", "rb") as zeros:
        ends("scout: room for input that was not sent", scout(munge, agent_that(rooms), stdin=zeros), "bytes")

    def endless(caller, number):
        for _ in range(GROWN_MIB * 16 + 1):
            caller.say({"op": "out", "id": number, "stream": 1}, b"x" * (MIB // 16))
        caller.say({"op": "ended", "id": number, "status": 256})
    done = scout(munge, agent_that(endless), "-label", hosts=1)
    TAP.ok(done.code == 1 and done.mib < GROWN_MIB, "scout -label: much without the end of a line", done.told())


# ---- tools ----

HOST = {"name": "h1", "address": "10.0.0.9:7711", "version": "1", "kernel": "6.1", "cgroups": "v2", "n_cores": 2,
        "memory": 8 << 30, "clock_ns": 1, "pm": "", "is_realtime": True, "state": "up", "note": "", "cores_used": 2,
        "load": 2.0, "memory_free": 4 << 30, "skew_ns": 3000, "rows": [[7, 7], [0, 9]],
        "switches": {"done": 100, "late": 0, "worst_ns": 0, "lost_ns": 0}}
JOB = {"id": 7, "uid": 0, "state": "running", "class": "shared", "priority": 0, "ranks": 4, "cores": 1,
       "submitted": 90, "started": 100, "cpu_ns": 0, "rows": 1, "name": "cg", "argv": ["cg"], "cwd": "/",
       "hosts": [{"name": "n10", "ranks": 2, "cpu_ns": 0}]}
CLUSTER = {"op": "cluster", "name": "lab", "version": "1", "quantum_ns": 200000000, "n_rows": 2, "altered": 0,
           "hosts": [HOST]}
LOCK = {"id": 3, "uid": 0, "mode": "exclusive", "hosts": ["h1"], "since": 1, "reason": "disks", "place": "h9",
        "left_s": 5}
TOOLS = {("scheduler/ctl/scinfo",): CLUSTER, ("scheduler/ctl/scinfo", "--hosts"): CLUSTER,
         ("scheduler/ctl/scinfo", "h1"): CLUSTER, ("scheduler/ctl/scinfo", "--check"): CLUSTER,
         ("scheduler/ctl/scqueue",): {"op": "jobs", "jobs": [JOB]},
         ("scheduler/ctl/sctop", "--once"): {**CLUSTER, "op": "activity", "now_ns": 10**9, "jobs": [JOB]},
         ("scheduler/ctl/scancel", "--all"): {"op": "ok", "count": 1},
         ("scout/msgb",): {"op": "locks", "locks": [LOCK], "waiting": [], "jobs": []}}


def evil(value):
    """The same with control characters in all texts."""
    if isinstance(value, dict):
        return {key: one if key in ("op", "cgroups") else evil(one) for key, one in value.items()}
    if isinstance(value, list):
        return [evil(one) for one in value]
    return f"{value}{EVIL}" if isinstance(value, str) else value


def tool(munge, words, answer):
    def script(caller, _):
        caller.hear()
        caller.say(answer)
        caller.say({**answer, "now_ns": answer.get("now_ns", 0) + 1 if isinstance(answer.get("now_ns", 0), int) else 0})
        caller.hear()
    with FalseDaemon(munge, script) as false:
        path, *rest = words
        done = run("/usr/bin/python3", f"{ROOT}/{path}", *rest, "--server", false.address, "--munge-socket", munge,
                   env={"COLUMNS": "300"})
    if false.failed:
        raise false.failed
    return done


def tools(munge):
    for words, answer in TOOLS.items():
        name = " ".join((os.path.basename(words[0]), *words[1:]))
        done = tool(munge, words, evil(answer))
        TAP.ok(done.code in (0, 1) and done.out + done.err and is_shown_safely(done.out) and is_shown_safely(done.err),
               f"{name}: control characters in all texts", done.told())
        done = tool(munge, words, {"op": "error", "error": "EIO", "text": f"refused {EVIL}"})
        ends(f"{name}: an error", done, "refused", 1)
        for strange in ({**answer, "hosts": 3, "jobs": "no", "count": "x", "locks": 7}, {"op": "ok"}, {}):
            done = tool(munge, words, strange)
            TAP.ok(done.code in (0, 3) and len(done.lines()) <= 1 and "Traceback" not in done.err.decode() and
                   (done.code == 0 or b"makes no sense" in done.err or b"is no scored" in done.err),
                   f"{name}: an answer that is none", done.told())


def main():
    why = schedlocal.missing()
    if why:
        TAP.skip("hostile daemons", why)
        return TAP.end()
    with schedlocal.Cluster() as cluster:
        munge, _ = cluster.start_munge()
        for part in (scrun_words, scrun_numbers, scrun_fields, scrun_output, scrun_input, scrun_frames, scout_output,
                     scout_lies, tools):
            begun = time.monotonic()
            part(munge)
            print(f"# {part.__name__}: {time.monotonic() - begun:.1f} s")
    return TAP.end()


sys.exit(main())
