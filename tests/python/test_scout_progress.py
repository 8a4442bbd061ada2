# SPDX-License-Identifier: BSD-3-Clause
"""scout's line about what is waited for, on a terminal of its own."""

import os
import pathlib
import pty
import select
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scout"), str(TREE / "scheduler" / "ctl"), str(TREE / "configs")]

from scoutkit import loop, progress  # noqa: E402


def test_progress__shown_after_a_moment_and_removed(monkeypatch):
    ours, theirs = pty.openpty()
    saved = os.dup(2)
    monkeypatch.setattr(progress, "_FIRST_S", 0.01)
    monkeypatch.setattr(progress, "_AGAIN_S", 0.01)
    os.dup2(theirs, 2)
    try:
        with loop.Loop() as turns:
            line = progress.chosen(turns)
            assert isinstance(line, progress.Progress)
            left = ["n1", "n2", "n7"]
            line.start(lambda: left, 8)
            turns.turn()
            left.clear()
            turns.turn()
            line.end()
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    shown = b""
    # The kernel hands on what was written in pieces, some of them later.
    while not shown.endswith(b"\r\x1b[K") and select.select([ours], [], [], 5)[0]:
        shown += os.read(ours, 4096)
    shown = shown.decode()
    os.close(ours)
    os.close(theirs)
    assert "scout: 5 of 8 hosts done, waiting for n[1-2,7]" in shown and "scout: all hosts done" in shown
    assert shown.endswith("\r\x1b[K")


def test_progress__none_without_a_terminal(monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert progress.chosen(None) is progress.QUIET
