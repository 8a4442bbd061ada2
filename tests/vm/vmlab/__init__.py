# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of virtual machines on one machine, for what namespaces can't show: drivers, other kernels.

Guests run below QEMU's own translator unless KVM is seen to work, so no privilege and no processor support is
needed, and nothing can be learned about speed. Each sees the machine's root read-only below a layer of its own
memory: every program that is installed or built here is there. NICs are joined by cables, or by a hub where there
are more than two.

    with vmlab.Lab(guests=2, links=[("a", "b"), ("a", "b")]) as lab:
        a, b = lab.guests
        code, text = a.run("ping -c 1 b")
"""
from .guest import Failed
from .kernels import Kernel, find_kernels, unpacked
from .lab import Lab, skip_reason
from .network import MAPPED, Link, Net, Nic
from .trouble import Trouble

__all__ = ["MAPPED", "Failed", "Kernel", "Lab", "Link", "Net", "Nic", "Trouble", "find_kernels", "skip_reason",
           "unpacked"]
