# SPDX-License-Identifier: BSD-3-Clause
"""scnodeds - the scnodeds of a private cluster: started, asked and ended on their hosts, here through pdsh. The scripts
for that are a few lines of sh. The module knows nothing of scored."""

import os
import shlex
import shutil
import subprocess

CONNECT_S, COMMAND_S = 10, 40

_UP = """umask 077
mkdir {dir} || {{
    if test -O {dir}; then echo "a private cluster of this name is there already: scpool down"
    else echo "{dir} is not yours: choose another name"; fi
    exit 1
}}
{program} --version >/dev/null || {{ echo "install OpenSCore here, or name its place with --programs"; exit 1; }}
cd /
setsid {command} >{dir}/log 2>&1 </dev/null &
echo $! >{dir}/pid"""

# When scored is gone, the remaining processes of a job end by themselves 4 s after their scnoded.
# Any user may create a name in /tmp: a directory of another user is neither read nor removed.
_DOWN = """test -d {dir} && test -O {dir} && test ! -h {dir} || exit 0
pid=$(cat {dir}/pid 2>/dev/null)
if test -n "$pid" && test "$(cat /proc/$pid/comm 2>/dev/null)" = scnoded; then
    kill $pid
    timeout 10 tail --pid=$pid -f /dev/null || kill -9 $pid
fi
test -z "$(ls {dir}/run/jobs 2>/dev/null)" || sleep 6
find /sys/fs/cgroup -maxdepth 3 -depth -type d -name {group} -exec rmdir {{}} \\; 2>/dev/null
rm -rf {dir}"""

_LOG = "test -O {dir} && tail -n 4 {dir}/log 2>/dev/null || echo 'scnoded was not started'"


class Trouble(Exception):
    """A failure; its text is what the hosts said, or why they were not asked."""


class Scnodeds:
    """hosts: names; through: words of a command for pdsh -R exec with %h, None: ssh; base: directory on each host."""

    def __init__(self, hosts, base, through=None):
        self.hosts, self.base, self.through = hosts, base, through

    def _run(self, script, **words):
        """The output of the script on all hosts."""
        host = self._host()
        # Hosts that share a file system do not share a directory.
        words = {key: word.replace("HOST", host) for key, word in words.items()}
        return self._carry(script.format(dir=f"{self.base}.{host}", group=f"{self._group()}.{host}", **words))

    def _host(self):
        """The text that stands for the host's name in the script."""
        return "%h" if self.through else "$(uname -n | cut -d. -f1)"

    def _carry(self, text):
        """(code, output) of a script on all hosts."""
        if not shutil.which("pdsh"):
            raise Trouble("pdsh is not there: install pdsh")
        where = ["exec", "-w", ",".join(self.hosts), *self.through, "sh", "-c"] if self.through else [
            "ssh", "-w", ",".join(self.hosts)]
        ssh_args = f"{os.environ.get('PDSH_SSH_ARGS_APPEND', '')} -oBatchMode=yes".strip()
        done = subprocess.run(["pdsh", "-S", "-t", str(CONNECT_S), "-u", str(COMMAND_S), "-R", *where, text],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False,
                              env={**os.environ, "PDSH_SSH_ARGS_APPEND": ssh_args})
        return done.returncode, done.stdout.strip()

    def _group(self):
        return self.base.rsplit("/", maxsplit=1)[-1]

    def up(self, program, server, munge_socket, extra):
        """Starts them; they register by themselves."""
        command = [program, "--server", server, "--listen", "0", *extra]
        if munge_socket:
            command += ["--munge-socket", munge_socket]
        text = " ".join(map(shlex.quote, command))
        text += f" --run {self.base}.HOST/run --name HOST --cgroup {self._group()}.HOST"
        code, said = self._run(_UP, command=text, program=shlex.quote(program))
        if code:
            raise Trouble(said or f"pdsh ended with {code}")

    def down(self):
        """Ends them and removes what they have left."""
        code, said = self._run(_DOWN)
        if code:
            raise Trouble(said or f"pdsh ended with {code}")

    def log(self):
        """The last lines of all."""
        return self._run(_LOG)[1]
