# SPDX-License-Identifier: BSD-3-Clause
"""heading - a cluster in one line."""


def heading(cluster):
    """Its name, how many hosts of which state, its shape."""
    states = [host.state for host in cluster.hosts]
    parts = [f"cluster {cluster.name}", f"{len(states)} host{'s' if len(states) > 1 else ''}"]
    parts += [f"{states.count(state)} {state}" for state in ("defect", "spare") if state in states]
    if cluster.topology:
        parts.append(f"{cluster.topology.kind} {'x'.join(map(str, cluster.topology.dims))}")
    return ", ".join(parts)
