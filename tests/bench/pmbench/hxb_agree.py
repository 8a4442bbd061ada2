# SPDX-License-Identifier: BSD-3-Clause
"""Whether the simulator of hypercrossbars agrees with a lab: the cases of tests/sim/agree, which says what they
are and which are known not to agree; those have no goal."""
from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import statistics
from collections.abc import Callable
from types import ModuleType

from .command import ROOT, program
from .eth import Sides
from .figure import CannotRun, Contestant, Failed, Figure

RATE, LAB_RUNS = "20mbit", 5


def load() -> ModuleType:
    """tests/sim/agree, a program without a suffix."""
    loader = importlib.machinery.SourceFileLoader("agree", str(ROOT / "tests" / "sim" / "agree"))
    spec = importlib.util.spec_from_loader("agree", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


agree = load()


def seconds_of(run: Callable[[], tuple[float, float]]) -> float:
    try:
        return run()[0]
    except SystemExit as why:
        raise Failed(str(why)) from None


def case(name: str) -> Callable[[], contextlib.AbstractContextManager]:
    @contextlib.contextmanager
    def setup() -> Sides:
        program("bin/pm-ethernetd")
        if why := agree.skip_reason():
            raise CannotRun(why)
        _, queue, traffic, only_sim = agree.CASES[name]
        words = traffic.split()

        def simulated() -> float:
            seeds = range(1, agree.SEEDS + 1)
            return statistics.median(
                seconds_of(lambda s=seed: agree.run_sim(RATE, queue, [*words, *only_sim.split()], s)) for seed in seeds)

        def measured() -> float:
            return min(seconds_of(lambda: agree.run_lab(words)) for _ in range(LAB_RUNS))

        with agree.lab(RATE, queue):
            yield Contestant("simulator", simulated), [Contestant("lab", measured)]
    return setup


def figure(name: str) -> Figure:
    allowed = agree.CASES[name][0]
    text = f"time of {name} on 2x2 hosts, median of {agree.SEEDS} seeds in the simulator against the fastest of " \
           f"{LAB_RUNS} runs in the lab"
    if allowed is None:
        return Figure(f"hxb-agree-{name}", None, True, "s", text + "; known not to agree, stated", case(name), rounds=1)
    return Figure(f"hxb-agree-{name}", 1.0, True, "s", text, case(name), rounds=1, within=allowed / 100)


FIGURES = [figure(name) for name in agree.CASES]
