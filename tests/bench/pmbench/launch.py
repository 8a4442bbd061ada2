# SPDX-License-Identifier: BSD-3-Clause
"""How long it takes to start a job and to see its end, from one command line to the next."""
from __future__ import annotations

import contextlib
from collections.abc import Callable

from .apps.links import LINKS, PM, TCP, Place, open_sides
from .command import BUILD, SCLAB, component_dir, need_mpirun, program
from .eth import Sides
from .figure import Contestant, Figure
from .sched import scheduled, seconds

RAILS = "devices=self+shmem+udp,udp.rails=eth1+eth2"


def over_pm() -> dict[str, str]:
    """Environment of both launchers: the ranks do the same whoever starts them."""
    program("mca/mca_mtl_pm.so")
    return {"OMPI_MCA_mca_base_component_path": f"{BUILD / 'mca'}:{component_dir()}", "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "pm", "PM_OPTIONS": RAILS}


@contextlib.contextmanager
def hello() -> Sides:
    need_mpirun()
    with scheduled("hello", 2, "--nics", "2", "--cores", "2") as cluster:
        env = over_pm()
        words = program("bench/mpi_hello")
        agent = f"{SCLAB} --name {cluster.name} rsh-agent"
        exports = [word for name in env for word in ("-x", name)]
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", agent, "--mca",
                  "oob_tcp_if_include", "eth0", "--map-by", "node", "-H", "h0:2,h1:2", "-np", "4", *exports, words]
        scrun = [program("bin/scrun"), "-nodes=2x2", words]
        yield (Contestant("scrun", lambda: 1000 * seconds(cluster, scrun, env)),
               [Contestant("mpirun", lambda: 1000 * seconds(cluster, mpirun, env))])


@contextlib.contextmanager
def start_end() -> Sides:
    """The time of a program before it has computed anything and after it has."""
    place = Place(2, LINKS["unlimited-1500"])
    words = [program("bin/scrun"), place.nodes(), program("bench/mpi_hello")]
    with open_sides(place, "start") as sides:
        def contestant(name: str) -> Contestant:
            side = sides[name]
            return Contestant(name, lambda: 1000 * seconds(side.cluster, words, side.env))

        yield contestant(PM), [contestant(TCP)]


def hosts(words: list[str], few: int, each: int = 1, of_few: int = 1,
          ) -> Callable[[], contextlib.AbstractContextManager]:
    """The program on 64 hosts, with @each ranks, against @few hosts with @of_few."""
    @contextlib.contextmanager
    def setup() -> Sides:
        with scheduled("many", 64, "--cores", "8") as cluster:
            def measure(nodes: int, ranks: int) -> float:
                return 1000 * seconds(cluster, [program("bin/scrun"), f"-nodes={nodes}x{ranks}", *words])

            yield (Contestant(f"64 hosts x {each}", lambda: measure(64, each)),
                   [Contestant(f"{few} hosts x {of_few}", lambda: measure(few, of_few))])
    return setup


FIGURES = [
    Figure("launch-2x2-vs-mpirun", 0.90, True, "ms",
           "wall time of an MPI program that only meets once, 2 hosts x 2 ranks: scrun against mpirun", hello,
           rounds=7),
    Figure("start-end-vs-tcp", 1.0, True, "ms",
           "wall time of an MPI program that only meets once, 2 hosts x 1 rank, by scrun: mtl pm over pm-ethernetd "
           "against btl tcp", start_end, rounds=15),
    Figure("launch-64-hosts", 10.0, True, "ms",
           "wall time of scrun /bin/true on 64 hosts of a lab, against 8 hosts: one machine does the work of all",
           hosts(["/bin/true"], 8)),
    Figure("launch-512-ranks", None, True, "ms",
           "wall time of 512 ranks, 64 hosts x 8, that start, meet in a PMIx fence with data, and finish, against 64 "
           "ranks, 8 hosts x 8", hosts([str(BUILD / "bench" / "pmix_fence")], 8, 8, 8), rounds=3),
]
