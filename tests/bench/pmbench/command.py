# SPDX-License-Identifier: BSD-3-Clause
"""Running contestants: MPI programs and PM tools, alone on this host or across hosts of a lab."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator

from .errors import CannotRun, Failed

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
SCLAB = ROOT / "tests" / "lab" / "sclab"

TIMEOUT_S = 60


def program(relative: str) -> str:
    """Path of a built program."""
    path = BUILD / relative
    if not path.exists():
        raise CannotRun(f"{path} is not built: run make")
    return str(path)


def need_mpirun() -> None:
    if not shutil.which("mpirun"):
        raise CannotRun("mpirun is not installed (Debian package openmpi-bin)")


def run_json(command: list[str]) -> dict:
    """Runs a command and gives the last JSON line that it printed."""
    return run_json_lines(command)[-1]


def run_json_lines(command: list[str]) -> list[dict]:
    """Runs a command and gives the JSON lines that it printed, at least one."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed(f"no result within {TIMEOUT_S} s: {' '.join(command)}") from None
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr[-2000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise Failed(f"no JSON line in the output of {' '.join(command)}")
    return [json.loads(line) for line in lines]


def pinned(command: list[str], hosts: int = 1) -> list[str]:
    """The command as a rank of its own core, as far as there are cores. The hosts of a lab share the cores of this
    machine: the first ranks of two hosts get different cores, and so do two ranks of one host."""
    rank = f"OMPI_COMM_WORLD_RANK % {hosts} + OMPI_COMM_WORLD_RANK / {hosts}"
    return ["sh", "-c", f'exec taskset -c $((({rank}) % {os.cpu_count() or 1})) "$@"', "sh", *command]


def on_one_core(command: list[str]) -> list[str]:
    """The command as a rank that shares core 0 with all others."""
    return ["taskset", "-c", "0", *command]


class Lab:
    """A virtual cluster made by sclab; with hosts=0 there is none and commands run right here."""

    def __init__(self, name: str, hosts: int) -> None:
        self.name = name
        self.hosts = hosts
        self.names = [f"h{i}" for i in range(hosts)]

    def among(self, *names: str) -> Lab:
        """The same lab, with only these hosts for programs."""
        part = Lab(self.name, len(names))
        part.names = list(names)
        return part

    def sclab(self, *args: str) -> None:
        done = subprocess.run([str(SCLAB), "--name", self.name, *args], capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failed(f"sclab {' '.join(args)}: {done.stderr.strip()}")

    def mpirun(self, ranks: int, args: list[str], env: dict[str, str] | None = None) -> list[str]:
        """The command line that starts @args as @ranks ranks, spread over the hosts in turn."""
        need_mpirun()
        exports = [word for key, value in (env or {}).items() for word in ("-x", f"{key}={value}")]
        base = ["--allow-run-as-root", "--oversubscribe", "-np", str(ranks), *exports]
        if not self.hosts:
            return ["mpirun", *base, *args]
        slots = -(-ranks // self.hosts)
        hosts = ",".join(f"{name}:{slots}" for name in self.names)
        agent = f"{SCLAB} --name {self.name} rsh-agent"
        return [str(SCLAB), "--name", self.name, "exec", self.names[0], "--", "mpirun", "--mca", "plm_rsh_agent", agent,
                "--mca", "oob_tcp_if_include", "eth0", "--map-by", "node", "-H", hosts, *base, *args]


@contextlib.contextmanager
def lab(name: str, hosts: int, *options: str, grid: str = "") -> Iterator[Lab]:
    """A lab for the time of a figure; grid: its shape, such as "2x2x2", of as many hosts."""
    if os.geteuid():
        raise CannotRun("needs root to make network namespaces: run it with sudo")
    # `sclab sweep` removes it if we are killed
    os.environ["SCLAB_MAKER"] = str(os.getpid())
    cluster = Lab(f"bench_{name}", hosts)
    size = ["--grid", grid] if grid else ["--hosts", str(hosts)]
    cluster.sclab("up", *size, "--share", str(BUILD), *options)
    try:
        yield cluster
    finally:
        cluster.sclab("down")


HERE = Lab("", 0)


def over_pm(devices: str = "", **options: str) -> tuple[list[str], dict[str, str]]:
    """mpirun arguments and environment that put a program on mtl pm from the build tree."""
    # pml cm is named too, so that a component that can't be used ends the run instead of giving way to another
    return [*component("mtl"), "--mca", "pml", "cm", "--mca", "mtl", "pm"], pm_options(devices, **options)


def over_btl_pm(devices: str = "", **options: str) -> tuple[list[str], dict[str, str]]:
    """The same on pml ob1 over btl pm."""
    return [*component("btl"), "--mca", "pml", "ob1", "--mca", "btl", "pm,self"], pm_options(devices, **options)


def component(framework: str) -> list[str]:
    """mpirun arguments by which Open MPI finds the components of the build tree, of which this one is there."""
    program(f"mca/mca_{framework}_pm.so")
    return ["--mca", "mca_base_component_path", f"{BUILD / 'mca'}:{component_dir()}"]


def pm_options(devices: str, **options: str) -> dict[str, str]:
    """Environment of ranks, with the devices and options of PM."""
    words = [f"devices={devices}"] if devices else []
    words += [f"{key.replace('_', '.')}={value}" for key, value in options.items()]
    return {"PM_OPTIONS": ",".join(words)} if words else {}


def component_dir() -> str:
    """Where Open MPI keeps its own components."""
    done = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("path:pkglibdir:"):
            return line.split(":", 2)[2]
    raise CannotRun("ompi_info does not tell Open MPI's component directory")
