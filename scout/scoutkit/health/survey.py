# SPDX-License-Identifier: BSD-3-Clause
"""survey - one look at all hosts: what scored says, who answers at the doors, what commands on the hosts tell. Collects
for judge.py; judges nothing."""

import time

from scorelink.link import Link, Unreachable, address_of
from scorelink.munge import Refused

from ..hosts import Wrong
from . import doors, facts, judge

_SCRIPT_S = 10              # more than the script's own limits
_PAUSE_S = 1.0


class NoHosts(Exception):
    """Nobody says which hosts there are; the text names the remedy."""


def ask_scored(address, munge_socket=None):
    """(its answer to "cluster" or None, why there is none)."""
    try:
        return Link(address, munge_socket=munge_socket).ask({"op": "cluster"}), ""
    except (Unreachable, Refused) as problem:
        return None, str(problem)


def names_of(expression, file, left_out, inventory, cluster):
    """The hosts to look at; file: of expressions. Raises Wrong and NoHosts."""
    if file:
        names = inventory.read(file)
    elif expression and expression != "all":
        names = inventory.expand(expression)
    elif inventory.names:
        names = list(inventory.names)
    elif cluster:
        names = [host["name"] for host in cluster["hosts"]]
    else:
        raise NoHosts("no hosts are known: name them with -g, or bring /etc/openscore/cluster.json here (scconf "
                      "compile)")
    gone = set(inventory.expand(left_out)) if left_out else set()
    names = [name for name in names if name not in gone]
    if not names:
        raise Wrong(f"-x {left_out}: it leaves no host")
    return names


def _place(view, inventory):
    """(address, port) of a host's scnoded: as scored knows it, else as cluster.json has it."""
    if view.entry and view.entry.get("address"):
        return address_of(view.entry["address"])
    return inventory.address(view.name), inventory.node_port


def _enter(scene, answer):
    """Stores scored's answer, and its entry for each host."""
    scene.cluster, scene.scored_error = answer
    entries = {host["name"]: host for host in scene.cluster["hosts"]} if scene.cluster else {}
    for view in scene.views:
        view.entry = entries.get(view.name)


def _ask_again(scene, ask, retries):
    """Asks scored again while a host answers at its door and is not registered. scored's answer is the older one, and a
    scnoded that has just come up registers in a moment."""
    tried = 0
    while scene.cluster and any(not judge.is_dead(view, scene) and judge.is_absent(view) for view in scene.views):
        if tried:
            if retries is not None and tried > retries:
                break
            time.sleep(_PAUSE_S)
        _enter(scene, ask())
        tried += 1


def _take(view, result):
    """Stores the result of the fan-out for one host."""
    if result.error:
        view.error = facts.harmless(str(result.error))
        return
    try:
        view.facts = facts.read(result.stdout)
    except facts.Unreadable as problem:
        said = result.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        view.error = facts.harmless(said if result.status and said else str(problem))


def _ask_facts(scene, run, timeout):
    reached = [view for view in scene.views if not judge.is_dead(view, scene)]
    if not reached:
        return
    rails = sorted({rail for view in reached for rail in view.mtus})
    scene.began = time.time()
    try:
        results = run([view.name for view in reached], ["/bin/sh", "-c", facts.script(), "facts.sh", *rails],
                      timeout=timeout + _SCRIPT_S)
    except Refused as problem:
        for view in reached:
            view.error = facts.harmless(str(problem))
        return
    scene.ended = time.time()
    for view in reached:
        _take(view, results[view.name])


def look(names, inventory, answer, ask, run, *, limit, at_once, retries, is_scheduled):
    """The Scene. answer: scored's first, ask() gives another; run(hosts, argv, timeout=S) -> {host: Result}: see
    scoutkit.fanout."""
    views = [judge.View(name, mtus=inventory.rails(name), needs_ethernetd=inventory.needs_ethernetd(name))
             for name in names]
    scene = judge.Scene(views, is_scheduled=is_scheduled)
    _enter(scene, answer)
    places = {view.name: _place(view, inventory) for view in scene.views}
    found = doors.knock_again(places, limit, at_once, retries)
    for view in scene.views:
        view.door, view.port = found[view.name], places[view.name][1]
    _ask_again(scene, ask, retries)
    _ask_facts(scene, run, limit)
    return scene
