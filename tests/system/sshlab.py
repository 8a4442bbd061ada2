# SPDX-License-Identifier: BSD-3-Clause
"""A lab whose hosts run OpenSSH's own sshd, with keys and settings of the lab: the machine's ssh, its keys and its
list of users stay as they are."""
import contextlib
import os
import shutil
import subprocess

import scoutlab
from schedlab import DAEMONS, kill, wait_until
from systest import BUILD

GUEST = "labguest"      # a user with a shell, known inside the lab only
GUEST_ID = 61234
START_S = 5
SSHDS = ("sshd", "sshd-session", "sshd-auth")       # the last two from OpenSSH 9.8 on

# Users of the lab: sshd wants one of its own to put its network half aside.
USERS = f"""sshd:x:61233:65534::/run/sshd:/usr/sbin/nologin
{GUEST}:x:{GUEST_ID}:65534::/tmp:/bin/sh
"""

SERVER = """HostKey {dir}/host_key
AuthorizedKeysFile {dir}/user_key.pub
PidFile /run/sshd.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
UseDNS no
PrintMotd no
PrintLastLog no
MaxStartups 100
"""

CLIENT = """Host *
    IdentityFile {key}
    IdentitiesOnly yes
    UserKnownHostsFile {dir}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""

# In a host, whose mounts and /run are its own.
FURNISH = """mount --bind "$1/passwd" /etc/passwd && mkdir -m 755 /run/sshd && mkdir -m 700 /run/guest &&
cp "$1/user_key" "$1/guest_config" /run/guest/ && chown -R "$2" /run/guest"""


def program():
    """(sshd, its libraries): the one that bootstrap.sh has unpacked, else the machine's; (None, "")."""
    if os.access(f"{BUILD}/sshd/sshd", os.X_OK):
        return f"{BUILD}/sshd/sshd", f"{BUILD}/sshd/lib"
    return shutil.which("sshd", path="/usr/sbin"), ""


def parts():
    """Settings that name the other programs of an sshd that is unpacked, where it has some."""
    names = {"SshdSessionPath": f"{BUILD}/sshd/sshd-session", "SshdAuthPath": f"{BUILD}/sshd/sshd-auth"}
    return "".join(f"{setting} {path}\n" for setting, path in names.items() if os.path.exists(path))


def missing():
    """Why it can't be tested here; "" = it can."""
    for tool in ("ssh", "ssh-keygen", "pdsh"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if not program()[0]:
        return "there is no sshd: tests/ssh/fetch build/sshd unpacks Debian's (bootstrap.sh check does it)"
    return scoutlab.missing()


class Lab(scoutlab.Lab):
    """With sshd in each host."""

    def __init__(self, name, hosts, *options):
        super().__init__(name, hosts, *options)
        self.directory = f"{BUILD}/{name}"
        self.listeners = {}     # by host, the sshd that accepts connections; its others belong to one each

    @property
    def config(self):
        """Of ssh, for root."""
        return f"{self.directory}/config"

    @property
    def ssh_env(self):
        """Variables that make pdsh's ssh a client of the lab."""
        return {"PDSH_SSH_ARGS_APPEND": f"-F {self.config}"}

    @property
    def guest_env(self):
        return {"PDSH_SSH_ARGS_APPEND": "-F /run/guest/guest_config"}

    def __enter__(self):
        super().__enter__()
        try:
            self._write()
            for host in self.hosts:
                self.start_sshd(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _file(self, name, text):
        with open(f"{self.directory}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def _write(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory, 0o755)
        for key in ("host_key", "user_key", "stranger_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", f"{self.directory}/{key}"],
                           check=True, stdin=subprocess.DEVNULL)
        with open(f"{self.directory}/host_key.pub", encoding="utf-8") as file:
            self._file("known_hosts", f"{','.join(self.hosts)} {file.read()}")
        with open("/etc/passwd", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(("sshd:", f"{GUEST}:"))]
        self._file("passwd", "".join(lines) + USERS)
        self._file("sshd_config", SERVER.format(dir=self.directory) + parts())
        self._file("config", CLIENT.format(dir=self.directory, key=f"{self.directory}/user_key"))
        self._file("stranger_config", CLIENT.format(dir=self.directory, key=f"{self.directory}/stranger_key"))
        self._file("guest_config", CLIENT.format(dir=self.directory, key="/run/guest/user_key"))
        for host in self.hosts:
            done = self.run("sh", "-c", FURNISH, "sh", self.directory, str(GUEST_ID), host=host)
            if done.returncode:
                raise RuntimeError(f"{host}: {done.stderr}")

    def start_sshd(self, host):
        path, libraries = program()
        number = f"{self.root(host)}/run/sshd.pid"      # written when it listens
        with contextlib.suppress(FileNotFoundError):
            os.unlink(number)
        done = self.run("env", f"LD_LIBRARY_PATH={libraries}", path, "-f", f"{self.directory}/sshd_config",
                        "-E", "/run/sshd.log", host=host)
        if done.returncode or not wait_until(lambda: os.path.exists(number) and os.path.getsize(number), START_S):
            raise RuntimeError(f"sshd of {host}: {done.stderr}{self.log('sshd', host)}")
        with open(number, encoding="ascii") as file:
            self.listeners[host] = int(file.read())

    def stop_sshd(self, host):
        kill(self.listeners[host])

    def logins(self):
        """sshds of connections."""
        return [pid for name in SSHDS for pid in self.find(name) if pid not in self.listeners.values()]

    def ssh(self, *words, env=None, **more):
        """scout by ssh alone, without a lock."""
        return self.scout(*self.by_ssh(), *words, env={**self.ssh_env, **(env or {})}, **more)

    @staticmethod
    def by_ssh():
        return "-no-lock", "-rsh", "ssh", "--programs", f"{BUILD}/bin"

    def left(self, seconds=5):
        """The processes that scout and ssh have left on the hosts; of sshd, all but those that listen."""
        def those():
            logins = self.logins()
            return [f"{pid} {name} in {host}" for pid, (host, name) in self.processes().items()
                    if pid in logins or name not in (*DAEMONS, *SSHDS)]
        wait_until(lambda: not those(), seconds)
        return those()


__all__ = ["GUEST", "Lab", "missing"]
