# SPDX-License-Identifier: BSD-3-Clause
"""tune - settings of the NICs that PM wants, what they are now, and the way back. apply keeps the
old values in the run directory, which is gone after a reboot as the settings are."""

import json
import os

from . import nic as kernel

RINGS_WANTED = 4096


class TuneError(Exception):
    """The record of old values can't be read or written; the text says which and why."""


def _change(name, what, now, want, why):
    return {"nic": name, "what": what, "now": now, "want": want, "why": why}


def _changes(rail):
    name = rail["nic"]
    if rail["mode"] != "native" and kernel.offload(name, "gro"):
        yield _change(name, "gro", True, False, f"in {rail['mode']} mode each packet waits for GRO")
    if kernel.offload(name, "lro"):
        yield _change(name, "lro", True, False, "LRO merges frames before our programs see them")
    wait = kernel.coalescing(name)
    if wait and (wait["rx_usecs"] or wait["is_adaptive"]):
        yield _change(name, "coalescing", [wait["rx_usecs"], wait["is_adaptive"]], [0, False],
                      "each message waits for the interrupt")
    rings = kernel.rings(name)
    if rings:
        want = [min(RINGS_WANTED, rings["rx_max"]), min(RINGS_WANTED, rings["tx_max"])]
        if rings["rx"] < want[0] or rings["tx"] < want[1]:
            want = [max(want[0], rings["rx"]), max(want[1], rings["tx"])]
            yield _change(name, "rings", [rings["rx"], rings["tx"]], want,
                          "bursts of all senders at once must fit")


def plan(rails):
    """The settings that should change, as a list; empty when all is as wanted."""
    return [change for rail in rails if rail["state"] != "gone" for change in _changes(rail)]


def _set(name, what, value):
    if what == "coalescing":
        kernel.set_coalescing(name, *value)
    elif what == "rings":
        kernel.set_rings(name, *value)
    else:
        kernel.set_offload(name, what, value)


def _path(run):
    return os.path.join(run, "tune.json")


def _load(run):
    try:
        with open(_path(run), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise TuneError(f"{_path(run)}: old values can't be read: {error}; remove the file to "
                        "forget them") from None


def _save(run, old):
    try:
        if not old:
            os.unlink(_path(run))
            return
        with open(_path(run) + ".new", "w", encoding="utf-8") as file:
            json.dump(old, file)
        os.replace(_path(run) + ".new", _path(run))
    except OSError as error:
        raise TuneError(f"{_path(run)}: old values can't be kept: {error.strerror}; run this as "
                        "root") from None


def apply(run, changes):
    """Makes the changes; the value before the first apply is what undo goes back to."""
    old = _load(run)
    known = {(entry["nic"], entry["what"]) for entry in old}
    for change in changes:
        if (change["nic"], change["what"]) not in known:
            old.append({"nic": change["nic"], "what": change["what"], "value": change["now"]})
    if changes:
        _save(run, old)
    for change in changes:
        _set(change["nic"], change["what"], change["want"])


def undo(run):
    """Sets what apply changed back; the entries that were. A NIC that is gone stays in the record."""
    old = _load(run)
    done = []
    try:
        while old:
            _set(old[0]["nic"], old[0]["what"], old[0]["value"])
            done.append(old.pop(0))
    finally:
        if done:
            _save(run, old)
    return done
