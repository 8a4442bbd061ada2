# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab up --scheduler`: a munged for the lab, scored on the first host, scnoded on every host; and what
# a command in a host must be told of them. The control groups of the jobs are the lab's own, and end
# with it. Knows nothing of jobs.

import contextlib
import os
import secrets
import shutil
import subprocess

from . import daemon, kernel, output, run, tools
from .errors import LabError
from .plan import OWN_CORE

NODE_WORD = b"STATUS=registered"    # of scnoded, once scored knows it
STATE = "/run/scored"               # inside the first host
CHECKPOINTS = "/run/checkpoints"    # inside every host
CGROUPS = "openscore-lab"


def programs():
    return {name: daemon.program(name, "leave out --scheduler")
            for name in ("scored", "scnoded", "scstepd")}


def munged():
    found = shutil.which("munged", path=f"{os.environ.get('PATH', '')}:{tools.PATH}")
    if not found:
        raise LabError("munged is not installed: apt-get install munge, or leave out --scheduler")
    return found


def cgroup_parent(state):
    return f"{CGROUPS}/{state.options.lab}"


def start_munged(state):
    """In the first host's network namespace, so that it ends with the lab, but with the file system of the
    machine: all hosts see the lab's directory, for reading."""
    directory = os.path.dirname(state.munge_socket)
    os.mkdir(directory, 0o755)
    key = os.open(f"{directory}/key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(key, secrets.token_bytes(128))
    os.close(key)
    argv = [munged(), f"--socket={state.munge_socket}", f"--key-file={directory}/key",
            f"--pid-file={directory}/pid", f"--log-file={directory}/log", f"--seed-file={directory}/seed"]
    with kernel.inside_net(state.net_path(state.hosts[0])):
        done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              cwd="/")
    if done.returncode:
        raise LabError(f"munged did not start: {done.stderr.strip() or f'see {directory}/log'}")


def cores_of(options, host):
    """scnoded's option. Hosts share the machine's cores: bound, the first rank of each would sit on the same one."""
    allowed = sorted(os.sched_getaffinity(0))
    if options.cores == OWN_CORE:
        return str(allowed[int(host[1:]) % len(allowed)])
    return f"{options.cores or len(allowed)}x"


def criu_of(where):
    """scnoded's option, where tests/criu/fetch has unpacked CRIU beside the build; else that of PATH."""
    unpacked = f"{os.path.dirname(os.path.dirname(where['scnoded']))}/criu/criu"
    return ["--criu", unpacked] if os.path.exists(unpacked) else []


def start(plan, state):
    where = programs()
    options = plan.options
    os.environ.update(run.scheduler_settings(state))
    start_munged(state)
    scored = [where["scored"], "--state", STATE]
    if options.grid:
        scored += ["--config", output.compiled_path(state)]
    if options.quantum:
        scored += ["--quantum", options.quantum]
    daemon.start(state, state.hosts[:1], lambda host: scored)

    def scnoded(host):
        return [where["scnoded"], "--server", state.hosts[0], "--name", host,
                "--cgroup", f"{cgroup_parent(state)}/{host}", "--cores", cores_of(options, host),
                "--checkpoints", options.checkpoints or CHECKPOINTS, *criu_of(where)]
    daemon.start(state, state.hosts, scnoded, NODE_WORD)


# ---- the end ----

def roots(state):
    """The lab's directory in each hierarchy of control groups that has it."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        mounts = [line.split()[1] for line in f if line.split()[2] in ("cgroup", "cgroup2")]
    paths = [f"{mount}/{cgroup_parent(state)}" for mount in dict.fromkeys(mounts)]
    return [path for path in paths if os.path.isdir(path)]


def thaw(state):
    """Version 1 does not let frozen processes die."""
    for root in roots(state):
        for path, _, files in os.walk(root):
            if "freezer.state" in files:
                with contextlib.suppress(OSError), open(f"{path}/freezer.state", "w", encoding="ascii") as f:
                    f.write("THAWED")


def remove(state):
    """After the lab's processes have ended."""
    for root in roots(state):
        for path, _, _ in os.walk(root, topdown=False):
            os.rmdir(path)
        with contextlib.suppress(OSError):      # other labs live there
            os.rmdir(os.path.dirname(root))
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(os.path.dirname(state.munge_socket))


def describe(state):
    return f"scored runs in {state.hosts[0]}, scnoded in every host"
