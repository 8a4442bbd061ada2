#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/, built and run as their README says, with nothing but build/env.sh; what they say when the
other side dies. TAP. Needs no root."""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from systest import BUILD, ROOT, Tap, free_port, told                   # noqa: E402

tap = Tap()
LIMIT_S = 100


def shell(command, directory):
    """A command of a shell that has read env.sh, and nothing of make's or of the user's."""
    env = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    env.update(PATH="/usr/local/bin:/usr/bin:/bin", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.Popen(["/bin/sh", "-c", f". {BUILD}/env.sh; {command}"], cwd=directory, env=env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(command, directory):
    return end(shell(command, directory))


def pingpong(directory, devices):
    options = f"export PM_OPTIONS=devices=self+{devices}"
    port = free_port()
    first = shell(f"{options}; exec ./pingpong {port}", directory)
    second = run(f"{options}; exec ./pingpong localhost {port}", directory)
    done = end(first)
    tap.ok(done.returncode == 0 and second.returncode == 0 and f"device {devices}" in second.stdout
           and " 8 bytes:" in second.stdout, f"pingpong over {devices}", told(done) + told(second))


def pingpong_dies(directory):
    """The first process is killed when messages are under way."""
    port = free_port()
    first = shell(f"exec ./pingpong -n 100000000 {port}", directory)
    second = shell(f"exec ./pingpong -n 100000000 localhost {port}", directory)
    line = second.stdout.readline()
    first.kill()
    end(first)
    done = end(second)
    tap.ok(line.startswith("device shmem") and done.returncode == 1 and "pingpong: " in done.stderr,
           "pingpong whose other side dies ends with a line", line + told(done))


def pingpong_called_by_another(directory):
    """The caller is no pingpong: it says nothing, or something else."""
    for says, wanted in ((b"", "it has left"), (b"\xff" * 4000, "the other side speaks something else")):
        port = free_port()
        first = shell(f"exec ./pingpong {port}", directory)
        with connected(port, first) as s:
            s.sendall(says)
            with contextlib.suppress(OSError):      # it may have left already
                s.shutdown(socket.SHUT_WR)
            done = end(first)
        tap.ok(done.returncode == 1 and wanted in done.stderr, f"pingpong, of another caller: {wanted}", told(done))
    done = run("exec ./pingpong", directory)
    tap.ok(done.returncode == 2 and done.stderr.startswith("usage: "), "pingpong, called wrongly", told(done))


def connected(port, process):
    """As soon as the process listens."""
    while process.poll() is None:
        try:
            return socket.create_connection(("localhost", port), LIMIT_S)
        except ConnectionRefusedError:
            os.sched_yield()
    raise RuntimeError(f"it has ended: {told(end(process))}")


def heat(directory):
    if not os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so"):
        tap.skip("heat", "mtl/pm is not built")
        return
    done = run("exec mpirun -n 3 --oversubscribe --mca mtl pm --mca pml cm ./heat", directory)
    tap.ok(done.returncode == 0 and done.stdout.startswith("3 ranks, "), "heat by mpirun", told(done))


def cluster(directory):
    for command in ("check cluster.toml", "show cluster.toml", "compile cluster.toml -o cluster.json"):
        done = run(f"exec scconf {command}", directory)
        tap.ok(done.returncode == 0, f"scconf {command}", told(done))


def main():
    top = tempfile.mkdtemp(prefix="examples-")
    directory = f"{top}/examples"
    try:
        shutil.copytree(f"{ROOT}/examples", directory)
        done = run("exec make CFLAGS='-Wall -Wextra -Werror -O2' " + ("all" if shutil.which("mpicc") else "pingpong"),
                   directory)
        tap.ok(done.returncode == 0, "they are built without a warning", told(done))
        for devices in ("shmem", "udp"):
            pingpong(directory, devices)
        pingpong_dies(directory)
        pingpong_called_by_another(directory)
        heat(directory)
        cluster(directory)
    finally:
        shutil.rmtree(top)
    return tap.end()


sys.exit(main())
