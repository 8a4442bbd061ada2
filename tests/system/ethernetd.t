#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernetd in a network namespace of its own: attachments by unprivileged processes, what is
refused and how, deaths of processes and of the daemon, what it leaves behind, IP beside it. TAP. Needs
root.
"""
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import bpfinfo
from ethask import DIRECT, MAPPED, PORT, REPORT, RESUME, SUSPEND, Client, request, sockets
from systest import BUILD, Tap

DAEMON = f"{BUILD}/bin/pm-ethernetd"
NOBODY = 65534
CLONE_NEWNS, CLONE_NEWNET, MS_REC_PRIVATE = 0x20000, 0x40000000, 0x44000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SYS_BPF = 22, 2, {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
WITHIN_S = 1.0                  # what a dead process held is taken back

LIBC = ctypes.CDLL(None, use_errno=True)
tap = Tap()


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def unshare(flags):
    if LIBC.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def enter_namespace():
    """This process goes into namespaces that end with it; mounts do not leak out of them."""
    unshare(CLONE_NEWNET | CLONE_NEWNS)
    if LIBC.mount(None, b"/", None, MS_REC_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "mount")


def make_network():
    """Two NICs whose other ends are in the namespace of a child; the child. Both ends with one index would look to the
    kernel like a NIC of which it tells the link once a second."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        unshare(CLONE_NEWNET)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        for n in (1, 2):
            ip("addr", "add", f"10.9.{n}.2/24", "dev", f"eth{n}")
            ip("link", "set", f"eth{n}", "up")
        echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        echo.bind(("10.9.1.2", 7))
        os.write(ready[1], b"y")
        while True:
            echo.sendto(*echo.recvfrom(2048))
    os.read(ready[0], 1)
    for n in (1, 2):
        ip("link", "add", f"eth{n}", "index", f"10{n}", "type", "veth", "peer", "name", f"eth{n}", "netns", str(pid))
        ip("addr", "add", f"10.9.{n}.1/24", "dev", f"eth{n}")
        ip("link", "set", f"eth{n}", "up")
    os.write(go[1], b"x")
    os.read(ready[0], 1)
    return pid


class Daemon:
    def __init__(self, run, *more):
        self.process = subprocess.Popen([DAEMON, "--nics", "eth1,eth2", "--mode", "tc", "--run", run, *more],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().strip()

    def end(self, how):
        self.process.send_signal(how)
        said = self.process.communicate(timeout=20)[1]
        return self.process.returncode, said


def fail(*arguments):
    done = subprocess.run([DAEMON, *arguments], capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stderr.strip().removeprefix("pm-ethernetd: ")


def holder(run, **fields):
    """A process of nobody that attaches and stays: its pid and what it was told."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        client = Client(run)
        os.write(writer, json.dumps(client.attach(**fields)).encode())
        while True:
            signal.pause()
    os.close(writer)
    told = json.loads(os.read(reader, 4096))
    os.close(reader)
    return pid, told


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def contexts(run):
    with open(f"{run}/state", encoding="ascii") as f:
        return sorted(c["context"] for c in json.load(f)["contexts"])


def wait_for(condition):
    """Seconds until it holds, None if it never did."""
    start = time.monotonic()
    while time.monotonic() - start < 5 * WITHIN_S:
        if condition():
            return time.monotonic() - start
        select.select([], [], [], 0.002)
    return None


def is_soon(seconds):
    return seconds is not None and seconds <= WITHIN_S


def echo():
    """An IP packet to the other side of the NIC and back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        for _ in range(3):
            s.sendto(b"still there?", ("10.9.1.2", 7))
            with contextlib.suppress(TimeoutError):
                return s.recv(100) == b"still there?"
    return False


def mounts():
    with open("/proc/mounts", encoding="ascii") as f:
        return f.read()


def links():
    return subprocess.run(["ip", "-d", "link"], capture_output=True, text=True, check=True).stdout


def our_programs():
    return [name for name in bpfinfo.names() if name.startswith("eth_")]


def test_attach(run):
    a, told = holder(run, attach=DIRECT, local=2)
    tap.ok(told["error"] == 0 and told["attachment"] == DIRECT and len(told["fds"]) == 8,
           "direct: memory, share, board, inbox and two sockets per rail for a process of nobody", told)
    b, second = holder(run, attach=DIRECT, local=2)
    tap.ok(second["error"] == 0 and (told["slot"], second["slot"]) == (0, 1)
           and second["n_slots"] == 2, "direct: the second process of the job has the next slot", second)
    c, other = holder(run, key=6)
    tap.ok(other["attachment"] == PORT and len(other["fds"]) == 4,
           "auto: another job gets a port", other)
    d, third = holder(run, local=2)
    tap.equal(third["attachment"], PORT, "auto: a process too many of the job gets a port")
    client = Client(run)
    status = client.report(1)
    client.close()
    tap.equal(len(status["contexts"]), 4, "report: the contexts are in it")
    tap.ok(echo(), "IP passes the NIC beside them")
    for pid in (a, b, c, d):
        start = contexts(run)
        kill(pid)
        seconds = wait_for(lambda n=len(start): len(contexts(run)) < n)
        tap.ok(is_soon(seconds), "a killed process's context is taken back within a second", seconds)
    e, again = holder(run, attach=DIRECT, key=9)
    tap.equal((again["error"], again["why"]), (0, ""),
              "direct: the next job gets the queues as soon as they are free")
    kill(e)
    wait_for(lambda: not contexts(run))


def test_close(daemon, run, before):
    """The daemon's descriptor of a socket is the last one, and goes soon after the process's own."""
    wait_for(lambda: sockets(daemon.process.pid) == before)
    for attach, kept in ((DIRECT, 4), (PORT, 1)):
        client = Client(run)
        first = client.attach(attach=attach)
        tap.equal(sockets(daemon.process.pid), before + 1 + kept, "the daemon keeps what it handed out")
        client.close(first)
        client = Client(run)
        second = client.attach(attach=attach, key=6)
        tap.equal((second["error"], second["why"]), (0, ""), "the next job attaches at once")
        client.close(second)
        kill(holder(run, attach=attach)[0])
        seconds = wait_for(lambda: sockets(daemon.process.pid) == before and not contexts(run))
        tap.ok(is_soon(seconds), "nothing is kept for processes that closed or were killed", seconds)


def test_suspend(run):
    client = Client(run)
    first = client.attach(attach=DIRECT)
    for fd in first["fds"]:
        os.close(fd)
    tap.equal(client.ask(request(op=SUSPEND))["error"], 0, "suspend: obeyed")
    other, told = holder(run, attach=DIRECT, key=6)
    tap.equal(told["error"], 0, "suspend: another job may have the queues meanwhile")
    kill(other)
    wait_for(lambda: len(contexts(run)) == 1)
    second = client.attach(op=RESUME, attach=DIRECT)
    tap.equal((second["error"], second["context"], second["attachment"], len(second["fds"])),
              (0, first["context"], DIRECT, 8), "resume: same number, new sockets")
    tap.equal(client.ask(request(op=RESUME, attach=DIRECT))["error"], 114, "resume: twice is refused")
    client.close(second)
    wait_for(lambda: not contexts(run))


def test_unbound(run):
    """A process that ends before it has mapped what it was granted."""
    early, late = Client(run), Client(run)
    first, second = (client.ask(request(attach=DIRECT, local=2)) for client in (early, late))
    tap.equal(contexts(run), [], "what is granted and not bound yet survives no restart")
    early.close(first)
    told = late.bound(second, 5)
    tap.equal((told["error"], told["slot"]), (0, 1), "the job goes on without a process that ended early")
    late.close(second)
    wait_for(lambda: not contexts(run))


REFUSALS = (
    ("a rail that is not there", request(rails=["eth1", "eth7"]),
     (19, "this host has no rail eth7; its rails are: eth1 eth2")),
    ("no request at all", b"hello?", (71, "6 bytes that are no request to pm-ethernetd "
                                          "(176 bytes, magic 48544550)")),
    ("another version", request(version=7),
     (93, "request of version 7, this pm-ethernetd speaks 3; install libpm and pm-ethernetd of one "
          "release")),
    ("no key", request(key=0), (22, "a field of the request is out of range (op 1, attach 0, rails 0, "
                                    "packets 256 and 256, context 0, key 0)")),
    ("nothing to suspend", request(op=SUSPEND), (2, "no context of this process to suspend")),
    ("nothing to bind", request(op=MAPPED), (2, "nothing was granted that waits to be bound")),
    ("nothing to resume", request(op=RESUME), (2, "no context of this process to resume")),
    ("too large a pool", request(attach=DIRECT, local=64, packets=65536),
     (7, "transmit pools of 64 contexts with 65536 packets each exceed 256 MiB of packet memory; ask "
         "for fewer with channel.send_buffers")),
)


def test_refusals(run):
    client = Client(run)
    for name, data, want in REFUSALS:
        answer = client.ask(data)
        tap.equal((answer["error"], answer["why"]), want, f"refused: {name}")
    first = client.attach(want=77)
    tap.equal(first["context"], 77, "a number that is free can be had")
    again = client.attach()
    tap.equal((again["error"], again["why"]), (16, "this connection has a context already"),
              "refused: a second context on one connection")
    other = Client(run)
    busy = other.attach(key=6, attach=DIRECT)
    tap.equal((busy["error"], busy["why"]),
              (11, "another job (of user 0) has the queues of the NICs; ask for a port"),
              "refused: the queues of another job")
    other.close()
    client.close(first)
    wait_for(lambda: not contexts(run))


def test_limits(run):
    """One user can neither take all numbers nor stop the daemon from answering others."""
    pid = os.fork()
    if pid == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        crowd = []
        for _ in range(300):
            with contextlib.suppress(OSError):
                crowd.append(Client(run))
        for client in crowd:            # asks for much and takes nothing
            with contextlib.suppress(OSError):
                client.socket.setblocking(False)
                for _ in range(200):
                    client.socket.send(request(op=REPORT, topic=1))
        while True:
            signal.pause()
    start = time.monotonic()
    for _ in range(20):
        client = Client(run)
        answer = client.attach(attach=PORT)
        client.close(answer)
    tap.ok(answer["error"] == 0 and time.monotonic() - start < 5 * WITHIN_S,
           "others are served beside 300 connections that take no answers", answer)
    kill(pid)
    wait_for(lambda: not contexts(run))


def test_restart(daemon, run):
    a, direct = holder(run, attach=DIRECT)
    b, port = holder(run, attach=PORT, key=6)
    want = sorted((direct["context"], port["context"]))
    c, _ = holder(run, attach=PORT, key=8)
    daemon.end(signal.SIGKILL)
    tap.ok(echo() and len(our_programs()) >= 3, "kill -9 of the daemon: programs and IP go on")
    kill(c)
    daemon = Daemon(run)
    tap.ok("ready" in daemon.ready, "started anew", daemon.ready)
    tap.equal(contexts(run), want, "contexts whose processes live are adopted, others are not")
    client = Client(run)
    answer = client.attach(key=7)
    tap.ok(answer["error"] == 0 and answer["attachment"] == PORT and answer["context"] not in want,
           "a newcomer gets a port beside adopted contexts", answer)
    client.close(answer)
    for pid in (a, b):
        n = len(contexts(run))
        kill(pid)
        seconds = wait_for(lambda n=n: len(contexts(run)) < n)
        tap.ok(is_soon(seconds), "an adopted context's process dies: taken back", seconds)
    wait_for(lambda: not contexts(run))
    return daemon


def shared_maps():
    """Numbers of the maps that the attached programs have in common, so not of their constants."""
    used = {number for programs in bpfinfo.programs().values() for program in programs
            for number in bpfinfo.program(program)[1]}
    return {number for number in used if "rodata" not in bpfinfo.map_name(number)}


def test_take_over(daemon, run):
    """A process finds its context again at a new daemon, and can suspend and resume it."""
    client = Client(run)
    first = client.attach(attach=DIRECT)
    daemon.end(signal.SIGKILL)
    client.close(first)
    daemon = Daemon(run)
    pid, _ = holder(run, attach=PORT)
    thief = Client(run)
    client = Client(run)
    tap.equal(thief.ask(request(op=SUSPEND, key=99, want=first["context"]))["error"], 2,
              "a new daemon: the key must be right")
    tap.equal(client.ask(request(op=SUSPEND, want=first["context"]))["error"], 0,
              "a new daemon: a process suspends the context it had")
    second = client.attach(op=RESUME, attach=DIRECT)
    tap.equal((second["error"], second["context"]), (0, first["context"]), "and resumes it")
    thief.close()
    client.close(second)
    kill(pid)
    wait_for(lambda: not contexts(run))
    return daemon


def test_child(run):
    """A child that lingers with its parent's connection does not keep the context alive."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        client = Client(run)
        client.attach(attach=PORT)
        child = os.fork()
        if child:
            os.write(writer, str(child).encode())
        while True:
            signal.pause()
    child = int(os.read(reader, 100))
    kill(pid)
    tap.ok(is_soon(wait_for(lambda: not contexts(run))), "a child with the connection outlives the "
           "process: taken back")
    os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.close(writer)


def test_lost_pins(daemon, run):
    """A bpffs mounted in a namespace that ends with the daemon takes the pins with it."""
    a, told = holder(run, attach=PORT)
    daemon.end(signal.SIGKILL)
    before = shared_maps()
    subprocess.run(["umount", f"{run}/bpf"], check=True)
    daemon = Daemon(run)
    client = Client(run)
    answer = client.attach(attach=PORT, key=6)
    client.close(answer)
    tap.equal((told["context"] in contexts(run), shared_maps()), (True, before),
              "lost pins: the maps of running contexts are found by their programs")
    kill(a)
    wait_for(lambda: not contexts(run))
    return daemon


def test_options(daemon, run):
    a, _ = holder(run, attach=PORT)
    tap.equal(fail("--nics", "eth1", "--run", run),
              (5, f"another pm-ethernetd runs with --run {run}; stop that one first"),
              "two daemons with one run directory")
    code, said = fail("--nics", "eth1", "--run", f"{run}-other")
    tap.ok(code == 5 and "serves this host" in said, "two daemons on one host", said)
    code, said = daemon.end(signal.SIGTERM)
    tap.ok(code == 0 and "1 contexts are in use" in said and "peps" in links(),
           "SIGTERM with a context in use leaves it running", said)
    code, said = fail("--nics", "eth1", "--run", run)
    tap.ok(code == 2 and "rails eth1 eth2" in said, "other NICs than running contexts have", said)
    kill(a)
    for want, words, arguments in (
            (3, "no interface eth9", ("--nics", "eth9")), (3, "lo is no Ethernet", ("--nics", "lo")),
            (2, "--nics or --config is missing", ()), (2, "twice", ("--nics", "eth1,eth1")),
            (2, "--mode x", ("--nics", "eth1", "--mode", "x")),
            (2, "--host-id 0", ("--nics", "eth1", "--host-id", "0"))):
        code, said = fail("--run", run, *arguments)
        tap.ok(code == want and words in said, f"exit code {want}: {words}", f"{code} {said}")


def write_cluster(path, host, **keys):
    network = {"name": "raw", "type": "ethernet", **keys}
    hosts = [{"id": 0, "name": "elsewhere", "rails": []},
             {"id": 1, "name": host, "rails": [{"network": "lan", "rail": 0, "device": "eth0"},
                                               {"network": "raw", "rail": 0, "device": "eth2"},
                                               {"network": "raw", "rail": 1, "device": "eth1"}]}]
    with open(path, "w", encoding="ascii") as f:
        json.dump({"networks": [network, {"name": "lan", "type": "udp"}], "hosts": hosts}, f)


def refuse_bpf():
    """As containers do: this process and its children get EPERM of bpf(2). The filter reads the call's number."""
    lines = (0x20, 0, 0, 0), (0x15, 0, 1, SYS_BPF), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    if LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def test_bpf_refused(run):
    if not SYS_BPF:
        tap.skip("root of a container that refuses bpf(2) is told so", "the number of bpf(2) is not known here")
        return
    done = subprocess.run([DAEMON, "--nics", "eth1", "--mode", "generic", "--run", f"{run}-refused"], check=False,
                          capture_output=True, text=True, timeout=20, preexec_fn=refuse_bpf)
    tap.ok(done.returncode == 4 and "bpf(2) is refused to root, as in a container" in done.stderr,
           "root of a container that refuses bpf(2) is told so", f"{done.returncode} {done.stderr}")


def test_config(run):
    path = f"{run}/../cluster.json"
    host = socket.gethostname().split(".")[0]
    write_cluster(path, host, ethertype=0x88b6, direct="never")
    daemon = subprocess.Popen([DAEMON, "--run", run, "--config", path, "--host-id", "4711"],
                              stdout=subprocess.PIPE, text=True)
    tap.equal(daemon.stdout.readline().strip(),
              "pm-ethernetd: ready, host 4711, rails eth2 eth1, generic mode", "--config: rails")
    client = Client(run)
    status = client.report(1)
    tap.equal(status["ethertype"], "0x88b6", "--config: EtherType")
    answer = client.attach(attach=DIRECT)
    tap.ok(answer["error"] == 1 and "--direct never" in answer["why"], "--config: direct", answer)
    client.close()
    daemon.terminate()
    daemon.communicate(timeout=20)
    for bad, words in (({"mode": "fast"}, "--mode fast: wanted is auto, native, generic or tc"),
                       ({"type": "udp"}, f"--config {path}: host {host} has no rail of a network")):
        write_cluster(path, host, **bad)
        code, said = fail("--run", run, "--config", path)
        tap.ok(code == 2 and said.startswith(words), f"--config: {bad}", said)
    write_cluster(path, "other")
    tap.ok(f"no host {host}" in fail("--config", path)[1], "--config: another host's")
    with open(path, "w", encoding="ascii") as f:
        f.write("{")
    tap.ok("cluster.json, line 1:" in fail("--config", path)[1], "--config: a damaged file")


def test_quota(run):
    """Packet memory can't be swapped out: one user can't take all of it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        held = []
        for key in range(1, 100):
            client = Client(run)
            answer = client.attach(attach=PORT, key=key, packets=65536)
            if answer["error"]:
                break
            held.append((client, answer))
        os.write(writer, json.dumps([len(held), answer["why"], answer["error"]]).encode())
        os._exit(0)
    os.close(writer)
    n, why, error = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.waitpid(pid, 0)
    # a pool of 65536 packets is 128 MiB, and an inbox has 2
    tap.ok(1 <= n <= 15 and error == 122 and "packet memory" in why, "refused: all memory for one user",
           f"{n} {error} {why}")
    wait_for(lambda: not contexts(run))


def is_up(rail):
    return rail["state"] == "up"


def rails(run):
    client = Client(run)
    try:
        return client.report(2)["rails"]
    finally:
        client.close()


def test_links(run):
    ip("link", "set", "eth2", "down")
    tap.ok(is_soon(wait_for(lambda: not is_up(rails(run)[1]))), "a link that goes down is seen")
    ip("link", "set", "eth2", "up")
    tap.ok(is_soon(wait_for(lambda: is_up(rails(run)[1]))), "and one that comes back")
    ip("link", "set", "eth2", "name", "other2", "down")
    tap.ok(wait_for(lambda: our_programs().count("eth_nic") == 1) is not None,
           "a NIC that is renamed is left alone")
    ip("link", "delete", "other2")
    tap.ok(is_soon(wait_for(lambda: not is_up(rails(run)[1]))), "a NIC that vanishes is down")
    ip("link", "add", "eth2", "type", "veth", "peer", "name", "far2")
    ip("link", "set", "far2", "up")
    ip("link", "set", "eth2", "up")
    tap.ok(is_soon(wait_for(lambda: is_up(rails(run)[1]) and rails(run)[1]["is_programmed"])),
           "a NIC of the same name is programmed and used again")
    client = Client(run)
    answer = client.attach(attach=DIRECT)
    tap.equal((answer["error"], answer["why"]), (0, ""), "and its queue can be had")
    client.close(answer)
    wait_for(lambda: not contexts(run))


def main():
    if os.geteuid() or not os.access(DAEMON, os.X_OK):
        print("1..0 # SKIP " + ("needs root" if os.geteuid() else f"no {DAEMON}: needs libbpf and clang"))
        return 0
    enter_namespace()
    far = make_network()
    # nobody must reach the socket
    top = tempfile.mkdtemp(prefix="pm-ethernetd-")
    os.chmod(top, 0o755)
    run = f"{top}/run"
    try:
        daemon = Daemon(run)
        tap.ok(daemon.ready.startswith("pm-ethernetd: ready, host ")
               and daemon.ready.endswith(", rails eth1 eth2, tc mode"), "says when it is ready",
               daemon.ready)
        idle = sockets(daemon.process.pid)
        test_attach(run)
        test_close(daemon, run, idle)
        test_suspend(run)
        test_unbound(run)
        test_refusals(run)
        test_limits(run)
        test_quota(run)
        daemon = test_restart(daemon, run)
        test_child(run)
        daemon = test_take_over(daemon, run)
        daemon = test_lost_pins(daemon, run)
        test_options(daemon, run)
        test_config(run)
        test_bpf_refused(run)
        daemon = Daemon(run)
        test_links(run)
        code, said = daemon.end(signal.SIGTERM)
        left = os.listdir(run)
        tap.ok(code == 0 and left == ["lock"] and not our_programs() and "pep" not in links()
               and run not in mounts(),
               "SIGTERM without contexts leaves no program, port, pin or mount", f"{said} {left} {links()}")
        tap.ok(echo(), "IP passes the NIC as before")
    finally:
        kill(far)
        shutil.rmtree(top, ignore_errors=True)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
