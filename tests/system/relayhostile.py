# SPDX-License-Identifier: BSD-3-Clause
"""A relay that does more than relays do; run as root in a host of a grid whose kernel relays.
usage: relayhostile.py NIC...

Lines on standard input, each answered by the number of frames that were made:
beside  from now on altered, repeated, late and circling copies go with each frame that the kernel sends on
count   nothing
"""
import os
import random
import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, QDISC_BYPASS, OUTGOING = 3, 263, 20, 4
TYPE = b"\x88\xb5"
KIND_AT, TTL_AT, TO_AT, FROM_AT, CONTEXT_AT, FLAGS_AT, LENGTH_AT, KEY_AT = 15, 16, 18, 22, 26, 31, 36, 40
PACKET = 1
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


class Relay:
    def __init__(self, nics):
        self.is_on, self.made = False, 0
        self.sockets, self.late = {}, []
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
        if kind == OUTGOING and frame[KIND_AT] == PACKET and self.is_on:
            self.beside(nic, frame)

    def beside(self, nic, frame):
        self.late.append((nic, frame))
        self.send(nic, altered(frame))
        self.send(nic, frame)
        # The next host has to pass it on, and so have others, as long as it may go on.
        other = struct.pack("<I", random.randrange(HOSTS))
        self.send(nic, with_bytes(with_bytes(frame, TO_AT, other), TTL_AT, b"\xff"))
        if len(self.late) > LATE:
            self.send(*self.late.pop(0))

    def obey(self, line):
        self.is_on = self.is_on or line == "beside"
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
