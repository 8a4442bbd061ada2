# SPDX-License-Identifier: BSD-3-Clause
"""facts - what facts.sh prints on a host, read: each line is checked, what is not known is passed over. Pure but for
the text of the script."""

import pathlib
import re
from dataclasses import dataclass, field

import pmharmless

_TEXT_MAX = 200         # of what a host says in words
_LINES_MAX = 1000
_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")


class Unreadable(Exception):
    """The text tells no facts; str() says why."""


@dataclass(frozen=True)
class Disk:
    """A file system as one of the directories shows it; percent are of what users may fill."""
    percent: int
    inodes_percent: int
    available_kib: int
    target: str                 # where it is mounted


@dataclass(frozen=True)
class Rail:
    """An interface. state is the kernel's word, or "missing"; speed in Mbit/s, 0 = not told."""
    state: str
    has_carrier: bool
    speed: int
    mtu: int


@dataclass
class Facts:
    """Of one host. clock_ns: its wall clock when the script began and when it ended."""
    clock_ns: tuple = ()
    kernel: str = ""
    versions: dict = field(default_factory=dict)    # program -> version
    munge: tuple | None = None                      # (status, words), None: not installed
    disks: dict = field(default_factory=dict)       # directory -> Disk
    daemons: set = field(default_factory=set)
    rails: dict = field(default_factory=dict)       # interface -> Rail
    memory_kib: int = 0
    memory_free_kib: int = 0


def script():
    """For sh -c; its arguments are interfaces."""
    return (pathlib.Path(__file__).parent / "facts.sh").read_text("utf-8")


def harmless(said):
    """A text from a host, cut and made safe for a terminal."""
    return pmharmless.harmless(said[:_TEXT_MAX])


def _number(text):
    if not _NUMBER.match(text):
        raise ValueError
    return int(text)


def _clock(facts, at):
    facts.clock_ns += (_number(at),)


def _kernel(facts, release):
    facts.kernel = release


def _version(facts, program, version):
    facts.versions[program] = version


def _munge(facts, status, *said):
    facts.munge = (_number(status), " ".join(said))


def _disk(facts, file, percent, inodes, available, *target):
    share = [0 if text == "-" else _number(text) for text in (percent, inodes)]     # some have no inodes to count
    facts.disks[file] = Disk(*share, _number(available), " ".join(target))


def _daemon(facts, name):
    facts.daemons.add(name)


def _rail(facts, name, state, carrier, speed, mtu):
    facts.rails[name] = Rail(state, carrier == "1", max(0, _number(speed)), _number(mtu))


def _memory(facts, total, available):
    facts.memory_kib, facts.memory_free_kib = _number(total), _number(available)


_READERS = {"clock": _clock, "kernel": _kernel, "version": _version, "munge": _munge, "disk": _disk, "daemon": _daemon,
            "rail": _rail, "memory": _memory}


def read(data):
    """The Facts of what the script printed. Raises Unreadable."""
    lines = data.decode("utf-8", "replace").split("\n", _LINES_MAX)[:_LINES_MAX]
    if "end" not in lines:
        raise Unreadable("the list of facts is cut off")
    facts = Facts()
    for line in lines[:lines.index("end")]:
        key, *rest = harmless(line).split()[:16] or [""]
        if key not in _READERS:
            continue
        try:
            _READERS[key](facts, *rest)
        except (ValueError, TypeError):
            raise Unreadable(f'"{harmless(line)}" is no fact') from None
    if len(facts.clock_ns) != 2:
        raise Unreadable("it tells no time")
    return facts
