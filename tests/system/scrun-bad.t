#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes of users and operators: each gives one line that names the thing and the remedy, a nonzero exit code, and
leaves nothing behind. TAP. Needs root and munged; clocks that differ need a C compiler as well."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import schedlocal                                                       # noqa: E402
from systest import ROOT, Tap, told                                     # noqa: E402

NOBODY = 65534
STRANGER = 54321        # no user has it
MACHINE_RISCV = 243     # e_machine of an ELF
USAGE, FAILED, LOST, STARTLESS, NOT_EXECUTABLE, NOT_FOUND = 2, 1, 123, 125, 126, 127
# A clock that is wrong: munged asks for the time by time(2).
CLOCK = r"""
#include <stdlib.h>
#include <time.h>
time_t time(time_t *to)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += atol(getenv("OFFSET"));
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
"""
TAP = Tap()


def judge(done, name, code, *parts, lines=1):
    """Exit code, as many lines, every part in them."""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    TAP.ok(done.returncode == code and (lines is None or len(said) == lines)
           and all(part in done.stderr for part in parts), f"{name}: {code}, {', '.join(parts)}", told(done))


def release(cluster, daemon):
    """A scnoded leaves the jobs that it has for the next one."""
    cluster.settled()
    daemon.end()


def usage(cluster):
    for words, name, parts in (
            (("--frobnicate", "true"), "unknown option", ("--frobnicate: there is no such option", "--help")),
            (("-nodes=0", "true"), "0 hosts", ("-nodes 0", "wanted is HOSTS")),
            (("-nodes=-1", "true"), "-1 hosts", ("-nodes -1", "wanted is HOSTS")),
            (("-nodes=99999999999", "true"), "more hosts than numbers", ("99999999999", "wanted is HOSTS")),
            (("-nodes=2x0", "true"), "0 ranks per host", ("2x0", "wanted is HOSTS")),
            (("-nodes=many", "true"), "hosts in words", ("many", "wanted is HOSTS")),
            (("-nodes=100000x1000", "true"), "10^8 ranks", ("100000000 are more than the 1000000",)),
            (("-n", "0", "true"), "0 ranks", ("-n 0", "from 1 to 1000000")),
            (("-n", "-3", "true"), "-3 ranks", ("-n -3", "from 1 to 1000000")),
            (("-n", "9" * 30, "true"), "10^30 ranks", ("from 1 to 1000000",)),
            (("--cores", "0", "true"), "0 cores", ("--cores 0", "1 to 4096")),
            (("--priority", "5000", "true"), "priority out of range", ("5000", "from -1000 to 1000")),
            (("--timeout", "soon", "true"), "timeout in words", ("soon", "15m")),
            (("--output", "%q", "true"), "unknown pattern", ("%q is not known", "%r")),
            ((), "no program", ("program 1: it is missing", "--help")),
            (" : ".join(["true"] * 129).split(), "129 programs", ("129 programs", "at most 128"))):
        judge(cluster.scrun(*words), name, USAGE, *parts)


def places(cluster):
    for words, name, parts in (
            (("-nodes=3", "true"), "more hosts than there are", ("3 hosts are wanted", "has 2", "--nodes")),
            (("-nodes=1x64", "true"), "more ranks than cores", ("64 cores", "the smallest has 2", "--oversubscribe")),
            (("-n", "9999", "true"), "more ranks than the cluster holds", ("the cluster has 2", "--nodes")),
            (("-group=elsewhere", "true"), "unknown group", ("elsewhere", "not in the cluster", "scinfo")),
            (("--hosts", "p7", "true"), "unknown host", ("p7", "not in the cluster", "scinfo"))):
        judge(cluster.scrun(*words), name, STARTLESS, *parts)
    judge(cluster.scrun("--priority", "5", "true", user=NOBODY), "priority above 0 as a user", STARTLESS,
          "priority 5", "operators")
    judge(cluster.scrun("true", user=STRANGER), "user unknown on the host", STARTLESS, "host p",
          f"no user {STRANGER}", "make the same users")


def write(path, content, mode):
    with open(path, "wb") as f:
        f.write(content)
    os.chmod(path, mode)
    return path


def programs(cluster):
    base = cluster.directory
    with open("/bin/true", "rb") as f:
        other = bytearray(f.read())
    other[18:20] = MACHINE_RISCV.to_bytes(2, "little")
    for path, name, code, parts in (
            ("./nothing", "program not there", NOT_FOUND, ("./nothing, host p", "no such file", "copy it")),
            ("no-such-program", "program not in PATH", NOT_FOUND, ("no-such-program, host p", "PATH", "./")),
            (base, "directory as program", NOT_EXECUTABLE, (base, "it is a directory")),
            (write(f"{base}/plain", b"#!/bin/sh\n", 0o644), "not executable", NOT_EXECUTABLE,
             (f"{base}/plain, host p", "Permission denied", "chmod +x")),
            (write(f"{base}/noise", b"\1\2noise", 0o755), "neither program nor script", NOT_EXECUTABLE,
             (f"{base}/noise, host p", "neither a program nor a script")),
            (write(f"{base}/empty", b"", 0o755), "empty file", NOT_EXECUTABLE, (f"{base}/empty", "is empty")),
            (write(f"{base}/script", b"#!/no/such/shell\n", 0o755), "missing interpreter", NOT_FOUND,
             (f"{base}/script, host p", "/no/such/shell", "install it")),
            (write(f"{base}/riscv", bytes(other), 0o755), "program of another machine", NOT_EXECUTABLE,
             (f"{base}/riscv, host p", "RISC-V", "build it there"))):
        judge(cluster.scrun("-nodes=2", path), name, code, *parts)
    judge(cluster.scrun("--cwd", "/no/such/place", "true"), "directory that is not there", STARTLESS,
          "/no/such/place, host p", "must be there")
    judge(cluster.scrun("--cwd", "/etc/passwd", "true"), "file as directory", STARTLESS, "/etc/passwd, host p",
          "Not a directory")
    if not shutil.which("cc"):
        TAP.skip("missing shared library", "no C compiler")
        return
    write(f"{base}/lib.c", b"int f(void) { return 0; }\n", 0o644)
    write(f"{base}/main.c", b"int f(void); int main(void) { return f(); }\n", 0o644)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{base}/libgone.so", f"{base}/lib.c"], check=True)
    subprocess.run(["cc", "-o", f"{base}/linked", f"{base}/main.c", f"{base}/libgone.so"], check=True)
    os.unlink(f"{base}/libgone.so")
    judge(cluster.scrun(f"{base}/linked"), "missing shared library", NOT_FOUND,
          "error while loading shared libraries", "libgone.so", "rank 0 on p", lines=2)


def files(cluster):
    base = cluster.directory
    secret = write(f"{base}/secret", b"x", 0o600)
    for words, name, code, user, parts in (
            (("--stdin", "/no/such/file", "true"), "input that is not there", STARTLESS, None,
             ("--stdin /no/such/file", "name a file")),
            (("--stdin", secret, "true"), "input that may not be read", STARTLESS, NOBODY,
             (secret, "Permission denied", "name a file")),
            (("--stdin", "/tmp", "true"), "directory as input", STARTLESS, None, ("/tmp", "Is a directory")),
            (("--output", "/no/such/place/%r", "echo", "a"), "output to nowhere", FAILED, None,
             ("/no/such/place/0", "cannot be written", "--output")),
            (("--output", f"{base}/%r", "echo", "a"), "output that may not be written", FAILED, NOBODY,
             (f"{base}/0", "Permission denied", "--output"))):
        judge(cluster.scrun(*words, user=user), name, code, *parts)


def environments(cluster):
    """The kernel's limit of it all is a quarter of the stack, and a rank has some variables more than its scrun."""
    full = {f"V{i}": "x" * 100000 for i in range(18)}
    judge(cluster.scrun("sh", "-c", "exit ${#V17}", env={**full, "V17": "x" * 99}), "1.7 MB of environment", 99,
          "exited with code 99")
    done = None
    for size in range(1000000, 0, -300):
        last = {f"W{i}": "x" * min(100000, size - at) for i, at in enumerate(range(0, size, 100000))}
        with contextlib.suppress(OSError):      # E2BIG for scrun itself
            done = cluster.scrun("true", env={**full, **last})
            break
    if done and done.returncode == 0:
        TAP.skip("environment too large", "this stack's limit is above what fits")
    else:
        judge(done, "environment too large", NOT_EXECUTABLE, "true, host p", "too large", "--no-env")


def servers(cluster):
    for text, name, parts in (
            ("127.0.0.1:", "server without port", ("127.0.0.1:", "HOST:PORT")),
            ("127.0.0.1:99999", "server with a port too large", ("127.0.0.1:99999", "HOST:PORT")),
            ("127.0.0.1:http:1", "server with two ports", ("127.0.0.1:http:1", "SCORE_SERVER")),
            ("127.0.0.1:zwei", "server with a port in words", ("127.0.0.1:zwei", "HOST:PORT")),
            ("[::1", "server with half a bracket", ("[::1", "HOST:PORT")),
            ("no.such.host.invalid", "server of an unknown name", ("no.such.host.invalid", "SCORE_SERVER")),
            (f"127.0.0.1:{schedlocal.free_port()}", "server that does not run", ("refused", "--server"))):
        judge(cluster.scrun("true", server=text), name, STARTLESS, *parts)
    with socket.socket() as silent, socket.socket() as full, contextlib.ExitStack() as stack:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        judge(cluster.scrun("true", server=f"127.0.0.1:{silent.getsockname()[1]}"), "server that says nothing",
              STARTLESS, "within 5 s", "munged")
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        judge(cluster.scrun("true", server=f"127.0.0.1:{full.getsockname()[1]}"), "server that cannot be reached",
              STARTLESS, "no connection within 5 s", "is that host up")


def hosts(cluster):
    """A host that scored hears, and that nobody else reaches."""
    port = schedlocal.free_port()
    daemon = cluster.start_host("w0", "--listen", f"127.0.0.1:{port}", "--address", "127.0.0.2")
    TAP.ok(daemon.says("registered with"), "a host with a wrong address registers", daemon.log())
    judge(cluster.scrun("--hosts", "w0", "echo", "a"), "host that cannot be reached", LOST, "host w0",
          f"127.0.0.2:{port}", "refused")
    release(cluster, daemon)
    twin = cluster.start_host("p0", file="twin")
    TAP.ok(twin.says("a host p0 is registered already") and "end one of them" in twin.log(), "two hosts of one name",
           twin.log())
    twin.end()
    judge(cluster.scrun("-nodes=2", "true"), "the first of two hosts of one name stays", 0, lines=0)


def clock(cluster, name, offset):
    base = cluster.directory
    if not os.path.exists(f"{base}/clock.so"):
        write(f"{base}/clock.c", CLOCK.encode(), 0o644)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{base}/clock.so", f"{base}/clock.c"], check=True)
    return cluster.start_munge(name, env={"LD_PRELOAD": f"{base}/clock.so", "OFFSET": str(offset)})[0]


def munge_of_user(cluster):
    judge(cluster.scrun("true", munge="/no/such/socket"), "no munged", STARTLESS, "/no/such/socket", "start it")
    dead, daemon = cluster.start_munge("dead")
    daemon.end(signal.SIGKILL)
    judge(cluster.scrun("true", munge=dead), "munged that died", STARTLESS, dead, "start it")
    stopped, daemon = cluster.start_munge("stopped")
    daemon.child.send_signal(signal.SIGSTOP)
    judge(cluster.scrun("true", munge=stopped, limit=9), "munged that is stopped", STARTLESS,
          "within 5 s", "is it stopped?")
    daemon.end(signal.SIGKILL)
    strange, _ = cluster.start_munge("strange", key=cluster.make_key("other-key"))
    judge(cluster.scrun("true", munge=strange), "munged of another key", STARTLESS, "Invalid credential",
          "same munge key")
    daemon = cluster.start_host("k0", munge=strange)
    TAP.ok(daemon.says("same munge key") and daemon.child.poll() is None, "scnoded with another key", daemon.log())
    daemon.end()
    if not shutil.which("cc"):
        TAP.skip("clocks that differ", "no C compiler")
        return
    judge(cluster.scrun("true", munge=clock(cluster, "slow", -3600)), "clock that is slow", STARTLESS, "clocks",
          "expired", "set both clocks")
    judge(cluster.scrun("true", munge=clock(cluster, "fast", 3600)), "clock that is fast", STARTLESS, "clocks",
          "rewound", "set both clocks")


def munge_of_host(cluster):
    own, munged = cluster.start_munge("own")
    daemon = cluster.start_host("q0", munge=own)
    TAP.ok(daemon.says("registered with"), "a host with a munged of its own registers", daemon.log())
    judge(cluster.scrun("--hosts", "q0", "echo", "a"), "a host with a munged of its own", 0, lines=0)
    munged.child.send_signal(signal.SIGSTOP)
    judge(cluster.scrun("--hosts", "q0,p0", "-nodes=2", "sleep", "60"), "a host's munged is stopped", LOST, "host q0")
    munged.end(signal.SIGKILL)
    judge(cluster.scrun("--hosts", "q0", "echo", "a"), "the leader's munged is dead", LOST, "host q0", own, "start it")
    judge(cluster.scrun("--hosts", "q0,p0", "-nodes=2", "sleep", "60"), "a host's munged is dead", LOST, "host q0")
    release(cluster, daemon)


def munge_of_scored(cluster):
    """Last of all: the cluster's own munged goes."""
    other, _ = cluster.start_munge("other")
    cluster.munged.child.send_signal(signal.SIGSTOP)
    judge(cluster.scrun("true", munge=other), "scored's munged is stopped", STARTLESS, "within 5 s", "munged")
    cluster.munged.end(signal.SIGKILL)
    judge(cluster.scrun("true", munge=other), "scored's munged is dead", STARTLESS, cluster.munge, "start it")


@contextlib.contextmanager
def small_disk(path, size):
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    try:
        with open(f"{path}/filler", "wb", buffering=0) as f:
            while f.write(b"\0" * 4096):
                pass
    except OSError:
        pass


def full_disks(cluster):
    base = cluster.directory
    with small_disk(f"{base}/small", "64k") as small:
        daemon = cluster.start_host("d0", "--run", f"{small}/run")
        TAP.ok(daemon.says("registered with"), "a host on a small disk registers", daemon.log())
        fill(small)
        judge(cluster.scrun("--hosts", "d0", "true"), "full run directory", STARTLESS, "host d0", f"{small}/run",
              "No space left", "make room")
        judge(cluster.scrun("--hosts", "p0", "--output", f"{small}/%r", "seq", "100000"), "full disk for output",
              FAILED, f"{small}/0", "No space left", "--output")
        os.unlink(f"{small}/filler")
        judge(cluster.scrun("--hosts", "d0", "true"), "run directory with room again", 0, lines=0)
        release(cluster, daemon)
    with small_disk(f"{base}/state", "400k") as small:
        server, scored = cluster.start_scored("--state", f"{small}/a", name="scored-small")
        daemon = cluster.start_host("e0", server=server)
        TAP.ok(daemon.says("registered with"), "a scored on a small disk has a host", scored.log())
        fill(small)
        journal = f"{small}/a/journal.sqlite"
        judge(cluster.scrun("true", server=server, env={"A": "x" * 100000}), "full state directory", STARTLESS, journal,
              "full", "make room")
        daemon.end()
        scored.end()
        _, scored = cluster.start_scored("--state", f"{small}/b", name="scored-full")
        TAP.ok(scored.child.wait(schedlocal.READY_S) != 0 and "make room" in scored.log(),
               "scored starts on a full disk", scored.log())


def configurations(cluster):
    base = cluster.directory
    compiled = subprocess.run([f"{ROOT}/configs/scconf", "compile", "-o", f"{base}/cluster.json",
                               f"{ROOT}/configs/examples/two-host-lab.toml"], capture_output=True, text=True,
                              check=False)
    TAP.ok(compiled.returncode == 0, "a cluster.json", told(compiled))
    server, scored = cluster.start_scored("--config", f"{base}/cluster.json", name="scored-config")
    TAP.ok(scored.says("ready"), "scored with a cluster.json", scored.log())
    daemon = cluster.start_host("zeta", server=server)
    TAP.ok(daemon.says("zeta") and daemon.says("cluster.json"), "host that is not in cluster.json", daemon.log())
    daemon.end()
    scored.end()
    write(f"{base}/half.json", b'{"version": 1, ', 0o644)
    for name, path, part in (("cluster.json that is cut off", f"{base}/half.json", "line 1"),
                             ("cluster.json that is not there", f"{base}/none.json", f"{base}/none.json")):
        _, scored = cluster.start_scored("--config", path, name=os.path.basename(path))
        TAP.ok(scored.child.wait(schedlocal.READY_S) != 0 and part in scored.log() and "scored: " in scored.log(), name,
               scored.log())


def main():
    why = schedlocal.missing("setpriv")
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with schedlocal.Cluster() as cluster:
        cluster.up("p0", "p1")
        for part in (usage, places, programs, files, environments, servers, hosts, munge_of_user, munge_of_host,
                     full_disks, configurations, munge_of_scored):
            if len(sys.argv) > 1 and part.__name__ not in sys.argv[1:]:
                continue
            part(cluster)
            TAP.equal(cluster.settled(), [], f"nothing is left after {part.__name__}")
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
