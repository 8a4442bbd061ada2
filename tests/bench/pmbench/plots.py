# SPDX-License-Identifier: BSD-3-Clause
"""Plots over message size, measured anew: bandwidth and half RTT of mtl pm and its rivals."""
from __future__ import annotations

import pathlib
import statistics
from collections.abc import Callable

from . import shmem, udp
from .command import HERE, Lab, lab, over_pm, program, run_json
from .figure import CannotRun, Failed

SIZES = [8, 64, 512, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304]
ROUNDS = 3
Curve = Callable[[int], float]


def half_rtt(cluster: Lab, size: int, extra: list[str], env: dict[str, str] | None) -> float:
    iterations = max(20, min(10000, (1 << 25) // (size + 2048)))
    return run_json(cluster.mpirun(2, [*extra, program("bench/mpi_pingpong"), str(size), str(iterations), "3"],
                                   env))["half_rtt_us"]


def rate(cluster: Lab, size: int, extra: list[str], env: dict[str, str] | None) -> float:
    windows = max(1, min(100, (1 << 27) // (size * 64)))
    return run_json(cluster.mpirun(2, [*extra, program("bench/mpi_stream"), str(size), "64", str(windows), "3"],
                                   env))["mb_per_s"]


def sample(curves: dict[str, Curve]) -> dict[str, list[float]]:
    """Medians per size, the curves interleaved size by size."""
    points: dict[str, list[float]] = {name: [] for name in curves}
    for size in SIZES:
        values: dict[str, list[float]] = {name: [] for name in curves}
        for _ in range(ROUNDS):
            for name, curve in curves.items():
                values[name].append(curve(size))
        for name in curves:
            points[name].append(statistics.median(values[name]))
    return points


def draw(path: pathlib.Path, title: str, unit: str, points: dict[str, list[float]]) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, values in points.items():
        axes.plot(SIZES, values, marker="o", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="message size, bytes", ylabel=unit, title=title)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def curve_of(measure: Callable[..., float], cluster: Lab, extra: list[str], env: dict[str, str] | None = None) -> Curve:
    return lambda size: measure(cluster, size, extra, env)


def write(directory: pathlib.Path) -> list[str]:
    """Measures and draws; gives the names of the files that could be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    names: list[str] = []
    args, env = over_pm()
    local = {"mtl pm": (shmem.PINNED + args, env), "vader with CMA": (shmem.PINNED + shmem.VADER, None),
             "vader without CMA": (shmem.PINNED + shmem.VADER + shmem.NO_CMA, None)}
    names += draw_pair(directory, "shmem", "one host, shared memory", HERE, local)
    try:
        with lab("plots", 2, "--nics", "1", "--direct") as cluster:
            args, env = over_pm("self+shmem+udp", udp_rails="eth1")
            names += draw_pair(directory, "udp", "two hosts, one veth link", cluster,
                               {"mtl pm over udp": (args, env), "btl tcp": (udp.TCP, None)})
    except CannotRun:
        pass  # without root there is no lab; the report then shows the local curves only
    return names


def draw_pair(directory: pathlib.Path, stem: str, title: str, cluster: Lab,
              sides: dict[str, tuple[list[str], dict[str, str] | None]]) -> list[str]:
    made = []
    for kind, measure, unit in (("latency", half_rtt, "half RTT, us"), ("bandwidth", rate, "MB/s")):
        name = f"{stem}-{kind}.png"
        try:
            points = sample({label: curve_of(measure, cluster, *side) for label, side in sides.items()})
        except Failed as why:
            raise Failed(f"plot {name}: {why}") from None
        draw(directory / name, f"MPI {kind}: {title}", unit, points)
        made.append(name)
    return made
