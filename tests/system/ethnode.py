# SPDX-License-Identifier: BSD-3-Clause
"""A node of PM in Python: libpm of the build tree by ctypes. Sends numbered messages at a steady pace, and
tells of what came when. Knows nothing of devices.
"""
import ctypes
import errno
import os
import struct
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LIBRARY = f"{os.environ.get('PM_BUILD', f'{ROOT}/build')}/libpm.so"
NOT_NOW, DEAD = errno.ENOBUFS, errno.EPIPE


HEAD = struct.Struct("=QQ")         # of a message: its number, what the sender had waited for a CPU, ns


def waited_ns():
    """How long this process was ready and had no CPU; what the machine owes us, not the network."""
    with open("/proc/self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1])


class Options(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("job_key", ctypes.c_uint64), ("self", ctypes.c_uint32),
                ("nodes", ctypes.c_uint32), ("local", ctypes.c_uint32), ("config", ctypes.c_char_p),
                ("resolver", ctypes.c_void_p), ("resolver_arg", ctypes.c_void_p))


class Failed(Exception):
    pass


class Node:
    def __init__(self, number, key, config, nodes=2, local=1):
        self.pm = ctypes.CDLL(LIBRARY)
        self.pm.pmLastError.restype = ctypes.c_char_p
        options = Options(size=ctypes.sizeof(Options), job_key=key, self=number, nodes=nodes,
                          local=local, config=config.encode())
        context = ctypes.c_uint32()
        self.check(self.pm.pmOpenContext(ctypes.byref(options), ctypes.byref(context)))
        self.context = context
        self.places = (ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_uint32(), ctypes.c_uint64())

    def why(self):
        return self.pm.pmLastError().decode()

    def check(self, error):
        if error:
            raise Failed(f"{errno.errorcode.get(error, error)}: {self.why()}")

    def address(self):
        buffer, length = ctypes.create_string_buffer(1024), ctypes.c_size_t(1024)
        self.check(self.pm.pmGetAddress(self.context, buffer, ctypes.byref(length)))
        return buffer.raw[:length.value]

    def note(self):
        text = ctypes.c_char_p()
        self.check(self.pm.pmGetNote(self.context, ctypes.byref(text)))
        return text.value.decode()

    def add(self, node, address):
        self.check(self.pm.pmAddNode(self.context, node, address, ctypes.c_size_t(len(address))))

    def receive(self):
        """(error, number of the message or of the dead node, is as it should be)"""
        buffer, length, source, desc = self.places
        error = self.pm.pmReceive(self.context, ctypes.byref(buffer), ctypes.byref(length),
                                  ctypes.byref(source), ctypes.byref(desc))
        if error:
            return error, source.value, False
        data = ctypes.string_at(buffer, length.value)
        self.check(self.pm.pmReleaseReceiveBuffer(self.context, desc))
        number, self.sender_waited = HEAD.unpack_from(data)
        return 0, number, data[HEAD.size:] == bytes([number & 255]) * (len(data) - HEAD.size)

    def progress(self):
        """Something to do may have come; a message is none that anybody expects here."""
        return self.receive()[0]

    def send(self, node, count, size=256, gap_us=0, first=0, limit_s=30):
        """Messages @first .. of that size; until all are acknowledged. Time, or what stopped it."""
        start, lost = time.monotonic(), None
        due, end = start, start + limit_s
        for number in range(first, first + count):
            data = HEAD.pack(number, waited_ns()) + bytes([number & 255]) * (size - HEAD.size)
            while (error := self.pm.pmPost(self.context, node, data, ctypes.c_size_t(size))):
                if error != NOT_NOW or time.monotonic() > end:
                    return {"error": errno.errorcode[error], "why": self.why(), "sent": number - first,
                            "seconds": time.monotonic() - start}
                if self.progress() == DEAD:
                    lost = time.monotonic() - start
            due += gap_us / 1e6
            while gap_us and time.monotonic() < due:
                self.progress()
        while (error := self.pm.pmIsSendDone(self.context, node)) == NOT_NOW:
            if time.monotonic() > end:
                break
            self.progress()
        return {"error": errno.errorcode[error] if error else "", "why": self.why() if error else "",
                "sent": count, "seconds": time.monotonic() - start, "lost_after": lost}

    def take(self, count, first=0, limit_s=30):
        """
        Until that many messages came, a node died, or nothing for @limit_s. gap_ms: the longest pause between
        two messages, less what either side waited for a CPU in it.
        """
        result = {"came": 0, "wrong": 0, "late": 0, "gap_ms": 0.0, "error": "", "node": None}
        last, owed = None, 0
        end = time.monotonic() + limit_s
        while result["came"] < count:
            error, number, is_right = self.receive()
            now = time.monotonic()
            if error == NOT_NOW:
                if now > end:
                    result["error"] = "ETIMEDOUT"
                    break
                continue
            if error:
                result.update(error=errno.errorcode[error], node=number, why=self.why())
                break
            result["late"] += number != first + result["came"]
            result["wrong"] += not is_right
            result["came"] += 1
            waited = waited_ns() + self.sender_waited
            if last is not None:
                result["gap_ms"] = max(result["gap_ms"], (now - last) * 1e3 - (waited - owed) / 1e6)
            last, owed, end = now, waited, now + limit_s
        return result

    def serve(self, is_over):
        """Acknowledges the messages received last, and again if the acknowledgement got lost."""
        while not is_over():
            self.progress()

    def close(self):
        self.check(self.pm.pmCloseContext(self.context))
