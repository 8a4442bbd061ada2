# SPDX-License-Identifier: BSD-3-Clause
#
# Runs ip(8) and tc(8) in batches, one process for many lines and a few processes at a time. They are started inside of
# the namespace: their own option -n wants "/" to be a mount point, which it is not below chroot(8).

import contextlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import kernel, state as states
from .errors import LabError

NEEDED = {"ip": "iproute2", "tc": "iproute2"}
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find(name):
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PATH}")
    if not path:
        raise LabError(f"{name} is not installed: apt-get install {NEEDED.get(name, name)}")
    return path


def run(argv, text=None, namespace=None):
    """In that network namespace, a name below /run/netns; what the command printed."""
    there = kernel.inside_net(f"{states.NETNS}/{namespace}") if namespace else contextlib.nullcontext()
    with there:
        result = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        # iproute2 says the reason in the first line and the input line in the last
        said = "; ".join(line for line in result.stderr.splitlines() if line.strip())
        where = f"{namespace}: " if namespace else ""
        raise LabError(f"{where}{' '.join(map(os.path.basename, argv))}: {said or 'failed'}")
    return result.stdout


def batch(tool, namespace, lines, *options):
    """Runs the tool on these lines; returns its output."""
    if not lines:
        return ""
    try:
        return run([find(tool), *options, "-batch", "-"], "\n".join(lines) + "\n", namespace)
    except LabError as e:
        number = str(e).rpartition("-:")[2]
        line = lines[int(number) - 1] if number.isdigit() else ""
        raise LabError(f"{e} ({line})") from None


def batches(tool, scripts):
    """`scripts`: lines by namespace. As many processes at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda item: batch(tool, *item), scripts.items()))
