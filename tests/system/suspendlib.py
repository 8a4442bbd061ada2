# SPDX-License-Identifier: BSD-3-Clause
"""The starter's side of pmcore/util/suspend_page.h, for tests: has the ranks of an MPI job stand still, give their
devices back and open others."""
import ctypes
import mmap
import os
import random
import struct
import time

RUN, DRAIN, HOLD, QUIESCE, AWAY, REVIVE, MEET = range(7)
NAMES = ("run", "drain", "hold", "quiesce", "away", "revive", "meet")
ABSENT, PRESENT, GONE = range(3)

MAGIC = 0x31444e5053554d50
HEAD = struct.Struct("=QIIIIQ480s")
SLOT = struct.Struct("=IIIII236s1024s")
ADDRESS = struct.Struct("=II1024s")
ORDER_AT = 16
STEP_BITS = 3
SYS_FUTEX, FUTEX_WAKE = 202, 1


class Failed(Exception):
    """A rank could not carry out a step."""


class Late(Failed):
    """Not all ranks have come in time: one computes, or waits for another by other means than MPI's progress."""


class Ended(Exception):
    """The program has come to its end before the step was done."""


class Page:
    """One page for all ranks of a job, whichever hosts of a lab they run on."""

    def __init__(self, path, ranks, seed):
        self.path = path
        self.ranks = ranks
        self.seed = seed
        self.random = random.Random(seed)
        self.size = HEAD.size + ranks * (SLOT.size + ADDRESS.size)
        with open(path, "wb+") as f:
            f.truncate(self.size)
            self.bytes = mmap.mmap(f.fileno(), self.size)
        os.chmod(path, 0o600)
        self.word = ctypes.c_uint32.from_buffer(self.bytes, ORDER_AT)
        HEAD.pack_into(self.bytes, 0, MAGIC, ranks, ranks, 0, 0, 0, b"")

    def wrap(self, variable, program):
        """Command of a rank whose number is in the environment variable."""
        return ["sh", "-c", f'PM_SUSPEND=${variable}:$PMIX_NAMESPACE.$PMIX_RANK:{self.path} exec "$0" "$@"', *program]

    def slot(self, i):
        """(presence, done, failed, node, address, why)"""
        presence, done, failed, node, length, why, address = SLOT.unpack_from(self.bytes, HEAD.size + i * SLOT.size)
        return presence, done, failed, node, address[:length], why.split(b"\0")[0].decode()

    def slots(self):
        return [self.slot(i) for i in range(self.ranks)]

    def is_present(self):
        return all(slot[0] == PRESENT for slot in self.slots())

    def order(self, step, limit=60):
        """Gives the order, and waits until all have carried it out."""
        number = ((self.word.value >> STEP_BITS) + 1) << STEP_BITS | step
        self.word.value = number
        ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.byref(self.word), FUTEX_WAKE, 1 << 30, 0, 0, 0)
        end = time.monotonic() + limit
        while True:
            slots = self.slots()
            for i, slot in enumerate(slots):
                if slot[0] == GONE and step != RUN:
                    raise Ended(f"rank {i}, {NAMES[step]}")
            # also after a failure all are waited for: the next order comes with other devices
            if all(number in slot[1:3] or slot[0] == GONE for slot in slots):
                for i, (_, _, failed, _, _, why) in enumerate(slots):
                    if failed == number:
                        raise Failed(f"rank {i}, {NAMES[step]}: {why}")
                return
            if time.monotonic() > end:
                late = [i for i, slot in enumerate(slots) if number not in slot[1:3]]
                raise Late(f"{NAMES[step]}: not done in {limit} s by ranks {late}")
            time.sleep(0.0005)

    def tell(self, config):
        key = self.random.getrandbits(64)
        order = self.word.value
        HEAD.pack_into(self.bytes, 0, MAGIC, self.ranks, self.ranks, order, 0, key, config.encode())

    def tell_addresses(self):
        known = sorted((node, address) for _, _, _, node, address, _ in self.slots())
        at = HEAD.size + self.ranks * SLOT.size
        for i, (node, address) in enumerate(known):
            ADDRESS.pack_into(self.bytes, at + i * ADDRESS.size, node, len(address), address)
        struct.pack_into("=I", self.bytes, ORDER_AT + 4, len(known))

    def gather(self, limit=30, patience=0.3):
        """Until all stand still. Those that came first go on if others are late, who may wait for them."""
        end = time.monotonic() + limit
        while True:
            try:
                return self.order(DRAIN, patience)
            except Late:
                self.order(RUN)
                if time.monotonic() > end:
                    raise
                time.sleep(patience * self.random.random())

    def stop(self):
        """Until they have no device any more. Ended: the job is about to end, and goes on."""
        try:
            self.gather()
            for step in (HOLD, QUIESCE, AWAY):
                self.order(step)
        except Ended:
            self.order(RUN)
            raise

    def go_on(self, config):
        self.tell(config)
        self.order(REVIVE)
        self.tell_addresses()
        self.order(MEET)
        self.order(RUN)

    def give_up(self, n):
        """They go on after @n steps, 1 to 3, by the devices that they have."""
        try:
            self.gather()
            for step in (HOLD, QUIESCE)[:n - 1]:
                self.order(step)
        finally:
            self.order(RUN)
