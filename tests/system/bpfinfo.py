#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""BPF programs at interfaces of this network namespace, at XDP and at the ingress hook of tc, asked of the kernel."""
import array
import ctypes
import os
import re
import socket
import struct
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF = 321
PROG_GET_FD_BY_ID, MAP_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, PROG_QUERY = 13, 14, 15, 16
TCX_INGRESS = 46
MOST = 64


def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 120)
    result = LIBC.syscall(SYS_BPF, command, room, 120)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, room.raw


def _info(command, number, fill=b""):
    fd, _ = bpf(command, struct.pack("=III", number, 0, 0))
    room = ctypes.create_string_buffer(fill, 256)
    try:
        bpf(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", fd, 256, ctypes.addressof(room)))
    finally:
        os.close(fd)
    return room.raw


def _name(raw):
    return raw.split(b"\0")[0].decode()


def program(number):
    """Its name, and the numbers of its maps."""
    maps = array.array("I", bytes(4 * MOST))
    address, _ = maps.buffer_info()
    raw = _info(PROG_GET_FD_BY_ID, number, struct.pack("=52xIQ", MOST, address))
    count, = struct.unpack_from("=I", raw, 52)
    return _name(raw[64:80]), list(maps[:count])


def map_name(number):
    return _name(_info(MAP_GET_FD_BY_ID, number)[24:40])


def at_tc(index):
    ids = array.array("I", bytes(4 * MOST))
    try:
        _, raw = bpf(PROG_QUERY, struct.pack("=IIIIQII", index, TCX_INGRESS, 0, 0, ids.buffer_info()[0], MOST, 0))
    except OSError:
        return []
    return list(ids[:struct.unpack_from("=I", raw, 24)[0]])


def programs():
    """Numbers of all, by interface."""
    said = subprocess.run(["ip", "-d", "link"], capture_output=True, text=True, check=True).stdout
    found = {name: at_tc(index) for index, name in socket.if_nameindex()}
    name = None
    for line in said.splitlines():
        if head := re.match(r"\d+: ([^:@]+)", line):
            name = head[1]
        if at_xdp := re.search(r"prog/xdp id (\d+)", line):
            found[name].append(int(at_xdp[1]))
    return found


def names():
    """Names of all programs at interfaces, once for each."""
    return [program(number)[0] for numbers in programs().values() for number in numbers]


if __name__ == "__main__":
    print(*names())
