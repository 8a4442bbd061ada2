# SPDX-License-Identifier: BSD-3-Clause
"""Requests of a process to pm-ethernetd, byte by byte (pm-ethernet/attach.h), and views of the daemon."""
import array
import errno
import json
import os
import socket
import struct

ATTACH, SUSPEND, RESUME, REPORT, MAPPED = 1, 2, 3, 4, 5
AUTO, DIRECT, PORT = 0, 1, 2
MAGIC, VERSION = 0x48544550, 3
GRANTS_MAX = 16                 # as pm-ethernet/lease.c has it
GRANTED = "=IIi256sIHHBBBBIIQIIIIIIIIIII"


def request(op=ATTACH, attach=AUTO, key=5, local=1, packets=256, want=0, rails=(), topic=0,
            magic=MAGIC, version=VERSION):
    names = b"".join(r.encode().ljust(16, b"\0") for r in rails).ljust(128, b"\0")
    return struct.pack("=IIIIQIIIHH128sII", magic, version, op, attach, key, local, packets, packets,
                       want, len(rails), names, topic, 0)


class Client:
    """A connection; `answer` holds fields of struct eth_granted and the descriptors."""

    def __init__(self, run):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(f"{run}/socket")

    def ask(self, data):
        self.socket.send(data)
        message, control, _, _ = self.socket.recvmsg(8192, 1024)
        fds = []
        for _, _, part in control:
            numbers = array.array("i")
            numbers.frombytes(part)
            fds += list(numbers)
        (_, _, error, why, host, context, _, attachment, _, _, n_rails, slot,
         n_slots) = struct.unpack_from(GRANTED, message)[:13]
        return {"error": error, "why": why.split(b"\0")[0].decode(), "host": host,
                "context": context, "attachment": attachment, "n_rails": n_rails, "slot": slot,
                "n_slots": n_slots, "fds": fds}

    def bound(self, answer, key):
        """The grant, after its memory was filled and the daemon has bound it; or why it has not."""
        if answer["fds"]:
            os.posix_fallocate(answer["fds"][0], 0, os.fstat(answer["fds"][0]).st_size)
        again = self.ask(request(op=MAPPED, key=key)) if answer["fds"] else answer
        return {**answer, "error": again["error"], "why": again["why"]}

    def attach(self, key=5, **fields):
        """As libpm does it: asks again where the kernel has not freed yet what was granted."""
        for tries in range(1, GRANTS_MAX + 1):
            answer = self.bound(self.ask(request(key=key, **fields)), key)
            if answer["error"] != errno.ESTALE or tries == GRANTS_MAX:
                break
            for fd in answer["fds"]:
                os.close(fd)
        return answer

    def report(self, topic):
        self.socket.send(request(op=REPORT, topic=topic))
        text = b""
        while True:
            piece = self.socket.recv(8192)
            _, _, error, more, length = struct.unpack_from("=IIiII", piece)
            text += piece[20:20 + length]
            if error or not more:
                return json.loads(text)

    def close(self, answer=None):
        for fd in (answer or {"fds": []})["fds"]:
            os.close(fd)
        self.socket.close()


def sockets(pid):
    """How many descriptors of sockets a process has."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
        except FileNotFoundError:
            continue                    # closed meanwhile
    return n
