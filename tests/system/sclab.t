#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sclab on the real kernel: what is built, what commands in hosts see, and that nothing is left.

Labs of its own names only, so that it may run beside other labs. TAP; skips without root.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from schedlab import left_of
from systest import ROOT, Tap

SCLAB = f"{ROOT}/tests/lab/sclab"
LAB = f"t{os.getpid()}"
PYTHON = "/usr/bin/python3"
TRIES = 8
FEW = 300                    # datagrams that a sender sends before it has to leave its core to others
FILLED = "50mbit"            # a rate that two senders together exceed on a busy machine, too

# Numbered datagrams: the receiver says when it listens, then the numbers that came and the time
# from the first to the last. The time is by the kernel's stamps, as the receiver may have had to
# wait for its core. A silence of 0.3 s is the end. A sender waits for the others, and has enough
# under way to keep its link busy without a core for a while.
RECEIVER = """
import json, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)      # SO_RCVBUFFORCE
s.setsockopt(socket.SOL_SOCKET, 35, 1)            # SO_TIMESTAMPNS
s.bind(("", 5000))
print("ready", flush=True)
s.settimeout(10)
came, times = [], []
try:
    while True:
        data, extra, _, _ = s.recvmsg(65536, 64)
        seconds, rest = struct.unpack("qq", extra[0][2])
        times.append(seconds * 10**9 + rest)
        came.append(int(data[:8]))
        s.settimeout(0.3)
except TimeoutError:
    pass
print(json.dumps({"came": came, "seconds": (times[-1] - times[0]) / 1e9 if came else 0}))
"""
SENDER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 32, 256 << 10)    # SO_SNDBUFFORCE
print("ready", flush=True)
sys.stdin.readline()
count, size = int(sys.argv[1]), int(sys.argv[2])
for n in range(count):
    for to in sys.argv[3:]:
        s.sendto(b"%08d" % n + b"x" * (size - 8), (to, 5000))
"""

# In the place of pm-ethernetd: says that it is ready and stays; or fails.
STAND_IN = """#!/usr/bin/python3
import os, signal, socket, sys
if os.environ.get("STAND_IN") == "fails":
    sys.exit("pm-ethernetd: eth1: no such NIC: name another")
os.mkdir("/run/stand-in")
print(*sys.argv[1:], flush=True)
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
signal.pause()
"""

# Nobody listens there: the algorithm is that of the route already.
CONGESTION = """import socket
s = socket.socket()
s.connect_ex(("h1-eth1", 9))
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode())"""


tap = Tap()


def sclab(*words, lab=LAB, **keywords):
    return subprocess.run([SCLAB, "--name", lab, *words], capture_output=True, text=True,
                          check=False, timeout=60, **keywords)


def must(*words, **keywords):
    done = sclab(*words, **keywords)
    if done.returncode:
        raise RuntimeError(f"sclab {' '.join(words)}: {done.stderr}")
    return done.stdout


def in_host(host, script, **keywords):
    return sclab("exec", host, "--", "sh", "-c", script, **keywords)


def stream(senders, receivers, count, size, lab=LAB):
    """Every sender sends to all receivers; what each receiver got. Addresses are HOST-NIC."""
    listening = [subprocess.Popen([SCLAB, "--name", lab, "exec", r.split("-")[0], PYTHON, "-c",
                                   RECEIVER], stdout=subprocess.PIPE, text=True) for r in receivers]
    for process in listening:
        process.stdout.readline()
    sending = [subprocess.Popen([SCLAB, "--name", lab, "exec", s, PYTHON, "-c", SENDER,
                                 str(count), str(size), *receivers], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for s in senders]
    for process in sending:
        process.stdout.readline()
    for process in sending:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in sending:
        process.communicate(timeout=30)
    return [json.loads(process.communicate(timeout=30)[0]) for process in listening]


def mbits(result, size):
    frame = size + 14 + 20 + 8
    return (len(result["came"]) - 1) * frame * 8 / result["seconds"] / 1e6


def links_of_this_machine():
    return {link["ifname"] for link in json.loads(subprocess.check_output(["ip", "-j", "link"]))}


def test_host():
    tap.equal(must("exec", "h0", "hostname"), "h0\n", "a host has its own name")
    tap.equal(must("exec", "h1", "--", "printf", "%s|", "a  b", "--name", "*"), "a  b|--name|*|",
              "exec passes words as they are")
    tap.equal(in_host("h0", "exit 7").returncode, 7, "exec passes the exit status")
    tap.equal(in_host("h0", "kill -9 $$").returncode, -9, "exec passes death by a signal")
    tap.equal(sclab("exec", "h0", "cat", input="text").stdout, "text", "exec passes stdin")
    tap.equal(sclab("exec", "h0", "no-such-program").returncode, 127, "exec says 127: not found")
    tap.equal(sclab("exec", "h9", "true").returncode, 125, "exec says 125: no such host")
    tap.equal(must("exec", "h0", PYTHON, "-c", CONGESTION).strip(), "cubic", "TCP has Debian's congestion control")
    # processor time: how long it takes by the clock depends on what else the machine does
    took = []
    for _ in range(10):
        process = subprocess.Popen([SCLAB, "--name", LAB, "exec", "h0", "true"])
        usage = os.wait4(process.pid, 0)[2]
        took.append(usage.ru_utime + usage.ru_stime)
    tap.between(0, min(took), 0.1, "exec starts at once")
    in_host("h0", "touch /tmp/mine /dev/shm/mine /run/mine")
    tap.ok(not os.path.exists("/tmp/mine") and not os.path.exists("/dev/shm/mine"),
           "/tmp, /dev/shm and /run are not the machine's")
    tap.equal(in_host("h1", "ls /tmp/mine /dev/shm/mine /run/mine").stdout, "",
              "/tmp, /dev/shm and /run are not another host's")
    tap.equal(in_host("h0", "cd /sys/class/net && echo *").stdout, "eth0 eth1 eth2 lo\n",
              "/sys shows the host's NICs")
    tap.equal(in_host("h0", f"test -x {SCLAB} && test -r $PWD/. && pwd").stdout,
              os.getcwd() + "\n", "the tree and the caller's directory are there")
    tap.equal(sorted(must("exec", "--all", "hostname").splitlines()), ["h0: h0", "h1: h1", "h2: h2"],
              "exec --all marks lines with the host")
    tap.equal(sclab("exec", "--all", "sh", "-c", 'test "$(hostname)" != h1').returncode, 1,
              "exec --all fails when one host fails")


def test_directory_below_tmp():
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        tap.equal(in_host("h2", "pwd; echo text >file", cwd=directory).stdout, f"{directory}\n",
                  "a directory of the caller below /tmp is shown to the host")
        tap.ok(os.path.exists(f"{directory}/file"), "and is the same directory", directory)


def test_remote_shell():
    agent = f"{SCLAB} --name {LAB} rsh-agent"
    tap.equal(in_host("h0", f"{agent} h1 'hostname; exit 3'").stdout, "h1\n",
              "rsh-agent reaches another host from inside one")
    tap.equal(in_host("h0", f"{agent} -x root@10.0.0.3 'hostname; exit 3'").returncode, 3,
              "rsh-agent takes what ssh takes, and passes the status")
    tap.equal(in_host("h0", f"{agent} h9 true").returncode, 255, "rsh-agent fails as ssh does")
    if not shutil.which("mpirun"):
        tap.skip("mpirun starts processes on all hosts", "install openmpi-bin")
        tap.skip("mpirun needs no option, and finds the caller's directory on all hosts",
                 "install openmpi-bin")
        return
    done = in_host("h0", f"mpirun --mca plm_rsh_agent '{agent}' -H h0,h1,h2 -np 3 hostname")
    tap.equal(sorted(done.stdout.split()), ["h0", "h1", "h2"],
              "mpirun starts processes on all hosts")
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        with open(f"{directory}/hosts", "w", encoding="utf-8") as f:
            f.write(must("hostfile", "--slots", "2"))
        done = in_host("h0", "mpirun --hostfile hosts -np 6 sh -c 'hostname; pwd'", cwd=directory)
    tap.equal(sorted(done.stdout.split()), [directory] * 6 + ["h0", "h0", "h1", "h1", "h2", "h2"],
              "mpirun needs no option, and finds the caller's directory on all hosts")


def carried(receivers, count, enough, lab=LAB):
    """Mbit/s from h0 to all receivers, the best of a few tries: on a busy machine the sender gets
    less than the link gives, but no try may get more. And how many datagrams were lost."""
    size, best, lost = 1472, 0, 0
    for _ in range(6):
        results = stream(["h0"], receivers, count, size, lab)
        best = max(best, sum(mbits(r, size) for r in results))
        lost += sum(count - len(r["came"]) for r in results)
        if best >= enough:
            break
    return best, lost


def test_rate():
    rate, lost = carried(["h1-eth1"], 4000, 94)
    tap.between(94, rate, 102, "a link of 100mbit carries 100 Mbit/s")
    tap.equal(lost, 0, "and loses nothing: the sender is held back")
    rate, _ = carried(["h1-eth1", "h2-eth1"], 2000, 90)
    tap.between(90, rate, 103, "one sender to two receivers gets its own link's rate")
    must("rate", "h1:eth1", "50mbit")
    rate, _ = carried(["h1-eth1"], 2000, 47)
    tap.between(47, rate, 51, "rate changes one link")
    must("rate", "--all", "none")
    tap.ok(carried(["h1-eth1"], FEW, 103)[0] > 103, "rate none removes the limits")
    rates = {n["rate"] for h in json.loads(must("status", "--json"))["hosts"] for n in h["nics"]}
    tap.equal(rates, {0}, "status agrees")


def test_queue():
    """Two senders to one receiver: what the switch cannot hold is lost, and only there."""
    lab = LAB + "b"
    must("up", "--hosts", "3", "--rate", FILLED, "--queue", "30k", lab=lab)
    alone = stream(["h0"], ["h1-eth1"], 2000, 1472, lab)
    tap.equal(len(alone[0]["came"]), 2000, "a shallow queue loses nothing of one sender")
    for _ in range(TRIES):
        (result,) = stream(["h0", "h2"], ["h1-eth1"], 2000, 1472, lab)
        share = len(result["came"]) / 4000
        if share <= 0.8:        # on a busy machine the two may miss each other
            break
    tap.between(0.4, share, 0.8, "and drops when two senders meet")
    must("down", lab=lab)


def test_grid():
    """A line's switch has queues and loses frames as the switch of a flat network does."""
    lab = LAB + "b"
    must("up", "--grid", "3x2", "--rate", FILLED, "--queue", "30k", "--seed", "3", lab=lab)
    # h0, h2 and h4 differ in x alone; h1 is the neighbour of h0 along y
    alone = stream(["h0"], ["h2-eth1"], 2000, 1472, lab)
    tap.equal(len(alone[0]["came"]), 2000, "a line's shallow queue loses nothing of one sender")
    for _ in range(TRIES):
        (result,) = stream(["h0", "h4"], ["h2-eth1"], 2000, 1472, lab)
        share = len(result["came"]) / 4000
        if share <= 0.8:
            break
    tap.between(0.4, share, 0.8, "and drops when two senders of the line meet")
    must("loss", "--all", "10%", lab=lab)
    for target in ("h2-eth1", "h1-eth2"):
        (result,) = stream(["h0"], [target], 3000, 100, lab)
        tap.between(0.07, 1 - len(result["came"]) / 3000, 0.13, f"10% loss on the line to {target}")
    must("down", lab=lab)


def test_limiter_htb():
    """No try may carry more than the rate, but for two bursts, 0.13 % of a second, and for the moment at which the
    receiver gets its core: up to 10 ms."""
    lab = LAB + "b"
    must("up", "--rate", "100mbit", "--burst", "8k", "--limiter", "htb", "--spread", lab=lab)
    rate, lost = carried(["h1-eth1"], 10000, 97, lab)
    tap.between(97, rate, 101, "htb holds 100 Mbit/s as exactly as tbf")
    tap.equal(lost, 0, "and holds the sender back")
    must("rate", "h1:eth1", "50mbit", lab=lab)
    tap.between(47, carried(["h1-eth1"], 4000, 47, lab)[0], 51, "rate changes a link of htb")
    nics = {n["name"] + h["name"]: n["rate"] for h in json.loads(must("status", "--json", lab=lab))["hosts"]
            for n in h["nics"]}
    tap.equal((nics["eth1h0"], nics["eth1h1"]), (100 * 10**6, 50 * 10**6), "status shows both")
    must("rate", "--all", "none", lab=lab)
    tap.ok(carried(["h1-eth1"], FEW, 103, lab)[0] > 103, "rate none removes htb")
    must("down", lab=lab)


def test_loss():
    must("rate", "--all", "200mbit")
    patterns = []
    for _ in range(2):
        # anew each time: the counters of the port start from nothing
        must("loss", "h1:eth1", "10%")
        patterns.append(stream(["h0"], ["h1-eth1"], 4000, 100)[0]["came"])
    tap.between(0.07, 1 - len(patterns[0]) / 4000, 0.13, "10% loss loses 10 in 100")
    tap.equal(patterns[0], patterns[1], "one seed gives one pattern")
    status = json.loads(must("status", "--json"))
    nic = status["hosts"][1]["nics"][1]
    tap.equal((nic["loss_ppm"], nic["lost"]), (100000, 4000 - len(patterns[1])),
              "status counts the lost frames")
    must("loss", "--all", "0")
    tap.equal(len(stream(["h0"], ["h1-eth1"], 1000, 100)[0]["came"]), 1000, "loss 0 ends it")


def test_link():
    must("link", "h1:eth2", "down")
    tap.equal(in_host("h1", "cat /sys/class/net/eth2/carrier").stdout, "0\n",
              "link down takes the carrier away")
    tap.equal(in_host("h1", "ip -br address show eth2 | grep -c 10.2.0.2").stdout, "1\n",
              "and leaves the address")
    tap.equal(len(stream(["h0"], ["h1-eth1"], 100, 100)[0]["came"]), 100, "other links go on")
    must("link", "h1:eth2", "up")
    tap.equal(len(stream(["h0"], ["h1-eth2"], 100, 100)[0]["came"]), 100, "link up brings it back")
    tap.equal(sclab("link", "h1:eth7", "up").returncode, 3, "no such NIC: status 3")


def test_config():
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
        f.write(must("config"))
        f.flush()
        if not os.path.exists(f"{ROOT}/configs/scconf"):
            tap.skip("scconf accepts the lab's cluster.toml", "no scconf here")
            return
        done = subprocess.run([f"{ROOT}/configs/scconf", "check", f.name], capture_output=True,
                              text=True, check=False)
        tap.ok(done.returncode == 0, "scconf accepts the lab's cluster.toml",
               done.stdout + done.stderr)


def test_down():
    sleeper = subprocess.Popen([SCLAB, "--name", LAB, "exec", "h0", "sleep", "1000"])
    done = in_host("h0", f"{SCLAB} --name {LAB} down")
    tap.equal(done.returncode, 1, "down from inside the lab is refused")
    other = LAB + "b"
    must("up", "--hosts", "2", "--direct", lab=other)
    tap.equal(sclab("up").returncode, 4, "up of a lab that is up is refused")
    must("down")
    tap.equal(sleeper.wait(10), -9, "down ends what runs in the lab")
    tap.equal(left_of(LAB), [], "down leaves nothing")
    tap.equal(must("exec", "h1", "hostname", lab=other), "h1\n", "another lab is not touched")
    must("down", lab=other)
    tap.equal(left_of(other), [], "two hosts joined directly leave nothing")
    tap.equal(sclab("down").returncode, 3, "down of a lab that is not up: status 3")


def test_direct_grid():
    """Cables in the place of switches: from h0, h2 is at the other end of eth1, along x, and h1 of eth2, along y."""
    must("up", "--grid", "2x2", "--direct")
    tap.equal([name for name in os.listdir("/run/netns") if name.startswith(f"{LAB}-")
               and not name.startswith(f"{LAB}-h")], [f"{LAB}-mgmt"], "a grid joined directly has no data switch")
    came = [len(result["came"]) for result in stream(["h0"], ["h2-eth1", "h1-eth2"], 20, 100)]
    tap.equal(came, [20, 20], "neighbours along both dimensions are reached")
    status = json.loads(must("status", "--json"))
    tap.equal({(nic["switch"], nic["link"]) for host in status["hosts"] for nic in host["nics"][1:]},
              {("", "up")}, "status shows its cables")
    must("link", "h2:eth1", "down")
    tap.equal(in_host("h0", "cat /sys/class/net/eth1/carrier /sys/class/net/eth2/carrier").stdout, "0\n1\n",
              "link pulls one of them")
    must("down")
    tap.equal(left_of(LAB), [], "a grid joined directly leaves nothing")


def test_first_namespace_of_ip():
    """On a machine where ip(8) has made no namespace yet, it does so while a lab is up."""
    script = (f"mount -t tmpfs none /run; {SCLAB} --name {LAB} up >/dev/null; ip netns add {LAB}x; ls /run/netns; "
              f"{SCLAB} --name {LAB} down; ip netns del {LAB}x; ls /run/netns")
    done = subprocess.run(["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True, check=False,
                          timeout=60)
    names = "".join(f"{LAB}{part}\n" for part in ("-h0", "-h1", "-mgmt", "-sw1", "x"))
    tap.equal((done.stdout, done.stderr), (names, ""),
              "a lab goes that was up when ip(8) made its first namespace")


# A lab in a directory that is no mount point: of the machine's root, all but a copy of /etc is mounted in it.
BELOW_CHROOT = """
cd "$1"; shift
for name in /*; do
    case $name in
        /etc | /tmp | /proc) ;;
        *) if [ -L "$name" ]; then cp -P "$name" .; fi
           if [ -d "$name" ] && [ ! -L "$name" ]; then mkdir ".$name"; mount --rbind "$name" ".$name"; fi ;;
    esac
done
cp -a /etc . && rm -f etc/hosts && mkdir -p tmp proc ".$1" && mount -t proc proc proc
[ "$(ls -A ".$1")" ] || mount --bind "$1" ".$1"
exec chroot . sh -ec "$2"
"""
USE = f"{SCLAB} --name {LAB} up --spread >/dev/null; " \
      f"{SCLAB} --name {LAB} exec h0 -- sh -c 'grep -c h1 /etc/hosts; hostname'; " \
      f"{SCLAB} --name {LAB} exec h0 {SCLAB} --name {LAB} rsh-agent h1 hostname; {SCLAB} --name {LAB} down"
USED = "3\nh0\nh1\n"


def test_in_mount_namespaces():
    """Linux 6.18 numbers mount namespaces by core, and binds none of a lower number than the caller's: a namespace of
    one core and a lab on another meet that, in one of the two orders. Deep in others it depends on luck."""
    cores = sorted(map(str, os.sched_getaffinity(0)))
    first, last = cores[0], cores[-1]
    for outer, inner in ((first, last), (last, first)):
        done = subprocess.run(["taskset", "-c", outer, "unshare", "-m", "taskset", "-c", inner, "sh", "-ec", USE],
                              capture_output=True, text=True, check=False, timeout=60)
        tap.equal((done.stdout, done.stderr), (USED, ""),
                  f"a lab on core {inner} in a mount namespace of core {outer}")
    nested = ["sh", "-ec", USE]
    for _ in range(9):
        nested = ["unshare", "-m", *nested]
    done = subprocess.run(nested, capture_output=True, text=True, check=False, timeout=60)
    tap.equal((done.stdout, done.stderr), (USED, ""), "a lab nine mount namespaces deep")
    tap.equal(left_of(LAB), [], "nothing is left of them")


def test_kept_mounts():
    """The process that keeps a host's files where they could not be bound."""
    with tempfile.TemporaryDirectory(dir="/run") as directory:
        bound, keeper = (f"/run/openscore-lab/{LAB}/ns/h1.{kind}" for kind in ("mnt", "keeper"))
        # the lab's own way, by hand: h1's bind gives way to a process
        script = (f"{SCLAB} --name {LAB} up >/dev/null; cd {directory}; "
                  f"nsenter --mount={bound} sleep 1000 & sleeper=$!; "
                  f"until [ $(stat -Lc %i /proc/$sleeper/ns/mnt) = $(stat -Lc %i {bound}) ]; do :; done; "
                  f"umount {bound}; rm {bound}; "
                  f"echo $sleeper $(cut -d ' ' -f 22 /proc/$sleeper/stat) >{keeper}; "
                  f"{SCLAB} --name {LAB} exec h1 hostname; {{ kill $sleeper; wait $sleeper; }} 2>/dev/null || true; "
                  f"{SCLAB} --name {LAB} exec h1 hostname || echo $?; {SCLAB} --name {LAB} down")
        done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False, timeout=60)
    tap.equal(done.stdout, "h1\n125\n", "a host's files are kept by a process")
    tap.equal(done.stderr, "sclab: the process that kept the files of h1 is gone: run 'sclab down' and 'sclab up'\n",
              "and missed when it is gone")
    tap.equal(left_of(LAB), [], "down works without it")


def test_below_chroot():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        done = subprocess.run(["unshare", "-m", "sh", "-ec", BELOW_CHROOT, "sh", directory, ROOT, USE],
                              capture_output=True, text=True, check=False, timeout=60)
        tap.equal((done.stdout, done.stderr), (USED, ""), "a lab below chroot, without /etc/hosts")
    tap.equal(left_of(LAB), [], "nothing is left of it")


def test_killed_holder():
    """The sleeping process that hosts reach each other by."""
    must("up")
    with open(f"/run/openscore-lab/{LAB}/state.json", encoding="utf-8") as f:
        holder = json.load(f)["holder"]
    os.kill(holder, signal.SIGKILL)
    tap.equal(must("exec", "h1", "hostname"), "h1\n", "exec works without the lab's process")
    done = in_host("h0", f"{SCLAB} --name {LAB} rsh-agent h1 hostname")
    tap.ok(done.returncode == 255 and f"process {holder}" in done.stderr,
           "from inside a host the error names it", done.stderr)
    must("down")
    tap.equal(left_of(LAB), [], "down works without it")


def test_killed_up():
    """Killed ever later; what it left is removed by `down` or, every other time, by the next up."""
    words = ("up", "--hosts", "24", "--nics", "3")
    left, kills = [], 0
    for step in range(12):
        process = subprocess.Popen([SCLAB, "--name", LAB, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(0.03 * 1.3 ** step)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        if step % 2:
            if os.path.exists(f"/run/openscore-lab/{LAB}"):
                must("down")
            left += left_of(LAB)
    tap.ok(kills > 2, "up can be killed on its way", f"{kills} times")
    tap.equal(left, [], "down after a killed up leaves nothing")
    process = subprocess.Popen([SCLAB, "--name", LAB, *words], stdout=subprocess.DEVNULL)
    while not os.path.exists(f"/run/netns/{LAB}-h3") and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.wait()
    must(*words)
    tap.equal(must("exec", "h23", "hostname"), "h23\n", "up after a killed up works")
    must("down")
    tap.equal(left_of(LAB), [], "and leaves nothing")


def test_interrupted_up():
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([SCLAB, "--name", LAB, "up", "--hosts", "200"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(f"/run/netns/{LAB}-h3") and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(number)
        tap.equal((process.wait(30), left_of(LAB)), (128 + number, []),
                  f"{number.name} undoes a half-built lab")


def test_foreign_namespace():
    name = f"{LAB}-h1"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        done = sclab("up")
        tap.equal(done.returncode, 4, "a foreign namespace of our name is refused")
        tap.ok(name in done.stderr and done.stderr.count("\n") == 1, "in one line", done.stderr)
        tap.ok(os.path.exists(f"/run/netns/{name}"), "and not touched")
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
    must("up")
    # the lab's own was replaced behind its back
    subprocess.run(["ip", "netns", "del", name], check=True)
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        must("down")
        tap.equal(left_of(LAB), [f"/run/netns/{name}"] + [
            line for line in left_of(LAB) if name in line and line.startswith("nsfs")],
            "down leaves a namespace that took the name of ours")
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_ethernet():
    """The options --ethernet and --grid of sclab, with another program in the place of pm-ethernetd."""
    with tempfile.TemporaryDirectory(dir="/tmp") as build:
        os.mkdir(f"{build}/bin")
        with open(f"{build}/bin/pm-ethernetd", "w", encoding="utf-8") as f:
            f.write(STAND_IN)
        os.chmod(f.name, 0o755)
        env = {**os.environ, "PM_BUILD": build}
        done = sclab("up", "--nics", "2", "--ethernet", env={**env, "STAND_IN": "fails"})
        tap.ok(done.returncode == 1 and done.stderr == "sclab: pm-ethernetd of h0 did not start: "
               "eth1: no such NIC: name another\n", "up fails with the daemon's words", done.stderr)
        tap.equal(left_of(LAB), [], "and leaves nothing")
        must("up", "--nics", "2", "--ethernet", env=env)
        tap.equal(sorted(must("exec", "--all", "cat", "/run/pm-ethernetd.log").splitlines()),
                  ["h0: --nics eth1,eth2", "h1: --nics eth1,eth2"],
                  "a daemon runs in every host, on all its data NICs")
        must("down")
        tap.equal(left_of(LAB), [], "down ends the daemons")
        must("up", "--grid", "2x2", "--ethernet", env=env)
        config = f"/run/openscore-lab/{LAB}/cluster.json"
        tap.equal(set(must("exec", "--all", "cat", "/run/pm-ethernetd.log").splitlines()),
                  {f"h{n}: --config {config}" for n in range(4)}, "in a grid it is told how hosts stand")
        tap.equal(json.loads(in_host("h3", f"cat {config}").stdout)["hosts"][2]["coords"], [1, 0],
                  "by a file that it can read")
        must("down")


def test_large():
    for shape in (("--hosts", "64", "--nics", "3"), ("--grid", "4x4x4", "--nics", "1")):
        start = time.monotonic()
        must("up", *shape)
        tap.between(0, time.monotonic() - start, 30, f"{' '.join(shape)} is up in under 30 s")
        tap.equal(must("exec", "h63", "--", PYTHON, "-c",
                       "import socket; print(len(socket.if_nameindex()))"), "5\n", "with its NICs")
        must("down")
    tap.equal(left_of(LAB), [], "and leaves nothing")


def test_unprivileged():
    done = subprocess.run([SCLAB, "--name", LAB, "up"], capture_output=True, text=True, check=False,
                          user="nobody", cwd="/")
    if done.returncode == 126 or "ermission" in done.stderr:
        tap.skip("up says that it needs root", "nobody may not read this tree")
        return
    tap.equal((done.returncode, done.stderr.count("\n")), (5, 1), "up says that it needs root")


def test_refused():
    """By a limit, in a user namespace of its own: the machine's limit is left alone."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        tap.skip("up says that namespaces are refused", "user namespaces are refused here")
        return
    script = f"echo 0 >/proc/sys/user/max_net_namespaces; {SCLAB} --name {LAB} up"
    done = subprocess.run(["unshare", "-Urm", "sh", "-ec", script], capture_output=True, text=True, check=False)
    tap.equal((done.returncode, done.stderr),
              (5, "sclab: cannot make the namespaces of h0: unshare No space left on device\n"),
              "up says that namespaces are refused")


def main():
    if os.geteuid():
        print("1..0 # SKIP needs root to make network namespaces")
        return 0
    links = links_of_this_machine()
    try:
        must("up", "--hosts", "3", "--nics", "2", "--rate", "100mbit", "--seed", "5")
        for test in (test_host, test_directory_below_tmp, test_remote_shell, test_rate, test_queue, test_grid,
                     test_limiter_htb, test_loss, test_link, test_config, test_down, test_direct_grid,
                     test_first_namespace_of_ip, test_in_mount_namespaces, test_kept_mounts, test_below_chroot,
                     test_killed_holder, test_killed_up, test_interrupted_up,
                     test_foreign_namespace, test_ethernet, test_large, test_unprivileged, test_refused):
            test()
        tap.equal(links_of_this_machine() - links, set(), "no link is left on the machine")
    finally:
        for lab in (LAB, LAB + "b"):
            if os.path.exists(f"/run/openscore-lab/{lab}"):
                sclab("down", lab=lab)
    return tap.end()


sys.exit(main())
