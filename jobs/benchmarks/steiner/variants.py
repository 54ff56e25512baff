"""The study's comparison: every engine, sweeps between two looks, searches at once, more and more terminals.

"Accelerating Computation of Steiner Trees on GPUs" compares searches that halt at the last terminal (Dijkstra's, on a
CPU) with Bellman-Ford's that push or pull, the latter with several sweeps between two looks whether anything has
changed (k-pull), and with p searches at once (p-SSSP).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hpcsolve.algorithms.shortest_paths.jobs import WANTS_TARGETS, Jobs, row_jobs
from hpcsolve.algorithms.shortest_paths.searcher import searcher
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.device.base import Device
from jobs.benchmarks.measure import best_of
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import require_equal
from jobs.benchmarks.steiner_instances import Instance
from jobs.benchmarks.steiner_rivals import scipy_rivals
from jobs.benchmarks.steiner_runs import QUICK, Timing, own_run, rival_run
from jobs.benchmarks.steiner_speed import FAST, KMB, engines

INSTANCES = ["es1000fst08", "lin37", "alue7080", "road:20000:500", "power-law:5000:300"]
STUDY = {"dijkstra": "SSSP-halt", "bellman-ford-push": "push", "bellman-ford-pull": "pull", "k-pull": "3-pull",
         "p-pull": "p-SSSP"}  # fmt: skip
"""The study's names of engines."""
SWEEPS, AT_ONCE = range(1, 6), (1, 2, 4, 8, 16, 32)
LIMITS = 300, 10
"""Of scipy: seconds and GiB."""
HOW = """\
Seconds up to the tree, on a CPU of CPU time, the best of {repeats} where they are short. First mode kmb to the last
terminal by every engine, for {terminals} terminals of each instance at most; all must find the same tree. x, arcs (that
the searches follow): times those of dijkstra. Then k-pull's searches alone, by the sweeps between two looks whether
anything changed. Then p-SSSP: so many searches at once. At last more and more of the terminals, drawn, beside scipy;
there kmb ends its searches at the closure's longest edge, and halt at the last terminal."""


@dataclass(frozen=True)
class Sweep:
    """Searches with so many sweeps between two looks: seconds, and dependent rounds of a search."""

    sweeps: int
    seconds: float
    rounds: float


def by_engine(where: Instance, device: Device, repeats: int) -> list[Timing]:
    """Every engine."""
    rows = []
    for engine in engines():
        parameters = Parameters(mode="kmb", halt="terminals", engine=engine)
        rows.append(_told(where, own_run(engine, where, device, parameters, repeats)))
    require_equal(where.name, len({row.weight for row in rows}) == 1)
    return rows


def engine_table(where: Instance, rows: list[Timing]) -> list[str]:
    """Markdown."""
    base = next(row for row in rows if row.solver == "dijkstra")
    cells = [
        [row.solver, STUDY.get(row.solver, ""), f"{row.seconds or 0:.4f}",
         f"{(row.seconds or 0) / (base.seconds or 1):.3g}", f"{row.arcs / max(base.arcs, 1):.3g}"]
        for row in rows
    ]  # fmt: skip
    return markdown([_title(where), "in the study", "seconds", "x", "arcs"], cells)


def by_sweeps(where: Instance, device: Device, repeats: int) -> list[Sweep]:
    """k-pull for each k."""
    rows, answers = [], []
    with searcher(where.graph, device, engine="k-pull", searches=len(where.terminals)) as prepared:
        jobs: Jobs = row_jobs(list(where.terminals[:, None]), where.terminals, prepared.layout.places())
        for sweeps in SWEEPS:
            prepared.tuning = replace(prepared.tuning, setting=sweeps)
            found = prepared.solve(jobs, WANTS_TARGETS)
            took = best_of(partial(prepared.solve, jobs, WANTS_TARGETS), repeats, QUICK)
            seconds = took.cpu if device.info.kind == "cpu" else took.wall
            rows.append(Sweep(sweeps, seconds, float(found.rounds.mean())))
            answers.append(found.target_keys)
            print(f"{where.name}: {sweeps}-pull: {seconds:.4g} s", file=sys.stderr, flush=True)
    require_equal(where.name, all(np.array_equal(answer, answers[0]) for answer in answers))
    return rows


def sweep_table(where: Instance, rows: list[Sweep]) -> list[str]:
    """Markdown."""
    cells = [[f"{row.sweeps}", f"{row.seconds:.4f}", f"{row.rounds:.0f}"] for row in rows]
    return markdown([f"{_title(where)}: sweeps", "seconds", "rounds a search"], cells)


def by_searches_at_once(where: Instance, device: Device, repeats: int) -> dict[int, Timing]:
    """The p-SSSP engine for each p."""
    rows = {}
    for count in AT_ONCE:
        parameters = Parameters(mode="kmb", halt="terminals", engine="p-pull", at_once=count)
        rows[count] = _told(where, own_run(f"p = {count}", where, device, parameters, repeats))
    return rows


def at_once_table(where: Instance, rows: dict[int, Timing]) -> list[str]:
    """Markdown."""
    first = rows[AT_ONCE[0]].seconds or 1
    cells = [[str(count), f"{row.seconds or 0:.4f}", f"{first / (row.seconds or 1):.3g}"]
             for count, row in rows.items()]  # fmt: skip
    return markdown([f"{_title(where)}: p", "seconds", "times faster than p = 1"], cells)


def by_terminals(where: Instance, device: Device, repeats: int) -> dict[int, list[Timing]]:
    """Numbers of terminals, doubled from 32 to all: modes fast and kmb, the latter as published too, and scipy."""
    own = {FAST: Parameters(), KMB: Parameters(mode="kmb"), f"{KMB}, halt": Parameters(mode="kmb", halt="terminals")}
    scipy = scipy_rivals()[0]
    most, rows = len(where.terminals), {}
    for count in [*(1 << power for power in range(5, 20) if 1 << power < most), most]:
        some = where.with_terminals(count)
        timings = [own_run(name, some, device, parameters, repeats) for name, parameters in own.items()]
        timings.append(rival_run(scipy.name, some, scipy.ready(some.graph), repeats, *LIMITS))
        rows[count] = [_told(some, timing) for timing in timings]
    return rows


def terminal_table(where: Instance, rows: dict[int, list[Timing]]) -> list[str]:
    """Markdown."""
    names = [timing.solver for timing in next(iter(rows.values()))]
    cells = [[str(count), *(timing.failed or f"{timing.seconds:.4f}" for timing in timings)]
             for count, timings in rows.items()]  # fmt: skip
    return markdown([f"{_title(where)}: k", *names], cells)


def _title(where: Instance) -> str:
    return f"{where.name}, k {len(where.terminals)}"


def _told(where: Instance, row: Timing) -> Timing:
    print(f"{_title(where)}: {row.solver}: {row.failed or f'{row.seconds:.4g} s'}", file=sys.stderr, flush=True)
    return row
