# SPDX-License-Identifier: BSD-3-Clause
"""A lab whose hosts run scored and scnoded: jobs on it, its processes by what they are, and what is left of jobs."""
import json
import os
import select
import shutil
import signal
import subprocess
import time

from systest import BUILD, ROOT, groups_below

SCLAB = f"{ROOT}/tests/lab/sclab"
SCRUN = f"{BUILD}/bin/scrun"
TIME_LIMIT = 60
# Environment that has windows served by osc/rdma over btl/pm.
BY_BTL = {"OMPI_MCA_btl": "pm,self", "OMPI_MCA_osc": "rdma", "OMPI_MCA_osc_rdma_btls": "pm"}
DAEMONS = ("munged", "scored", "scnoded", "pm-ethernetd")
READY_S = 10
RESTART_S = 0.1     # a service manager's pause before it starts a daemon anew


def missing():
    """Why no such lab can be built here; '' = it can."""
    if os.geteuid():
        return "needs root to make network namespaces"
    for program in ("scored", "scnoded", "scstepd", "scrun"):
        if not os.path.exists(f"{BUILD}/bin/{program}"):
            return f"{program} is not built"
    for tool in ("munged", "mpirun"):
        if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin"):
            return f"{tool} is not installed"
    return ""


def missing_pm():
    """The same for one whose programs go over mtl/pm."""
    return missing() or ("" if os.path.exists(f"{BUILD}/mca/mca_mtl_pm.so") else "mtl/pm is not built")


def over_pm(options):
    """Environment that puts an Open MPI program on mtl pm of the build tree."""
    done = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True, text=True,
                          check=True)
    package = done.stdout.strip().rsplit(":", 1)[1]
    # where Open MPI 5 is: PMIx would take Open MPI's path for its own
    pmix = {"PMIX_MCA_mca_base_component_path": f"{BUILD}/pmix"} if os.path.isdir(f"{BUILD}/pmix") else {}
    return {"OMPI_MCA_mca_base_component_path": f"{BUILD}/mca:{package}", "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "pm", "PM_OPTIONS": options, **pmix}


def is_leading(pid):
    """Of its session; False for one that has ended."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def stat_of(pid):
    """(program's name, state, number of the parent); ("", "Z", 0) when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            text = f.read()
    except OSError:
        return "", "Z", 0
    state, parent = text.rpartition(")")[2].split()[:2]
    return text[text.index("(") + 1:text.rindex(")")], state, int(parent)


def name_of(pid):
    """Program's name; '' = it is gone, or only its remains are there."""
    name, state, _ = stat_of(pid)
    return "" if state == "Z" else name


def wait_until(condition, seconds):
    """The condition's first true value, or what it was at the end."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(0.01)


def groups_of(lab):
    """Its control groups in every hierarchy, as paths."""
    return groups_below(f"openscore-lab/{lab}")


def left_of(lab):
    """Whatever on this machine still bears the lab's name."""
    found = [f"/run/netns/{n}" for n in os.listdir("/run/netns") if n.startswith(f"{lab}-")]
    with open("/proc/self/mounts", encoding="utf-8") as f:
        found += [line for line in f if f"/{lab}/" in line or f"/{lab}-" in line]
    if os.path.exists(f"/run/openscore-lab/{lab}"):
        found.append("state directory")
    found += groups_of(lab)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read().startswith(f"sclab:{lab}\0".encode()):
                    found.append(f"process {pid}")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class Lab:
    """sclab up --scheduler; to be used as a context."""

    def __init__(self, name, hosts, *options):
        self.name = name
        self.hosts = [f"h{i}" for i in range(hosts)]
        self.options = options
        self.lines = {}         # command line of each daemon, by (program, host)

    def __enter__(self):
        shape = () if "--grid" in self.options else ("--hosts", str(len(self.hosts)))
        done = self.sclab("up", *shape, "--scheduler", "--share", BUILD, *self.options)
        if done.returncode:
            raise RuntimeError(done.stderr)
        for pid, (host, name) in self.processes().items():
            if name in ("scored", "scnoded"):
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                    self.lines[name, host] = f.read().split("\0")[:-1]
        self.shm = {host: self.listing(host, "/dev/shm") for host in self.hosts}
        return self

    def __exit__(self, *_):
        done = self.sclab("down")
        if done.returncode:
            raise RuntimeError(done.stderr)

    def sclab(self, *words):
        return subprocess.run([SCLAB, "--name", self.name, *words], capture_output=True, text=True, check=False,
                              timeout=TIME_LIMIT, stdin=subprocess.DEVNULL, env={**os.environ, "BUILD": BUILD})

    # ---- commands ----

    def command(self, *words, host="h0", user=None):
        return [SCLAB, "--name", self.name, "exec", *(["-u", user] if user else []), host, "--", *words]

    def run(self, *words, host="h0", user=None, env=None, limit=TIME_LIMIT):
        """Status 124 = stopped after @limit seconds, as timeout(1) says it."""
        command = self.command(*words, host=host, user=user)
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit,
                                  stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        except subprocess.TimeoutExpired as late:
            out, error = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
            return subprocess.CompletedProcess(command, 124, out, f"{error}stopped after {limit} s\n")

    def scrun(self, *words, **more):
        return self.run(SCRUN, *words, **more)

    def start(self, *words, host="h0", user=None, env=None):
        """scrun in the background. sclab becomes the command: the pid is scrun's."""
        return subprocess.Popen(self.command(SCRUN, *words, host=host, user=user), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                env={**os.environ, **(env or {})})

    # ---- processes ----

    def processes(self):
        """(host, program) by pid of all that runs in a host."""
        spaces = {f"net:[{os.stat(f'/run/netns/{self.name}-{host}').st_ino}]": host for host in self.hosts}
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                host = spaces.get(os.readlink(f"/proc/{pid}/ns/net"))
            except OSError:
                continue
            name = name_of(pid) if host else ""
            if name:
                found[int(pid)] = (host, name)
        return found

    def find(self, program, host=None):
        return [pid for pid, (at, name) in self.processes().items() if name == program and host in (None, at)]

    def daemons(self, program, host=None):
        """Without children that are to become other programs, and may lead a session by then."""
        found = self.find(program, host)
        return [pid for pid in found if is_leading(pid) and stat_of(pid)[2] not in found]

    def log(self, program, host="h0"):
        return self.run("cat", f"/run/{program}.log", host=host).stdout

    def restart(self, program, host="h0"):
        """The daemon anew, with the command line it had; waits until the hosts are known to scored again."""
        before = {at: self.log("scnoded", at).count("registered") for at in self.hosts}
        line = self.lines[program, host]
        time.sleep(RESTART_S)
        if not wait_until(lambda: not self.daemons(program, host), READY_S):
            raise RuntimeError(f"{program} on {host} is still there, so it can't be started anew")
        subprocess.run(self.command("sh", "-c", 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null &', "sh",
                                    f"/run/{program}.log", *line, host=host), check=True, timeout=TIME_LIMIT,
                       env={**os.environ, "BUILD": BUILD})
        waiting = self.hosts if program == "scored" else [host]
        for at in waiting:
            if not wait_until(lambda at=at: self.log("scnoded", at).count("registered") > before[at]
                              or not self.find("scnoded", at), READY_S):
                raise RuntimeError(f"{at} has not registered: {self.log('scnoded', at)}")

    def restart_missing(self):
        there = {(name, host) for host, name in self.processes().values()}
        for program, host in self.lines:
            if (program, host) not in there:
                self.restart(program, host)

    # ---- what is left ----

    def root(self, host):
        """The host's file system, seen through a process of it."""
        pids = [pid for pid, (at, name) in self.processes().items() if at == host and name == "scnoded"]
        return f"/proc/{pids[0]}/root" if pids else None

    def leader(self):
        """Host of the leader of the job that runs, '' = there is none."""
        for host in self.hosts:
            for number in self.listing(host, "/run/openscore/jobs"):
                try:
                    with open(f"{self.root(host)}/run/openscore/jobs/{number}/order.json", encoding="utf-8") as f:
                        order = json.load(f)
                except (OSError, ValueError):
                    continue
                return order["hosts"][0]["name"]
        return ""

    def listing(self, host, directory):
        root = self.root(host)
        try:
            return sorted(os.listdir(root + directory)) if root else []
        except FileNotFoundError:
            return []

    def cgroups(self):
        return [path for path in groups_of(self.name) if os.path.basename(path).startswith("job-")]

    def leftovers(self):
        """Everything that a job has left behind, as lines; to be called when every scnoded runs."""
        left = [f"process {pid} {name} in {host}" for pid, (host, name) in self.processes().items()
                if name not in DAEMONS]
        left += [f"cgroup {path}" for path in self.cgroups()]
        for host in self.hosts:
            left += [f"{host}:/run/openscore/jobs/{name}" for name in self.listing(host, "/run/openscore/jobs")]
            left += [f"{host}:/dev/shm/{name}" for name in self.listing(host, "/dev/shm")
                     if name not in self.shm[host]]
            left += [f"{host}:/tmp/{name}" for name in self.listing(host, "/tmp")
                     if name.startswith(("ompi.", "openmpi", "pmix", "openscore"))]
        return left

    def ports(self):
        """Ports of pm-ethernet that are open, as lines."""
        if "--ethernet" not in self.options:
            return []
        found = []
        for host in self.hosts:
            done = self.run(f"{ROOT}/pm-ethernet/ctl/pm-ethernetctl", "status", "--json", host=host)
            found += [f"port of pm-ethernet in {host}: {each}" for each in json.loads(done.stdout)["contexts"]]
        return found

    def settled(self, seconds=5):
        """Waits at most that time for jobs to be cleaned up; returns the leftovers."""
        wait_until(lambda: not self.leftovers(), seconds)
        return self.leftovers() or self.ports()


def kill(pid):
    """With -9, and until it is dead; False if it was gone already."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        return bool(select.select([fd], [], [], READY_S)[0])
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
