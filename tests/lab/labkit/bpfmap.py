# SPDX-License-Identifier: BSD-3-Clause
#
# Reads and writes the one map of a loaded BPF program, found by the program's id: what bpftool does,
# without needing bpftool. See bpf(2).

import ctypes
import os
import platform
import struct

from . import kernel
from .errors import LabError

MAP_LOOKUP_ELEM = 1
MAP_UPDATE_ELEM = 2
PROG_GET_FD_BY_ID = 13
MAP_GET_FD_BY_ID = 14
OBJ_GET_INFO_BY_FD = 15

SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
PROG_INFO_SIZE = 64       # up to and including map_ids of struct bpf_prog_info
NR_MAP_IDS_OFFSET = 52


def bpf(command, attributes):
    number = SYS_BPF.get(platform.machine())
    if number is None:
        raise LabError(f"frame loss is not supported on {platform.machine()}: leave out --loss")
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return kernel.check(kernel.libc.syscall(number, command, buffer, len(attributes)), "bpf")


def open_map(program_id):
    """Descriptor of the program's first map."""
    program = bpf(PROG_GET_FD_BY_ID, struct.pack("=III", program_id, 0, 0))
    try:
        map_ids = (ctypes.c_uint32 * 1)()
        info = ctypes.create_string_buffer(PROG_INFO_SIZE)
        struct.pack_into("=IQ", info, NR_MAP_IDS_OFFSET, 1, ctypes.addressof(map_ids))
        bpf(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", program, PROG_INFO_SIZE,
                                            ctypes.addressof(info)))
    finally:
        os.close(program)
    return bpf(MAP_GET_FD_BY_ID, struct.pack("=III", map_ids[0], 0, 0))


def element(command, program_id, value):
    fd = open_map(program_id)
    try:
        key = ctypes.c_uint32(0)
        bpf(command, struct.pack("=IxxxxQQQ", fd, ctypes.addressof(key), ctypes.addressof(value), 0))
    finally:
        os.close(fd)


def write(program_id, value):
    element(MAP_UPDATE_ELEM, program_id, ctypes.create_string_buffer(value, len(value)))


def read(program_id, size):
    value = ctypes.create_string_buffer(size)
    element(MAP_LOOKUP_ELEM, program_id, value)
    return value.raw
