# SPDX-License-Identifier: BSD-3-Clause
"""Whether this machine's processor runs guests itself. That /dev/kvm is there tells little: below some virtual
machines it fails at the first guest, or hangs. So a guest is tried, once a boot of this machine.
"""
import os
import subprocess

from .process import BOUND, QEMU

TRY_S = 8
SAYS = "vmlab-runs"
TRANSLATED = ("-accel", "tcg,thread=multi", "-cpu", "max")
NATIVE = ("-accel", "kvm", "-cpu", "host")


def boots(words, kernel, initrd, limit_s=TRY_S):
    """Whether a guest's kernel comes as far as its first process."""
    tried = subprocess.Popen(
        [*BOUND, str(os.getpid()), QEMU, *words, "-m", "256", "-nodefaults", "-no-user-config", "-display", "none",
         "-no-reboot", "-serial", "stdio", "-kernel", kernel.image, "-initrd", initrd,
         "-append", f"console=ttyS0 quiet panic=-1 rdinit=/bin/busybox -- echo {SAYS}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        return SAYS.encode() in tried.communicate(timeout=limit_s)[0]
    except subprocess.TimeoutExpired:
        tried.kill()
        try:
            tried.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            pass                # it hangs in the kernel, which is an answer too
        return False


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip()


def choose(build, kernel, initrd):
    """Words for QEMU; $VM_ACCEL is "kvm" or "tcg" where the choice is the caller's."""
    asked = os.environ.get("VM_ACCEL")
    if asked:
        return NATIVE if asked == "kvm" else TRANSLATED
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return TRANSLATED
    known = f"{build}/vm/accelerator"
    try:
        with open(known, encoding="ascii") as f:
            boot, is_native = f.read().split()
    except (OSError, ValueError):
        boot = ""
    if boot != boot_id():
        is_native = "yes" if boots(NATIVE, kernel, initrd) else "no"
        remember(known, is_native)
    return NATIVE if is_native == "yes" else TRANSLATED


def remember(known, is_native):
    os.makedirs(os.path.dirname(known), exist_ok=True)
    new = f"{known}.{os.getpid()}"
    with open(new, "w", encoding="ascii") as f:
        f.write(f"{boot_id()} {is_native}\n")
    os.rename(new, known)
