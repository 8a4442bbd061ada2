# SPDX-License-Identifier: BSD-3-Clause
"""A test that is stopped: by its time limit, or as what runs it is killed."""
import os
import select
import signal
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SOON_S = 20
TEST = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import systest
if not os.fork():
    os.write(1, b"under way\\n")
    while True:
        time.sleep(0.1)
try:
    subprocess.run(["sh", "-c", "echo under way; exec sleep 300"])
finally:
    subprocess.run(["sh", "-c", "sleep 0.2; echo undone"])
"""


def started(**env):
    words = [f"{ROOT}/mk/run-test", "/usr/bin/python3", "-c", TEST, f"{ROOT}/tests/system"]
    runner = subprocess.Popen(words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    for _ in ("fork", "program"):   # a signal to the group misses a process that is still to be forked
        assert runner.stdout.readline() == b"under way\n"
    return runner


def rest(runner):
    """All that is still said, until nobody is there any more who could say anything."""
    said = b""
    while select.select([runner.stdout], [], [], SOON_S)[0]:
        piece = os.read(runner.stdout.fileno(), 4096)
        if not piece:
            return said
        said += piece
    raise TimeoutError(f"it goes on after {said}")


@pytest.mark.parametrize("how", (signal.SIGKILL, signal.SIGTERM))
def test_a_killed_runner_ends_its_test_which_undoes_what_it_made(how):
    with started() as runner:
        runner.send_signal(how)
        assert rest(runner) == b"undone\n"


def test_the_time_limit_lets_a_test_undo_what_it_made():
    with started(TEST_TIMEOUT="1") as runner:
        assert rest(runner) == b"undone\n"
        assert runner.wait() == 124
