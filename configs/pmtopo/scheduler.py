# SPDX-License-Identifier: BSD-3-Clause
"""scheduler - what the [scheduler] section means together, and as cluster.json has it."""

from . import schema
from .problems import quote

PORT, NODE_PORT = 7710, 7711


def _check_ports(table, problems):
    port, node_port = table.get("port", PORT), table.get("node_port", NODE_PORT)
    if port == node_port:
        key = "node_port" if "node_port" in table else "port"
        problems.add(("scheduler", key), f"{port} is the port of both scored and scnoded, which may run on one host; "
                     f"write another one, such as {port + 1 if port < 65535 else port - 1}")


def _check_server(table, inventory, problems):
    host = inventory.by_name.get(table.get("server"))
    if host and host.state == "defect":
        problems.add(("scheduler", "server"), f"{quote(host.name)} is marked as defect in [[hosts]]; name a host that "
                     "works")


def _check_operators(table, problems):
    names = table.get("operators", ())
    for place, name in enumerate(names):
        if name in names[:place]:
            problems.add(("scheduler", "operators"), f"{quote(name)} is named twice; name each once")
            return


def resolve_scheduler(table, inventory, problems):
    """The object for cluster.json, None without the section."""
    if table is None:
        return None
    _check_ports(table, problems)
    _check_server(table, inventory, problems)
    _check_operators(table, problems)
    return {{"quantum": "quantum_ms"}.get(key, key): table[key] for key in schema.SCHEDULER.keys if key in table}
