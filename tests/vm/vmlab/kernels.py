# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that guests can run: the one $VM_KERNEL names, those that kernel-fetch unpacked below the build
directory, those installed on the machine. Knows where they lie, not what they are good for.
"""
import dataclasses
import glob
import os
import re


@dataclasses.dataclass(frozen=True)
class Kernel:
    release: str
    image: str
    modules: str                # directory with modules.dep

    @property
    def version(self):
        """(major, minor), to compare."""
        return tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", self.release).groups())


def unpacked(directory):
    """The kernel in a directory as kernel-fetch leaves it, None if there is none."""
    found = glob.glob(f"{glob.escape(directory)}/lib/modules/*/modules.dep")
    image = f"{directory}/vmlinuz"
    if len(found) != 1 or not os.path.exists(image):
        return None
    modules = os.path.dirname(found[0])
    return Kernel(os.path.basename(modules), image, modules)


def installed():
    for image in glob.glob("/boot/vmlinuz-*"):
        release = image.partition("-")[2]
        modules = f"/lib/modules/{release}"
        # kernels for clouds have no 9p
        if re.match(r"\d+\.\d+", release) and os.access(image, os.R_OK) and \
                glob.glob(f"{modules}/kernel/net/9p/9pnet_virtio.ko*"):
            yield Kernel(release, image, modules)


def find_kernels(build):
    """All there are, the oldest first; of equal ones one that belongs to this tree first."""
    if named := os.environ.get("VM_KERNEL"):
        found = [unpacked(os.path.realpath(named))]
    else:
        found = [unpacked(d) for d in sorted(glob.glob(f"{glob.escape(build)}/vm/kernel*"))]
        found += installed()
    return sorted(filter(None, found), key=lambda kernel: kernel.version)
