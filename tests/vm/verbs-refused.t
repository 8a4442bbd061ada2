#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-verbs where it can't be used, or not between these two: one line says why and what to do, and another device
carries the messages. Two guests, from a kernel without RDMA on to ports that don't fit. TAP."""
import re
import sys

from vmtest import BUILD, Timed, need_guests, need_rdma, wait_until
import vmlab
import vmlab.rdma

NICS = ["eth1", "eth2"]
WITH_UDP, ALONE = "self+verbs+udp,udp.rails=eth1", "self+verbs"
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
PMTEST = f"{BUILD}/bin/pmtest --limit 40 --test latency --size 8,64K --iterations 20 --warmup 1"
DEVICE = "^# pmtest .*: node 0 .*, (\\w+), datagrams"
tap = Timed()


def talk(lab, devices, ours="", theirs="", user="", limits=""):
    """pmtest in a, as a user and within limits, to one in b, with more options in each: what both say."""
    a, b = lab.guests
    options = f"env PM_OPTIONS=devices={devices}{ours}"
    server = b.start(f"exec env PM_OPTIONS=devices={devices}{theirs} {BUILD}/bin/pmtest --limit 40 --listen --once",
                     120)
    wait_until(lambda: "listening" in server.text() or server.is_over())
    client = a.start(f"{limits}\nexec {user} {options} {PMTEST} b", 120)
    code, text = client.wait()
    return code, text, server.wait()


def refused(lab, name, wanted, **how):
    """With another device there is one line, and it goes on."""
    code, text, server = talk(lab, WITH_UDP, **how)
    complaints = re.findall("^pmtest: .*", text, re.M)
    device = re.search(DEVICE, text, re.M)
    tap.ok(code == 0 and device and device[1] == "udp" and len(complaints) == 1 and re.search(wanted, complaints[0]),
           f"{name}: a line says so, and udp carries the messages", f"{code} {text} {server}")


def told(lab, name, wanted, *options):
    """Where there is nothing else, what is wrong is told in a line."""
    code, text, server = talk(lab, ALONE, *options)
    lines = re.findall("^pmtest: .*", text, re.M)
    tap.ok(code == 3 and len(lines) == 1 and re.search(wanted, lines[0]), f"{name}: with verbs alone it is told",
           f"{code} {text} {server}")


def test_no_device(lab):
    refused(lab, "no device", r"verbs: there is no RDMA device here \(rdma link shows them\)$")
    code, text = lab.guests[0].run(f"{BUILD}/bin/pmtest --self --test latency --size 8 --iterations 20")
    tap.ok(code == 0 and "pmtest: " not in text, "no device, none named: nothing is said", f"{code} {text}")


def test_permission(lab):
    lab.guests[0].must("chmod 600 /dev/infiniband/uverbs*")
    refused(lab, "no permission", "no permission for /dev/infiniband/uverbs[01]: a udev rule with", user=NOBODY)
    lab.guests[0].must("chmod 666 /dev/infiniband/uverbs*")


def test_memlock(lab):
    wanted = r'only 64 KiB of memory may be locked \(RLIMIT_MEMLOCK\): write "\* - memlock unlimited" in ' \
             r"/etc/security/limits\.d/rdma\.conf, and LimitMEMLOCK=infinity in the unit of what starts jobs"
    refused(lab, "memory lock limit", wanted, user=NOBODY, limits="ulimit -l 64")


def test_objects(lab):
    """A control group that may have few RDMA objects, as where others have all that the device has."""
    group = "/sys/fs/cgroup/few"
    lab.guests[0].must(f"echo +rdma >/sys/fs/cgroup/cgroup.subtree_control && mkdir {group}")
    wanted = 'the device or the control group gives no more of these objects: "rdma resource show" lists the owners, ' \
             "rdma.max is the limit"
    for limit, what in (("hca_handle=0", "device rxe0 cannot be opened"),
                        ("hca_object=2", "rxe0:1: memory for greetings")):
        lab.guests[0].must(f"echo rxe0 {limit} >{group}/rdma.max")
        refused(lab, f"objects, {limit}", f"verbs: {what}: {wanted}", ours=",verbs.devices=rxe0",
                limits=f"echo $$ >{group}/cgroup.procs")
        lab.guests[0].must(f"echo rxe0 hca_handle=max hca_object=max >{group}/rdma.max")


def test_ports(lab):
    refused(lab, "GID index", "verbs.gid=9: port rxe0:1 has no such entry in its table of addresses, it has [0-9, ]+$",
            ours=",verbs.gid=9")
    refused(lab, "port", "verbs.devices=rxe7: there is no such port here, there are rxe0:1, rxe1:1$",
            ours=",verbs.devices=rxe7")
    lab.guests[0].must("ip link set eth2 down")
    refused(lab, "link down", "verbs.devices=rxe1: the port is not active: bring its link up$",
            ours=",verbs.devices=rxe1")
    lab.guests[0].must("ip link set eth2 up")


def test_mtu(lab):
    port = ",verbs.devices=rxe0"
    lab.guests[1].must("ip link set eth1 mtu 1000")
    told(lab, "MTU", "the MTU is 1024 bytes on this port and 512 on the other: make them equal$", port, port)
    code, text, server = talk(lab, WITH_UDP, port, port)
    device = re.search(DEVICE, text, re.M)
    tap.ok(code == 0 and device and device[1] == "udp", "MTU: with udp it goes by that", f"{code} {text} {server}")
    lab.guests[1].must("ip link set eth1 mtu 1500")


def test_subnet(lab):
    """Ports of two wires: which of them a RoCE address belongs to, the address does not say."""
    patience = ",channel.peer_timeout=5000"
    told(lab, "other wire", "node 1: it does not answer", f",verbs.devices=rxe0{patience}",
         f",verbs.devices=rxe1{patience}")


def main():
    with vmlab.Lab(BUILD, 2, [("a", "b")] * len(NICS)) as lab:
        tap.ok(True, f"Linux {lab.kernel.release}: two guests are up")
        test_no_device(lab)
        why = vmlab.rdma.set_up(lab, NICS)
        tap.ok(not why, "rxe on each NIC", why)
        if not why:
            for test in (test_permission, test_memlock, test_objects, test_ports, test_mtu, test_subnet):
                test(lab)
        if tap.failed:
            lab.keep()
    return tap.end()


if __name__ == "__main__":
    need_guests()
    need_rdma()
    sys.exit(main())
