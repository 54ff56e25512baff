"""Mode exact: what is proven within some CPU seconds, and how, beside mode best and SteinerPy (HiGHS)."""

from __future__ import annotations

import logging
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module

import numpy as np

from hpcsolve.algorithms.base import NO_STOP
from hpcsolve.algorithms.steiner_kmb import ALGORITHM, Parameters
from hpcsolve.checkpoint.checkpoints import Checkpoints
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.child import in_child
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner.instances import Instance, TreeEdges, edges_of, weight_of

ROADS = tuple(f"road:{n}:{k}" for n in (10**4, 10**5) for k in (8, 12, 16, 20)) + ("road:1000000:10",)
"""Generated road-like graphs that are measured beside the files."""
WALL = 8
"""A child process is ended after so many times the CPU limit in wall-clock seconds."""
PROGRAM = "dual ascents"
"""The progress message at which the preparation ends."""
HOW = """\
One core, a process each; at most {seconds:g} CPU seconds, without reading the file. Mode best alone, for comparison.
Left: vertices and edges that the reductions of mode exact leave to the program over sets of terminals (-: they and the
bounds prove the tree). Prepare: CPU seconds until then. States: those of the program. Proof: `dual`, an ascent on the
graph as it was read meets the tree, and `verify` repeats it; `bounds`, the bounds on reduced graphs meet it; `program`.
SteinerPy: CPU seconds with the building of its problem, until it has proven its tree."""


@dataclass(frozen=True)
class Found:
    """What a solver has found in a child process: a tree, and the CPU seconds.

    Attributes
    ----------
    bound
        The lower bound, the weight of the tree if that is proven.
    why
        How the tree was proven, or why it was not.
    left
        Vertices and edges that mode exact's reductions left to the program, or "-".
    """

    edges: TreeEdges
    weight: int
    bound: int
    seconds: float
    why: str = ""
    left: str = "-"
    prepared: float = 0.0
    states: int = 0
    peak: int = 0

    @property
    def proven(self) -> bool:
        """Whether the tree is proven to be lightest."""
        return self.bound >= self.weight


def own(instance: Instance, mode: str, seconds: float) -> Found:
    """Run mode best or exact, which is interrupted after so many CPU seconds."""
    begin, marks = time.process_time(), list[float]()

    def spent() -> float:
        return time.process_time() - begin

    def report(done: float, message: str = "") -> None:
        if message == PROGRAM:
            marks.append(spent())

    interrupts = Checkpoints(interrupted=lambda: spent() > seconds)
    with HostDevice(1) as device:
        found = ALGORITHM.solve(
            instance.graph, device, SerialComm(), Parameters(mode=mode), report, NO_STOP, 1, interrupts)
    answer, groups, took = found.answer, found.groups, spent()
    layers = groups.get("layers")
    states = 0 if layers is None else int(layers["states"].values.sum())
    sizes = "/".join(str(int(groups["reductions"][name].values)) for name in ("vertices", "edges"))
    kind = "dual" if answer.optimal and answer.proof == "dual" else "program" if states else "bounds"
    edges = np.stack([answer.u, answer.v], axis=1).astype(np.int64)
    return Found(edges, int(found.cost or 0), answer.lower_bound, took, kind if answer.optimal else found.ended,
                 sizes if marks or not answer.optimal else "-", marks[0] if marks else took, states,
                 resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


def steinerpy(instance: Instance, seconds: float) -> Found:
    """Run SteinerPy with one thread.

    Its own limit is in wall-clock seconds. That of the process is in CPU seconds and ends it before.
    """
    logging.disable()
    networkx, steiner = import_module("networkx"), import_module("steinerpy")
    tails, heads, weights = (column.tolist() for column in edges_of(instance.graph))
    given = networkx.Graph()
    given.add_weighted_edges_from(zip(tails, heads, weights, strict=True))
    begin = time.process_time()
    problem = steiner.SteinerProblem(given, [instance.terminals.tolist()])
    found = problem.get_solution(time_limit=WALL * seconds, threads=1)
    took = time.process_time() - begin
    if found.gap > 1e-9:
        raise TimeoutError(f"a gap of {found.gap:.2%} after {took:.0f} s")
    weight = round(found.objective)
    return Found(np.array(found.edges, np.int64).reshape(-1, 2), weight, weight, took)


def within_limits(call: Callable[[], Found], seconds: int, gibibytes: int) -> Found | str:
    """Return what a call returns in a child process, or why it returns nothing."""
    late = f"> {seconds} s"
    return in_child(partial(_limited, call, seconds, gibibytes), WALL * seconds, late, late)


def _limited(call: Callable[[], Found], seconds: int, gibibytes: int) -> Found | str:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
    try:
        return call()
    except MemoryError:
        return f"> {gibibytes} GiB"
    except (ArithmeticError, LookupError, RuntimeError, OSError, ValueError) as error:  # the rival's own
        return f"{type(error).__name__}: {error}"[:60]


@dataclass(frozen=True)
class Row:
    """All solvers on an instance, and a line for each error."""

    instance: Instance
    best: Found | str
    exact: Found | str
    rival: Found | str
    wrong: list[str]


def measure(instance: Instance, seconds: float, gibibytes: int, rival: bool) -> Row:
    """Run all solvers on an instance, and check their trees and bounds."""
    own_limit = int(2 * seconds) + 10  # they end by themselves
    runs = (partial(own, instance, mode, seconds) for mode in ("best", "exact"))
    best, exact = (within_limits(call, own_limit, gibibytes) for call in runs)
    other = within_limits(partial(steinerpy, instance, seconds), int(seconds), gibibytes) if rival else "not run"
    proven = {one.weight for one in (exact, other) if isinstance(one, Found) and one.proven}
    optimum = instance.optimum or min(proven, default=None)
    known = replace(instance, optimum=optimum)
    wrong = [line for one in (best, exact, other) if isinstance(one, Found) for line in mistakes(known, one)]
    row = Row(known, best, exact, other, wrong + ["the solvers prove different optima"] * (len(proven) > 1))
    print(" | ".join(_cells(row)), *wrong, file=sys.stderr, flush=True)
    return row


def mistakes(instance: Instance, found: Found) -> list[str]:
    """Return a line for each contradiction between a tree, its bound, and the optimum."""
    try:
        weight = weight_of(instance, found.edges)
    except WrongAnswerError as error:
        return [str(error)]
    lines = [] if weight == found.weight else [f"the tree weighs {weight}, not {found.weight}"]
    if instance.optimum is not None and found.bound > instance.optimum:
        lines.append(f"the bound {found.bound} is above the optimum {instance.optimum}")
    return lines


def tables(rows: list[Row], seconds: float) -> list[str]:
    """Return the report in Markdown."""
    head = ["instance", "n", "k", "best / optimum", "best, s", "left", "prepare, s", "states", "exact, s", "peak MiB",
            "proof", "SteinerPy, s"]
    wrong = [f"- **{row.instance.name}: {text}**" for row in rows for text in row.wrong]
    proven = [row.exact for row in rows if isinstance(row.exact, Found) and row.exact.proven]
    count = f"Mode exact proves {len(proven)} of {len(rows)}."
    verdict = wrong or ["All trees and bounds are valid, and no two solvers prove different optima."]
    return [HOW.format(seconds=seconds), "", *markdown(head, [_cells(row) for row in rows]), "", count, *verdict]


def _cells(row: Row) -> list[str]:
    """Return a row of the report."""
    found, best, size = row.exact, row.best, [row.instance.name, str(row.instance.graph.n)]
    cells = [*size, str(len(row.instance.terminals)), *([row.instance.ratio(best.weight), f"{best.seconds:.2f}"]
                                                       if isinstance(best, Found) else [best, ""])]
    if isinstance(found, str):
        cells += ["", "", "", "", "", found]
    else:
        proof = found.why if found.proven else f"{found.weight / found.bound - 1:.2%} apart: {found.why}"
        cells += [found.left, f"{found.prepared:.2f}", str(found.states), f"{found.seconds:.2f}",
                  str(found.peak >> 20), proof]
    rival = row.rival
    return [*cells, rival if isinstance(rival, str) else f"{rival.seconds:.1f}"]
