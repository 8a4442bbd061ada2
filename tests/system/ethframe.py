# SPDX-License-Identifier: BSD-3-Clause
"""Frames of pm-ethernet as bytes, and what the kernel programs must make of them, written down a second time
from pm-ethernet/frame.h and the rules of ARCHITECTURE.md.
"""
import dataclasses
import struct

TYPE = 0x88b5
HEAD = struct.Struct("<6s6s2sBBBBIIHHBB")
PACKET = struct.Struct("<BBBBHHQIIIIIIII")
QUERY_BODY = struct.Struct("<QQIB3x16s64s")
PACKET_KIND, QUERY, ANSWER, GONE = 1, 2, 3, 4
TAKEN, OUT, PASSED = "taken", "out", "passed"


@dataclasses.dataclass
class Frame:
    """The fields a forger would touch."""
    dst_mac: bytes = b"\2\0\0\0\0\1"
    src_mac: bytes = b"\2\0\0\0\0\2"
    type: int = TYPE
    version: int = 1
    kind: int = PACKET_KIND
    rail: int = 0
    dst_host: int = 0
    src_host: int = 0
    dst_context: int = 0
    src_context: int = 0
    flags: int = 0
    key: int = 0
    length: int = -1            # -1: that of the body
    body: bytes = b"a body of some bytes"

    def bytes(self):
        length = len(self.body) if self.length < 0 else self.length
        head = HEAD.pack(self.dst_mac, self.src_mac, struct.pack(">H", self.type), self.version,
                         self.kind, 8, self.rail, self.dst_host, self.src_host, self.dst_context,
                         self.src_context, 0, self.flags)
        packet = PACKET.pack(1, 1, 0, 0, length, 0, self.key, 0, 1, 0, 0, 0, 0, 0, 0)
        return head + packet + self.body

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


def query(src_mac, src_host, stamp):
    """The question of a daemon to everybody; answers bring back the stamp."""
    head = HEAD.pack(b"\xff" * 6, src_mac, struct.pack(">H", TYPE), 1, QUERY, 8, 0, 0xffffffff, src_host,
                     0, 0, 0, 0)
    return head + QUERY_BODY.pack(1, stamp, 1500, 1, b"eth1", b"stranger")


def stamp_of(frame):
    return QUERY_BODY.unpack_from(frame, HEAD.size)[1]


def tagged(frame, vlan=5):
    return frame[:12] + struct.pack(">HH", 0x8100, vlan) + frame[12:]


def is_too_long(frame):
    return HEAD.size + PACKET.size + PACKET.unpack_from(frame, HEAD.size)[4] > len(frame)


def key_of(frame):
    return PACKET.unpack_from(frame, HEAD.size)[6]


def from_port(frame, host, context, key, n_rails, contexts):
    """The fate of a frame from the process that was granted @context; @contexts: keys by number."""
    if frame[12:14] != struct.pack(">H", TYPE):
        return "type"
    if len(frame) < HEAD.size:
        return "short"
    fields = HEAD.unpack_from(frame)
    version, kind, rail, dst_host, src_host, dst_context, src_context = (
        *fields[3:5], fields[6], *fields[7:11])
    if version != 1:
        return "version"
    if kind != PACKET_KIND:
        return "kind"
    if len(frame) < HEAD.size + PACKET.size:
        return "short"
    if is_too_long(frame):
        return "length"
    if (src_host, src_context) != (host, context):
        return "source"
    if key_of(frame) != key:
        return "key"
    if rail >= n_rails:
        return "rail"
    if frame[0] & 1:
        return "group"
    if dst_host != host:
        return OUT
    if dst_context not in contexts:
        return "context"
    return TAKEN if contexts[dst_context] == key else "key"


def from_nic(frame, host, contexts):
    """The fate of a frame that a NIC received."""
    if frame[12:14] != struct.pack(">H", TYPE):
        return PASSED
    if len(frame) < HEAD.size:
        return "short"
    fields = HEAD.unpack_from(frame)
    if fields[3] != 1:
        return "version"
    if fields[4] in (QUERY, ANSWER):
        return PASSED
    if fields[4] not in (PACKET_KIND, GONE):
        return "kind"
    if len(frame) < HEAD.size + PACKET.size:
        return "short"
    if is_too_long(frame):
        return "length"
    if fields[7] != host:
        return "host"
    if fields[6] >= 8:
        return "rail"
    if fields[9] not in contexts:
        return "context"
    return TAKEN if contexts[fields[9]] == key_of(frame) else "key"
