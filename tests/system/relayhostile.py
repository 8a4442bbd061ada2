# SPDX-License-Identifier: BSD-3-Clause
"""A relay that does other things than relays do; run as root in a host of a grid whose kernel relays.
usage: relayhostile.py NIC...

Lines on standard input, each answered by the number of frames that were made:
beside   from now on altered, repeated, late and circling copies go with each frame that the kernel sends on
swallow  from now on the kernel sends no packet on, but goes on to answer its neighbours; or why it can't be made to
forge    as swallow, but of each packet an altered copy goes where such packets have gone
honest   the kernel relays as it should, and nothing else is done
count    nothing
"""
import ctypes
import os
import random
import select
import socket
import struct
import sys

import bpfinfo

ETH_P_ALL, SOL_PACKET, QDISC_BYPASS, TO_US, OUTGOING = 3, 263, 20, 0, 4
TYPE = b"\x88\xb5"
KIND_AT, TTL_AT, TO_AT, FROM_AT, CONTEXT_AT, FLAGS_AT, LENGTH_AT, KEY_AT = 15, 16, 18, 22, 26, 31, 36, 40
PACKET = 1
PROG_LOAD, LINK_CREATE, SCHED_CLS, TCX_EGRESS, DROP, NEXT = 5, 28, 3, 47, 2, -1
LATE = 32               # frames that pass a late one
SEED = 4711
HOSTS = 8               # ids below that are in the grid


def with_bytes(frame, at, data):
    return frame[:at] + data + frame[at + len(data):]


def altered(frame):
    """One with a field of its head, its length or its data changed."""
    at, size = random.choice(((TTL_AT, 1), (TO_AT, 4), (FROM_AT, 4), (CONTEXT_AT, 2), (CONTEXT_AT + 2, 2),
                              (FLAGS_AT, 1), (LENGTH_AT, 2), (KEY_AT, 8), (KIND_AT, 1), (48, 16), (64, 16),
                              (len(frame) - 8, 8)))
    made = with_bytes(frame, at, random.randbytes(size))[:len(frame)]
    return made[:random.randrange(40, len(made))] if random.random() < 0.1 else made


def forged(frame):
    """Altered where the receiver can tell: it does not need time to live, flags, and the sender's host."""
    at, size = random.choice(((TO_AT, 4), (CONTEXT_AT, 2), (LENGTH_AT, 2), (KEY_AT, 8), (48, 16), (len(frame) - 8, 8)))
    wrong = random.randrange(1, 256 ** size)
    data = int.from_bytes(frame[at:at + size], "little") ^ wrong
    return with_bytes(frame, at, data.to_bytes(size, "little"))


def instruction(code, registers=0, jump=0, value=0):
    return struct.pack("=BBhi", code, registers, jump, value)


def swallower():
    """A program at the egress of a NIC that drops packets of PM, and nothing else."""
    code = b"".join((
        instruction(0xbf, 0x16),                                        # r6 = skb
        instruction(0x28, value=12),                                    # r0 = its EtherType
        instruction(0x55, jump=4, value=int.from_bytes(TYPE, "big")),   # another: next
        instruction(0x30, value=KIND_AT),                               # r0 = the kind
        instruction(0x55, jump=2, value=PACKET),                        # another: next
        instruction(0xb7, value=DROP), instruction(0x95),
        instruction(0xb7, value=NEXT), instruction(0x95)))
    room, words = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    fd, _ = bpfinfo.bpf(PROG_LOAD, struct.pack("=IIQQ", SCHED_CLS, len(code) // 8, ctypes.addressof(room),
                                               ctypes.addressof(words)))
    return fd


class Relay:
    def __init__(self, nics):
        self.is_on, self.is_forging, self.made = False, False, 0
        self.sockets, self.late = {}, []
        self.ways, self.links = {}, []      # where packets to a host have gone; programs at work
        for nic in nics:
            one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            one.bind((nic, ETH_P_ALL))
            one.setsockopt(SOL_PACKET, QDISC_BYPASS, 1)     # our own frames are not heard again
            one.setblocking(False)
            self.sockets[nic] = one

    def send(self, nic, frame):
        try:
            self.made += self.sockets[nic].send(frame) > 0
        except OSError:
            pass    # too long, or no room: as if it was lost

    def frame(self, nic, frame, kind):
        if frame[12:14] != TYPE or len(frame) < KEY_AT + 8:
            return
        if frame[KIND_AT] != PACKET:
            return
        to = frame[TO_AT:TO_AT + 4]
        if kind == OUTGOING:
            self.ways[to] = nic, frame[:12]
            if self.is_on:
                self.beside(nic, frame)
        elif kind == TO_US and self.is_forging and to in self.ways:
            nic, macs = self.ways[to]
            self.send(nic, forged(with_bytes(frame, 0, macs)))

    def beside(self, nic, frame):
        self.late.append((nic, frame))
        self.send(nic, altered(frame))
        self.send(nic, frame)
        # The next host has to pass it on, and so have others, as long as it may go on.
        other = struct.pack("<I", random.randrange(HOSTS))
        self.send(nic, with_bytes(with_bytes(frame, TO_AT, other), TTL_AT, b"\xff"))
        if len(self.late) > LATE:
            self.send(*self.late.pop(0))

    def swallow(self):
        """Frames of our own are sent past the queues, and so pass no program."""
        program = swallower()
        for nic in self.sockets:
            link, _ = bpfinfo.bpf(LINK_CREATE, struct.pack("=IIII", program, socket.if_nametoindex(nic), TCX_EGRESS, 0))
            self.links.append(link)
        os.close(program)

    def obey(self, line):
        self.is_on, self.is_forging = (line == what or line == "count" and was
                                       for what, was in (("beside", self.is_on), ("forge", self.is_forging)))
        while self.links and line != "count":
            os.close(self.links.pop())
        try:
            if line in ("swallow", "forge"):
                self.swallow()
        except OSError as error:
            print(f"no program at the egress of tc: {error}", flush=True)
            return
        print(self.made, flush=True)

    def run(self):
        poll, nics = select.poll(), {one.fileno(): nic for nic, one in self.sockets.items()}
        for fd in (0, *nics):
            poll.register(fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == 0:
                    line = os.read(0, 100).decode().strip()
                    if not line:
                        return
                    self.obey(line)
                    continue
                try:
                    frame, (_, _, kind, _, _) = self.sockets[nics[fd]].recvfrom(1 << 16)
                except OSError:
                    continue
                self.frame(nics[fd], frame, kind)


random.seed(SEED)
Relay(sys.argv[1:]).run()
