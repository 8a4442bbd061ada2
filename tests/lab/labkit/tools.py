# SPDX-License-Identifier: BSD-3-Clause
#
# Runs ip(8) and tc(8) in batches, one process for many lines and a few processes at a time.

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from .errors import LabError

NEEDED = {"ip": "iproute2", "tc": "iproute2"}
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find(name):
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PATH}")
    if not path:
        raise LabError(f"{name} is not installed: apt-get install {NEEDED.get(name, name)}")
    return path


def run(argv, text=None):
    result = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        # iproute2 says the reason in the first line and the input line in the last
        said = "; ".join(line for line in result.stderr.splitlines() if line.strip())
        raise LabError(f"{' '.join(map(os.path.basename, argv))}: {said or 'failed'}")
    return result.stdout


def batch(tool, namespace, lines, *options):
    """What the tool printed."""
    if not lines:
        return ""
    try:
        return run([find(tool), "-n", namespace, *options, "-batch", "-"], "\n".join(lines) + "\n")
    except LabError as e:
        number = str(e).rpartition("-:")[2]
        line = lines[int(number) - 1] if number.isdigit() else ""
        raise LabError(f"{e} ({line})") from None


def batches(tool, scripts):
    """`scripts`: lines by namespace. As many processes at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda item: batch(tool, *item), scripts.items()))
