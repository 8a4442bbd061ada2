# SPDX-License-Identifier: BSD-3-Clause
"""server - where scored is: --server, $SCORE_SERVER, [scheduler] of cluster.json, else this host. As in scrun(1)."""

import json
import os

CLUSTER = "/etc/openscore/cluster.json"


def _of_cluster():
    """Whoever needs the file says what is wrong with it."""
    try:
        with open(os.environ.get("SCORE_CLUSTER") or CLUSTER, encoding="utf-8") as file:
            section = json.load(file)["scheduler"]
        host, port = section["server"], section.get("port")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not port:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address(option=None):
    """HOST or HOST:PORT."""
    return option or os.environ.get("SCORE_SERVER") or _of_cluster() or "localhost"
