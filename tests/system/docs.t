#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands in blocks of README.md, docs/install.md and docs/running.md: they are run as they stand there, or are listed
here with the reason. A block that is neither run nor listed fails, and so does an entry here whose block is gone. TAP.
Needs root for a lab."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import schedlab
from systest import BUILD, ROOT, Tap, told

tap = Tap()
FILES = ("README.md", "docs/install.md", "docs/running.md")
HOSTS = 4
LIMIT = 40
PROGRAM = f"{BUILD}/mpi/collectives"
FENCE = re.compile(r"^```(\w*)$")
MINUTES = "installs packages and takes minutes: demo.t runs the demonstration, and `check` runs this test"
# By file and the whole text of the block.
NOT_RUN = {
    ("README.md", """./bootstrap.sh demo      # see it work: a virtual cluster on this machine, and an MPI job on it
./bootstrap.sh check     # see it tested"""): MINUTES,
    ("docs/install.md", """./bootstrap.sh demo      # see it work
./bootstrap.sh check     # see it tested"""): MINUTES,
    ("docs/install.md", """All tests successful.
Files=..., Tests=..., ...
Result: PASS"""): "is the output of `./bootstrap.sh check`",
    ("docs/install.md", """dpkg-buildpackage -us -uc -b
apt install ../libpm0_*.deb ../openscore-tools_*.deb ../openscore-mtl-openmpi_*.deb"""):
        "installs packages: tests/vm/packages.t does it in a guest",
    ("docs/running.md", "scpool run 'n[0-3]' -- scrun -nodes=4x2 ./program        "
     """# by ssh; or: eval $(scpool up 'n[0-3]') ... scpool down
scpool run --through 'COMMAND %h' 'n[0-3]' -- ...        # by pdsh -R exec and a command that gets into a host"""):
        "needs hosts that are reached by ssh: ssh.t and scqueue.t run scpool",
    ("docs/running.md", """/usr/local/sbin/scored --listen 7710 --state none &
pdsh -R ssh -w 'n[0-3]' /usr/local/sbin/scnoded --server $(hostname) --listen 7711 &
SCORE_SERVER=$(hostname) scrun -nodes=4x2 ./program
pdsh -R ssh -w 'n[0-3]' pkill -u $(id -u) -x scnoded; kill %1"""):
        "needs an installation on hosts that are reached by ssh: scqueue.t has scpool do the same",
    ("docs/running.md", """salloc -N 2 --exclusive
export SCORE_SERVER=$(scontrol show hostnames | head -n 1)
srun --overlap -N 1 -n 1 -w $SCORE_SERVER --cpu-bind=none scored --state none &
srun --overlap --ntasks-per-node=1 --cpu-bind=none env -u XDG_RUNTIME_DIR scnoded --transient &
scinfo --wait 2
scrun -nodes=2x2 ./program"""): "slurm.t runs these lines",
}
# Output of a command, by file and first line: its figures may change.
OUTPUT = {("README.md", "# ./bootstrap.sh demo            (shortened)")}


def blocks(text):
    """The blocks of a page: indented by four, behind an empty line, or in a fence."""
    found, block, fence, before = [], None, False, ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark:
            fence = not fence
            block = [] if fence else found.append(block)
        elif fence:
            block.append(line)
        elif line.startswith("    ") and (block or not before):
            block = [*(block or []), line[4:]]
        elif block:
            found.append(block)
            block = None
        before = line
    return found + ([block] if block else [])


def typed(line, where, prefix):
    """The words that run one line as a user types it in `where`, the build tree in front of paths."""
    return [*prefix, "sh", "-c", f'. {BUILD}/env.sh\nset -e\ncd "$1"\n{line}\n', "sh", where]


def shell(line, where, prefix=()):
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(typed(line, where, prefix), capture_output=True, text=True, check=False, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, env=env)


def is_program_done(done):
    return done.returncode == 0 and "OK" in done.stdout


def by_mpirun(lines, where, _):
    with open(f"{where}/hosts", "w", encoding="utf-8") as f:
        f.write("localhost slots=2\n")
    done = shell("\n".join(lines), where)
    tap.ok(is_program_done(done), lines[0], told(done))


def by_description(lines, where, _):
    shutil.copy(f"{ROOT}/examples/cluster.toml", f"{where}/cluster.toml")
    for line in lines:
        done = shell(line, where)
        tap.ok(is_program_done(done) if "mpirun" in line else done.returncode == 0, line, told(done))


def look(command, where, lab):
    """A command that shows the cluster until it is interrupted: how it ended, once it has shown all hosts."""
    # In the foreground: timeout would interrupt it twice.
    words = typed(f"exec timeout --foreground {LIMIT} {command}", where, lab.command())
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL)
    shown = ""
    while not all(host in shown for host in lab.hosts):
        line = process.stdout.readline()
        if not line:
            break
        shown += line
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(words, process.returncode, shown + out, err)


def by_scrun(lines, where, lab):
    # The words that tell that all hosts are there.
    said = {"scrun": ["OK"], "scinfo": ["h[0-3]"], "sctop": lab.hosts}
    for line in lines:
        command = line.partition("#")[0].strip()
        done = look(command, where, lab) if command == "sctop" else shell(line, where, lab.command())
        is_said = all(word in done.stdout for word in said.get(command.split()[0], []))
        tap.ok(done.returncode == 0 and is_said and "Traceback" not in done.stderr, command, told(done))


# By file and first line.
RUN = {
    ("docs/running.md", "mpirun --hostfile hosts --mca mtl pm ./program"): by_mpirun,
    ("docs/running.md", "mpirun --hostfile hosts --mca mtl pm --mca btl pm,self --mca osc rdma --mca osc_rdma_btls pm "
     "./program"): by_mpirun,
    ("docs/running.md", "scconf check cluster.toml"): by_description,
    ("docs/running.md", "scrun -nodes=4x2 ./program      # 4 hosts, 2 ranks on each"): by_scrun,
}


def find_all():
    """(run function, lines) of each block that is run. Says of each other block whether it is listed."""
    left, runs = {*NOT_RUN, *RUN, *OUTPUT}, []
    for name in FILES:
        with open(f"{ROOT}/{name}", encoding="utf-8") as f:
            found = blocks(f.read())
        for lines in found:
            begun, whole = (name, lines[0]), (name, "\n".join(lines))
            key = whole if whole in NOT_RUN else begun
            tap.ok(key in left, f"{name}: {lines[0][:60]}: is run, or listed with a reason",
                   "a block that this test does not know:\n" + whole[1])
            left.discard(key)
            if key in RUN:
                runs.append((RUN[key], lines))
    tap.equal(left, set(), "each block that this test knows is there")
    return runs


def cannot_run():
    if not os.path.exists(PROGRAM):
        return f"{PROGRAM} is not built"
    return schedlab.missing()


def run_all(runs):
    with tempfile.TemporaryDirectory(prefix="docs.t-", dir=BUILD) as where:
        os.symlink(PROGRAM, f"{where}/program")
        os.chmod(where, 0o755)
        with schedlab.Lab(f"docs{os.getpid()}", HOSTS) as lab:
            for run, lines in runs:
                run(lines, where, lab)


wanted = find_all()
why = cannot_run()
if why:
    tap.skip("commands", why)
else:
    run_all(wanted)
sys.exit(tap.end())
