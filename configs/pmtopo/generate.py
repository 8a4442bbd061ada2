# SPDX-License-Identifier: BSD-3-Clause
"""generate - a cluster.toml for a cluster that is being planned: a shape, NICs per dimension, names."""

import math
import re

from . import hostlist
from .draft import Draft
from .problems import Wrong, quote
from .schema import CLUSTER_HOSTS_MAX, DIMENSIONS_MAX, GRID_HOSTS_MAX, POINTS_MAX
from .values import AXES, RAILS_MAX


def dims(text):
    """"16x16x10" as numbers. Raises Wrong."""
    if not re.fullmatch(r"[0-9]{1,9}(x[0-9]{1,9})*", text):
        raise Wrong(f"--dims {quote(text)} is no shape; write the points of each dimension, such as 16x16x10")
    shape = tuple(map(int, text.split("x")))
    if len(shape) > DIMENSIONS_MAX:
        raise Wrong(f"--dims {text} has {len(shape)} dimensions; at most {DIMENSIONS_MAX} are possible")
    for points in shape:
        if not 1 <= points <= POINTS_MAX:
            raise Wrong(f"--dims {text}: a dimension has 1 to {POINTS_MAX} points, not {points}")
    if math.prod(shape) > GRID_HOSTS_MAX:
        raise Wrong(f"--dims {text} is {math.prod(shape)} hosts; at most {GRID_HOSTS_MAX} are possible")
    return shape


def expand(option, text, most):
    """At most so many names of a range. Raises Wrong."""
    try:
        names = hostlist.expand(text)
    except hostlist.HostlistError as error:
        raise Wrong(f"{option} {quote(text)}: at character {error.at + 1}: {error.why}") from None
    if len(names) > most:
        raise Wrong(f"{option} {quote(text)} names {len(names)}; at most {most} are possible")
    return names


def _hosts(count, text):
    """Names of so many hosts; count None: as many as the text names."""
    if text is None:
        width = len(str(count - 1))
        return [f"n{number:0{width}d}" for number in range(count)]
    names = expand("--hosts", text, CLUSTER_HOSTS_MAX)
    if count is not None and len(names) != count:
        raise Wrong(f"--hosts {quote(text)} names {len(names)} hosts; the shape has {count} points, so name {count}")
    return names


def _devices(count, text):
    if text is None:
        return [f"eth{number}" for number in range(1, count + 1)]
    names = expand("--devices", text, RAILS_MAX)
    if len(names) != count:
        raise Wrong(f"--devices {quote(text)} names {len(names)}; {count} are wanted, the first "
                    "dimension's first")
    return names


def draft(name, shape, nics, hosts=None, devices=None, address=None):
    """The Draft. shape: points per dimension, None: flat. nics: per dimension. Others: text as given, or None."""
    if shape is None and hosts is None:
        raise Wrong("neither a shape nor hosts are given; write --dims 4x4x4, or --hosts 'n[0-31]' for a flat network")
    count = nics * len(shape or (1,))
    if nics < 1 or count > RAILS_MAX:
        each = f" along each of {len(shape)} dimensions" if shape else ""
        raise Wrong(f"--nics {nics}{each} makes {count} rails of a host; 1 to {RAILS_MAX} are possible")
    new = Draft(name)
    new.hosts = [(host, False) for host in _hosts(shape and math.prod(shape), hosts)]
    new.dims = shape
    new.address = address
    new.rails = [(device, at // nics if shape else None) for at, device in enumerate(_devices(count, devices))]
    new.head = ["Written by scconf generate; see cluster.toml(5). Try changes with \"scconf check\", then "
                "\"scconf compile\"."]
    new.host_remark = ("Put ~ before a host that is broken: it keeps its number and place.\n"
                       "address = \"10.0.0.[1-250]\" and the like say how hosts are reached for management; without "
                       "it by name.")
    if shape:
        last = AXES[len(shape) - 1]
        new.host_remark = ("Coordinates are counted in this order"
                           + (f", {last} changing fastest" if len(shape) > 1 else "")
                           + "; give coords to order hosts in another way.\n") + new.host_remark
    new.rails_remark = ("The interfaces, with equal names on all hosts; [overrides.HOSTS.ethernet] renames them for "
                        "some.\npm-ethernetd --config cluster.json takes them from the compiled file.")
    return new
