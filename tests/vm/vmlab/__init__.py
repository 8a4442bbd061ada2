# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of virtual machines on one machine, for what namespaces can't show: drivers, other kernels.

Guests run below QEMU's own translator, so no privilege and no processor support is needed, and nothing can
be learned about speed. Each sees the machine's root read-only below a layer of its own memory: every
program that is installed or built here is there. NICs of two guests are joined in pairs.

    with vmlab.Lab(guests=2, links=[("a", "b"), ("a", "b")]) as lab:
        a, b = lab.guests
        code, text = a.run("ping -c 1 b")
"""
from .kernels import Kernel, find_kernels
from .lab import Lab, Link, skip_reason
from .trouble import Trouble

__all__ = ["Kernel", "Lab", "Link", "Trouble", "find_kernels", "skip_reason"]
