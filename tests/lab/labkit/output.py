# SPDX-License-Identifier: BSD-3-Clause
#
# The texts a lab hands to its users: /etc/hosts of its hosts, the cluster.toml of what was built and
# its compiled form, a host file for mpirun.

import os
import subprocess

from . import state as states
from .errors import LabError
from .plan import BLOCK, DIMENSION_NAMES, PREFIX, mac_of
from .state import compiled_path

HOSTS_HEAD = "127.0.0.1\tlocalhost\n"


def hosts_text(plan):
    """Management addresses under the host's name, data addresses as HOST-NIC."""
    lines = [f"{host.nics[0].address}\t{host.name}" for host in plan.hosts]
    lines += [f"{nic.address}\t{nic.host}-{nic.name}" for nic in plan.data_nics()]
    return HOSTS_HEAD + "\n".join(lines) + "\n"


def write_hosts(plan, state):
    states.write_file(f"{state.directory}/hosts", hosts_text(plan))


def hostfile_text(plan, slots):
    return "".join(f"{host.name} slots={slots}\n" for host in plan.hosts)


def in_blocks(count, size, text):
    """A list in TOML of what `text` says of each block: its number and how many hosts it has."""
    items = [text(block // size, min(size, count - block)) for block in range(0, count, size)]
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


def addresses(plan, nic):
    return in_blocks(len(plan.hosts), BLOCK, lambda block, n: f"10.{nic}.{block}.[1-{n}]")


def macs(plan, nic):
    return in_blocks(len(plan.hosts), 256,
                     lambda block, n: f"{mac_of(nic, block << 8)[:-2]}[00-{n - 1:02x}]")


def config_text(plan):
    """cluster.toml(5) of the lab."""
    options = plan.options
    rails = [nic for nic in plan.hosts[0].nics if nic.dimension >= 0]
    numbers = range(1, len(rails) + 1)
    lines = ["[cluster]", f'name = "{options.lab}"', ""]
    if options.grid:
        lines += ["[topology]", 'kind = "hypercrossbar"', f"dims = {list(options.shape)}", ""]
    lines += ["[[hosts]]", f'range = "{plan.range}"', f"address = {addresses(plan, 0)}"]
    if options.grid:
        ranges = ", ".join(f'"[0-{extent - 1}]"' for extent in options.shape)
        lines.append(f"coords = [{ranges}]")
    if rails:
        lines += ["", "[hosts.addresses]", *(f"eth{n} = {addresses(plan, n)}" for n in numbers)]
        lines += ["", "[hosts.macs]", *(f"eth{n} = {macs(plan, n)}" for n in numbers)]
    lines += ["", "[networks.local]", 'type = "shmem"']
    if options.ethernet:
        lines += ["", "[networks.raw]", 'type = "ethernet"', "rails = ["]
        lines += [f'\t{{ device = "{nic.name}"{dim_key(plan, nic)} }},' for nic in rails]
        lines.append("]")
    if rails:
        lines += ["", "[networks.data]", 'type = "udp"', f"mtu = {options.mtu}", "rails = ["]
        lines += [f'\t{{ device = "{nic.name}", subnet = "10.{n}.0.0/{PREFIX}"{dim_key(plan, nic)} }},'
                  for n, nic in zip(numbers, rails)]
        lines.append("]")
    if options.scheduler:
        lines += ["", "[scheduler]", f'server = "{plan.hosts[0].name}"']
    if len(plan.hosts) > 1:
        half, last = len(plan.hosts) // 2, len(plan.hosts) - 1
        lines += ["", "[groups]", f'low = ["h[0-{half - 1}]"]', f'high = ["h[{half}-{last}]"]']
    return "\n".join(lines) + "\n"


def dim_key(plan, nic):
    return f', dim = "{DIMENSION_NAMES[nic.dimension]}"' if plan.options.grid else ""


def scconf():
    """It lies beside the lab, in the tree as where both are installed."""
    place = os.path.dirname(os.path.realpath(__file__))
    while place != "/":
        place = os.path.dirname(place)
        if os.access(f"{place}/configs/scconf", os.X_OK):
            return f"{place}/configs/scconf"
    raise LabError("scconf does not lie beside sclab: run sclab from a whole tree, or install both")


def is_compiled(options):
    """Whether somebody reads cluster.json: daemons the shape of a grid, scout and others groups and addresses."""
    return options.grid or options.scheduler


def write_config(plan, state):
    """cluster.toml, and cluster.json for who reads it."""
    source = f"{state.directory}/cluster.toml"
    states.write_file(source, config_text(plan))
    if is_compiled(plan.options):
        done = subprocess.run([scconf(), "compile", source, "-o", compiled_path(state)], check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise LabError(f"scconf did not compile the lab's {source}: {done.stderr.strip()}")
