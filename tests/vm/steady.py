#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node of PM in a guest: steady.py NUMBER CONFIG ADDRESS. Two of them send each other a numbered message of many
sizes now and then, until there is a file /tmp/over, and look at each byte that comes. Node 1 listens at the TCP
address, by which they get to know each other. One JSON line tells what came. Judges nothing."""
import ctypes
import json
import os
import sys
import time

sys.path.insert(0, f"{os.path.dirname(os.path.realpath(__file__))}/../system")
from ethnode import DEAD, HEAD, NOT_NOW, Node                           # noqa: E402
from talker import SIZES, exchange, meet                                # noqa: E402

KEY = 0x5eed5eed5eed5eed
PAUSE_S = 0.2                   # between two messages
WAIT_MS = 10
LIMIT_S = 150
OVER = "/tmp/over"


class Steady:
    def __init__(self, node, other):
        self.node, self.other = node, other
        self.sent = self.came = self.wrong = self.late = 0
        self.error = ""

    def put(self):
        size = SIZES[self.sent % len(SIZES)]
        data = HEAD.pack(self.sent, 0) + bytes([self.sent & 255]) * (size - HEAD.size)
        error = self.node.pm.pmPost(self.node.context, self.other, data, ctypes.c_size_t(size))
        if not error:
            self.sent += 1
        elif error != NOT_NOW:
            self.error = self.node.why()

    def take(self):
        """Whether there was something."""
        error, number, is_right = self.node.receive()
        if error == DEAD:
            self.error = self.node.why()
        if error:
            return error != NOT_NOW
        self.late += number != self.came
        self.wrong += not is_right
        self.came += 1
        return True

    def run(self):
        end, due = time.monotonic() + LIMIT_S, 0.0
        while not self.error and not os.path.exists(OVER) and time.monotonic() < end:
            if time.monotonic() > due:
                self.put()
                due = time.monotonic() + PAUSE_S
            if not self.take():
                self.node.pm.pmWait(self.node.context, WAIT_MS)

    def take_rest(self, count):
        """... of those that the other one has sent."""
        end = time.monotonic() + LIMIT_S
        while not self.error and self.came < count and time.monotonic() < end:
            if not self.take():
                self.node.pm.pmWait(self.node.context, WAIT_MS)


def main():
    number = int(sys.argv[1])
    node = Node(number, KEY, sys.argv[2])
    link = meet(number, sys.argv[3])
    node.add(1 - number, exchange(link, node.address()))
    exchange(link, b"added")
    steady = Steady(node, 1 - number)
    steady.run()
    awaited = int(exchange(link, b"%d" % steady.sent))
    steady.take_rest(awaited)
    print(json.dumps({"sent": steady.sent, "came": steady.came, "awaited": awaited, "wrong": steady.wrong,
                      "late": steady.late, "error": steady.error}), flush=True)
    # nobody closes before the other one has all
    exchange(link, b"done")
    node.close()


if __name__ == "__main__":
    main()
