# SPDX-License-Identifier: BSD-3-Clause
"""heard - what the hosts of a cluster hear of each other: the reports of "pm-ethernetctl peers --json".

Owns the form of the reports and the ways to get them: by a command that reaches a host, or from files HOST.json.
wiring.py concludes the wiring from them.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
from typing import NamedTuple, Optional

from .problems import Wrong, quote

SSH = "ssh -o BatchMode=yes %h"
_AT_ONCE = 32


class Port(NamedTuple):
    """An interface of a host."""

    host: str
    device: str


class Ear(NamedTuple):
    """A port of the reporting host hears one of another host."""

    rail: int
    device: str
    other: Port
    other_rail: int
    mac: str               # of the other's port
    mtu: Optional[int]     # of the other's port
    own_mtu: Optional[int]
    is_alive: bool         # it answered the last queries


class Heard(NamedTuple):
    """All that is known."""

    ears: dict             # host -> list of Ear
    silent: dict           # host that was asked and gave no report -> why


def _ear(peer, ear):
    other = Port(str(peer["name"]), str(ear["their_nic"]))
    return Ear(int(ear["rail"]), str(ear["nic"]), other, int(ear["their_rail"]), str(ear["mac"]).lower(),
               ear.get("mtu"), ear.get("own_mtu"), bool(ear["is_alive"]))


def parse(text, where):
    """The ears of one report. Raises Wrong, naming where it comes from."""
    try:
        tree = json.loads(text)
        return [_ear(peer, ear) for peer in tree["peers"] for ear in peer["rails"]]
    except json.JSONDecodeError as error:
        raise Wrong(f"{where}:{error.lineno}: is no JSON ({error.msg}); give what \"pm-ethernetctl peers --json\" "
                    "printed") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Wrong(f"{where}: is no report of \"pm-ethernetctl peers --json\" ({type(error).__name__}: {error}); "
                    "collect it with that command") from None


def _with_names(ears, silent):
    """Hosts called by the names that reports were asked for: a daemon may add its domain."""
    short = {name.partition(".")[0]: name for name in [*ears, *silent]}

    def name(text):
        return text if text in ears else short.get(text.partition(".")[0], text)

    return Heard({host: [ear._replace(other=ear.other._replace(host=name(ear.other.host))) for ear in found]
                  for host, found in ears.items()}, silent)


def from_files(paths):
    """Of files HOST.json and directories that hold such. Raises Wrong."""
    files, ears = [], {}
    for text in paths:
        path = pathlib.Path(text)
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not found:
            raise Wrong(f"{text}: holds no HOST.json; collect \"pm-ethernetctl peers --json\" of each host there")
        files += found
    for path in files:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Wrong(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        host = path.name.removesuffix(".json")
        if host in ears:
            raise Wrong(f"{path}: there is a report of {host} already; give one per host")
        ears[host] = parse(text, str(path))
    return _with_names(ears, {})


def _ask(words, host, seconds):
    """(text of the report or None, why not)"""
    call = [word.replace("%h", host) for word in words]
    try:
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
                              check=False, errors="backslashreplace")
    except subprocess.TimeoutExpired:
        return None, f"no answer within {seconds:g} s"
    except OSError as error:
        raise Wrong(f"--through: {call[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return None, said[-1] if said else f"exit status {done.returncode}"
    return done.stdout, None


def through(command, hosts, program, seconds):
    """Asks the hosts, many at once. command: reaches a host, which stands for %h. Raises Wrong."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Wrong(f"--through {quote(command)}: {error}; close the quotes") from None
    if not any("%h" in word for word in words):
        raise Wrong(f"--through {quote(command)}: has no %h in the place of the host; write for example "
                    f"--through {quote(SSH)}")
    words += [program, "peers", "--json"]
    ears, silent = {}, {}
    with concurrent.futures.ThreadPoolExecutor(min(_AT_ONCE, len(hosts))) as pool:
        for host, (text, why) in zip(hosts, pool.map(lambda host: _ask(words, host, seconds), hosts)):
            if text is None:
                silent[host] = why
                continue
            try:
                ears[host] = parse(text, host)
            except Wrong as wrong:
                silent[host] = str(wrong)
    if not ears:
        host, why = next(iter(silent.items()))
        raise Wrong(f"none of {len(hosts)} hosts gave a report; {host}: {why}; try {shlex.join(words)} by hand with "
                    "a host for %h")
    return _with_names(ears, silent)


def save(heard, folder):
    """As files HOST.json that from_files reads, in a directory without others. Raises Wrong, OSError."""
    os.makedirs(folder, exist_ok=True)
    if any(pathlib.Path(folder).glob("*.json")):
        raise Wrong(f"--save {folder}: holds reports already, which would be mixed up; name another directory")
    for host, ears in heard.ears.items():
        peers = {}
        for ear in ears:
            peers.setdefault(ear.other.host, []).append(
                {"rail": ear.rail, "nic": ear.device, "mac": ear.mac, "their_rail": ear.other_rail,
                 "their_nic": ear.other.device, "mtu": ear.mtu, "own_mtu": ear.own_mtu, "is_alive": ear.is_alive})
        tree = {"peers": [{"name": name, "rails": rails} for name, rails in peers.items()]}
        pathlib.Path(folder, f"{host}.json").write_text(json.dumps(tree) + "\n", "utf-8")
