#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sclab --vm: three hosts on hubs, what commands in them see and how they end, cables, and that no QEMU stays
behind when a guest, its keeper or `sclab --vm up` is killed. TAP."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from vmtest import BUILD, ROOT, Timed, need_lab, wait_until
import vmlab

SCLAB = f"{ROOT}/tests/lab/sclab"
LAB = f"t{os.getpid()}"
EVENT_S = 60
tap = Timed()


def sclab(*words, lab=LAB, limit_s=120):
    return subprocess.run([SCLAB, "--vm", "--name", lab, *words], capture_output=True, text=True, timeout=limit_s,
                          check=False, stdin=subprocess.DEVNULL)


def told(done):
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


def machines(lab=LAB):
    """Pids of the QEMUs of a lab, by what they were told to listen on."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if f"openscore-vm/{lab}/".encode() in line and line.startswith(b"qemu-system"):
            found.append(int(pid))
    return found


def keeper_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return int(f.read().rpartition(")")[2].split()[1])


def test_exec():
    done = sclab("exec", "h1", "--", "sh", "-c", "echo $SCLAB_HOST $X; echo err >&2; exit 7")
    tap.equal((done.returncode, done.stdout, done.stderr), (7, "h1 y\n", "err\n"),
              "exec: status, both outputs, the caller's environment")
    tap.equal([sclab("exec", "h0", "--", *words).returncode
               for words in (["true"], ["/nonexistent"], ["/etc/passwd"], ["sh", "-c", "kill -9 $$"])],
              [0, 127, 126, 137], "exec: the statuses of the shell")
    tap.equal(sclab("exec", "h0", "--", "printf", "%s|", "a b", "$HOME", "'", "").stdout, "a b|$HOME|'||",
              "exec: words are passed as they are")
    done = sclab("exec", "--all", "--", "sh", "-c", "hostname; [ $SCLAB_HOST != h2 ]")
    tap.equal((done.returncode, sorted(done.stdout.split("\n"))), (1, ["", "h0: h0", "h1: h1", "h2: h2"]),
              "exec --all: every host, the highest status")
    tap.equal([sclab(*words).returncode for words in (["exec", "h3", "true"], ["link", "h3:eth1", "up"], ["rate"])],
              [125, 3, 2], "what does not exist is refused")
    tap.ok("--zero-copy" in sclab("help").stdout, "help is of --vm")


def test_tree():
    """A file written after the host has read it."""
    directory = tempfile.mkdtemp(dir=f"{BUILD}/vm", prefix="fresh-")
    try:
        path, texts = f"{directory}/file", []
        for text in ("one", "two"):
            with open(f"{path}.new", "w", encoding="utf-8") as f:
                f.write(text)
            os.rename(f"{path}.new", path)
            texts.append(sclab("exec", "h0", "cat", path).stdout)
        tap.equal(texts, ["one", "two"], "hosts see the build tree, and what changes there")
    finally:
        shutil.rmtree(directory)


def test_networks():
    script = "for to in h1 h2 h1-eth1 h2-eth1; do busybox ping -q -c 1 -W 5 $to >/dev/null || echo $to; done"
    tap.equal(sclab("exec", "h0", "--", "sh", "-c", script).stdout, "", "every host reaches the others on every net")
    report = json.loads(sclab("status", "--json").stdout)
    nics = [(nic["name"], nic["address"], nic["link"], nic["rdma"]) for nic in report["nics"]["h2"]]
    rdma = "" if report["no_rdma"] else "rxe0"
    tap.equal(nics, [("eth0", "10.0.0.3/16", "up", ""), ("eth1", "10.1.0.3/16", "up", rdma)], "status --json")
    sclab("link", "h2:eth1", "down")
    tap.ok("h2    eth1  10.1.0.3/16  down" in sclab("status").stdout, "link: a cable pulled", sclab("status").stdout)
    code = sclab("exec", "h0", "--", "busybox", "ping", "-q", "-c", "1", "-W", "1", "h2-eth1").returncode
    sclab("link", "h2:eth1", "up")
    again = sclab("exec", "h0", "--", "busybox", "ping", "-q", "-c", "1", "-W", "9", "h2-eth1").returncode
    tap.equal((code, again), (1, 0), "link: nothing passes, until it is put in again")
    tap.ok('range = "h[0-2]"' in sclab("config").stdout, "config: the cluster.toml")


def test_mpirun():
    """Its daemons are started in the other hosts without an option."""
    if not shutil.which("mpirun"):
        tap.skip("mpirun", "openmpi-bin is not installed")
        return
    done = sclab("exec", "h0", "--", "timeout", "60", "mpirun", "-H", "h1,h2", "-np", "2", "hostname")
    tap.equal((done.returncode, sorted(done.stdout.split())), (0, ["h1", "h2"]), "mpirun reaches the other hosts")


def test_killed_exec():
    """A command does not outlive the sclab that runs it."""
    running = subprocess.Popen([SCLAB, "--vm", "--name", LAB, "exec", "h0", "--", "sh", "-c", "echo on; sleep 987"],
                               stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    running.stdout.readline()
    running.kill()
    running.wait()
    tap.ok(wait_until(lambda: "sleep 987" not in sclab("exec", "h0", "busybox", "ps").stdout, EVENT_S),
           "exec: killed, its command ends in the host")


def test_killed_guest():
    """One QEMU ends: it is told of, and the others go on."""
    victim = next(pid for pid in machines() if b"/guests/h1/" in open(f"/proc/{pid}/cmdline", "rb").read())
    os.kill(victim, signal.SIGKILL)
    done = sclab("exec", "h1", "true")
    tap.ok(done.returncode == 125 and "guest h1: QEMU has ended by signal 9" in done.stderr,
           "a guest that is killed: exec says so", told(done))
    tap.ok("guest h1: QEMU has ended by signal 9" in sclab("status").stdout and
           sclab("exec", "h2", "true").returncode == 0, "a guest that is killed: status says so, the others go on")


def test_killed_keeper():
    """Nothing survives it; down and up know what to do with the rest."""
    os.kill(keeper_of(machines()[0]), signal.SIGKILL)
    tap.ok(wait_until(lambda: not machines(), EVENT_S), "keeper killed: no QEMU stays")
    tap.ok(f"{LAB}  left behind" in sclab("list").stdout, "keeper killed: list says so")
    done = sclab("down")
    tap.ok(done.returncode == 0 and LAB not in sclab("list").stdout, "keeper killed: down removes the rest", told(done))


def test_killed_up(number):
    lab = f"{LAB}x"
    starting = subprocess.Popen([SCLAB, "--vm", "--name", lab, "up", "--hosts", "1"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    is_there = wait_until(lambda: machines(lab), EVENT_S)
    starting.send_signal(number)
    starting.wait()
    tap.ok(is_there and wait_until(lambda: not machines(lab) and lab not in sclab("list").stdout, EVENT_S),
           f"up ended by signal {number.name}: nothing stays")


def test_bad_kernel():
    """A guest that ends while it boots."""
    kernel = vmlab.find_kernels(BUILD)[0]
    directory = tempfile.mkdtemp(dir=f"{BUILD}/vm", prefix="bad-")
    try:
        shutil.copytree(kernel.modules, f"{directory}/lib/modules/{kernel.release}")
        shutil.copy(kernel.image, f"{directory}/vmlinuz")
        module = next(path for path, _, files in os.walk(directory) if "overlay.ko" in files)
        with open(f"{module}/overlay.ko", "wb"):
            pass
        done = sclab("up", "--hosts", "1", "--kernel", directory)
        tap.ok(done.returncode == 1 and "QEMU has ended" in done.stderr and "no module overlay" in done.stderr and
               "Kernel panic" in done.stderr,
               "a guest that does not come up: said with the end of its console", told(done))
        os.truncate(f"{directory}/vmlinuz", 100)
        done = sclab("up", "--hosts", "1", "--kernel", directory)
        tap.ok(done.returncode == 1 and "QEMU has ended with status 1: " in done.stderr,
               "a QEMU that does not start: said with its words", told(done))
        tap.equal((machines(), LAB in sclab("list").stdout), ([], False), "and nothing stays of either")
    finally:
        shutil.rmtree(directory)


def main():
    os.environ["X"] = "y"
    try:
        done = sclab("up", "--hosts", "3", "--nics", "1")
        tap.ok(done.returncode == 0 and f"lab '{LAB}' is up: 3 virtual machines h[0-2]" in done.stdout,
               "up: three hosts", told(done))
        if done.returncode == 0:
            tap.equal(sclab("up").returncode, 4, "up: not twice")
            for test in (test_exec, test_tree, test_networks, test_mpirun, test_killed_exec, test_killed_guest,
                         test_killed_keeper):
                test()
    finally:
        sclab("down")
    test_bad_kernel()
    for number in (signal.SIGKILL, signal.SIGTERM):
        test_killed_up(number)
    return tap.end()


if __name__ == "__main__":
    need_lab()
    sys.exit(main())
