# SPDX-License-Identifier: BSD-3-Clause
"""show - what the commands found, as tables for people. Needs rich."""

import os
import sys

from pmharmless import harmless
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from . import words

_WIDTH = 160  # of what no terminal reads
_COLOURS = {"up": "green", "running": "green", "absent": "red", "dead": "red", "drained": "yellow", "removed": "yellow",
            "suspended": "yellow", "queued": "cyan", "trouble": "red", "note": "yellow"}


def _console():
    wide = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _WIDTH
    return Console(highlight=False, width=wide)


def _plain(value):
    """A job's name is its user's choice: nothing in it reaches the terminal as a command."""
    return harmless(str(value))


def _cell(value):
    text = _plain(value)
    return Text(text, style=_COLOURS.get(text.split(",", maxsplit=1)[0], ""))


def _table(title, columns, rows, empty):
    if not rows:
        return Text(f"{title}: {empty}" if title else empty)
    table = Table(title=Text(_plain(title)) if title else None, title_justify="left", title_style="bold",
                  show_header=any(columns))
    for column in columns:
        name, _, side = column.partition(">")
        table.add_column(name, justify="right" if side else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def text(drawing):
    """Prints it once."""
    _console().print(drawing)


def live(frames, drawing):
    """One frame in the place of the one before."""
    with Live(console=_console(), auto_refresh=False, screen=False) as screen:
        for frame in frames:
            screen.update(globals()[drawing](frame), refresh=True)


# ---- scqueue ----

def jobs_drawing(rows):
    """Jobs, as queue.row() has them."""
    return _table("", ("id>", "user", "state", "class", "ranks x hosts", "name", "since>", "where, or why"),
                  [tuple(row[key] for key in ("id", "user", "state", "class", "ranks", "name", "since", "remark"))
                   for row in rows], "no jobs")


def jobs(rows):
    text(jobs_drawing(rows))


# ---- scinfo ----

def _line(cluster):
    return Text(_plain(f"{cluster['name']}: scored {cluster['version']} at {cluster['server']}, "
                       f"{words.count(len(cluster['hosts']), 'host')}, {cluster['cores_used']} of "
                       f"{words.count(cluster['cores'], 'core')} used, quantum {cluster['quantum_ns'] / 1e6:g} ms, "
                       f"{words.count(cluster['n_rows'], 'row')}"))


def _advice(cluster):
    number = len(cluster["findings"])
    return [Text(f"{words.count(number, 'finding')}: scinfo --check tells")] if number else []


def summary(cluster):
    """The cluster in a line and one row per state of hosts."""
    rows = [(state["state"], words.hosts(state["hosts"]), len(state["hosts"]), f"{state['cores_used']} / "
             f"{state['cores']}", state["remark"] or "-") for state in cluster["states"]]
    text(Group(_line(cluster), _table("", ("state", "hosts", "number>", "cores used>", "note"), rows, "no hosts"),
               *_advice(cluster)))


def hosts(cluster):
    """One row per host."""
    rows = [(host["name"], host["state"], f"{host['cores_used']} / {host.get('n_cores', 0)}", f"{host['load']:.1f}",
             words.size(host["memory_free"]), words.size(host.get("memory", 0)), host.get("cgroups", "-"),
             host.get("kernel", "-"), words.time_ns(host["skew_ns"]), host["remark"] or "-")
            for host in cluster["hosts"]]
    columns = ("host", "state", "cores used>", "load>", "memory free>", "memory>", "cgroups", "kernel", "clock off by>",
               "note")
    text(Group(_line(cluster), _table("", columns, rows, "no hosts"), *_advice(cluster)))


def host(one):
    """Everything of one host, and who has its cores in which row."""
    switches = one["switches"]
    known = (("address", "address"), ("version", "version"), ("kernel", "kernel"), ("cgroups", "cgroups"), ("pm", "PM"))
    rows = [("state", one["state"]), ("note", one["remark"] or "-"),
            *((title, one.get(key) or "-") for key, title in known),
            ("cores used", f"{one['cores_used']} of {one.get('n_cores', 0)}"), ("load", f"{one['load']:.2f}"),
            ("memory free", f"{words.size(one['memory_free'])} of {words.size(one.get('memory', 0))}"),
            ("clock off by", words.time_ns(one["skew_ns"])),
            ("switches", f"{switches['done']}, late {switches['late']}, worst {words.time_ns(switches['worst_ns'])}, "
             f"lost {words.time_ns(switches['lost_ns'])}")]
    slots = [(number, *(job or "." for job in row)) for number, row in enumerate(one["rows"])]
    cores = [f"core {core}>" for core in range(max(map(len, one["rows"]), default=0))]
    text(Group(_table(one["name"], ("", ""), rows, ""), Text("jobs that have the cores, row by row"),
               _table("", ("row>", *cores), slots, "none")))


def findings(found, title="check"):
    """The findings of scinfo --check."""
    text(_table(title, ("", "where", "what", "what to do"),
                [(f["weight"], f["where"], f["what"], f["remedy"]) for f in found], "nothing found"))


# ---- msgb ----

def locks_drawing(seen):
    """Locks, who waits for some, and jobs, as msgb.view() has them."""
    def rows(kind, *keys):
        return [tuple(entry[key] for key in keys) for entry in seen[kind]]
    return Group(
        _table("locks", ("id>", "user", "mode", "hosts", "since>", "left>", "reason", "place"),
               rows("locks", "id", "user", "mode", "hosts", "since", "left", "reason", "place"), "none"),
        _table("waiting", ("place>", "user", "mode", "hosts", "since>", "reason", "from"),
               rows("waiting", "position", "user", "mode", "hosts", "since", "reason", "place"), "nobody"),
        _table("jobs", ("id>", "user", "hosts"), rows("jobs", "id", "user", "hosts"), "none"))


def locks(seen):
    text(locks_drawing(seen))


# ---- sctop ----

_HOSTS_SHOWN = 16
_CORES_SHOWN = 16


def _slots(host):
    """The jobs of a host's cores, row after row: "3 3 . .| 4 4 4 4"."""
    def of(row):
        more = " ..." if len(row) > _CORES_SHOWN else ""
        return " ".join(str(job) if job else "." for job in row[:_CORES_SHOWN]) + more
    return " | ".join(of(row) for row in host["rows"]) or "-"


def top_drawing(frame):
    """One frame of activity.py."""
    jobs_table = _table("", ("id>", "user", "state", "name", "ranks x hosts", "turns>", "CPU>", "efficiency>", "since>",
                             "where, or why"),
                        [(job["id"], job["user"], job["state"], job["name"], job["ranks"],
                          "-" if job["turns"] is None else f"{job['turns']} of {frame['n_rows']}",
                          words.percent(job["cpu"]), words.percent(job["efficiency"]), job["since"], job["remark"])
                         for job in frame["jobs"]], "no jobs")
    shown = frame["hosts"][:_HOSTS_SHOWN]
    hosts_table = _table("", ("host", "state", "cores used>", "load>", "switches/s>", "late>", "worst>", "lost>",
                              "who has the cores, row | row"),
                         [(one["name"], one["state"], f"{one['cores_used']} / {one['n_cores']}", f"{one['load']:.1f}",
                           f"{one['switches_per_s']:.1f}", one["late"], words.time_ns(one["worst_ns"]),
                           words.percent(one["lost"]), _slots(one)) for one in shown], "no hosts")
    rest = len(frame["hosts"]) - len(shown)
    more = [Text(f"and {words.count(rest, 'host')} more: scinfo --hosts")] if rest else []
    head = Text(_plain(f"{frame['name']}: {frame['hosts_up']} of {words.count(len(frame['hosts']), 'host')} up, "
                       f"{frame['cores_used']} of {words.count(frame['cores'], 'core')} used, quantum "
                       f"{frame['quantum_ns'] / 1e6:g} ms, {words.count(frame['n_rows'], 'row')}"))
    return Group(head, jobs_table, hosts_table, *more)
