# SPDX-License-Identifier: BSD-3-Clause
"""Which stage of a message's way a sample belongs to: pure, from symbols, source files and call chains."""
from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence

PROGRAM, OPEN_MPI, MTL, API = "program", "Open MPI", "mtl/pm", "pm.h and links"
ENGINE, DEVICE, COPY = "engine", "device", "copy"
SYSTEM_CALL, K_COPY, K_BUFFERS = "system call", "kernel: copy", "kernel: buffers"
K_IP, K_XSK, K_LINK, K_REST = "kernel: UDP and IP", "kernel: AF_XDP, BPF", "kernel: link, softirq", "kernel: the rest"
WAITING, OTHERS = "waiting", "other programs"
STAGES = (PROGRAM, OPEN_MPI, MTL, API, ENGINE, DEVICE, COPY, SYSTEM_CALL, K_COPY, K_BUFFERS, K_IP, K_XSK, K_LINK,
          K_REST, OTHERS, WAITING)
BUSY = STAGES[:-2]  # what is done for a message

# Directories of the tree, the longest first where one lies in another.
DIRECTORIES = (("pmcore/channel/", ENGINE), ("pmcore/wire/", ENGINE), ("pmcore/api/", API), ("pmcore/device/", API),
               ("pmcore/tools/", PROGRAM), ("pm-udp/", DEVICE), ("pm-ethernet/", DEVICE), ("pm-shmem/", DEVICE),
               ("pm-verbs/", DEVICE), ("mpi-glue/", MTL), ("tests/", PROGRAM))

USER_COPY = re.compile(r"mem(cpy|move)")
SYSTEM_CALL_STUB = re.compile(r"^_*(libc_|GI_|_)*(sendto|sendmsg|sendmmsg|recvfrom|recvmsg|recvmmsg|p?poll|epoll_wait|"
                              r"process_vm_readv|syscall)$")
OPEN_MPI_LIBRARY = re.compile(r"/(libmpi|libopen-|libpmix|libevent|mca_(?!mtl_pm))")

YIELD = re.compile(r"sched_yield$")
COPY_IN_KERNEL = re.compile(r"^(__pi_)?(_*memcpy|memmove|rep_movs|_*copy_(from|to|user)|copy_(page|user)|_copy_|"
                            r"skb_copy_bits|csum_partial|csum_and_copy|clear_page|copy_mc)")
# Frames from the innermost outwards; the first that one of these knows decides.
IN_KERNEL = (
    (K_REST, re.compile(r"^(asm_sysvec|sysvec|asm_exc|exc_|hrtimer|__hrtimer|tick_|update_process_times|rcu_core|"
                        r"handle_mm_fault|perf_|pv_native_safe_halt|default_idle|schedule$|__schedule|finish_task)")),
    (K_XSK, re.compile(r"^_*(xp|xsk)_")),
    (K_BUFFERS, re.compile(r"alloc|kfree|kmem_cache|slab|page_frag|free_unref|consume_skb|skb_release|skb_free|"
                           r"pskb_expand|skb_defer_free|sock_wfree|sock_rfree|memcg|charge|skb_put|skb_set_owner|"
                           r"napi_skb|napi_consume|build_skb|^put_page|folio")),
    (K_XSK, re.compile(r"xsk|xdp|^bpf_|bpf_prog|_bpf_")),
    (K_IP, re.compile(r"udp|^_*ip_|inet|ipv4|^fib_|neigh|nf_hook|raw_local|dst_|ip_route|skb_datagram|"
                      r"skb_recv|skb_try_recv|sk_filter|put_cmsg|sock_cmsg")),
    (K_LINK, re.compile(r"veth|dev_queue_xmit|dev_hard_start|dev_direct|^_*dev_|net_rx_action|netif|napi|"
                        r"process_backlog|softirq|gro_|qdisc|sch_direct|validate_xmit|tcf_|enqueue_to_backlog")),
    (SYSTEM_CALL, re.compile(r"^(entry_SYSCALL|do_syscall|syscall_|__x64_sys|__sys_|___sys|____sys|x64_sys|_sys_|"
                             r"sock_(send|recv|poll|write)|fdget|fput|__fget|__fdget|__do_sys|do_recvmmsg|do_epoll|"
                             r"ep_|import_|move_addr|copy_msghdr|security_|apparmor|aa_|__import|sockfd_)")),
)


@dataclasses.dataclass(frozen=True)
class Frame:
    """One call of a chain. address: within its object, as the object's own line table has it."""

    address: int
    symbol: str
    object: str

    @property
    def is_kernel(self) -> bool:
        """Kernel, module or BPF program."""
        if self.object.startswith("["):
            return self.object not in ("[vdso]", "[unknown]")
        return self.object.startswith("bpf_prog") or self.object.endswith(".ko")


def of_file(path: str) -> str | None:
    """The stage of a source file of the tree; None: it serves all."""
    for directory, stage in DIRECTORIES:
        if f"/{directory}" in f"/{path}":
            return stage
    return None


def of_user(frame: Frame, files: Sequence[str]) -> str | None:
    """Of a call outside of the kernel; files: of this place, from the innermost inlined function outwards."""
    if USER_COPY.search(frame.symbol):
        return COPY
    for path in files:
        if stage := of_file(path):
            return stage
    if OPEN_MPI_LIBRARY.search(frame.object):
        return OPEN_MPI
    return SYSTEM_CALL if SYSTEM_CALL_STUB.search(frame.symbol) else None


def of_kernel(frames: Sequence[Frame]) -> str:
    """Of the kernel's part of a chain, from the innermost call outwards."""
    if COPY_IN_KERNEL.search(frames[0].symbol):
        return K_COPY
    for frame in frames:
        for stage, known in IN_KERNEL:
            if known.search("bpf_prog" if frame.object.startswith("bpf_prog") else frame.symbol):
                return stage
    return K_REST


def is_yield(frames: Sequence[Frame]) -> bool:
    """Whoever gives the core away has nothing to do, on the way into the kernel and back as well."""
    inner = sum(1 for _ in itertools.takewhile(lambda frame: frame.is_kernel, frames))
    return any(YIELD.search(frame.symbol) for frame in frames[:inner + 1])


def of_chain(frames: Sequence[Frame], files_of: Mapping[Frame, Sequence[str]]) -> str:
    """Of a sample of a measured program."""
    if not frames:
        return PROGRAM
    if is_yield(frames):
        return WAITING
    if frames[0].is_kernel:
        return of_kernel([frame for frame in frames if frame.is_kernel])
    for frame in frames:
        if stage := of_user(frame, files_of.get(frame, ())):
            return stage
    return PROGRAM


def call_of(frames: Sequence[Frame]) -> str:
    """The system call that a chain is in; empty: none."""
    inside = [frame.symbol for frame in frames if frame.is_kernel and "_sys_" in frame.symbol]
    return inside[-1] if inside else ""
