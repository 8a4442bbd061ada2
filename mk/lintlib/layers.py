# SPDX-License-Identifier: BSD-3-Clause
"""Allowed includes of each directory: data flows api -> channel -> device -> wire, never back (ARCHITECTURE.md).

Project headers are written from the root of the tree; "pm.h" and "pm_device.h" are the public ones.
"""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC = ("pm.h", "pm_device.h")
OPEN_MPI = ("ompi_config.h", "opal_config.h", "orte_config.h", "ompi/", "opal/", "orte/", "mpi.h")

# The channel engine may not name a socket, clock, thread or file, not even through libc or util/.
CHANNEL_SYSTEM = {f"{h}.h" for h in ("assert", "errno", "inttypes", "limits", "stdalign", "stdbool",
                                     "stddef", "stdint", "stdlib", "string")}
CHANNEL_REFUSED = ("pmcore/util/clock.h",)

# For a component of Open MPI, which links the library and nothing else of it.
NOTHING_TO_LINK = ("pmcore/util/clock.h", "pmcore/util/copy.h", "pmcore/util/splitmix.h",
                   "pmcore/util/suspend_page.h")

# A directory that is built after it was copied elsewhere.
COPIED = "examples/"

# Code that runs in every process may not include the headers of a daemon.
DAEMON = re.compile(r"(pm-[^/]+)/daemon/")

# Directory -> what its files may include, by prefix, first match wins. {own} is the directory that
# the pattern's star stands for. A directory not listed may include everything.
ALLOWED = (
    ("pmcore/include/", PUBLIC),
    # pm_device.h: the transmit buffer that the engine fills and the device sends.
    ("pmcore/channel/", ("pm_device.h", "pmcore/channel/", "pmcore/wire/",
                         "pmcore/util/")),
    ("pmcore/wire/", ("pmcore/wire/", "pmcore/util/")),
    # Code that packet devices share, so it knows their packets.
    ("pmcore/util/packet", ("pm_device.h", "pmcore/util/")),
    ("pmcore/util/conf.c", ("pmcore/util/", "configs/options.def")),
    ("pmcore/util/", ("pmcore/util/",)),
    ("pmcore/device/registry.c", (*PUBLIC, "pmcore/device/", "pmcore/wire/", "pmcore/util/", "pm-")),
    # The one place where the channel engine meets a packet device.
    ("pmcore/device/chanlink", (*PUBLIC, "pmcore/device/", "pmcore/channel/", "pmcore/wire/",
                                "pmcore/util/")),
    ("pmcore/device/", (*PUBLIC, "pmcore/device/", "pmcore/wire/", "pmcore/util/")),
    ("pmcore/tools/*/", ("pm.h", "pmcore/util/", "pmcore/tools/common/", "{own}")),
    ("pm-ethernet/frame.h", ()),
    ("pm-ethernet/grid.h", ("pm-ethernet/frame.h",)),
    ("pm-ethernet/route.h", ("pm-ethernet/grid.h",)),
    ("pm-ethernet/bpf/", ("pm-ethernet/frame.h", "pm-ethernet/grid.h", "pm-ethernet/route.h", "{own}")),
    ("cluster/", ("pmcore/util/", "cluster/")),
    ("pm-ethernet/daemon/", ("pmcore/wire/", "pmcore/util/", "cluster/", "pm-ethernet/")),
    # Rooms: hw <- conn <- data <- the files above them; datagrams have the ports in common with connections.
    ("pm-verbs/hw/", (*PUBLIC, "pmcore/util/", "pm-verbs/hw/", "pm-verbs/verbs.h")),
    ("pm-verbs/conn/", (*PUBLIC, "pmcore/util/", "pm-verbs/hw/", "pm-verbs/conn/")),
    ("pm-verbs/data/", (*PUBLIC, "pmcore/util/", "pm-verbs/hw/", "pm-verbs/conn/", "pm-verbs/data/")),
    ("pm-verbs/datagram/", (*PUBLIC, "pmcore/util/", "pm-verbs/hw/", "pm-verbs/verbs.h", "pm-verbs/datagram/")),
    ("pm-*/", (*PUBLIC, "pmcore/wire/", "pmcore/util/", "{own}")),
    ("mpi-glue/common/", ("pm.h", "mpi-glue/common/", *NOTHING_TO_LINK)),
    # The two components of Open MPI have its versions in common.
    ("mpi-glue/btl/", ("pm.h", "mpi-glue/common/", "mpi-glue/mtl/", "{own}", *NOTHING_TO_LINK,
                       *OPEN_MPI)),
    ("mpi-glue/*/", ("pm.h", "mpi-glue/common/", "{own}", *NOTHING_TO_LINK, *OPEN_MPI)),
    ("scheduler/", ("pm.h", "pmcore/util/", "cluster/", "scheduler/")),
)


def allowed_for(name):
    """The prefixes that a file may include, or None when there is no rule for it."""
    for pattern, prefixes in ALLOWED:
        match = re.match(re.escape(pattern).replace(r"\*", "[^/]+"), name)
        if match:
            return [p.format(own=match.group(0)) for p in prefixes]
    return None


def is_written_from_root(tree, header):
    if header in PUBLIC or header.startswith(OPEN_MPI):
        return True
    return "/" in header and ".." not in header and os.path.exists(tree.path(header))


def check_project_include(tree, name, header):
    """The error message about one include in quotes, or None."""
    if name.startswith(COPIED):
        return None
    if not is_written_from_root(tree, header):
        return f'"{header}" is no path from the root of the tree'
    if name.startswith("pmcore/channel/") and header in CHANNEL_REFUSED:
        return f'"{header}": the channel engine is given the time and says nothing'
    daemon = DAEMON.match(header)
    if daemon and name.startswith("pm") and not name.startswith(daemon.group(0)):
        return f'"{header}": only the daemon knows its inside'
    prefixes = allowed_for(name)
    if prefixes is not None and not header.startswith(tuple(prefixes)):
        return f'"{header}" is against the layers; allowed here: {" ".join(prefixes)}'
    return None


def check_system_include(name, header):
    if name.startswith("pmcore/channel/") and header not in CHANNEL_SYSTEM:
        return f"<{header}>: the channel engine knows no socket, clock, thread or file"
    return None


def check(tree):
    for name in tree.c_files():
        text = tree.text(name)
        for match in INCLUDE.finditer(text):
            kind, header = match.groups()
            wrong = (check_project_include(tree, name, header) if kind == '"'
                     else check_system_include(name, header))
            if wrong:
                line = text.count("\n", 0, match.start(2)) + 1
                yield f"{name}:{line}: {wrong}"
