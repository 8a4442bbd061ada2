# SPDX-License-Identifier: BSD-3-Clause
"""probe - the command that asks scored whether it serves, unless the user gives another. Pure but for reading
cluster.json."""

import json
import os
import pathlib

from scorelink.link import PORT

_SCINFO = pathlib.Path(__file__).resolve().parents[3] / "scheduler" / "ctl" / "scinfo"
_EVERYWHERE = ("", "0.0.0.0", "[::]")


def _option(words, name):
    """The value of a long option, "" = it is not there."""
    for at, word in enumerate(words):
        if word == name and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(f"{name}="):
            return word[len(name) + 1:]
    return ""


def _configured_port(path):
    """The port in the file, else the default one. A file that is not valid is reported by scored itself."""
    try:
        with open(path, encoding="utf-8") as file:
            return int(json.load(file)["scheduler"]["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return PORT


def of(daemon):
    """Words of the command for a daemon, given as words; None: there is none, only its death is noticed."""
    if os.path.basename(daemon[0]) != "scored":
        return None
    host, _, port = _option(daemon, "--listen").rpartition(":")
    if port == "0":
        return None     # nobody but the kernel knows the port
    port = port or str(_configured_port(_option(daemon, "--config")))
    words = [str(_SCINFO), "--json", "--server", f"{'localhost' if host in _EVERYWHERE else host}:{port}"]
    munge = _option(daemon, "--munge-socket")
    return words + (["--munge-socket", munge] if munge else [])
