# SPDX-License-Identifier: BSD-3-Clause
#
# Link rates, held at switch ports in both directions: towards the host by a token bucket on the
# port, from the host by one on an intermediate device that the port's arrivals pass through. Never
# at the host's own NIC, whose queueing discipline AF_XDP and AF_PACKET go round.

import json

from . import tools

MIN_BURST = 16 << 10       # bytes; measured: exact from 4 KiB on at 200 Mbit/s
BURST_TIME = 2000          # a burst lasts 1/2000 s at the link's rate
FRAME_SLACK = 64           # headers and tags above the MTU
UPLINK_QUEUE = 1 << 20     # bytes; full, it holds the sender back, as a NIC does


def bucket(rate, mtu, queue, burst=0):
    """tc(8) words of the token bucket. A burst of 0: what lasts BURST_TIME."""
    burst = max(burst or max(MIN_BURST, rate // 8 // BURST_TIME), mtu + FRAME_SLACK)
    return f"tbf rate {rate}bit burst {burst} limit {queue}"


def uplink(nic):
    """The device that arrivals from the host pass through."""
    return f"{nic.port}-up"


def limited(namespace):
    """Rate in bit/s of the limited ports of a switch, by port."""
    qdiscs = json.loads(tools.run([tools.find("tc"), "-n", namespace, "-json", "qdisc", "show"]))
    return {q["dev"]: q["options"]["rate"] * 8 for q in qdiscs if q["kind"] == "tbf"}


def limit(plan, ports, rate):
    """`ports`: switches, each with those of its NICs to act on. Rate 0 removes the limit."""
    links, before, after = {}, {}, {}
    for switch, nics in ports:
        namespace = plan.namespace(switch.name)
        present = limited(namespace)
        down = bucket(rate, plan.options.mtu, plan.options.queue, plan.options.burst)
        up = bucket(rate, plan.options.mtu, UPLINK_QUEUE, plan.options.burst)
        link, first, last = [], [], []
        for nic in nics:
            has_uplink = not plan.options.fast_uplinks
            if rate and has_uplink and nic.port not in present:
                link.append(f"link add name {uplink(nic)} mtu {plan.options.mtu} type ifb")
                link.append(f"link set dev {uplink(nic)} up")
                last.append(f"qdisc replace dev {nic.port} clsact")
                last.append(f"filter add dev {nic.port} ingress protocol all u32 "
                            f"match u32 0 0 action mirred egress redirect dev {uplink(nic)}")
            if rate:
                first.append(f"qdisc replace dev {nic.port} root {down}")
                if has_uplink:
                    first.append(f"qdisc replace dev {uplink(nic)} root {up}")
            elif nic.port in present:
                first.append(f"qdisc del dev {nic.port} root")
                if has_uplink:
                    first.append(f"filter del dev {nic.port} ingress")
                    link.append(f"link del dev {uplink(nic)}")
        links[namespace], before[namespace], after[namespace] = link, first, last
    if rate:
        tools.batches("ip", links)
        tools.batches("tc", before)
        tools.batches("tc", after)
    else:
        tools.batches("tc", before)
        tools.batches("ip", links)
