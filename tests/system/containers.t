#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration inside of containers of podman and systemd-nspawn, where these are installed. The root of each
container is this machine's below an overlay in memory: no image is wanted, no network, and nothing stays. With the
rights for it the virtual cluster comes up in there; without them a real job runs on one host, and what is not shown is
said. Without these tools a user namespace stands for the container that an ordinary user starts. TAP. Needs root."""
import contextlib
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

from systest import BUILD, ROOT, Tap, told

DEMO = f"{ROOT}/tests/lab/demo"
SCLAB = f"{ROOT}/tests/lab/sclab"
LIMIT = 120
GROUPS = f"openscore-containers-{os.getpid()}"

# Files of podman and nspawn below /run and in their stores are in memory, and end with these namespaces, as do their
# processes. crun refuses version 2 of control groups with controllers beside version 1, so that is hidden. A tree on a
# file system of its own gets a second overlay.
SURROUNDINGS = """
place=$1 tree=$2; shift 2
mount -t tmpfs -o mode=755 tmpfs "$place"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir "$place/root"
over() { # NUMBER DIRECTORY
    mkdir "$place/up$1" "$place/work$1"
    mount -t overlay -o "lowerdir=$2,upperdir=$place/up$1,workdir=$place/work$1" overlay "$place/root$2"
}
over 1 /
[ "$(stat -c %d "$tree")" = "$(stat -c %d /)" ] || { mkdir -p "$place/root$tree"; over 2 "$tree"; }
! mountpoint -q /sys/fs/cgroup/unified || mount -t tmpfs tmpfs /sys/fs/cgroup/unified
exec "$@"
"""

tap = Tap()


def limits():
    """Podman's own are above what root may set without CAP_SYS_RESOURCE."""
    numbers = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    hard = {name: resource.getrlimit(number)[1] for name, number in numbers.items()}
    return [f"--ulimit={name}={limit}:{limit}" for name, limit in hard.items() if limit != resource.RLIM_INFINITY]


def podman(place, *options):
    return ["podman", "--root", f"{place}/store", "--runroot", f"{place}/run", "--cgroup-manager=cgroupfs",
            "--events-backend=none", "--storage-driver=vfs", "run", "--rm", f"--cgroup-parent=/{GROUPS}",
            "--network=none", *limits(), *options, f"--env=BUILD={BUILD}", "--rootfs", f"{place}/root"]


def nspawn(place, *options):
    return ["systemd-nspawn", "--quiet", f"--directory={place}/root", "--register=no", "--keep-unit",
            "--link-journal=no", "--pipe", *options, f"--setenv=BUILD={BUILD}"]


def remove_groups():
    """Podman leaves the parent of a container's groups."""
    for top in glob.glob(f"/sys/fs/cgroup/{GROUPS}") + glob.glob(f"/sys/fs/cgroup/*/{GROUPS}"):
        for path, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(path)


def run(tool, options, command):
    """The finished command inside of a container."""
    with tempfile.TemporaryDirectory(prefix="containers-") as place:
        start = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", SURROUNDINGS,
                 "sh", place, ROOT]
        try:
            return subprocess.run([*start, *tool(place, *options), *command], capture_output=True, text=True,
                                  check=False, timeout=LIMIT, cwd="/", stdin=subprocess.DEVNULL)
        finally:
            remove_groups()


def on_one_host(done, name):
    out = done.stdout
    tap.ok(done.returncode == 0 and "\nThere is no virtual cluster: " in out and "\nNot shown: several hosts, " in out,
           f"{name}: the demonstration says what it does not show", told(done))
    tables = [line.split(", ")[1] for line in out.splitlines() if line.startswith("# pmtest")]
    tap.equal(tables, ["shmem", "udp"], f"{name}: and shows PM through shared memory and by UDP")


def cluster(done, network, name):
    tap.ok(done.returncode == 0 and f" over {network}, 4 ranks on 4 hosts: scrun " in done.stdout,
           f"{name}: the virtual cluster, over {network}", told(done))
    tables = [line.split(", ")[1] for line in done.stdout.splitlines() if line.startswith("# pmtest")]
    tap.equal(len(tables), 2, f"{name}: with both tables of pmtest")


def with_podman():
    on_one_host(run(podman, [], [DEMO]), "podman")
    has_daemon = os.access(f"{BUILD}/bin/pm-ethernetd", os.X_OK)
    cluster(run(podman, ["--privileged"], [DEMO]), "pm-ethernet" if has_daemon else "pm-udp", "podman --privileged")


def with_nspawn():
    """By itself it gives the right to make namespaces, but not to furnish them; and never bpf(2), unless asked to."""
    done = run(nspawn, [], [SCLAB, "up"])
    tap.ok(done.returncode == 5 and "sclab: cannot make the namespaces of h0: " in done.stderr,
           "systemd-nspawn: sclab says in one line that it is refused", told(done))
    cluster(run(nspawn, ["--private-network"], [DEMO]), "pm-udp", "systemd-nspawn --private-network")


def in_user_namespace():
    """Root there has few groups and no bpffs, and a network of its own or not."""
    if subprocess.run(["unshare", "-Urmn", "true"], capture_output=True, check=False).returncode:
        tap.skip("a lab in a user namespace", "user namespaces are refused here")
        return
    lab = f"{SCLAB} --name c{os.getpid()}"
    script = f"{lab} up >/dev/null; {lab} exec h1 hostname; {lab} exec h0 {lab} rsh-agent h1 hostname; {lab} down"
    done = subprocess.run(["unshare", "-Urmn", "sh", "-ec", script], capture_output=True, text=True, check=False,
                          timeout=LIMIT)
    tap.equal((done.stdout, done.stderr), ("h1\nh1\n", ""), "a lab in a user namespace")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", f"{lab} up || {{ echo $?; {lab} down; }}"],
                          capture_output=True, text=True, check=False, timeout=LIMIT)
    tap.ok(done.stdout == "5\n" and "this container has its host's network: " in done.stderr,
           "up says that the network is another's", told(done))
    tap.ok("is not up\n" in done.stderr, "and leaves nothing", done.stderr)


def main():
    if os.geteuid() or not os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so"):
        print("1..0 # SKIP " + ("needs root to start containers" if os.geteuid() else "mtl/pm is not built"))
        return 0
    in_user_namespace()
    for tool, part, package in (("podman", with_podman, "podman"),
                                ("systemd-nspawn", with_nspawn, "systemd-container")):
        if shutil.which(tool):
            part()
        else:
            tap.skip(f"containers of {tool}", f"it is not installed: apt-get install {package}")
    return tap.end()


sys.exit(main())
