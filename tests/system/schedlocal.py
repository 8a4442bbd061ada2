# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of this machine alone: munged, scored and scnodeds as children, over loopback, all in one directory that
goes with them. For tests that need daemons of odd kinds; schedlab.py has hosts that are apart."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

from systest import BUILD, ROOT, free_port, groups_below

SCRUN = f"{BUILD}/bin/scrun"
OWNER, HOSTILE = 1, 65534       # daemon, nobody
PYTHON = "/usr/bin/python3"     # everybody may run that
READY_S = 10
TIME_LIMIT = 60


def missing(*tools):
    """Why no such cluster can be had here; '' = it can."""
    if os.geteuid():
        return "needs root for jobs of several users"
    for program in ("scored", "scnoded", "scstepd", "scrun"):
        if not os.path.exists(f"{BUILD}/bin/{program}"):
            return f"{program} is not built"
    for tool in ("munged", *tools):
        if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin"):
            return f"{tool} is not installed"
    return ""


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Daemon:
    """A child with its log."""

    def __init__(self, name, directory, *words, env=None):
        self.name = name
        self.log_path = f"{directory}/{name}.log"
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          env={**os.environ, **(env or {})})

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def says(self, text, seconds=READY_S):
        return wait_until(lambda: text in self.log() or self.child.poll() is not None, seconds) and text in self.log()

    def end(self, signo=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.send_signal(signo)
            try:
                self.child.wait(READY_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
        return self.child.wait()


class Cluster:
    def __init__(self):
        # Users must get at their programs and at munge's sockets.
        self.directory = tempfile.mkdtemp(prefix="openscore-")
        os.chmod(self.directory, 0o755)
        self.group = f"openscore-{os.getpid()}"
        self.key = self.make_key("key")
        self.daemons = []
        self.munge = self.scored = None
        self.hosts = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.end()
        for path in self.cgroups():
            try:
                os.rmdir(path)
            except OSError:
                pass        # leftovers() has told of it
        shutil.rmtree(self.directory)

    def make_key(self, name):
        path = f"{self.directory}/{name}"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
            f.write(os.urandom(128))
        return path

    # ---- daemons ----

    def start(self, name, *words, env=None):
        daemon = Daemon(name, self.directory, *words, env=env)
        self.daemons.append(daemon)
        return daemon

    def start_munge(self, name="munge", key=None, env=None):
        """Path of its socket, and the daemon."""
        base = f"{self.directory}/{name}"
        os.mkdir(base, 0o755)
        daemon = self.start(name, shutil.which("munged", path=f"{os.environ['PATH']}:/usr/sbin"), "--foreground",
                            "--force", f"--socket={base}/socket", f"--key-file={key or self.key}",
                            f"--pid-file={base}/pid", f"--log-file={base}/log", f"--seed-file={base}/seed", env=env)
        if not wait_until(lambda: os.path.exists(f"{base}/socket"), READY_S):
            raise RuntimeError(f"munged: {daemon.log()}")
        return f"{base}/socket", daemon

    def start_scored(self, *words, munge=None, name="scored", through=()):
        """@through: the command that becomes scored."""
        port = free_port()
        daemon = self.start(name, *through, f"{BUILD}/bin/scored", "--listen", f"127.0.0.1:{port}", "--state",
                            f"{self.directory}/{name}-state", "--munge-socket", munge or self.munge, *words)
        return f"127.0.0.1:{port}", daemon

    def start_host(self, name, *words, munge=None, server=None, run=None, file=None, through=()):
        """@through: the command that becomes scnoded."""
        port = free_port()
        # A socket's path is short.
        daemon = self.start(file or name, *through, f"{BUILD}/bin/scnoded", "--server", server or self.server,
                            "--name", name, "--listen", f"127.0.0.1:{port}", "--address", "127.0.0.1",
                            "--run", run or f"{self.directory}/{file or name}-run", "--cgroup",
                            f"{self.group}/{file or name}", "--cores", "2x", "--munge-socket", munge or self.munge,
                            *words)
        self.hosts[file or name] = daemon
        return daemon

    def up(self, *hosts, scored=()):
        """The usual: one munged, one scored with the options @scored, hosts that are registered."""
        self.munge, self.munged = self.start_munge()
        self.server, self.scored = self.start_scored(*scored)
        if not self.scored.says("ready"):
            raise RuntimeError(self.scored.log())
        for host in hosts:
            self.start_host(host)
        for host in hosts:
            if not self.hosts[host].says("registered with"):
                raise RuntimeError(self.hosts[host].log())
        return self

    # ---- jobs ----

    def environment(self, munge=None, server=None):
        return {"SCORE_MUNGE_SOCKET": munge or self.munge, "SCORE_SERVER": server or self.server}

    def scrun(self, *words, user=None, env=None, limit=TIME_LIMIT, cwd=None, stdin=subprocess.DEVNULL, munge=None,
              server=None):
        """@user: uid = gid without groups."""
        before = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user is not None else []
        return subprocess.run([*before, SCRUN, *words], capture_output=True, text=True, check=False, timeout=limit,
                              stdin=stdin, cwd=cwd or self.directory,
                              env={**os.environ, **self.environment(munge, server), **(env or {})})

    # ---- what is left ----

    def cgroups(self):
        return groups_below(self.group)

    def leftovers(self):
        left = [f"cgroup {path}" for path in self.cgroups() if os.path.basename(path).startswith("job-")]
        known = {daemon.child.pid for daemon in self.daemons}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    is_ours = self.server.encode() in f.read()
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    name = f.read().strip()
            except OSError:
                continue
            if is_ours and int(pid) not in known:
                left.append(f"process {pid} {name}")
        for name in self.hosts:
            jobs = f"{self.directory}/{name}-run/jobs"
            left += [f"{jobs}/{job}" for job in (os.listdir(jobs) if os.path.isdir(jobs) else [])]
        return left

    def settled(self, seconds=8):
        wait_until(lambda: not self.leftovers(), seconds)
        return self.leftovers()


def become(uid, words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


def as_user(uid, *words, **more):
    return subprocess.run(become(uid, words), capture_output=True, text=True, check=False, timeout=20, **more)


@contextlib.contextmanager
def job(cluster, *words, user=OWNER, ready="here"):
    """A job that has said @ready, until the end of the block; what it has said."""
    log = open(f"{cluster.directory}/job-{time.monotonic_ns()}", "w+b")
    child = subprocess.Popen(become(user, [SCRUN, *words]), stdin=subprocess.DEVNULL, stdout=log,
                             stderr=log, cwd=cluster.directory, env={**os.environ, **cluster.environment()})

    def said():
        with open(log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    try:
        if not wait_until(lambda: ready in said(), 10):
            raise RuntimeError(f"no {ready} in {said()}")
        yield child, said
    finally:
        child.terminate()
        child.wait(20)
        log.close()


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def steps_of(cluster, uid):
    """Pids of the scstepds of a user that the cluster's scnodeds have started."""
    parents = {str(host.child.pid) for host in cluster.hosts.values()}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = status_of(pid)
            if (status["Name"], status["Uid"].split()[0]) == ("scstepd", str(uid)) and status["PPid"] in parents:
                found.append(int(pid))
    return found


def tool(cluster, name, *words, user=HOSTILE):
    return as_user(user, PYTHON, f"{ROOT}/scheduler/ctl/{name}", *words, env={**os.environ, **cluster.environment()})
