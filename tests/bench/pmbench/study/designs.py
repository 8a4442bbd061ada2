# SPDX-License-Identifier: BSD-3-Clause
"""The designs that are measured, and what is known of each without a measurement: pure.

Copies are those of the data, as the code of the design and of the kernel makes them on a veth, one row for each.
"""
from __future__ import annotations

import dataclasses

PLAIN, ETHERNET = "plain", "ethernet"  # labs: without pm-ethernetd, and with it
SIZES = (8, 1 << 10, 8 << 10, 64 << 10)

SEND_IN = "user to kernel, in the system call that sends"
RECEIVE_OUT = "kernel to user, in the system call that receives"
SOCKET = (SEND_IN, RECEIVE_OUT)
TO_FRAME, FROM_FRAME = "program to frame, in the shared memory", "frame to program, out of the shared memory"
TO_SKB = "frame to socket buffer, in the system call that sends"
HEADROOM = "socket buffer to a longer one with room for XDP, in the softirq"
PACKET = (TO_FRAME, "frame to socket buffer, where the veth takes it",
          "socket buffer to the shared ring, in the softirq", FROM_FRAME)
XDP = (TO_FRAME, TO_SKB, HEADROOM, "socket buffer to the shared memory, in the softirq", FROM_FRAME)
PM_IN, PM_OUT = "program to packet, in pmPost", "packet to program, by the program"
PM_FRAMES = (PM_IN, TO_SKB, "socket buffer to the shared inbox, by the BPF program in the softirq",
             "inbox to packet, in pmReceive", PM_OUT)
PM_DATAGRAMS = (PM_IN, f"{SEND_IN} (none where libpm sends pages uncopied)", RECEIVE_OUT, PM_OUT)
PM_SHMEM = ("program to ring, in pmPost", "ring to program, by the program")

KERNEL, PROCESS, BOTH = "kernel", "process", "kernel and process"


@dataclasses.dataclass(frozen=True)
class Design:
    """name: as the program send_designs knows it. protocol: where order and repetition are kept. copies: of a message
    of 8 B; long_copies: of one of 64 KiB, where they differ. is_blocking: a rank that waits sleeps."""

    name: str
    protocol: str
    packets: str  # who cuts messages into packets
    waits: str
    copies: tuple[str, ...]
    lab: str = PLAIN
    is_pm: bool = False
    is_blocking: bool = False
    long_copies: tuple[str, ...] | None = None
    hosts: tuple[str, str] = ("h0", "h1")

    def copies_of(self, size: int) -> tuple[str, ...]:
        """Rows of four packets and more go by datagrams over pm-ethernet."""
        return self.long_copies if self.long_copies is not None and size >= 4 * 1500 else self.copies


CALLS, RING, SLEEP = "calls again", "looks into memory", "sleeps"
DESIGNS = (
    Design("tcp-block", KERNEL, KERNEL, SLEEP, SOCKET, is_blocking=True),
    Design("tcp-poll", KERNEL, KERNEL, CALLS, SOCKET),
    Design("udp-block", "none", PROCESS, SLEEP, SOCKET, is_blocking=True),
    Design("udp-poll", "none", PROCESS, CALLS, SOCKET),
    Design("udp-batch", "none", PROCESS, CALLS, SOCKET),
    Design("udp-gso-block", "none", KERNEL, SLEEP, SOCKET, is_blocking=True),
    Design("udp-gso-poll", "none", KERNEL, CALLS, SOCKET),
    Design("packet-block", "none", PROCESS, SLEEP, PACKET, is_blocking=True),
    Design("packet-poll", "none", PROCESS, RING, PACKET),
    Design("xdp-block", "none", PROCESS, SLEEP, XDP, is_blocking=True),
    Design("xdp-poll", "none", PROCESS, RING, XDP),
    Design("pm-udp", PROCESS, BOTH, CALLS, PM_DATAGRAMS, is_pm=True),
    Design("pm-port", PROCESS, BOTH, RING, PM_FRAMES, ETHERNET, is_pm=True, long_copies=PM_DATAGRAMS),
    Design("pm-direct", PROCESS, BOTH, RING, PM_FRAMES, ETHERNET, is_pm=True, long_copies=PM_DATAGRAMS),
    Design("pm-direct-block", PROCESS, BOTH, SLEEP, PM_FRAMES, ETHERNET, is_pm=True, is_blocking=True,
           long_copies=PM_DATAGRAMS),
    Design("pm-shmem", PROCESS, PROCESS, RING, PM_SHMEM, is_pm=True, hosts=("h0", "h0")),
)
BY_NAME = {design.name: design for design in DESIGNS}
