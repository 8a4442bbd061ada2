# SPDX-License-Identifier: BSD-3-Clause
"""libpm exports exactly the names that pmcore/libpm.map lists, and it needs libc only."""
import os
import re

from lintlib.tree import Skip, need

MAP = "pmcore/libpm.map"
LIBC = re.compile(r"^(libc|libpthread|ld-linux[\w-]*|lib[aultm]+san)\.so\.\d+$")


def declared(text):
    """Names in the global sections of a version script."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", "", text, flags=re.DOTALL)
    names = set()
    for section in re.findall(r"global\s*:(.*?)(?:local\s*:|\})", text, re.DOTALL):
        names.update(n.strip() for n in section.split(";") if n.strip())
    return names


def exported(tree, library):
    output, _ = tree.run(["nm", "-D", "--defined-only", library])
    rows = [line.split() for line in output.splitlines()]
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] != "A"}


def needed(tree, library):
    output, _ = tree.run(["readelf", "-d", library])
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output)


def check(tree):
    if MAP not in tree.files:
        raise Skip("no pmcore/libpm.map")
    need("nm", "binutils")
    library = os.path.join(tree.build, "libpm.so")
    if not os.path.exists(library):
        raise Skip("libpm.so is not built: run make")
    names, found = declared(tree.text(MAP)), exported(tree, library)
    for name in sorted(names - found):
        yield f"{MAP}: {name} is listed, but libpm does not define it"
    for name in sorted(found - names):
        yield f"{MAP}: {name} is exported, but not listed"
    for other in needed(tree, library):
        if not LIBC.match(other):
            yield f"libpm.so: needs {other}; libpm may need libc only"
