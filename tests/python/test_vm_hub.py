# SPDX-License-Identifier: BSD-3-Clause
"""The hub of virtual machines' NICs: what NICs that take no frames do to the others."""
import os
import shutil
import socket
import struct
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "vm")]

from vmlab import network  # noqa: E402
from vmlab.process import QEMU, Process  # noqa: E402

FRAME = b"\xff" * 6 + b"\x02" * 6 + b"\x08\x00" + bytes(1000)
PACKED = struct.pack(">I", len(FRAME)) + FRAME
MANY = 3000                     # more than sockets hold
LIMIT_S, MOMENT_S = 20, 0.2

pytestmark = pytest.mark.skipif(not shutil.which(QEMU), reason=f"no {QEMU} here")


@pytest.fixture
def ends(tmp_path):
    """Where guests would be: for each net of three NICs their ends of the wires."""
    nets = [network.Net(tuple(network.Nic(guest, f"eth{n}", "", "") for guest in "abc")) for n in (1, 2)]
    servers = []
    for guest in "abc":
        for path in network.listeners(nets, tmp_path, guest):
            servers.append((path, socket.create_server(path, family=socket.AF_UNIX)))
    hub = Process("hub", network.hub_words(nets, tmp_path), f"{tmp_path}/hub")
    found = {}
    for path, server in servers:
        server.settimeout(LIMIT_S)
        found[os.path.basename(path)] = server.accept()[0]
        found[os.path.basename(path)].settimeout(LIMIT_S)
    yield [[found[f"net{net}.{position}"] for position in range(3)] for net in (1, 2)]
    hub.end()


def take(end):
    """Bytes that come until there are none for a moment."""
    count = 0
    end.settimeout(MOMENT_S)
    try:
        while True:
            count += len(end.recv(1 << 20))
    except TimeoutError:
        return count


def passes(sender, end):
    """Whether a frame arrives within the limit; a hub may drop some, as one of Ethernet does."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        sender.sendall(PACKED)
        if take(end):
            return True
    return False


def test_hub__nics_that_take_nothing(ends):
    (sender, *deaf), (far_sender, *far) = ends
    for _ in range(MANY):
        sender.sendall(PACKED)
    for end in far:
        assert passes(far_sender, end)
    # what they take later is whole frames, and new ones come
    for end in deaf:
        count = take(end)
        assert count and not count % len(PACKED)
    for end in deaf:
        assert passes(sender, end)
