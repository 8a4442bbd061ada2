# SPDX-License-Identifier: BSD-3-Clause
#
# Runs commands inside hosts: exec, shell and the remote-shell agent of mpirun. Enters the host's
# namespaces and becomes the command, so status, signals, terminal and descriptors are the caller's.

import os
import pwd
import selectors
import signal
import sys

from . import holder, kernel, room, state as states
from .errors import EXIT_EXEC_FAILED, EXIT_NO_LAB, LabError

NAMESPACES = (("net", kernel.CLONE_NEWNET), ("uts", kernel.CLONE_NEWUTS),
              ("mnt", kernel.CLONE_NEWNS))


def tree_of(cwd, in_base):
    """The caller's directory, if hosts have a private one in its place, to be shown to the host.

    From inside a host only what was shown to that host: what it keeps in its own /tmp stays there."""
    top = room.private_top(cwd)
    if not top or cwd.startswith(f"{states.BASE}/") or not os.path.isdir(top):
        return None, None
    if not in_base and not os.path.ismount(top):
        return None, None
    return top, kernel.clone_tree(top)


def is_same_directory(path, stat):
    try:
        here = os.stat(path)
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (stat.st_dev, stat.st_ino)


def enter(state, host):
    """Moves this process into the host, to the same directory as before if the host has it."""
    if host not in state.hosts:
        raise LabError(f"lab '{state.options.lab}' has no host {host}: its hosts are "
                       f"{state.hosts[0]} to {state.hosts[-1]}", EXIT_NO_LAB)
    cwd, cwd_stat = os.getcwd(), os.stat(".")
    in_base = kernel.namespace_inode("/proc/self/ns/mnt") == state.base_mnt
    top, tree = tree_of(cwd, in_base)
    holder.enter_base(state)
    paths = {"net": state.net_path(host), "uts": state.bind_path(host, "uts"),
             "mnt": holder.find_mounts(state, host)}
    if not paths["mnt"]:
        raise LabError(f"the process that kept the files of {host} is gone: run 'sclab down' and 'sclab up'",
                       EXIT_NO_LAB)
    fds = [(os.open(paths[kind], os.O_RDONLY | os.O_CLOEXEC), flag) for kind, flag in NAMESPACES]
    for fd, flag in fds:
        kernel.setns(fd, flag)
        os.close(fd)
    if tree is not None:
        if is_same_directory(cwd, cwd_stat):
            os.close(tree)
        else:
            room.show(top, tree)
    try:
        os.chdir(cwd)
    except OSError:
        os.chdir("/")


def mpi_settings():
    """Variables that make mpirun work in a host without an option; those that the user has set keep their values."""
    agent = f"{os.path.realpath(sys.argv[0])} rsh-agent"
    return {"OMPI_MCA_plm_rsh_agent": agent, "PRTE_MCA_plm_ssh_agent": agent,
            # all hosts share the machine's cores: bound, rank 0 of each would sit on the same one
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def scheduler_settings(state):
    """Where the lab's scored, munged and cluster.json are, for what runs in a host."""
    if not state.options.scheduler:
        return {}
    return {"SCORE_SERVER": state.hosts[0], "SCORE_MUNGE_SOCKET": state.munge_socket,
            "SCORE_CLUSTER": states.compiled_path(state)}


def environment(state, host):
    env = {**mpi_settings(), **os.environ, **scheduler_settings(state),
           "SCLAB_NAME": state.options.lab, "SCLAB_HOST": host}
    # a directory of the outer /tmp is of no use inside
    if not os.path.isdir(env.get("TMPDIR", "/")):
        del env["TMPDIR"]
    return env


def become_user(name, env):
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise LabError(f"no user '{name}' on this machine") from None
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    env.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


def replace(argv, env):
    # Python ignores these two, and programs would inherit that
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as e:
        raise LabError(f"cannot run {argv[0]}: {e.strerror}",
                       127 if isinstance(e, FileNotFoundError) else 126) from None


def run_in(state, host, argv, user=None):
    """Does not return."""
    enter(state, host)
    env = environment(state, host)
    if user:
        become_user(user, env)
    replace(argv, env)


def shell(state, host, user=None):
    run_in(state, host, [os.environ.get("SHELL", "/bin/sh")], user)


def resolve(state, name):
    """A host by its name, or by any name or address that its /etc/hosts gives it."""
    if name in state.hosts:
        return name
    with open(f"{state.directory}/hosts", encoding="utf-8") as f:
        for line in f:
            if name in line.split():
                return line.split()[1].partition("-")[0]
    return name


def remote_shell(state, argv):
    """Called as ssh is: [OPTION...] [USER@]HOST WORD...; the words are one sh(1) command line."""
    user = None
    words = list(argv)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-l", "-p", "-o", "-i", "-F") and words:
            value = words.pop(0)
            user = value if option == "-l" else user
    if not words:
        raise LabError("rsh-agent: no host given: write sclab rsh-agent HOST COMMAND",
                       EXIT_EXEC_FAILED)
    login, at, host = words[0].rpartition("@")
    host = resolve(state, host)
    if len(words) == 1:
        shell(state, host, login or user)
    run_in(state, host, ["/bin/sh", "-c", " ".join(words[1:])], login or user)


class Stream:
    """One output of one host's command, cut into lines that bear the host's name."""

    def __init__(self, host, fd, out):
        self.host, self.fd, self.out = host, fd, out
        self.rest = b""

    def pump(self):
        """Passes on what has come; False at the end."""
        data = os.read(self.fd, 65536)
        *lines, self.rest = (self.rest + data).split(b"\n")
        if not data and self.rest:
            lines.append(self.rest)
        for line in lines:
            self.out.write(f"{self.host}: ".encode() + line + b"\n")
        self.out.flush()
        return bool(data)


def spawn(state, host, argv, user):
    """Runs the command in a child; (pid, stdout, stderr)."""
    pipes = os.pipe(), os.pipe()
    pid = kernel.fork()
    if pid == 0:
        status = EXIT_EXEC_FAILED
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(pipes[0][1], 1)
            os.dup2(pipes[1][1], 2)
            run_in(state, host, argv, user)
        except LabError as e:
            os.write(2, f"sclab: {e}\n".encode())
            status = e.status
        except OSError as e:
            os.write(2, f"sclab: {e}\n".encode())
        finally:
            os._exit(status)
    for pipe in pipes:
        os.close(pipe[1])
    return pid, pipes[0][0], pipes[1][0]


def run_in_all(state, argv, user=None):
    """Runs the command in all hosts at once; the highest exit status is the result."""
    pids = []
    with selectors.DefaultSelector() as selector:
        for host in state.hosts:
            pid, out, err = spawn(state, host, argv, user)
            pids.append(pid)
            for fd, target in ((out, sys.stdout.buffer), (err, sys.stderr.buffer)):
                selector.register(fd, selectors.EVENT_READ, Stream(host, fd, target))
        while selector.get_map():
            for key, _ in selector.select():
                if not key.data.pump():
                    selector.unregister(key.fd)
                    os.close(key.fd)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return max(128 - code if code < 0 else code for code in codes)
