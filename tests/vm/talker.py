#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node of PM in a guest: talker.py NUMBER CONFIG ADDRESS. Two of them send each other numbered messages of many
sizes until their node goes by another device, and some more after that; they sleep while there is nothing to do. Node 1
listens at the TCP address, by which they get to know each other; /tmp/under-way is there as soon as messages come. One
JSON line tells what came. Judges nothing."""
import ctypes
import json
import os
import socket
import struct
import sys
import time

sys.path.insert(0, f"{os.path.dirname(os.path.realpath(__file__))}/../system")
from ethnode import DEAD, HEAD, NOT_NOW, Node                           # noqa: E402

PORT, KEY = 17444, 4711
LIMIT_S = 80
AFTER = 300                     # messages sent after the change
PAUSE_MS = 1                    # between two that are sent
SIZES = (HEAD.size + 1, 500, 1300, 2600, 4000)


def meet(number, address):
    if number:
        listener = socket.create_server((address, PORT))
        return listener.accept()[0]
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            return socket.create_connection((address, PORT), timeout=LIMIT_S)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def exchange(link, mine):
    link.sendall(struct.pack("=I", len(mine)) + mine)
    length, = struct.unpack("=I", link.recv(4, socket.MSG_WAITALL))
    return link.recv(length, socket.MSG_WAITALL)


class Talk:
    def __init__(self, node, other):
        self.node, self.other = node, other
        self.sent, self.until = 0, None         # until: how many it will be
        self.came, self.awaited = 0, None
        self.wrong = self.late = 0
        self.error = ""
        self.devices = []
        self.gap_s, self.last = 0.0, time.monotonic()

    def put(self):
        is_last = self.sent == self.until
        size = HEAD.size if is_last else SIZES[self.sent % len(SIZES)]
        data = HEAD.pack(self.sent, 0) + bytes([self.sent & 255]) * (size - HEAD.size)
        error = self.node.pm.pmPost(self.node.context, self.other, data, ctypes.c_size_t(size))
        if not error:
            self.sent += 1
        elif error != NOT_NOW:
            self.error = self.node.why()

    def look(self):
        """Which device the other one is reached by."""
        name = ctypes.c_char_p()
        self.node.check(self.node.pm.pmGetDeviceName(self.node.context, self.other, ctypes.byref(name)))
        if name.value.decode() not in self.devices[-1:]:
            self.devices.append(name.value.decode())
        if self.until is None and " goes by " in self.node.note():
            self.until = self.sent + AFTER

    def take(self):
        """Whether there was something."""
        error, number, is_right = self.node.receive()
        if error == DEAD:
            self.error = self.node.why()
        if error:
            return error != NOT_NOW
        if self.node.places[1].value == HEAD.size:
            self.awaited = number + 1
        self.late += number != self.came
        self.wrong += not is_right
        self.came += 1
        now = time.monotonic()
        self.gap_s, self.last = max(self.gap_s, now - self.last), now
        if self.came == 100:
            with open("/tmp/under-way", "w", encoding="ascii"):
                pass
        return True

    def is_over(self):
        return bool(self.error) or (self.until is not None and self.sent > self.until and
                                    self.awaited is not None and self.came >= self.awaited)

    def run(self):
        end, due = time.monotonic() + LIMIT_S, 0.0
        while not self.is_over() and time.monotonic() < end:
            is_busy = self.take()
            if time.monotonic() > due and (self.until is None or self.sent <= self.until):
                self.look()
                self.put()
                due = time.monotonic() + PAUSE_MS / 1e3
            if not is_busy:
                self.node.pm.pmWait(self.node.context, PAUSE_MS)
        self.look()
        # what the other one has not got is sent again only if somebody asks
        end = time.monotonic() + 5
        while self.node.pm.pmIsSendDone(self.node.context, self.other) == NOT_NOW and time.monotonic() < end:
            self.take()

    def tell(self):
        return {"sent": self.sent, "came": self.came, "awaited": self.awaited, "wrong": self.wrong, "late": self.late,
                "error": self.error, "gap_s": round(self.gap_s, 2), "note": self.node.note(),
                "devices": self.devices}


def main():
    number = int(sys.argv[1])
    node = Node(number, KEY, sys.argv[2])
    link = meet(number, sys.argv[3])
    node.add(1 - number, exchange(link, node.address()))
    exchange(link, b"added")
    talk = Talk(node, 1 - number)
    talk.run()
    print(json.dumps(talk.tell()), flush=True)
    # nobody closes before the other one has all
    try:
        exchange(link, b"done")
    except (OSError, struct.error):
        pass
    node.close()


if __name__ == "__main__":
    main()
