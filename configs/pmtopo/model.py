# SPDX-License-Identifier: BSD-3-Clause
"""model - a cluster after resolution: every host, rail and option spelled out."""

from typing import NamedTuple, Optional


class Rail(NamedTuple):
    """One rail of a network: an interface that every host has, or a subnet."""

    device: Optional[str]  # interface name, None: found by subnet
    subnet: Optional[str]  # such as "10.1.0.0/24", None: any
    dim: Optional[int]     # dimension of the topology it serves, from 0

    def label(self):
        """The interface name or the subnet that the library is told to look for."""
        return self.device or self.subnet


class HostRail(NamedTuple):
    """A rail as one host has it."""

    network: str
    rail: int              # place in the network's list of rails, from 0
    device: Optional[str]
    subnet: Optional[str]  # where there is no device
    address: Optional[str]
    mac: Optional[str]
    dim: Optional[int]


class Network(NamedTuple):
    """A network of the cluster."""

    name: str
    type: str              # one of schema.NETWORK_TYPES
    rails: tuple           # of Rail
    mtu: Optional[int]     # IP MTU in bytes, None: ask the interface
    ports: Optional[tuple]  # (first, last) UDP port, None: any
    ethertype: Optional[int]  # of its frames, None: the daemon's default
    mode: Optional[str]    # "auto", "native", "generic" or "tc": how the kernel runs its programs
    direct: Optional[str]  # "any", "root" or "never": who may have a NIC's queue to itself
    watch_ms: Optional[int]  # between two questions to the neighbours of a topology, 0: none


class Topology(NamedTuple):
    """How the rails are wired."""

    kind: str
    dims: tuple            # points per dimension


class Host:
    """One host; its id is its place in the file and never changes while the file's order holds."""

    __slots__ = ("id", "name", "state", "entry", "address", "coords", "rails", "pm")

    def __init__(self, host_id, name, state, entry):
        self.id = host_id
        self.name = name
        self.state = state     # "up", "defect" (listed as ~name) or "spare"
        self.entry = entry     # index of the [[hosts]] table it comes from
        self.address = None    # how to reach it for management, None: by its name
        self.coords = None     # one number per dimension
        self.rails = ()        # of HostRail
        self.pm = {}           # options that differ from the cluster's


class Cluster(NamedTuple):
    """The whole cluster."""

    name: str
    hosts: list            # of Host, by id
    by_name: dict          # name -> Host
    groups: dict           # name -> list of host ids
    networks: list         # of Network
    topology: Optional[Topology]
    pm: dict               # library options of all hosts: key -> text
    scheduler: Optional[dict] = None  # as in cluster.json; None: not described

    def options(self, host=None):
        """The library options of a host (None: of a host without overrides)."""
        return {**self.pm, **host.pm} if host else self.pm
