# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on a lab whose hosts run scored and scnoded, timed where they are started."""
from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from .command import SCLAB, Lab, lab, program, run_json
from .figure import CannotRun

# Starting sclab is no part of starting a job: the clock runs in the host.
TIMER = """
import json, subprocess, sys, time
begin = time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
print(json.dumps({"seconds": time.monotonic() - begin, "said": done.stdout.decode()}))
sys.exit(done.returncode)
"""


@contextlib.contextmanager
def scheduled(name: str, hosts: int, *options: str) -> Iterator[Lab]:
    """A lab with its own scored, for the time of a figure."""
    for each in ("scored", "scnoded", "scstepd", "scrun"):
        program(f"bin/{each}")
    if not shutil.which("munged", path="/usr/sbin:/usr/bin:/usr/local/sbin"):
        raise CannotRun("munged is not installed (Debian package munge)")
    with lab(f"sched_{name}", hosts, "--scheduler", *options) as cluster:
        yield cluster


def in_host(cluster: Lab, words: list[str], env: dict[str, str] | None = None) -> list[str]:
    settings = [f"{key}={value}" for key, value in (env or {}).items()]
    return [str(SCLAB), "--name", cluster.name, "exec", "h0", "--", "env", *settings, *words]


def scrun(cluster: Lab, words: list[str], env: dict[str, str] | None = None) -> list[str]:
    return in_host(cluster, [program("bin/scrun"), *words], env)


def seconds(cluster: Lab, words: list[str], env: dict[str, str] | None = None) -> float:
    """How long the command takes in the first host."""
    return run_json(in_host(cluster, ["python3", "-c", TIMER, *words], env))["seconds"]
