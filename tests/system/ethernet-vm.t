#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pm-ethernet on a real driver and on kernels with modules: two virtual machines whose virtio NICs take native
XDP programs, and, where their kernel can, packets without a copy. IP and VLANs beside it, a cable pulled, a
NIC taken out while messages run. Nothing here is measured: guests are emulated. TAP.
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[1:1] = [f"{HERE}/../vm", f"{HERE}/../mpi"]
import runner                                                           # noqa: E402
import vmlab                                                            # noqa: E402
from systest import BUILD, ROOT, Tap                                    # noqa: E402
from vmtest import need_guests, wait_until                              # noqa: E402

CTL = f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl"
COPY, ZERO = "eth1,eth2", "eth3,eth4"
# Options of a NIC whose driver maps its buffers itself, which zero copy needs.
MAPPED = "iommu_platform=on,disable-legacy=on"
LINKS = [vmlab.Link("a", "b")] * 2 + [vmlab.Link("a", "b", options=MAPPED)] * 2
ZERO_COPY_KERNEL = 7, 0
TC_KERNEL = 6, 10
tap = Tap()


class Daemons:
    """pm-ethernetd in every guest, for the life of a `with`."""

    def __init__(self, lab, nics, mode="auto", takes="native"):
        self.lab, self.nics, self.mode, self.takes = lab, nics, mode, takes
        self.tasks = []

    def __enter__(self):
        self.tasks = [guest.start(f"exec {BUILD}/bin/pm-ethernetd --mode {self.mode} --nics {self.nics}", 200)
                      for guest in self.lab.guests]
        for task in self.tasks:
            wait_until(lambda task=task: "ready" in task.text() or task.is_over())
            tap.ok(f"{self.takes} mode" in task.text(), f"{self.nics} of {task.guest.name}: --mode {self.mode} takes "
                   f"{self.takes}", task.text())
        rails = 1 + self.nics.count(",")
        tap.ok(wait_until(lambda: self.heard() == rails), f"{self.nics}: every rail hears the other side")
        return self

    def heard(self):
        peers = report(self.lab.guests[0], "peers")["peers"]
        return sum(rail["is_alive"] for peer in peers for rail in peer["rails"])

    def said(self, guest):
        return self.tasks[self.lab.guests.index(guest)].text()

    def __exit__(self, *_):
        for task in self.tasks:
            task.guest.must("kill $(pidof pm-ethernetd)")
        codes = [task.wait() for task in self.tasks]
        left = self.lab.guests[0].must("ip link")
        tap.ok([code for code, _ in codes] == [0, 0] and "xdp" not in left and "peps" not in left,
               f"{self.nics}: the daemons end and leave nothing behind", f"{codes} {left}")


def report(guest, topic):
    return json.loads(guest.must(f"{CTL} {topic} --json"))


def sent_frames(guest):
    """Frames that the guest's contexts have sent, by NIC."""
    lines = guest.must(f"{BUILD}/bin/pmstat --json").splitlines()
    contexts = [context for line in lines for context in json.loads(line)["contexts"]]
    return {rail["name"]: rail["tx_packets"] for context in contexts for rail in context["rails"]}


class Traffic:
    """pmtest from a to b, which verifies what arrives."""

    def __init__(self, lab, attach, *words):
        self.a, self.b = lab.guests
        self.attach = attach
        # nice: what looks on would else wait for the only CPU until it is over
        env = f"PM_OPTIONS=devices=self+ethernet,ethernet.attach={attach} nice {BUILD}/bin/pmtest --limit 30"
        self.server = self.b.start(f"exec env {env} --listen --once", 90)
        wait_until(lambda: "listening" in self.server.text() or self.server.is_over())
        self.client = self.a.start(f"exec env {env} {' '.join(words)} b", 90)

    def status(self):
        """The context that pm-ethernetctl status reports once the client sends; {} if there is none."""
        # found by a program that starts faster than the messages are over
        wait_until(lambda: sent_frames(self.a) or self.client.is_over())
        found = report(self.a, "status")["contexts"]
        return found[0] if found else {}

    def await_frames(self, nics, beyond=50):
        """Until so many frames more have been sent on each of these NICs."""
        first = sent_frames(self.a)

        def is_sent():
            now = sent_frames(self.a)
            return self.client.is_over() or \
                all(now.get(nic, 0) >= first.get(nic, 0) + beyond for nic in nics)
        return wait_until(is_sent) and not self.client.is_over()

    def ends_well(self, name):
        ends = self.client.wait(), self.server.wait()
        tap.ok([code for code, _ in ends] == [0, 0], name, f"{ends}")


def talk(lab, attach, zero_copy, name):
    """Small and large messages over NICs that are used as they should be."""
    traffic = Traffic(lab, attach, "--test latency,bandwidth --size 8,64k --iterations 150 --warmup 10")
    traffic.ends_well(f"{name}: all messages arrive as sent")
    if attach == "direct":
        tap.equal({rail["zero_copy"] for rail in report(lab.guests[0], "rails")["rails"]}, {zero_copy},
                  f"{name}: pm-ethernetctl rails says so")


def watch(lab, attach, zero_copy, name):
    """Checks the context that status reports while messages run: longer, where a guest is too slow to ask in time."""
    for seconds in (12, 30, 60):
        traffic = Traffic(lab, attach, f"--test bandwidth --size 8k --seconds {seconds}")
        context = traffic.status()
        if context or not traffic.client.is_over():
            break
        traffic.ends_well(f"{name}: all messages of {seconds} s arrive before anybody could look")
    tap.equal((context.get("attachment"), context.get("is_zero_copy")), (attach, zero_copy),
              f"{name}: pm-ethernetctl status says so")
    return traffic


def test_copy(lab):
    a, b = lab.guests
    with Daemons(lab, COPY) as daemons:
        tap.equal({(rail["mode"], rail["driver"]) for rail in report(a, "rails")["rails"]},
                  {("native", "virtio_net")}, "pm-ethernetctl rails: native mode on virtio_net")
        talk(lab, "direct", "no", "native direct, copy")
        talk(lab, "port", "", "native port")
        test_mpi(lab)
        test_ip(lab)
        test_cable(lab, daemons, "port")
        if lab.kernel.version >= ZERO_COPY_KERNEL:
            test_cable(lab, daemons, "direct")
        else:
            tap.skip("direct: cable", f"virtio_net of Linux {lab.kernel.release} keeps the last frames of a "
                     "NIC without carrier, and what is in them is not sent by another rail")
    for guest in (a, b):
        guest.must("ip link del v5")


def test_other_modes(lab):
    """Behind the driver: at tc where the kernel can, else at XDP."""
    a, _ = lab.guests
    mode = "tc" if lab.kernel.version >= TC_KERNEL else "generic"
    if mode == "generic":
        code, said = a.run(f"{BUILD}/bin/pm-ethernetd --mode tc --nics {COPY}")
        tap.ok(code == 4 and "--mode tc needs Linux" in said, "--mode tc is refused before Linux 6.10", (code, said))
    with Daemons(lab, COPY, mode, mode):
        talk(lab, "direct", "no", f"{mode} direct")
        talk(lab, "port", "", f"{mode} port")


def test_ip(lab):
    """The kernel has its frames back untouched, tagged ones too, while messages run over the same NICs."""
    a, b = lab.guests
    for host, guest in enumerate(lab.guests, 1):
        guest.must("ip link add link eth1 name v5 type vlan id 5 && ip link set v5 up && "
                   f"ip addr add 10.8.5.{host}/24 dev v5")
    traffic = watch(lab, "port", None, "native port")
    listener = b.start("busybox nc -l -p 7001 | md5sum")
    sender = a.start("head -c 300000 /dev/urandom >/tmp/data; md5sum </tmp/data; "
                     "until cat /tmp/data >/dev/tcp/b/7001; do sleep 0.2; done 2>/dev/null")
    tap.equal(a.run("busybox ping -c 3 -A -s 1400 b")[0], 0, "pings beside them")
    tap.equal(a.run("busybox ping -c 3 -A -s 1400 10.8.5.2")[0], 0, "pings in a VLAN beside them")
    tap.equal(listener.wait(), sender.wait(), "a TCP stream beside them")
    traffic.ends_well("and the messages arrive as sent")


def test_cable(lab, daemons, attach):
    """One of two cables pulled and put in again."""
    a, _ = lab.guests

    def changes(is_up):
        news = f"eth2: link {'up' if is_up else 'down'}"
        before = daemons.said(a).count(news)
        a.set_carrier("eth2", is_up)
        return wait_until(lambda: daemons.said(a).count(news) > before)

    for seconds in (7, 30, 60):     # longer, where a guest is too slow for all of it in the time
        traffic = Traffic(lab, attach, f"--test bidirectional --size 64k --seconds {seconds}")
        steps = {"messages run over it": traffic.await_frames(["eth2"]), "pulled, the rail is down": changes(False),
                 "messages run over the other": traffic.await_frames(["eth1"]), "back, it is up": changes(True)}
        if all(steps.values()) or not traffic.client.is_over():
            break
        traffic.ends_well(f"{attach}: cable: all messages of {seconds} s arrived before anybody could look")
    for name, is_seen in steps.items():
        tap.ok(is_seen, f"{attach}: cable: {name}")
    traffic.ends_well(f"{attach}: cable: all messages arrived as sent")


def test_mixed(lab):
    """A NIC that could do without copies beside one that could not: none does."""
    with Daemons(lab, "eth3,eth1"):
        talk(lab, "direct", "no", "one NIC without zero copy")


def test_zero_copy(lab):
    a, _ = lab.guests
    with Daemons(lab, ZERO) as daemons:
        watch(lab, "direct", True, "zero copy").ends_well("zero copy: all messages arrive as sent")
        talk(lab, "direct", "yes", "native direct, zero copy")
        talk(lab, "port", "", "native port on NICs that do zero copy")
        test_mpi(lab)
        traffic = Traffic(lab, "direct", "--test bidirectional --size 64k --seconds 6")
        tap.ok(traffic.await_frames(["eth4"]), "NIC taken out: messages run over it")
        a.unplug("eth4")
        tap.ok(wait_until(lambda: "eth4: interface is gone" in daemons.said(a)),
               "NIC taken out: pm-ethernetd says so", daemons.said(a))
        traffic.ends_well("NIC taken out: all messages arrived by the other")


def test_mpi(lab):
    """Two ranks a host: they share the queues, or before Linux 6.4 one of them has a port."""
    if not os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so") or not os.path.exists(f"{BUILD}/mpi/rally"):
        tap.skip("MPI", "mtl/pm is not built")
        return
    env = runner.environment("self+shmem+ethernet", PM_BUILD=BUILD)
    words = " ".join(runner.mpirun(4, *runner.ONLY, "--mca", "plm_rsh_agent", lab.serve_rsh(60),
                                   "--mca", "plm_rsh_no_tree_spawn", "1", "-x", "PM_OPTIONS",
                                   "-H", "a:2,b:2", f"{BUILD}/mpi/rally", "2"))
    exports = "\n".join(f"export {name}={value}" for name, value in env.items()
                        if name.startswith("OMPI_") or name == "PM_OPTIONS")
    before = report(lab.guests[0], "counters")["rails"]
    code, text = lab.guests[0].run(f"{exports}\n{words}", 60)
    after = report(lab.guests[0], "counters")["rails"]
    frames = sum(rail["rx_frames"] for rail in after) - sum(rail["rx_frames"] for rail in before)
    tap.ok(code == 0 and "OK rally" in text and frames > 100, "MPI, two ranks a host", f"{code} {text}")


def timed(test, *arguments):
    start = time.monotonic()
    test(*arguments)
    print(f"# {test.__name__}: {time.monotonic() - start:.1f} s", flush=True)


def test_kernel(kernel):
    print(f"# guests run Linux {kernel.release}", flush=True)
    with vmlab.Lab(BUILD, 2, LINKS, kernel=kernel) as lab:
        try:
            timed(test_copy, lab)
            timed(test_other_modes, lab)
            if kernel.version >= ZERO_COPY_KERNEL:
                timed(test_mixed, lab)
                timed(test_zero_copy, lab)
            else:
                tap.skip("zero copy", f"virtio_net of Linux {kernel.release} has none; run "
                         "tests/vm/kernel-fetch build/vm/kernel-new trixie-backports")
        finally:
            if tap.failed:
                lab.keep()


def main():
    kernels = vmlab.find_kernels(BUILD)
    # the newest can do the most; an old one has ways of its own
    for kernel in dict.fromkeys((kernels[-1], kernels[0])):
        test_kernel(kernel)
    return tap.end()


if __name__ == "__main__":
    if not os.path.exists(f"{BUILD}/bin/pm-ethernetd"):
        print("1..0 # SKIP pm-ethernetd is not built here")
        sys.exit(0)
    need_guests()
    sys.exit(main())
