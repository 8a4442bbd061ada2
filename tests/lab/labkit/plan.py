# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of a lab, worked out from the options of `sclab up` alone: hosts, NICs, switches,
# names, MAC and IP addresses. Pure: touches no kernel, no file and no clock.

import itertools
import re
from dataclasses import dataclass, field

from .errors import EXIT_USAGE, LabError

MAX_HOSTS = 1000        # a Linux bridge has 1024 ports
MAX_NICS = 32
MAX_DIMENSIONS = 6
MAX_RAILS = 8           # of pm-ethernet; ETH_RAILS of pm-ethernet/frame.h
PREFIX = 16             # length of every subnet's prefix
BLOCK = 250             # hosts that differ in the last number of their addresses alone
DIMENSION_NAMES = "xyzuvw"
MANAGEMENT_MTU = 1500
PPM = 1_000_000

LIMITERS = ("tbf", "htb")
OWN_CORE = "own"        # --cores: one of the machine's cores for each host, in turn

BIT_UNITS = {"": 1, "bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
BYTE_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20}


def usage(text):
    return LabError(text, EXIT_USAGE)


@dataclass(frozen=True)
class Options:
    """The options that the user gave; kept in the state file, from which the plan is worked out again."""
    lab: str                      # name of the lab, part of every namespace's name
    shape: tuple = (2,)           # hosts along each dimension; one entry: a flat network
    grid: bool = False            # shape came from --grid: a switch per line, not per rail
    nics: int = 1                 # data NICs of a host per dimension
    mtu: int = 1500               # of data NICs, bytes
    rate: int = 0                 # of a data link, each way, bit/s; 0: no limit
    queue: int = 1 << 20          # bytes a switch holds for a rate limited host before it drops
    loss_ppm: int = 0             # chance of a frame to be lost at a switch, millionths
    seed: int = 1                 # of the loss pattern
    direct: bool = False          # NIC to NIC, no switch: two hosts, or a grid whose lines have two
    ethernet: bool = False        # pm-ethernetd runs in every host
    mode: str = "auto"            # its --mode
    offloads: str = "auto"        # on, off, or auto: off when frames get lost
    burst: int = 0                # bytes a limited link carries at once; 0: what suits the rate
    fast_uplinks: bool = False    # the rate holds towards the hosts only
    limiter: str = "tbf"          # one of LIMITERS; see shaping.py
    spread: bool = False          # what a host sends is carried on by other cores than its own
    scheduler: bool = False       # scored runs in the first host, scnoded in every one
    cores: str = ""               # that each host offers to jobs: a number, OWN_CORE, "" = the machine's
    quantum: str = ""             # of gang scheduling; "" = scored's default
    checkpoints: str = ""         # directory that all hosts share; "" = one of each host


@dataclass
class Nic:
    name: str                     # inside the host: eth0 is management, eth1.. carry data
    host: str                     # name of the host
    switch: str                   # name of the switch; "" when joined directly
    mac: str
    address: str                  # IPv4, dotted
    dimension: int                # -1: management

    @property
    def port(self):
        """Name of the switch's end of the cable."""
        return self.host


@dataclass
class Host:
    name: str
    index: int
    coordinates: tuple
    nics: list = field(default_factory=list)

    def nic(self, name):
        for nic in self.nics:
            if nic.name == name:
                return nic
        raise LabError(f"host {self.name} has no NIC {name}: it has "
                   + ", ".join(n.name for n in self.nics), 3)


@dataclass
class Switch:
    name: str
    nics: list = field(default_factory=list)     # one per port

    @property
    def is_management(self):
        return self.name == "mgmt"


@dataclass
class Plan:
    options: Options
    hosts: list
    switches: list
    cables: list = field(default_factory=list)   # pairs of data NICs that are joined directly

    def host(self, name):
        for host in self.hosts:
            if host.name == name:
                return host
        raise LabError(f"lab {self.options.lab} has no host {name}: its hosts are {self.range}", 3)

    @property
    def range(self):
        """The hosts in bracket notation, as cluster.toml has them."""
        return f"h[0-{len(self.hosts) - 1}]" if len(self.hosts) > 1 else "h0"

    @property
    def offloads(self):
        if self.options.offloads == "auto":
            return not self.options.loss_ppm
        return self.options.offloads == "on"

    def namespace(self, part):
        """Name under /run/netns of a host's or a switch's network namespace."""
        return f"{self.options.lab}-{part}"

    def namespaces(self):
        return [self.namespace(p.name) for p in (*self.hosts, *self.switches)]

    def data_nics(self):
        return [n for h in self.hosts for n in h.nics if n.dimension >= 0]


def parse_lab_name(text):
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,23}", text):
        raise usage(f"lab name '{text}' is not usable: write a lower-case letter, then up to 23 "
                "letters, digits or '_'")
    return text


def parse_quantity(text, units, what, example):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", text.strip().lower())
    if not match or match[2] not in units:
        raise usage(f"{what} '{text}' is not understood: write for example {example}")
    return round(float(match[1]) * units[match[2]])


def parse_rate(text):
    """bit/s; 0 is no limit."""
    if text in ("none", "0"):
        return 0
    rate = parse_quantity(text, BIT_UNITS, "rate", "200mbit, 1gbit or none")
    if rate < 8000:
        raise usage(f"rate '{text}' is below 8kbit: did you leave out mbit or gbit?")
    return rate


def parse_queue(text):
    return parse_quantity(text, BYTE_UNITS, "queue", "64k or 1m")


def parse_burst(text):
    return parse_quantity(text, BYTE_UNITS, "burst", "64k")


def parse_loss(text):
    """Parts per million, from '1%', '1' (percent) or '500ppm'."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(%|ppm|)", text.strip())
    if not match:
        raise usage(f"loss '{text}' is not understood: write for example 0.1% or 500ppm")
    ppm = round(float(match[1]) * (1 if match[2] == "ppm" else PPM / 100))
    if ppm > PPM:
        raise usage(f"loss '{text}' is more than 100%")
    return ppm


def parse_cores(text):
    if text != OWN_CORE and not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise usage(f"cores '{text}' is not understood: write a number, or {OWN_CORE}")
    return text


def parse_grid(text):
    if not re.fullmatch(r"[0-9]+(x[0-9]+)*", text):
        raise usage(f"grid '{text}' is not understood: write for example 4x4x4")
    return tuple(int(n) for n in text.split("x"))


def parse_target(text):
    """('h3', 'eth1') of 'h3:eth1'."""
    host, colon, nic = text.partition(":")
    if not host or not colon or not nic:
        raise usage(f"'{text}' names no NIC: write HOST:NIC, for example h0:eth1")
    return host, nic


def check_options(options):
    """Refuses what cannot be built, with the remedy."""
    hosts = 1
    for extent in options.shape:
        hosts *= extent
    if hosts < 1 or hosts > MAX_HOSTS:
        raise usage(f"{hosts} hosts cannot be built: 1 to {MAX_HOSTS} are possible")
    if len(options.shape) > MAX_DIMENSIONS:
        raise usage(f"a grid has at most {MAX_DIMENSIONS} dimensions")
    if options.nics < 0 or options.nics * len(options.shape) > MAX_NICS:
        raise usage(f"a host has 0 to {MAX_NICS} data NICs: lower --nics")
    if not 576 <= options.mtu <= 65535:
        raise usage(f"mtu {options.mtu} is outside 576..65535")
    if options.rate and options.queue < options.mtu + 64:
        raise usage(f"queue of {options.queue} bytes holds no frame of mtu {options.mtu}")
    if options.ethernet and not 1 <= options.nics * len(options.shape) <= MAX_RAILS:
        raise usage(f"--ethernet is for 1 to {MAX_RAILS} data NICs of a host: change --nics")
    if options.mode != "auto" and not options.ethernet:
        raise usage("--mode is for pm-ethernetd: write --ethernet too")
    if (options.cores or options.quantum or options.checkpoints) and not options.scheduler:
        raise usage("--cores, --quantum and --checkpoints are for the scheduler: write --scheduler too")
    if not options.direct:
        return
    if set(options.shape) != {2}:
        raise usage("--direct joins exactly two hosts, or the two of each line of a grid: write "
                    "--hosts 2 --direct, or --grid 2x2x2 --direct")
    if options.rate or options.loss_ppm or options.spread:
        raise usage("--direct has no switch to limit, lose or spread frames: "
                "leave out --direct, or --rate, --loss and --spread")


def mac_of(nic_index, host_index):
    """Locally administered; readable in a trace: NIC in the third byte, host in the last two."""
    return f"02:5c:{nic_index:02x}:00:{host_index >> 8:02x}:{host_index & 0xff:02x}"


def address_of(nic_index, host_index):
    """NIC k of every host lies in 10.k.0.0/16, in a grid too, where one such subnet is many lines."""
    return f"10.{nic_index}.{host_index // BLOCK}.{host_index % BLOCK + 1}"


def coordinates_of(shape):
    """Coordinates of every host in order of its number: the last dimension runs fastest."""
    return list(itertools.product(*map(range, shape)))


def line_name(dimension, rail, coordinates):
    """Switch of a line: the dimension, the rail, then where the line lies in the others."""
    others = [str(c) for d, c in enumerate(coordinates) if d != dimension]
    return "-".join([f"{DIMENSION_NAMES[dimension]}{rail + 1}", *others])


def join_directly(plan):
    """A cable in the place of each switch but the management's."""
    for switch in plan.switches:
        if not switch.is_management:
            plan.cables.append(tuple(switch.nics))
            for nic in switch.nics:
                nic.switch = ""
    plan.switches = [s for s in plan.switches if s.is_management]


def make_plan(options):
    check_options(options)
    hosts = [Host(f"h{i}", i, c) for i, c in enumerate(coordinates_of(options.shape))]
    switches = {}

    def cable(host, index, switch, dimension):
        nic = Nic(f"eth{index}", host.name, switch, mac_of(index, host.index),
                  address_of(index, host.index), dimension)
        host.nics.append(nic)
        if switch:
            switches.setdefault(switch, Switch(switch)).nics.append(nic)

    for host in hosts:
        cable(host, 0, "mgmt", -1)
        for dimension, rail in itertools.product(range(len(options.shape)), range(options.nics)):
            index = dimension * options.nics + rail + 1
            switch = f"sw{index}"
            if options.grid:
                switch = line_name(dimension, rail, host.coordinates)
            cable(host, index, switch, dimension)
    plan = Plan(options, hosts, list(switches.values()))
    if options.direct:
        join_directly(plan)
    return plan
