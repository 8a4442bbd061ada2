# SPDX-License-Identifier: BSD-3-Clause
#
# Link rates, held at switch ports in both directions: towards the host by a limiter on the
# port, from the host by one on an intermediate device that the port's arrivals pass through. Never
# at the host's own NIC, whose queueing discipline AF_XDP and AF_PACKET go round.
#
# Two limiters. tbf releases each frame when its time has come: one timer for each, which on a virtual
# machine costs more than the frame itself. htb with hysteresis sends until it owes a burst, then
# waits until all is paid: the same rate for one timer per burst.

import contextlib
import json
import os

from . import tools
from .plan import parse_rate

MIN_BURST = 16 << 10       # bytes; measured: exact from 4 KiB on at 200 Mbit/s
BURST_TIME = 2000          # a burst lasts 1/2000 s at the link's rate
FRAME_SLACK = 64           # headers and tags above the MTU
UPLINK_QUEUE = 1 << 20     # bytes; full, it holds the sender back, as a NIC does
HYSTERESIS = "/sys/module/sch_htb/parameters/htb_hysteresis"
CPUS_PER_WORD = 32         # of a mask in sysfs
ROOTED = f"{os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}/rooted"


def burst_of(options, rate):
    """Bytes. A burst of 0: what lasts BURST_TIME."""
    return max(options.burst or max(MIN_BURST, rate // 8 // BURST_TIME), options.mtu + FRAME_SLACK)


def limiter(options, device, rate, queue, is_new):
    """tc(8) lines that limit a device, or change its limit."""
    burst = burst_of(options, rate)
    if options.limiter == "tbf":
        return [f"qdisc replace dev {device} root tbf rate {rate}bit burst {burst} limit {queue}"]
    lines = [f"qdisc add dev {device} root handle 1: htb default 1"] if is_new else []
    return [*lines,
            f"class replace dev {device} parent 1: classid 1:1 htb rate {rate}bit burst {burst} "
            f"cburst {burst} quantum {options.mtu + FRAME_SLACK}",
            f"qdisc replace dev {device} parent 1:1 handle 2: bfifo limit {queue}"]


def set_hysteresis(value):
    """Of all htb on this machine: the kernel has no finer switch."""
    with open(HYSTERESIS, "w", encoding="ascii") as f:
        f.write(value)


def forget_hysteresis():
    """When the last lab that needed it has gone."""
    with contextlib.suppress(FileNotFoundError):     # no htb in this kernel
        set_hysteresis("0")


def other_cores(index, cores):
    """The mask, as sysfs has it, of all cores but the one where host number `index` computes."""
    mask = (1 << cores) - 1 & ~(1 << index % cores)
    words = [mask >> at & 0xffffffff for at in range(0, cores, CPUS_PER_WORD)]
    return ",".join(f"{word:x}" for word in reversed(words))


def spread(plan, switches):
    """Frames that a host sends are processed in the switch by other cores than the host's own."""
    cores = os.cpu_count() or 1
    if cores == 1:
        return
    for switch in switches:
        lines = [f"echo {other_cores(plan.host(nic.host).index, cores)} "
                 f"> /sys/class/net/{nic.port}/queues/rx-0/rps_cpus" for nic in switch.nics]
        # a /sys that shows the switch's ports, for that command alone
        tools.run([ROOTED, "sh", "-ec", "\n".join(["mount -t sysfs none /sys", *lines])],
                  namespace=plan.namespace(switch.name))


def uplink(nic):
    """The device that arrivals from the host pass through."""
    return f"{nic.port}-up"


def limited(namespace):
    """Rate in bit/s of the limited ports of a switch, by port."""
    tc = tools.find("tc")
    rates = {}
    for q in json.loads(tools.run([tc, "-json", "qdisc", "show"], namespace=namespace)):
        if q["kind"] == "tbf":
            rates[q["dev"]] = q["options"]["rate"] * 8
        elif q["kind"] == "htb":
            # the tc of Debian 12 has no JSON for these
            words = tools.run([tc, "class", "show", "dev", q["dev"]], namespace=namespace).split()
            rates[q["dev"]] = parse_rate(words[words.index("rate") + 1])
    return rates


def limit(plan, ports, rate):
    """`ports`: switches, each with those of its NICs to act on. Rate 0 removes the limit."""
    links, before, after = {}, {}, {}
    for switch, nics in ports:
        namespace = plan.namespace(switch.name)
        present = limited(namespace)
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
                is_new = nic.port not in present
                first += limiter(plan.options, nic.port, rate, plan.options.queue, is_new)
                if has_uplink:
                    first += limiter(plan.options, uplink(nic), rate, UPLINK_QUEUE, is_new)
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
        if plan.options.limiter == "htb":
            set_hysteresis("1")
    else:
        tools.batches("tc", before)
        tools.batches("ip", links)
