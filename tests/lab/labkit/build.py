# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab up`: turns a plan into namespaces, cables and switches, in an order in which each thing is
# on record before it exists; and undoes all of it when a step fails.

import contextlib
import ipaddress
import os
import select
import socket
import time

from . import ethernet, holder, kernel, loss, output, room, scheduler, shaping, state as states, \
    teardown, tools
from .errors import EXIT_REFUSED, LabError
from .plan import MANAGEMENT_MTU, PREFIX

CARRIER_TIMEOUT = 10      # seconds
RTMGRP_LINK = 1
CONGESTION_CONTROL = "cubic"  # Debian's own


def cable_lines(plan, switch):
    """ip(8) lines that make a switch and a cable from each of its ports to a NIC."""
    mtu = MANAGEMENT_MTU if switch.is_management else plan.options.mtu
    lines = ["link add name br type bridge stp_state 0 mcast_snooping 0",
             f"link set dev br mtu {mtu} up"]
    for nic in switch.nics:
        lines.append(f"link add name {nic.port} mtu {mtu} type veth peer name {nic.name} "
                     f"mtu {mtu} address {nic.mac} netns {plan.namespace(nic.host)}")
        lines.append(f"link set dev {nic.port} master br up")
    return lines


def direct_lines(plan):
    """ip(8) lines, by namespace, that join data NICs to each other."""
    mtu = plan.options.mtu
    lines = {}
    for a, b in plan.cables:
        lines.setdefault(plan.namespace(a.host), []).append(
            f"link add name {a.name} mtu {mtu} address {a.mac} type veth peer name {b.name} "
            f"mtu {mtu} address {b.mac} netns {plan.namespace(b.host)}")
    return lines


def route_line(nic):
    """TCP by this NIC is that of a Debian host, also where the machine has another congestion control. A namespace may
    only choose what everybody may; a route of its own may name any. When the NIC itself is set down and up, the kernel
    makes the route anew, without it."""
    network = ipaddress.ip_interface(f"{nic.address}/{PREFIX}").network
    return (f"route change {network} dev {nic.name} proto kernel scope link src {nic.address} "
            f"congctl {CONGESTION_CONTROL}")


def has_debian_tcp():
    """Whether the kernel has Debian's congestion control."""
    with contextlib.suppress(FileNotFoundError), \
            open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as f:
        return CONGESTION_CONTROL in f.read().split()
    return False


def host_lines(plan, host, has_route):
    lines = []
    for nic in host.nics:
        lines.append(f"address add {nic.address}/{PREFIX} brd + dev {nic.name}")
        if nic.dimension >= 0 and not plan.offloads:
            # the kernel then cuts segments itself: one frame, one packet on the cable
            lines.append(f"link set dev {nic.name} gso_max_segs 1")
        lines.append(f"link set dev {nic.name} up")
        if has_route:
            lines.append(route_line(nic))
    return lines


def wait_for_carrier(path):
    """Until every NIC in the namespace has carrier."""
    deadline = time.monotonic() + CARRIER_TIMEOUT
    with kernel.inside_net(path):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as events:
            events.bind((0, RTMGRP_LINK))
            waiting = [i for i, _ in socket.if_nameindex() if not kernel.is_link_running(i)]
            while waiting:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([events], [], [], left)[0]:
                    raise LabError(f"a NIC in {os.path.basename(path)} got no carrier within "
                                   f"{CARRIER_TIMEOUT} s")
                events.recv(65536)
                waiting = [i for i in waiting if not kernel.is_link_running(i)]


def refuse_foreign(state):
    """Nothing that bears a name we need may exist: what was ours has been removed before."""
    taken = [n for n in state.namespaces if os.path.lexists(f"{states.NETNS}/{n}")]
    if taken:
        raise LabError(f"network namespace {taken[0]} exists and is not this lab's: choose "
                       "another lab name with --name, or remove it with 'ip netns del'",
                       EXIT_REFUSED)


def build(plan, state, shares):
    os.makedirs(f"{state.directory}/ns", exist_ok=True)
    # private, because the kernel refuses to propagate the bind mount of a mount namespace
    kernel.mount("tmpfs", f"{state.directory}/ns", "tmpfs", 0, "mode=755")
    kernel.mount(None, f"{state.directory}/ns", None, kernel.MS_PRIVATE)
    output.write_hosts(plan, state)
    holder.start(state)
    room.make_rooms(state, [p.name for p in (*plan.hosts, *plan.switches)], shares)
    tools.batches("ip", {plan.namespace(s.name): cable_lines(plan, s) for s in plan.switches})
    tools.batches("ip", direct_lines(plan))
    has_route = has_debian_tcp()
    tools.batches("ip", {plan.namespace(h.name): host_lines(plan, h, has_route) for h in plan.hosts})
    data = [s for s in plan.switches if not s.is_management]
    if plan.options.rate:
        shaping.limit(plan, [(s, s.nics) for s in data], plan.options.rate)
    if plan.options.spread:
        shaping.spread(plan, data)
    if plan.options.loss_ppm:
        loss.lose(plan, state, [(s, s.nics) for s in data], plan.options.loss_ppm)
    for host in plan.hosts:
        wait_for_carrier(state.net_path(host.name))
    output.write_config(plan, state)
    if plan.options.ethernet:
        ethernet.start(plan, state)
    if plan.options.scheduler:
        scheduler.start(plan, state)


def up(plan, shares, maker):
    lab = plan.options.lab
    for tool in tools.NEEDED:
        tools.find(tool)
    with states.locked(lab):
        old = states.load(lab)
        if old and old.phase == states.UP:
            raise LabError(f"lab '{lab}' is up already: run 'sclab down' first, or build another "
                           "with --name", EXIT_REFUSED)
        if old:
            teardown.remove(old)
            os.makedirs(old.directory, exist_ok=True)
        state = states.new_state(plan.options, plan, maker)
        try:
            refuse_foreign(state)
        except LabError:
            states.remove_directory(lab)
            raise
        state.save()
        try:
            build(plan, state, shares)
            state.phase = states.UP
            state.save()
        except BaseException:
            teardown.remove(state)
            raise
    return state
