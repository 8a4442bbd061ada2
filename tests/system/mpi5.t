#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs over mtl/pm with mpirun of Open MPI 5, as Debian 13 has it. They run on one host and
between hosts, from the build tree and installed, with no other parameter and without a word too
many. Then the programs of tests/mpi run. Hosts of a lab have Debian 13's Open MPI, PMIx and C
library laid over their own /usr, so that all lies where Open MPI looks for it. TAP. Needs root,
overlayfs, and what tests/debian13/fetch unpacks."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, f"{HERE}/../mpi"]
import debian13                                                         # noqa: E402
import runner                                                           # noqa: E402
from debian13 import NEXT, UNPACKED                                     # noqa: E402
from runner import BUILD, ONLY, SCLAB, run                              # noqa: E402

TAP = runner.Tap()
NAME = f"mpi5_{os.getpid()}"
HOSTS = ("h0", "h1", "h2")
USR = f"{UNPACKED}/system/usr"
EVERYWHERE = ("sizes", "modes", "wildcards", "order", "probes", "cancel", "truncate", "datatypes", "comms", "threads",
              "batch", "collectives", "flood", "bursts", "crowd", "away", "windows", "finalize")
BY_OB1 = ("sizes", "order", "datatypes", "threads", "collectives")
# PRRTE 3.0 loses a daemon when jobs on several hosts connect, with every transport.
ONE_HOST = ("spawn",)
BETWEEN = ("-H", "h0:1,h1:1,h2:2")
# The libraries, and over it Open MPI's directory, which shall show nothing of this machine's; both may be written to.
OVERLAY = r"""
lay() {
    mkdir -p "/tmp/$3/upper" "/tmp/$3/work"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=/tmp/$3/upper,workdir=/tmp/$3/work" "$2"
}
lib=lib/$(gcc -dumpmachine)
lay "$0:/usr" /usr usr
lay "$0/$lib/openmpi" "/usr/$lib/openmpi" openmpi
mkdir -p /etc/openmpi
mount --bind "$0/../etc/openmpi" /etc/openmpi
"""
# As `make install` and the packages lay it out.
INSTALL = r"""
set -e
lib=/usr/lib/$(gcc -dumpmachine)
cp -P "$0/mca/mca_mtl_pm.so" "$0/mca/mca_btl_pm.so" "$lib/openmpi/lib/openmpi40/"
cp "$0/mca/help-mtl-pm.txt" /usr/share/openmpi/
cp "$0/pmix/pmix_mca_pmdl_score.so" "$lib/pmix2/lib/pmix/"
cp "$0/libpm.so.0" "$lib/"
"""


def environment(devices="", **more):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PRTE_ALLOW_RUN_AS_ROOT="1",
               PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1", BUILD=BUILD, LC_ALL="C.UTF-8", **more)
    env.pop("PM_OPTIONS", None)
    if devices:
        env["PM_OPTIONS"] = f"devices={devices}"
    return env


def on(host, *words):
    return [SCLAB, "--name", NAME, "exec", host, "--", *words]


def mpirun(ranks, *words):
    """In the first host."""
    return on("h0", "mpirun.openmpi", "-np", str(ranks), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none",
              "--mca", "mtl", "pm", *words)


def program(name, where, words=()):
    code, out = run(mpirun(4, *ONLY, *words, f"{NEXT}/mpi/{name}"), environment(), limit_s=90)
    TAP.ok(code == 0 and f"OK {name}" in out, f"{name}: 4 ranks on {where}", f"exit {code}\n{out}")


def lay_over():
    for host in HOSTS:
        code, out = run(on(host, "sh", "-ec", OVERLAY, USR), environment())
        TAP.ok(code == 0, f"{host} has Debian 13's Open MPI", out)
    _, out = run(on("h0", "mpirun.openmpi", "--version"), environment())
    TAP.ok("Open MPI) 5." in out, "mpirun is Open MPI 5's", out)


def quiet(how, command=()):
    """No parameter but --mca mtl pm; nothing is printed but what the program says. Now and then PRRTE's launcher tells
    that its child was faster than itself."""
    for where, words in (("one host", ("-np", "2")), ("three hosts", ("-np", "4", *BETWEEN))):
        line = ["mpirun.openmpi", *words, "--mca", "mtl", "pm"]
        code, out = run(on("h0", *command, *line, f"{NEXT}/mpi/wildcards"), environment())
        said = [text for text in out.splitlines() if text.strip() and "plm:ssh: Warning: setpgid" not in text]
        TAP.ok(code == 0 and said == [f"OK wildcards {words[1]} ranks"], f"{how}, {where}: silent",
               f"exit {code}\n{out}")
        code, out = run(on("h0", *command, *line, "--mca", "pml_base_verbose", "10", f"{NEXT}/mpi/wildcards"),
                        environment())
        TAP.ok(code == 0 and "selected cm best priority" in out, f"{how}, {where}: it is mtl/pm",
               f"exit {code}\n{out}")


def wrong():
    """One sentence of a component of another Open MPI, and the program goes on; nothing where nobody wants it."""
    env = environment(OMPI_MCA_mca_base_component_path=f"{BUILD}/mca", OMPI_MCA_btl="self,sm",
                      PMIX_MCA_mca_base_component_path=f"{NEXT}/pmix")
    code, out = run(mpirun(2, f"{NEXT}/mpi/wildcards"), env)
    lines = sorted(out.strip().splitlines())
    TAP.ok(code == 0 and len(lines) == 2 and lines[0] == "OK wildcards 2 ranks"
           and f"{BUILD}/mca/mca_mtl_pm.so was built for Open MPI v4.1 and stays out of Open MPI v5." in lines[1],
           "Open MPI 5 loads a component for 4.1: one sentence", f"exit {code}\n{out}")
    code, out = run(mpirun(2, f"{NEXT}/mpi/wildcards"), {**env, "OMPI_MCA_btl": "^tcp"})
    TAP.ok(code == 0 and len(out.strip().splitlines()) == 2 and "was built for Open MPI v4.1" in out,
           "the same for mtl/pm and btl/pm: one sentence", f"exit {code}\n{out}")
    code, out = run(on("h0", "mpirun.openmpi", "-np", "2", f"{NEXT}/mpi/wildcards"), env)
    TAP.ok(code == 0 and "built for" not in out, "not named, it says nothing", f"exit {code}\n{out}")
    env = runner.environment(OMPI_MCA_btl="self,vader")
    own = env["OMPI_MCA_mca_base_component_path"].split(":")[1]
    env["OMPI_MCA_mca_base_component_path"] = f"{NEXT}/mca:{own}"
    code, out = run(runner.mpirun(2, f"{BUILD}/mpi/wildcards"), env)
    lines = sorted(out.strip().splitlines())
    TAP.ok(code == 0 and len(lines) == 2 and "was built for Open MPI v5.0 and stays out of Open MPI v4.1" in lines[1],
           "Open MPI 4.1 loads a component for 5: one sentence", f"exit {code}\n{out}")


def install(*hosts):
    for host in hosts:
        code, out = run(on(host, "sh", "-c", INSTALL, NEXT), environment())
        TAP.ok(code == 0, f"{host}: installed", out)


def lacking():
    """A host without the component. Open MPI names it, and the job goes on without, or ends at once.

    Its mpirun has no pmdl/score either, and hands a path on by which h1 does not find the component. Open MPI shows
    the message of one process, so it names the one or the other.
    """
    for hosts in ("h0:1,h1:1", "h1:1,h0:1"):
        line = ("mpirun.openmpi", "-np", "2", "-H", hosts, "--mca", "mtl", "pm", f"{NEXT}/mpi/wildcards")
        code, out = run(on("h0", *line), environment(), limit_s=30)
        named = [text.split() for text in out.splitlines() if text.startswith("Host:")]
        TAP.ok(code == 0 and "OK wildcards" in out and named in ([["Host:", "h0"]], [["Host:", "h1"]]),
               f"h0 lacks the component, -H {hosts}", f"exit {code}\n{out}")
    line = ("mpirun.openmpi", "-np", "2", "-H", "h1:1,h0:1", "--mca", "mtl", "pm", f"{NEXT}/mpi/wildcards")
    code, out = run(on("h1", *line), environment(), limit_s=30)
    named = [text.split() for text in out.splitlines() if text.startswith("Host:")]
    TAP.ok(code and named == [["Host:", "h0"]] and "on h1 selected pml cm" in out,
           "only the other host has it: the job ends, and h0 is named", f"exit {code}\n{out}")


def secret():
    """PMIx alone has the key: it is in no environment and command line, and its server's files are the user's."""
    look = "env; tr '\\0' '\\n' </proc/$PPID/cmdline; find $PMIX_SERVER_TMPDIR -type f -printf 'file %m\\n'"
    code, out = run(mpirun(2, "sh", "-c", look), environment())
    modes = [line.split()[1] for line in out.splitlines() if line.startswith("file ")]
    TAP.ok(code == 0 and "PMIX_RANK=1" in out and "precondition" not in out and "PMIX_CREDENTIAL" not in out
           and modes and all(mode.endswith("0") for mode in modes), "the job key is where no other user can read it",
           f"exit {code}\n{out}")


def local():
    """With the devices that a job has by default; over each device mpi-local.t runs them on the other Debian."""
    for name in EVERYWHERE + ONE_HOST:
        program(name, "one host")


def windows():
    """Their memory is reached by PM, without a parameter for it."""
    # in one host MPI_Win_allocate has osc/sm
    for where, words, n in (("one host", ("-np", "2"), 2), ("3 hosts", ("-np", "4", *BETWEEN), 3)):
        line = ("mpirun.openmpi", *words, "--mca", "mtl", "pm", "--mca", "osc_base_verbose", "100",
                f"{NEXT}/mpi/windows", "component")
        code, out = run(on("h0", *line), environment())
        TAP.ok(code == 0 and out.count("by rdma") == n and "selected btl: pm" in out and "falling back" not in out,
               f"windows: {where}: by btl/pm", f"exit {code}\n{out}")
    code, out = run(mpirun(4, *ONLY, *BETWEEN, f"{NEXT}/mpi/windows", "threads"), environment())
    TAP.ok(code == 0 and "OK windows" in out, "windows: 3 hosts: threads at the same time", f"exit {code}\n{out}")
    for arguments in (("known", "7", "60"), ("storm", "known", "8", "40")):
        line = ("mpirun.openmpi", "-np", "4", *BETWEEN, "--mca", "mtl", "pm", f"{NEXT}/mpi/model", *arguments)
        code, out = run(on("h0", *line), environment())
        TAP.ok(code == 0 and "OK model 4 ranks" in out, f"windows: model {' '.join(arguments)}", f"exit {code}\n{out}")
    # a choice of the user's
    code, out = run(mpirun(2, *ONLY, "--mca", "btl", "^pm", "--mca", "osc_base_verbose", "100", f"{NEXT}/mpi/windows"),
                    environment())
    TAP.ok(code == 0 and "OK windows" in out and "selected btl: pm" not in out, "windows: btl/pm left out by the user",
           f"exit {code}\n{out}")


def by_ob1():
    for name in BY_OB1:
        line = ("mpirun.openmpi", "-np", "4", *BETWEEN, "--mca", "pml", "ob1", "--mca", "btl", "pm,self",
                f"{NEXT}/mpi/{name}")
        code, out = run(on("h0", *line), environment(), limit_s=90)
        TAP.ok(code == 0 and f"OK {name}" in out, f"{name}: pml/ob1 over btl/pm, 3 hosts", f"exit {code}\n{out}")


def alone():
    """Without mpirun a program and its children are two jobs for Open MPI 5."""
    code, out = run(on("h0", f"{NEXT}/mpi/spawn"), environment("self+shmem", OMPI_MCA_pml="cm", OMPI_MCA_mtl="pm"))
    TAP.ok(code != 0 and "start it by mpirun -np 1" in out, "started without mpirun, and spawning: it says why not",
           f"exit {code}\n{out}")


def between():
    for name in EVERYWHERE:
        program(name, "3 hosts", BETWEEN)


def lab():
    command = [SCLAB, "--name", NAME]
    code, out = run([*command, "up", "--hosts", str(len(HOSTS)), "--nics", "1", "--share", BUILD], environment())
    try:
        TAP.ok(code == 0, f"lab of {len(HOSTS)} hosts", out)
        if code:
            return
        lay_over()
        quiet("build tree", ("sh", "-c", f'. {NEXT}/env.sh && exec "$0" "$@"'))
        wrong()
        install(*HOSTS[1:])
        lacking()
        install(HOSTS[0])
        quiet("installed")
        secret()
        windows()
        by_ob1()
        alone()
        local()
        between()
    finally:
        subprocess.run([*command, "down"], env=environment(), check=True)


def main():
    why = debian13.missing() or ("" if runner.can_lab() else "needs root and iproute2")
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    if not runner.is_built():
        return 0
    debian13.build(TAP, *debian13.MTL, *(f"mpi/{name}" for name in (*EVERYWHERE, *ONE_HOST, "model")))
    lab()
    return TAP.end()


if __name__ == "__main__":
    sys.exit(main())
