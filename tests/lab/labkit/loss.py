# SPDX-License-Identifier: BSD-3-Clause
#
# Frame loss at switch ports: compiles loss.bpf.c, attaches it, and writes each port's chance and
# seed into the program's map.

import hashlib
import json
import os
import struct

from . import bpfmap, tools

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOURCE = f"{HERE}/loss.bpf.c"
BUILT = f"{os.path.dirname(os.path.dirname(HERE))}/build/lab/loss.bpf.o"     # by make
SECTION = "tc"
MAX_SEGMENTS = 65535      # the kernel's own limit
PORT = struct.Struct("=QQQII")      # struct port of loss.bpf.c


def program(state):
    """Path of the compiled program."""
    if os.path.exists(BUILT) and os.path.getmtime(BUILT) >= os.path.getmtime(SOURCE):
        return BUILT
    path = f"{state.directory}/loss.bpf.o"
    if not os.path.exists(path):
        tools.run([tools.find("clang"), "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", SOURCE,
                   "-o", f"{path}.new"])
        os.rename(f"{path}.new", path)
    return path


def port_seed(seed, nic):
    """Every port has its own pattern, and the same one in every lab of that seed."""
    digest = hashlib.sha256(f"{seed} {nic.host} {nic.name}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def attached(namespace, ports):
    """Ids of the loss programs of a switch, by port."""
    answers = tools.batch("tc", namespace, [f"filter show dev {p} egress" for p in ports], "-json")
    found = {}
    for port, answer in zip(ports, answers.splitlines()):
        for entry in json.loads(answer):
            if "prog" in entry.get("options", {}):
                found[port] = entry["options"]["prog"]["id"]
    return found


def cut_segments(plan, cut):
    """Whether hosts send every frame by itself. A lost packet is one frame then, as on a wire, and
    not a train of them that the kernel would have cut only at a real NIC."""
    segments = 1 if cut else MAX_SEGMENTS
    tools.batches("ip", {
        plan.namespace(host.name): [f"link set dev {nic.name} gso_max_segs {segments}"
                                    for nic in host.nics if nic.dimension >= 0]
        for host in plan.hosts})


def lose(plan, state, ports, ppm):
    """`ports`: switches, each with those of its NICs to act on. A new chance starts the pattern
    anew."""
    path = program(state) if ppm else ""
    scripts = {}
    for switch, nics in ports:
        namespace = plan.namespace(switch.name)
        present = attached(namespace, [nic.port for nic in nics])
        lines = scripts[namespace] = []
        for nic in nics:
            if ppm and nic.port not in present:
                lines.append(f"qdisc replace dev {nic.port} clsact")
                lines.append(f"filter add dev {nic.port} egress bpf direct-action obj {path} "
                             f"sec {SECTION}")
            elif not ppm and nic.port in present:
                lines.append(f"filter del dev {nic.port} egress")
    tools.batches("tc", scripts)
    if not ppm:
        return
    for switch, nics in ports:
        present = attached(plan.namespace(switch.name), [nic.port for nic in nics])
        for nic in nics:
            bpfmap.write(present[nic.port],
                         PORT.pack(port_seed(plan.options.seed, nic), 0, 0, ppm, 0))


def read(program_id):
    """(ppm, frames, lost) of a port."""
    _, frames, lost, ppm, _ = PORT.unpack(bpfmap.read(program_id, PORT.size))
    return ppm, frames, lost
