# SPDX-License-Identifier: BSD-3-Clause
"""Packets on the wire by type, and the messages in them by kind, from the files of PM's option trace (pcapng)."""
from __future__ import annotations

import collections
import pathlib
import struct
from collections.abc import Iterator

from ..errors import Failed

ETHERNET_BYTES = 14
HEADER = struct.Struct("<BBBBH42x")  # of pmcore/wire/pm_wire.h: version, type, flags, rail, length
MESSAGE = struct.Struct("<HBBI")     # length, kind, flags, op
ENHANCED_PACKET, OUTBOUND = 6, 2
BLOCK, PACKET = struct.Struct("<II"), struct.Struct("<IIIII")
OPTION_FLAGS = struct.Struct("<HHI")
TYPES = {1: "data", 2: "acks", 3: "probes"}
KINDS = {1: "datagrams", 2: "read requests", 3: "pieces of reads", 4: "refusals", 5: "write requests", 6: "writes done"}


def count(base: pathlib.Path) -> dict[str, int]:
    """Packets that all nodes have sent, by type; and messages in them, by kind."""
    paths = list(base.parent.glob(f"{base.name}.*.pcapng"))
    if len(paths) != 2:
        raise Failed(f"{base}: {len(paths)} nodes have recorded packets, not 2; is the device one of packets?")
    found: dict[str, int] = collections.Counter()
    for path in paths:
        for packet in outbound(path.read_bytes()):
            found.update(contents(packet))
    return found


def outbound(data: bytes) -> Iterator[bytes]:
    """The packets of a file that were sent, without their Ethernet header."""
    at = 0
    while at + BLOCK.size <= len(data):
        kind, length = BLOCK.unpack_from(data, at)
        if length < 12 or length % 4 or at + length > len(data):
            raise Failed(f"byte {at} of a recording begins no block: the program was ended while it wrote")
        if kind == ENHANCED_PACKET:
            captured = PACKET.unpack_from(data, at + BLOCK.size)[3]
            begin = at + BLOCK.size + PACKET.size
            flags = OPTION_FLAGS.unpack_from(data, begin + (captured + 3) // 4 * 4)[2]
            if flags == OUTBOUND:
                yield data[begin + ETHERNET_BYTES:begin + captured]
        at += length


def contents(packet: bytes) -> Iterator[str]:
    """Its type, and the kinds of the messages in it."""
    _, type_, _, _, length = HEADER.unpack_from(packet)
    yield TYPES.get(type_, "others")
    if TYPES.get(type_) != "data":
        return
    at, end = HEADER.size, HEADER.size + length
    while at + MESSAGE.size <= min(end, len(packet)):
        size, kind, _, _ = MESSAGE.unpack_from(packet, at)
        yield KINDS.get(kind, "others")
        at += (MESSAGE.size + size + 7) // 8 * 8
