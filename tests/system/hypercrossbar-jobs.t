#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in hypercrossbars: where scored puts them, what relays for them, and whether all of their data come right:
scstest and hpcc by scrun over pm-ethernet. TAP. Needs root."""
import contextlib
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import schedlab
from schedlab import BUILD, over_pm, wait_until
from systest import ROOT, Tap, told

sys.path.insert(0, f"{ROOT}/pm-ethernet/ctl")
from pmethernet import daemon  # noqa: E402

tap = Tap()
SCQUEUE = f"{ROOT}/scheduler/ctl/scqueue"
SCSTEST = f"{BUILD}/bin/scstest"
NETWORK = "devices=self+ethernet"
ENVIRONMENT = {"PM_OPTIONS": NETWORK}
WHOLE_HOST = "cores=2"              # of each rank: nothing else runs beside it
ALONE = f"class=exclusive,{WHOLE_HOST}"
SHALLOW = "64k"                     # of a switch port, once it has a rate
END_S = 30
HPCC_S = 180                        # many times what it takes: it sends 2 MB between all pairs


class Grid(schedlab.Lab):
    """Hosts of a grid with pm-ethernetd and scnoded; two cores each."""

    def __init__(self, suffix, shape, *options):
        super().__init__(f"j{suffix}{os.getpid()}", math.prod(shape), "--grid", "x".join(map(str, shape)),
                         "--ethernet", "--cores", "2", *options)
        self.at = dict(zip(self.hosts, itertools.product(*map(range, shape))))

    def host(self, *coordinates):
        return next(name for name, at in self.at.items() if at == coordinates)

    def reports(self, topic):
        """Reports of the daemons, by host. It asks as pm-ethernetctl does, whose start in many hosts takes long."""
        pids = {host: pid for pid, (host, name) in self.processes().items() if name == "pm-ethernetd"}
        return {host: daemon.report(f"/proc/{pid}/root{daemon.RUN}", topic) for host, pid in pids.items()}

    def is_open(self):
        """Every daemon has found all of its neighbours."""
        return not any(line["closed"] for report in self.reports(daemon.STATUS).values()
                       for line in report["grid"]["lines"])

    def relayed(self, what="frames"):
        """Frames, or bytes, passed on so far, by host."""
        return {host: sum(rail[f"relayed_{what}"] for rail in report["rails"])
                for host, report in self.reports(daemon.COUNTERS).items()}

    def job(self, name):
        """The job as scored reports it; {} = scored does not know it."""
        return next((job for job in json.loads(self.run(SCQUEUE, "--json").stdout) if job.get("name") == name), {})

    def is_frozen(self, number, host):
        """Whether the ranks of a job are, as the kernel tells."""
        for group in self.cgroups():
            for file, text in (("freezer.state", "FROZEN"), ("cgroup.events", "frozen 1")):
                with contextlib.suppress(FileNotFoundError), open(f"{group}/ranks/{file}", encoding="ascii") as f:
                    if group.endswith(f"/{host}/job-{number}"):
                        return text in f.read()
        return False

    def where(self, program):
        return {host for host, name in self.processes().values() if name == program}


def grown(before, after):
    return {host: after[host] - count for host, count in before.items()}


@contextlib.contextmanager
def running(lab, name, *words, env=None):
    """A job that is ended when it is not needed any more, if it has not ended by itself."""
    job = lab.start("--name", name, *words, env=env)
    try:
        yield job
    finally:
        end(job)


def end(job):
    if job.poll() is None:
        job.send_signal(signal.SIGTERM)
    try:
        return job.communicate(timeout=END_S)
    except (ValueError, subprocess.TimeoutExpired):     # read already, or it does not end
        job.kill()
        job.wait()
        return "", ""


def result_of(out):
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def is_sound(result, nodes):
    return bool(result.get("good") and result.get("complete") and result["nodes"] == nodes
                and result["sent"] == result["received"] and result["reads"] and result["writes"])


def stress(lab, name, nodes, *words):
    """All nodes of a job check all of their data; what they counted."""
    done = lab.scrun(*words, "--json", env=ENVIRONMENT)
    result = result_of(done.stdout)
    tap.ok(done.returncode == 0 and is_sound(result, nodes), name, told(done))
    if result:
        print(f"# {name}: {result['sent']} datagrams, {result['reads']} reads, {result['writes']} writes in "
              f"{result['seconds']:.1f} s", flush=True)
    return result


def payload(result):
    return sum(result.get(f"{what}_bytes", 0) for what in ("sent", "read", "write")) or 1


# ---- patterns ----

def patterns(lab):
    before = lab.relayed(what="bytes")
    result = stress(lab, "2x2x2: scstest all-to-all", 8, "-nodes=8", SCSTEST, "--pattern", "all-to-all", "--seconds",
                    "1", "--max-size", "8K")
    after = lab.relayed(what="bytes")
    share = sum(grown(before, after).values()) / payload(result)
    tap.ok(result.get("pattern") == "all-to-all" and share > 0.6, "all-to-all: 5 relays on every 7 ways",
           (share, result))
    before = after
    result = stress(lab, "2x2x2: scstest neighbour, on the grid of -map cart", 8, "-nodes=8", "-map", "cart=2x2x2",
                    SCSTEST, "--pattern", "neighbour", "--seconds", "1", "--max-size", "8K")
    share = sum(grown(before, lab.relayed(what="bytes")).values()) / payload(result)
    tap.ok(result.get("dims") == [2, 2, 2] and share < 0.05,
           "neighbour: neighbours share a switch, next to nothing is relayed", (share, result))
    done = lab.scrun("-nodes=4", SCSTEST, "--pattern", "neighbour", "--dims", "3x3", env=ENVIRONMENT)
    tap.ok(done.returncode == 1 and "3x3 has 9 nodes, the job has 4" in done.stderr,
           "a grid of another size is refused", told(done))


def bad_network(lab):
    """Frames get lost at the switches by chance, and because many converge on a port that holds few."""
    for what, value in (("rate", "100mbit"), ("loss", "0.5%")):
        done = lab.sclab(what, "--all", value)
        tap.equal(done.returncode, 0, f"sclab {what} --all {value}")
    stress(lab, "2x2x2, loss and shallow queues: scstest all-to-all", 8, "-nodes=8", SCSTEST, "--pattern", "all-to-all",
           "--seconds", "1.5", "--max-size", "64K")
    stress(lab, "2x2x2, loss and shallow queues: scstest neighbour", 8, "-nodes=8", SCSTEST, "--pattern", "neighbour",
           "--dims", "2x2x2", "--seconds", "1.5", "--max-size", "64K")
    ports = [nic for host in json.loads(lab.sclab("status", "--json").stdout)["hosts"] for nic in host["nics"]]
    lost = sum(nic["lost"] for nic in ports)
    full = dropped(lab, {nic["switch"] for nic in ports})
    print(f"# {lost} frames lost by chance, {full} by full queues", flush=True)
    tap.ok(lost > 10 and full > 10, "frames were lost, and queues were full", (lost, full))
    for what, value in (("rate", "none"), ("loss", "0")):
        lab.sclab(what, "--all", value)


def dropped(lab, switches):
    """Frames for which the ports' queues had no room."""
    count = 0
    for switch in switches:
        done = subprocess.run(["tc", "-n", f"{lab.name}-{switch}", "-s", "-j", "qdisc", "show"], check=True,
                              capture_output=True, text=True, timeout=END_S)
        count += sum(queue["drops"] for queue in json.loads(done.stdout)
                     if queue["kind"] == "tbf")
    return count


def hpcc(lab):
    """Small problems; hpcc checks its results itself."""
    work = f"{BUILD}/hypercrossbar.{os.getpid()}"
    os.makedirs(work)
    with open(f"{ROOT}/tests/lab/hpccinf.txt", encoding="utf-8") as f:
        lines = f.readlines()
    with open(f"{work}/hpccinf.txt", "w", encoding="utf-8") as f:
        f.writelines("4            Qs\n" if line.split()[-1] == "Qs" else line for line in lines)
    begun = time.monotonic()
    done = lab.scrun("-nodes=8", "--cwd", work, "hpcc", env=over_pm(NETWORK), limit=HPCC_S)
    print(f"# hpcc: {time.monotonic() - begun:.0f} s", flush=True)
    said = ""
    with contextlib.suppress(FileNotFoundError), open(f"{work}/hpccoutf.txt", encoding="utf-8") as f:
        said = f.read()
    tap.ok(done.returncode == 0 and "Success=1" in said and "FAILED" not in said, "2x2x2: hpcc on 8 hosts",
           f"{told(done)}{said[-1500:]}")
    subprocess.run(["rm", "-rf", work], check=True)


# ---- places ----

TELL = 'echo "$SCORE_COORDS in $SCORE_CART: $SCORE_CART_COORDS"'
LINE = re.compile(r"^\[(\d+) (h\d+)\] ([\d,]+) in ([\dx]*): ([\d,]*)$", re.M)


def placed(lab, *words):
    """(host, coordinates in the network, grid, place in the grid) of each rank, by rank."""
    done = lab.scrun(*words, "--label", "sh", "-c", TELL)
    found = {int(rank): (host, numbers(at), grid, numbers(place))
             for rank, host, at, grid, place in LINE.findall(done.stdout)}
    return [found[rank] for rank in sorted(found)], told(done)


def numbers(text):
    return tuple(map(int, filter(None, text.split(","))))


def is_box(points):
    lines = [sorted(set(line)) for line in zip(*points)]
    return sorted(points) == list(itertools.product(*lines))


def hops(one, other):
    return sum(a != b for a, b in zip(one, other))


def places(lab):
    ranks, said = placed(lab, "-nodes=4")
    points = [at for _, at, _, _ in ranks]
    tap.ok(len(set(points)) == 4 and is_box(points), "4 of 2x2x2 are a product of coordinates", said)
    tap.ok(all(lab.at[host] == at for host, at, _, _ in ranks), "SCORE_COORDS is where the host stands", said)
    ranks, said = placed(lab, "-nodes=4", "-map", "cart=2x2")
    tap.equal([(grid, place) for _, _, grid, place in ranks],
              [("2x2", place) for place in itertools.product(range(2), repeat=2)],
              "cart=2x2: the last dimension is fastest")
    tap.ok(len(ranks) == 4 and is_box([at for _, at, _, _ in ranks]) and
           all(hops(a[1], b[1]) == hops(a[3], b[3]) for a, b in itertools.combinations(ranks, 2)),
           "cart=2x2: as far from each other in the network as in the grid", said)
    ranks, said = placed(lab, "-nodes=8", "-map", "cart=8")
    tap.ok(len(ranks) == 8 and all(hops(ranks[i][1], ranks[i - 1][1]) == 1 for i in range(8)),
           "cart=8: a ring is folded so that neighbours share a switch", said)
    done = lab.scrun("-nodes=3", "-map", "cart=3", "true")
    tap.ok(done.returncode == 125 and "cart=3" in done.stderr and "does not fit the dimensions" in done.stderr,
           "cart=3: refused, and told why", told(done))


def no_box(lab):
    """Two busy corners, and no four of the six others are a box."""
    corners = [lab.host(0, 0, 0), lab.host(1, 1, 1)]
    with contextlib.ExitStack() as stack:
        sitters = [stack.enter_context(running(lab, host, f"-hosts={host},nodes=1,{ALONE}", "sleep", "600"))
                   for host in corners]
        tap.ok(wait_until(lambda: lab.where("sleep") == set(corners), 5), "two jobs sit on opposite corners",
               lab.where("sleep"))
        done = lab.scrun("-dry-run", f"-nodes=4,{ALONE}", "true")
        tap.ok(done.returncode == 0 and "form a box" in done.stdout + done.stderr,
               "-dry-run: what a job of 4 would wait for", told(done))
        with running(lab, "boxed", f"-nodes=4,{ALONE}", "true") as job:
            seen = wait_until(lambda: lab.job("boxed").get("why"), 5)
            tap.ok("form a box" in (seen or ""), "no box is free: the job waits, and scqueue says what for", seen)
            done = lab.scrun(f"-nodes=4,{ALONE}", "-map", "any", "true")
            tap.ok(done.returncode == 0 and job.poll() is None, "-map any: runs at once", told(done))
            end(sitters[0])
            job.wait(END_S)
            tap.equal(job.returncode, 0, "a corner is free again: the job runs")


# ---- whose hosts relay ----

CHECKED = (SCSTEST, "--pattern", "all-to-all", "--max-size", "4K")


def side_by_side(lab):
    edge = [lab.host(0, 0, 1), lab.host(0, 1, 1)]       # of the other six the first four are no box
    with running(lab, "sitter", "--hosts", ",".join(edge), f"-nodes=2,{ALONE}", "sleep", "600"):
        wait_until(lambda: lab.where("sleep") == set(edge), 5)
        done = lab.scrun("-dry-run", "-json", f"-nodes=4,{ALONE}", "true")
        own = {host["name"] for host in json.loads(done.stdout)["hosts"]}
        tap.ok(len(own) == 4 and is_box([lab.at[host] for host in own]), "side by side: the second job has a box", own)
        before = lab.relayed()
        stress(lab, "side by side: scstest all-to-all on 4 hosts", 4, f"-nodes=4,{ALONE}", *CHECKED, "--seconds",
               "0.5")
        more = grown(before, lab.relayed())
        tap.ok(sum(more[host] for host in own) > 100, "side by side: its own hosts relay", more)
        tap.equal({host for host in more if more[host]} - own, set(), "side by side: no host of another job does")
    words = (f"-nodes=4,{ALONE}", *CHECKED, "--seconds", "1", "--json")
    with running(lab, "one", *words, env=ENVIRONMENT) as one, running(lab, "two", *words, env=ENVIRONMENT) as two:
        said = [job.communicate(timeout=END_S) for job in (one, two)]
    tap.ok(all(is_sound(result_of(out), 4) for out, _ in said), "side by side: both with traffic", said)


def frozen_relays(lab):
    """Two hosts that share no switch talk while the ranks on both hosts between them are frozen: by turns in one job,
    for good in the next."""
    ends, relays = [lab.host(0, 0, 0), lab.host(0, 1, 1)], [lab.host(0, 0, 1), lab.host(0, 1, 0)]
    words = ("--hosts", ",".join(ends), f"-nodes=2,{WHOLE_HOST}", "-map", "any", *CHECKED)
    everywhere = (f"-nodes=8,{WHOLE_HOST}", SCSTEST, "--max-size", "4K", "--json", "--seconds")
    with running(lab, "turns", *everywhere, "60", env=ENVIRONMENT) as turns:
        wait_until(lambda: len(lab.where("scstest")) == 8, 10)
        number = lab.job("turns")["id"]
        with running(lab, "ends", *words, "--seconds", "1", "--json", env=ENVIRONMENT) as job:
            seen = []
            while job.poll() is None:
                seen.append(lab.is_frozen(number, relays[0]))
            result = result_of(job.communicate()[0])
        is_on = turns.poll() is None
        tap.ok(is_on and set(seen) == {True, False}, "gang scheduling: the ranks of a relay are frozen by turns",
               f"{seen.count(True)} of {len(seen)}; the other job: {lab.job('turns') if is_on else end(turns)}")
        tap.ok(is_sound(result, 2), "gang scheduling: a pair talks through it", result)
    before = lab.relayed()
    with running(lab, "everywhere", *everywhere, "4", env=ENVIRONMENT) as other:
        wait_until(lambda: sum(grown(before, lab.relayed()).values()) > 1000, 10)
        other.send_signal(signal.SIGTSTP)
        number = lab.job("everywhere")["id"]
        tap.ok(wait_until(lambda: all(lab.is_frozen(number, host) for host in lab.hosts)
                          and lab.job("everywhere")["state"] == "suspended", 5),
               "suspended: all ranks of the other job are frozen")
        before = lab.relayed()
        result = stress(lab, "frozen relays: scstest of a pair", 2, *words, "--seconds", "0.5")
        more = grown(before, lab.relayed())
        tap.ok(sum(more[host] for host in relays) > 300 and not sum(more[host] for host in ends),
               "frozen relays: their kernels pass on what comes", (more, result))
        tap.ok(all(lab.is_frozen(number, host) for host in relays), "frozen relays: frozen still")
        other.send_signal(signal.SIGCONT)
        out, err = other.communicate(timeout=END_S)
        tap.ok(other.returncode == 0 and is_sound(result_of(out), 8),
               "thawed: the other job finds all of its data right", (out[-500:], err))


def cut(lab, host, how):
    """All of a host's NICs go "down" or "up"; the network by which the daemons talk stays."""
    for nic in range(1, 1 + len(lab.reports(daemon.RAILS)[host]["rails"])):
        subprocess.run(["ip", "-n", f"{lab.name}-{host}", "link", "set", "dev", f"eth{nic}", how], check=True,
                       capture_output=True, timeout=END_S)


def dead_relay(lab):
    """The host through which the two of an MPI job talk loses all of its cables."""
    ends, relays = [lab.host(0, 0, 0), lab.host(0, 1, 1)], [lab.host(0, 0, 1), lab.host(0, 1, 0)]
    words = ("--hosts", ",".join(ends), f"-nodes=2,{WHOLE_HOST}", "-map", "any", f"{BUILD}/mpi/rally", str(END_S))
    before = lab.relayed()
    with running(lab, "rally", *words, env=over_pm(NETWORK)) as job:
        line = job.stdout.readline()
        busy = wait_until(lambda: next((host for host in relays if lab.relayed()[host] - before[host] > 500), None), 5)
        tap.ok(line == "under way\n" and busy, "a relay of an MPI job: frames go by it", (line, lab.relayed()))
        if not busy:
            return
        cut(lab, busy, "down")
        other = next(host for host in relays if host != busy)
        before = lab.relayed()[other]
        wait_until(lambda: lab.relayed()[other] - before > 500, 10)
        job.send_signal(signal.SIGUSR1)     # enough
        out, err = job.communicate(timeout=END_S)
    tap.ok(job.returncode == 0 and "OK rally" in out, "a relay of an MPI job dies: the job notices nothing", (out, err))
    tap.ok(lab.relayed()[other] - before > 500, "a relay of an MPI job dies: frames go by the other",
           (before, lab.relayed()))
    cut(lab, busy, "up")
    tap.ok(wait_until(lab.is_open, 15), "the relay is back: all neighbours are open again")


# ---- many hosts ----

def cube(lab):
    before = lab.relayed(what="bytes")
    result = stress(lab, "4x4x4: scstest all-to-all", 64, "-nodes=64", SCSTEST, "--pattern", "all-to-all", "--count",
                    "126", "--max-size", "4K", "--limit", "30")
    more = grown(before, lab.relayed(what="bytes"))
    tap.ok(all(more.values()) and sum(more.values()) > payload(result), "4x4x4: all hosts relay, 9 times on 7 ways",
           (more, result))
    result = stress(lab, "4x4x4: scstest neighbour, six directions at once", 64, "-nodes=64", "-map", "cart=4x4x4",
                    SCSTEST, "--pattern", "neighbour", "--count", "240", "--max-size", "4K", "--limit", "30")
    tap.equal(result.get("dims"), [4, 4, 4], "4x4x4: on the grid that scrun laid the ranks on")


def main():
    why = schedlab.missing()
    if why or not os.path.exists(f"{BUILD}/bin/pm-ethernetd"):
        print(f"1..0 # SKIP {why or 'pm-ethernetd is not built here'}")
        return 0
    with Grid("a", (2, 2, 2), "--nics", "2", "--mtu", "9000", "--queue", SHALLOW, "--fast-uplinks", "--quantum",
              "20ms") as lab:
        tap.ok(wait_until(lab.is_open, 15), "2x2x2: all neighbours are open")
        patterns(lab)
        places(lab)
        no_box(lab)
        side_by_side(lab)
        frozen_relays(lab)
        dead_relay(lab)
        hpcc(lab)
        bad_network(lab)
        tap.equal(lab.settled(), [], "2x2x2: nothing is left of all that")
    with Grid("b", (4, 4, 4)) as lab:
        tap.ok(wait_until(lab.is_open, 15), "4x4x4: all neighbours are open")
        cube(lab)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
