"""The study's comparison: every engine, k sweeps between two checks, p searches at once, and more terminals.

"The study" is "Accelerating Computation of Steiner Trees on GPUs" (Muniasamy, Nasre, Narayanaswamy, 2022). It compares
Dijkstra's algorithm on a CPU, which halts at the last terminal, with Bellman-Ford searches that push or pull. The
latter do k sweeps between two checks whether anything has changed (k-pull), or p searches at once (p-SSSP).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.searches import Searches, Want, row_searches
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.device.base import Device
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_of
from jobs.benchmarks.steiner.instances import Instance
from jobs.benchmarks.steiner.rivals import scipy_rivals
from jobs.benchmarks.steiner.runs import QUICK, Timing, own_run, rival_run
from jobs.benchmarks.steiner.speed import FAST, KMB, engines

INSTANCES = ["es1000fst08", "lin37", "alue7080", "road:20000:500", "power-law:5000:300"]
STUDY = {
    "dijkstra": "SSSP-halt", "bellman-ford-push": "push", "bellman-ford-pull": "pull", "k-pull": "3-pull",
    "p-pull": "p-SSSP",
}
"""The engines' names in the study."""
SWEEPS = range(1, 6)
"""Values of k in k-pull."""
AT_ONCE = (1, 2, 4, 8, 16, 32)
"""Values of p in p-SSSP."""
LIMITS = 300, 10
"""Limits of scipy: wall-clock seconds and GiB."""
HOW = """\
Seconds for a tree (on a CPU of CPU time), the best of {repeats} where they are short. First table: mode kmb with
searches to the last terminal by every engine, for at most {terminals} terminals of each instance; all must find the
same tree. / dijkstra: time and scanned arcs divided by those of dijkstra. Second table: the searches of k-pull alone,
with k sweeps between two checks whether anything has changed. Third table: p-SSSP, with p searches at once. Fourth
table: more and more random terminals, beside scipy; the searches of kmb end at the longest edge of the closure's
spanning tree, those of `kmb, halt` at the last terminal."""


@dataclass(frozen=True)
class Sweep:
    """The searches with k sweeps between two checks: seconds of all, and dependent rounds of one."""

    sweeps: int
    seconds: float
    rounds: float


def report(instance: Instance, device: Device, terminals: int, repeats: int, charts: Path | None) -> list[str]:
    """Return the four tables of one instance: slow engines on at most `terminals` terminals, fast ones on up to all.

    Parameters
    ----------
    charts
        Folder for the charts, or None.
    """
    some = instance.with_terminals(terminals)
    engine_rows, sweeps = by_engine(some, device, repeats), by_sweeps(some, device, repeats)
    at_once, more = by_searches_at_once(some, device, repeats), by_terminals(instance, device, repeats)
    if charts:
        from jobs.benchmarks.steiner import charts as draw

        draw.draw_engines(some, engine_rows, charts)
        draw.draw_sweeps(some, sweeps, charts)
        draw.draw_at_once(some, at_once, charts)
        draw.draw_terminals(instance, more, charts)
    return [*engine_table(some, engine_rows), "", *sweep_table(some, sweeps), "", *at_once_table(some, at_once), "",
            *terminal_table(instance, more), ""]


def by_engine(instance: Instance, device: Device, repeats: int) -> list[Timing]:
    """Time mode kmb by every engine, and require trees of the same weight."""
    rows = []
    for engine in engines():
        parameters = Parameters(mode="kmb", halt="terminals", engine=engine)
        rows.append(_reported(instance, own_run(engine, instance, device, parameters, repeats)))
    require_equal(instance.name, len({row.weight for row in rows}) == 1)
    return rows


def engine_table(instance: Instance, rows: list[Timing]) -> list[str]:
    """Return a table in Markdown, a row for each engine."""
    base = next(row for row in rows if row.solver == "dijkstra")
    cells = [
        [row.solver, STUDY.get(row.solver, ""), f"{row.seconds or 0:.4f}",
         f"{(row.seconds or 0) / (base.seconds or 1):.3g}", f"{row.arcs / max(base.arcs, 1):.3g}"]
        for row in rows
    ]
    return markdown([_title(instance), "in the study", "seconds", "/ dijkstra", "arcs / dijkstra"], cells)


def by_sweeps(instance: Instance, device: Device, repeats: int) -> list[Sweep]:
    """Time the searches of k-pull for each k, and require the same distances."""
    rows, answers = [], []
    with searcher(instance.graph, device, engine="k-pull", searches=len(instance.terminals)) as prepared:
        places = prepared.graph.places()
        searches: Searches = row_searches(list(instance.terminals[:, None]), instance.terminals, places)
        for sweeps in SWEEPS:
            prepared.tuning = replace(prepared.tuning, setting=sweeps)
            found = prepared.solve(searches, Want.TARGETS)
            took = best_of(partial(prepared.solve, searches, Want.TARGETS), repeats, QUICK)
            seconds = took.cpu if device.info.kind == "cpu" else took.wall
            rows.append(Sweep(sweeps, seconds, float(found.rounds.mean())))
            answers.append(found.target_keys)
            print(f"{instance.name}: {sweeps}-pull: {seconds:.4g} s", file=sys.stderr, flush=True)
    require_equal(instance.name, all(np.array_equal(answer, answers[0]) for answer in answers))
    return rows


def sweep_table(instance: Instance, rows: list[Sweep]) -> list[str]:
    """Return a table in Markdown, a row for each k."""
    cells = [[f"{row.sweeps}", f"{row.seconds:.4f}", f"{row.rounds:.0f}"] for row in rows]
    return markdown([f"{_title(instance)}: k", "seconds", "rounds a search"], cells)


def by_searches_at_once(instance: Instance, device: Device, repeats: int) -> dict[int, Timing]:
    """Time the p-SSSP engine for each p."""
    rows = {}
    for count in AT_ONCE:
        parameters = Parameters(mode="kmb", halt="terminals", engine="p-pull", at_once=count)
        rows[count] = _reported(instance, own_run(f"p = {count}", instance, device, parameters, repeats))
    return rows


def at_once_table(instance: Instance, rows: dict[int, Timing]) -> list[str]:
    """Return a table in Markdown, a row for each p."""
    first = rows[AT_ONCE[0]].seconds or 1
    cells = [[str(count), f"{row.seconds or 0:.4f}", f"{first / (row.seconds or 1):.3g}"]
             for count, row in rows.items()]
    return markdown([f"{_title(instance)}: p", "seconds", "speed-up over p = 1"], cells)


def by_terminals(instance: Instance, device: Device, repeats: int) -> dict[int, list[Timing]]:
    """Time modes fast and kmb, kmb as published (halt), and scipy for 32, 64, 128, ... and all terminals."""
    own = {FAST: Parameters(), KMB: Parameters(mode="kmb"), f"{KMB}, halt": Parameters(mode="kmb", halt="terminals")}
    scipy = scipy_rivals()[0]
    most, rows = len(instance.terminals), {}
    for count in [*(1 << power for power in range(5, 20) if 1 << power < most), most]:
        some = instance.with_terminals(count)
        timings = [own_run(name, some, device, parameters, repeats) for name, parameters in own.items()]
        timings.append(rival_run(scipy.name, some, scipy.prepare(some.graph), repeats, *LIMITS))
        rows[count] = [_reported(some, timing) for timing in timings]
    return rows


def terminal_table(instance: Instance, rows: dict[int, list[Timing]]) -> list[str]:
    """Return a table in Markdown, a row for each number of terminals."""
    names = [timing.solver for timing in next(iter(rows.values()))]
    cells = [[str(count), *(timing.failed or f"{timing.seconds:.4f}" for timing in timings)]
             for count, timings in rows.items()]
    return markdown([f"{_title(instance)}: terminals", *names], cells)


def _title(instance: Instance) -> str:
    return f"{instance.name}, k {len(instance.terminals)}"


def _reported(instance: Instance, row: Timing) -> Timing:
    """Print a line to standard error, and return the timing."""
    print(f"{_title(instance)}: {row.solver}: {row.failed or f'{row.seconds:.4g} s'}", file=sys.stderr, flush=True)
    return row
