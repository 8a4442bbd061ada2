# SPDX-License-Identifier: BSD-3-Clause
"""The first file system of a guest, as small as it can be: busybox, guest/init, and the modules without which
the machine's root can't be mounted. Written as a cpio archive without help of other programs.
"""
import gzip
import lzma
import os
import shutil

from .trouble import Trouble

HERE = os.path.dirname(os.path.realpath(__file__))
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")
DIRECTORIES = ("bin", "modules", "proc", "sys", "dev", "lower", "upper", "new")
DIRECTORY, PROGRAM, FILE = 0o040755, 0o100755, 0o100644


def module_name(path):
    return os.path.basename(path).partition(".ko")[0].replace("-", "_")


def order(kernel):
    """Paths of the modules wanted, each behind those it needs; built-in ones are none."""
    needs, paths = {}, {}
    with open(f"{kernel.modules}/modules.dep", encoding="ascii") as f:
        for line in f:
            path, _, more = line.strip().partition(":")
            paths[module_name(path)] = f"{kernel.modules}/{path}"
            needs[module_name(path)] = [module_name(p) for p in more.split()]
    with open(f"{kernel.modules}/modules.builtin", encoding="ascii") as f:
        builtin = {module_name(line.strip()) for line in f}
    done = {}

    def add(name):
        if name in done or name in builtin:
            return
        if name not in paths:
            raise Trouble(f"kernel {kernel.release} has no module {name}: take one that is not "
                          "made for clouds")
        for other in needs[name]:
            add(other)
        done[name] = paths[name]

    for name in MODULES:
        add(name)
    return done


def read_module(path):
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rb") as f:
        return f.read()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def entry(name, mode, data, number):
    """A file of a cpio archive of the kind "newc"."""
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def write(kernel, path):
    busybox = shutil.which("busybox")
    modules = order(kernel)
    files = [(name, DIRECTORY, b"") for name in DIRECTORIES]
    files += [("bin/busybox", PROGRAM, read(busybox)),
              ("init", PROGRAM, read(f"{HERE}/../guest/init")),
              ("modules/order", FILE, "".join(f"{name}\n" for name in modules).encode())]
    files += [(f"modules/{name}", FILE, read_module(p)) for name, p in modules.items()]
    with gzip.open(path, "wb", compresslevel=1) as f:
        for number, (name, mode, data) in enumerate(files, 1):
            f.write(entry(name, mode, data, number))
        f.write(entry("TRAILER!!!", 0, b"", 0))
