# SPDX-License-Identifier: BSD-3-Clause
"""One guest in which members of a job meet over a wire, though they are one process. It has three
NICs on each of two hubs and an rxe device on each. Its kernel sends to its own addresses by the NIC
instead of looping back. So what breaks a NIC, or loses frames on it, breaks a rail between them."""
import contextlib
import json
import re

from vmtest import BUILD, EVENT_S, wait_until
import vmlab
import vmlab.rdma

MEMBERS, RAILS = 3, 2
MEMORY_MIB = 500
PROGRAM_S = 280
PROGRAMS = dict.fromkeys(("message", "rma", "atomic", "wait", "state", "suspend", "death"), "")
# Asked first is who else has the address: the kernel's own table is for what came in by a NIC, and for the rest.
ROUTES = """
set -e
for nic in {nics}; do
    echo 1 >/proc/sys/net/ipv4/conf/$nic/arp_ignore
    echo 1 >/proc/sys/net/ipv4/conf/$nic/accept_local
    ip rule add pref 10 iif $nic lookup local
done
ip rule add pref 20 lookup main
ip rule add pref 30 lookup local
ip rule del pref 0
modprobe sch_netem
"""


def nic_of(rail, member):
    return f"eth{rail * MEMBERS + member + 1}"


def nics():
    return [nic_of(rail, member) for rail in range(RAILS) for member in range(MEMBERS)]


def nets():
    return [vmlab.Net(tuple(vmlab.Nic("a", nic_of(rail, member), f"52:54:00:{rail + 1:02x}:00:{member + 1:02x}",
                                      f"10.7.{rail + 1}.{member + 1}/24") for member in range(MEMBERS)))
            for rail in range(RAILS)]


def ports(rails):
    """The value of $TEST_VERBS_PORTS for members that use so many rails."""
    return " ".join("+".join(f"rxe{rail * MEMBERS + member}" for rail in range(rails)) for member in range(MEMBERS))


@contextlib.contextmanager
def guest(tap):
    """The guest with its devices; None if there can be none, which is told. After all the kernel must hold nothing."""
    with vmlab.Lab(BUILD, 1, nets=nets(), memory_mib=MEMORY_MIB) as lab:
        found = lab.guests[0]
        why = set_up(lab)
        tap.ok(not why, f"Linux {lab.kernel.release}: a guest is up, with rxe on each NIC", why)
        before = {} if why else resources(found)
        yield None if why else found
        if before:
            tap.equal(left(found, before), {}, "nothing is left in the kernel of what was opened")
        if tap.failed:
            lab.keep()


def set_up(lab):
    """'', or why there is no RDMA."""
    why = vmlab.rdma.set_up(lab, nics())
    if not why:
        lab.guests[0].must(ROUTES.format(nics=" ".join(nics())))
    return why


def resources(guest):
    """Counts of the RDMA objects that the kernel holds for processes and itself: {device: {kind: count}}."""
    found = json.loads(guest.must("rdma -j resource show"))
    return {each.pop("ifname"): {kind: count for kind, count in each.items() if kind != "ifindex"}
            for each in found}


def left(guest, before, limit_s=EVENT_S):
    """RDMA objects beyond those of @before, once processes that have just ended are gone: {} if there are none."""
    now = {}

    def more():
        now.clear()
        for device, counts in resources(guest).items():
            grown = {kind: count - before[device][kind] for kind, count in counts.items()
                     if count > before[device][kind]}
            if grown:
                now[device] = grown
        return now
    wait_until(lambda: not more(), limit_s)
    return now


def frames(guest, rail):
    """Sent by all NICs of a rail."""
    paths = " ".join(f"/sys/class/net/{nic_of(rail, member)}/statistics/tx_packets" for member in range(MEMBERS))
    return sum(map(int, guest.must(f"cat {paths}").split()))


def judge(tap, guest, what, rails, programs=None, fault="", variant="verbs"):
    """Tests of the conformance suite, a line for each program: all of the variant whose names begin so. @fault is a
    command of the shell that runs beside each test and whose input ends with it."""
    env = f"TEST_VERBS_PORTS='{ports(rails)}'" + (f" TEST_VERBS_FAULT='{fault}'" if fault else "")
    for program, beginning in (programs or PROGRAMS).items():
        path = f"{BUILD}/tests/conformance/{program}_test"
        code, text = guest.run(f"env {env} {path} $({path} -l | grep '^{beginning}.*__{variant}$')", PROGRAM_S)
        done = re.findall(rf"^ok \d+ - \S+__{variant}$", text, re.M)
        tap.ok(code == 0 and done and "not ok" not in text, f"{what}: {program}, {len(done)} tests", f"{code} {text}")
        for line in re.findall(r"^#.*reported after.*", text, re.M):
            tap.ok("it does not answer: " in line and "transport retry counter exceeded" in line,
                   f"{what}: the death of a peer is told with its reason", line)
