#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""For criu.t: a tree of processes that counts. Each number goes by a pipe to a child and comes back by TCP; both
processes and a thread check what they get, and write it to memory in /dev/shm. A wrong number ends it."""
import ctypes
import mmap
import os
import socket
import struct
import sys
import threading
import time

TMP = sys.argv[1]
WHAT = sys.argv[2] if len(sys.argv) > 2 else ""
COUNT, THREAD = 0, 8


def listener():
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(f"{TMP}/door")
    os.chmod(f"{TMP}/door", 0o600)
    sock.listen()
    return sock


def tcp():
    """A listener, and both ends of a connection by it."""
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    port.listen()
    near = socket.create_connection(port.getsockname())
    return port, near, port.accept()[0]


def main():
    fd = os.open("/dev/shm/count", os.O_RDWR | os.O_CREAT, 0o640)
    os.truncate(fd, 4096)
    shared = mmap.mmap(fd, 4096)
    os.close(fd)
    with open(f"{TMP}/linked", "w", encoding="ascii") as linked:
        linked.write("a name\n")
        linked.flush()
        os.link(f"{TMP}/linked", f"{TMP}/second")
        os.symlink("linked", f"{TMP}/soft")
        door = listener()
        lone = socket.socket()
        lone.bind(("127.0.0.1", 0))
        lone.listen()
        port, near, far = tcp()
        out, into = os.pipe()
        if not os.fork():
            near.close()
            while True:
                far.sendall(os.read(out, 8))
        far.close()

        def run():
            while True:
                shared[THREAD:THREAD + 8] = struct.pack("Q", struct.unpack("Q", shared[THREAD:THREAD + 8])[0] + 1)
                time.sleep(0.001)
        threading.Thread(target=run, daemon=True).start()
        if WHAT == "ring":
            ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120))
        number = 0
        while True:
            os.write(into, struct.pack("Q", number))
            back = struct.unpack("Q", near.recv(8, socket.MSG_WAITALL))[0]
            if back != number or min(door.fileno(), port.fileno(), lone.fileno()) < 0:
                sys.exit(3)
            if struct.unpack("Q", shared[COUNT:COUNT + 8])[0] > number:
                sys.exit(4)
            shared[COUNT:COUNT + 8] = struct.pack("Q", number)
            number += 1
            time.sleep(0.001)


main()
