# SPDX-License-Identifier: BSD-3-Clause
"""munged of a machine that has much else to do: hands requests on to a real one, one after the other, and takes so long
for each. Whoever asks through it asks as its user. usage: slowmunge.py MUNGED_SOCKET SOCKET SECONDS"""
import contextlib
import os
import socket
import struct
import sys
import time

HEAD = struct.Struct(">IBBBI")      # magic, version, type, retry, bytes of the body


def take(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


def message(connection):
    head = take(connection, HEAD.size)
    return head + take(connection, HEAD.unpack(head)[-1])


def serve(client, path):
    with socket.socket(socket.AF_UNIX) as munged:
        munged.connect(path)
        munged.sendall(message(client))
        client.sendall(message(munged))


def main(path, own, seconds):
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{own}.new")
        os.chmod(f"{own}.new", 0o666)
        door.listen(1024)
        os.rename(f"{own}.new", own)
        while True:
            client, _ = door.accept()
            with client, contextlib.suppress(OSError):
                time.sleep(float(seconds))
                serve(client, path)


main(*sys.argv[1:])
