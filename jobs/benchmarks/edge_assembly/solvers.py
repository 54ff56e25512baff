"""hpcsolve and its rivals, each started as a process of its own on one core: how, and what its run says.

hpcsolve and fast-tsp are told how long they have, so they run once for each limit. LKH and GA-EAX are not, so a single
run serves all limits: LKH prints a line for each better tour, GA-EAX one for each generation. All rivals are optional.
"""

from __future__ import annotations

import math
import re
import sys
import time
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.load import load
from hpcsolve.errors import EnvironmentFault
from hpcsolve.problems.questions import check_tour
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.compiled import compile_program
from jobs.benchmarks.edge_assembly.instances import Instance
from jobs.benchmarks.edge_assembly.processes import Watched, watch
from jobs.benchmarks.edge_assembly.runs import Ask, Run

PLANAR = ("EUC_2D", "CEIL_2D", "ATT")
"""The metrics that fast-tsp's reader and GA-EAX know."""
MOST_SQUARED = 20_000
"""Rivals that take memory or time of n^2 are not started on more cities."""
REPEATS = 3
"""How often fast-tsp is started at most until its CPU seconds are within a tenth of its limit."""
SLACK = 5.0
"""CPU seconds after its limit at which a process is ended that has a limit of its own."""


class Solver(ABC):
    """A solver.

    Attributes
    ----------
    name
        As it stands in tables.
    limited
        Whether it is told how long it has. Else one run serves all limits.
    package
        The package of PyPI that has it, "" for hpcsolve.
    """

    name: str
    limited: bool
    package = ""

    def missing(self) -> str:
        """Return why it cannot run here, or ""."""
        return ""

    def refusal(self, instance: Instance) -> str:
        """Return why it does not take an instance, or ""."""
        return ""

    @abstractmethod
    def run(self, asked: Ask, instance: Instance, folder: Path) -> Run:
        """Run it, and check its tour.

        Raises
        ------
        EnvironmentFault
            It fails.
        WrongAnswerError
            Its tour is none, costs something else than it says, or less than an optimal one.
        """


def checked(asked: Ask, instance: Instance, watched: Watched, curve: list[tuple[float, int]], *,
            tour: NDArray[np.int64] | None, note: str = "") -> Run:
    """Return a run whose tour, positions of `instance`, is checked if the process left one."""
    cost = min((cost for _, cost in curve), default=None)
    if tour is not None:
        try:
            found = check_tour(instance.tsp, tour)
        except ValueError as error:
            raise WrongAnswerError(f"{asked.solver}, {instance.name}: {error}") from error
        if cost not in (None, found):
            raise WrongAnswerError(f"{asked.solver}, {instance.name}: its tour costs {found}, and it says {cost}")
        if cost is None:  # it says nothing of its only tour
            cost, curve = found, [(watched.cpu, found)]
    if cost is not None and instance.optimum is not None and cost < instance.optimum:
        raise WrongAnswerError(f"{asked.solver}, {instance.name}: {cost} is less than the optimum, {instance.optimum}")
    return Run(asked, tuple(curve), cost, tour is not None, watched.cpu, watched.peak, note)


class Hpcsolve(Solver):
    """hpcsolve's algorithm `edge-assembly`: `hpcsolve solve` on one thread, with a clock of CPU time.

    The limit is of the whole process, which also starts, checks the tour and writes the result. So the command gets as
    much less as the clock began late, and as earlier runs on the instance took after their search, at least.
    """

    name, limited = "hpcsolve", True

    def __init__(self) -> None:
        self._beside: dict[str, float] = {}

    def command(self, asked: Ask, instance: Instance, output: Path) -> list[str]:
        """Return the command, after the interpreter's name."""
        left = asked.limit - self._beside.get(instance.name, 0.0)
        seconds = max(0.1, round(left, 1 if asked.limit < 10 else 0))  # so that seeds hardly differ in their population
        keys = [f"seed={asked.seed}", "threads=1", "edge-assembly.bound=false"]
        keys += [f"stop.target={instance.optimum}"] if instance.optimum is not None else []
        return ["-m", f"{__package__}.own", "solve", str(instance.path), "--algorithm", "edge-assembly",
                "--seconds", f"{seconds:g}", "--device", "cpu", "--quiet", "--overwrite", "--output", str(output),
                *(word for key in keys for word in ("--set", key))]

    def run(self, asked: Ask, instance: Instance, folder: Path) -> Run:
        """Run it. Its history has the cost of the best tour at the end of each generation."""
        output = folder / "result.h5"
        command = [sys.executable, *self.command(asked, instance, output)]
        watched = watch(command, 3 * asked.limit + 60)
        if watched.stopped:
            raise EnvironmentFault(f"{' '.join(command)} took more than {3 * asked.limit + 60:g} CPU seconds")
        began = next(float(text.split()[1]) for _, text in watched.lines if text.startswith("began "))
        result = load(output)
        devices = [str(device) for device in result.table("ranks")["device"]]
        if len(devices) != 1 or ", 1 thread:" not in devices[0]:
            raise EnvironmentFault(f"hpcsolve ran on {'; '.join(devices)}, not on one thread of a CPU")
        history = result.table("history")
        curve = [(began + float(cpu), int(cost)) for cpu, cost in zip(history["seconds"], history["best"], strict=True)]
        beside = began + (watched.cpu - curve[-1][0])  # the last row of the history is the end of the search
        self._beside[instance.name] = min(self._beside.get(instance.name, math.inf), beside)
        return checked(asked, instance, watched, curve, tour=np.asarray(result.tour, np.int64))


class FastTsp(Solver):
    """fast-tsp. Its limit is of wall-clock time, so it gets as much more of it as the machine is busy."""

    name, limited, package = "fast-tsp", True, "fast-tsp"

    def __init__(self) -> None:
        self._stretch = 0.0

    def missing(self) -> str:
        """Return why it cannot run here, or ""."""
        return "" if find_spec("fast_tsp") else "fast-tsp is not installed: pip install fast-tsp"

    def refusal(self, instance: Instance) -> str:
        """Return why it does not take an instance, or ""."""
        if not instance.symmetric:
            return "it takes symmetric costs only"
        if instance.metric not in PLANAR:
            return f"its program here reads {', '.join(PLANAR)} only"
        return f"it takes a matrix, here of up to {MOST_SQUARED} cities" if instance.n > MOST_SQUARED else ""

    def run(self, asked: Ask, instance: Instance, folder: Path) -> Run:
        """Run it for the limit."""
        path, order = instance.in_order(asked.seed, folder)
        target = folder / "tour.txt"
        for _ in range(REPEATS):
            stretch = self._stretch or _stretch()
            watched = watch([sys.executable, "-m", f"{__package__}.with_fast_tsp", path, f"{asked.limit:g}",
                             f"{stretch:.3f}", target], asked.limit + SLACK + 2e-7 * instance.n**2)
            if watched.stopped:
                return checked(asked, instance, watched, [], tour=None)
            last = next(text.split() for _, text in reversed(watched.lines) if text.startswith("wall "))
            if float(last[3]) > 0.2:
                self._stretch = max(1.0, float(last[1]) / float(last[3]))
            if abs(watched.cpu - asked.limit) <= 0.1 * asked.limit + 0.1:
                break
        tour = order[np.array(target.read_text(encoding="ascii").split(), np.int64)]
        note = "costs scaled to 16 bits" if any(text == "scaled" for _, text in watched.lines) else ""
        return checked(asked, instance, watched, [], tour=tour, note=note)


class Lkh(Solver):
    """LKH, as elkai has it: one run with its defaults and a seed. It is told the optimum, and stops there."""

    name, limited, package = "LKH", False, "elkai"
    better = re.compile(r"^\*.* Cost = (\d+)")

    def missing(self) -> str:
        """Return why it cannot run here, or ""."""
        return "" if find_spec("elkai") else "elkai is not installed: pip install elkai"

    def refusal(self, instance: Instance) -> str:
        """Return why it does not take an instance, or ""."""
        few = instance.n <= MOST_SQUARED
        return "" if few else f"its ascent takes time of n^2, here it gets up to {MOST_SQUARED} cities"

    def run(self, asked: Ask, instance: Instance, folder: Path) -> Run:
        """Run it until it ends of itself, at the optimum or after its trials, or until the limit."""
        target = folder / "tour.txt"
        target.unlink(missing_ok=True)
        keys = ["RUNS=1", "TRACE_LEVEL=1", f"SEED={asked.seed}", f"TOTAL_TIME_LIMIT={asked.limit:g}"]
        keys += [f"OPTIMUM={instance.optimum}", "STOP_AT_OPTIMUM=YES"] if instance.optimum is not None else []
        command = [sys.executable, "-m", f"{__package__}.with_lkh", instance.path, target, *keys]
        watched = watch(command, asked.limit + SLACK)
        curve = [(cpu, int(found[1])) for cpu, text in watched.lines if (found := self.better.match(text))]
        tour = None if watched.stopped else np.array(target.read_text(encoding="ascii").split(), np.int64) - 1
        return checked(asked, instance, watched, _falling(curve), tour=tour)


class GaEax(Solver):
    """GA-EAX, Nagata and Kobayashi's program, whose sources ml4co-kit has: 100 tours, 30 children.

    The binary there needs a newer C library than many machines have: the sources are compiled as their Makefile says.
    """

    name, limited, package = "GA-EAX", False, "ml4co-kit"
    tours, children = 100, 30

    def __init__(self) -> None:
        self._program: Path | None = None

    def missing(self) -> str:
        """Return why it cannot run here, or ""."""
        return "" if self._sources() else "ml4co-kit is not installed: pip install --no-deps ml4co-kit"

    @staticmethod
    def _sources() -> list[Path]:
        """Return its C++ files. The package is not imported, since that needs torch."""
        spec = find_spec("ml4co_kit")
        roots = [Path(root) for root in (spec.submodule_search_locations or [] if spec else [])]
        return sorted(file for root in roots
                      for file in (root / "solver/routing/lib/ga_eax/c_ga_eax_normal").glob("*.cpp"))

    def refusal(self, instance: Instance) -> str:
        """Return why it does not take an instance, or ""."""
        if not instance.symmetric or instance.metric not in PLANAR:
            return f"it takes {', '.join(PLANAR)} only"
        few = instance.n <= MOST_SQUARED
        return "" if few else f"it takes memory and time of n^2, here it gets up to {MOST_SQUARED} cities"

    def run(self, asked: Ask, instance: Instance, folder: Path) -> Run:
        """Run it until its population has converged, or until the limit."""
        if self._program is None or not self._program.exists():
            self._program = compile_program(self._sources(), "-O3", "-lm", folder / "ga-eax")
        path, order = instance.in_order(asked.seed, folder)
        found = folder / "eax_BestSol"
        found.unlink(missing_ok=True)  # the program appends to it
        command = [self._program, "1", "eax", str(self.tours), str(self.children), path.name, "1"]
        watched = watch(command, asked.limit, folder)
        curve = [(cpu, int(words[1])) for cpu, text in watched.lines
                 if len(words := text.split()) == 3 and words[0].endswith(":")]
        tour = None
        if not watched.stopped:
            tour = order[np.array(found.read_text(encoding="ascii").splitlines()[1].split(), np.int64) - 1]
        return checked(asked, instance, watched, _falling(curve), tour=tour)


SOLVERS: tuple[type[Solver], ...] = (Hpcsolve, FastTsp, Lkh, GaEax)


def _falling(curve: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return the rows of a curve that have a lower cost than all before them."""
    kept: list[tuple[float, int]] = []
    for cpu, cost in curve:
        if not kept or cost < kept[-1][1]:
            kept.append((cpu, cost))
    return kept


def _stretch() -> float:
    """Return the wall-clock seconds that a CPU second takes on this core now."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.2:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - cpu))
