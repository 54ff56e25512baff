"""Time and weight of all solvers side by side, on one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, NEAR_FAR
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.device.host import HostDevice
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner.instances import Instance, every_name, read_instance
from jobs.benchmarks.steiner.rivals import EACH_TERMINAL, KOU, Rival
from jobs.benchmarks.steiner.runs import Timing, own_run, rival_run

FAST, KMB, BEST = "hpcsolve, fast", "hpcsolve, kmb", "hpcsolve, best"
INSTANCES = ["es1000fst08", "lin37", "alue7080", "es10000fst01", "G103", "I083"]
SUITED: tuple[str, ...] = ("near-far", "dijkstra")
"""Engines, beside the default one, that are useful on a CPU."""
MOST_RATIO = {("lin37", EACH_TERMINAL): 1 / 3, ("alue7080", EACH_TERMINAL): 1 / 3, ("lin37", KOU): 1 / 20}
"""The largest ratio to a rival's time that we allow hpcsolve's mode kmb."""
MOST_SECONDS_FAST = 0.5
"""The most CPU seconds that we allow mode fast on any file."""
HOW = """\
CPU seconds of one core for a tree, all measured in one run of this benchmark, the best of {options.repeats} where they
are short. No solver reads a file in that time; each has the graph in its own form before. A rival runs in a child
process, which is ended after {options.seconds} s of wall-clock time, or if it needs more than {options.gibibytes} GiB.
hpcsolve's time is that of reductions, layout, searches and tree. `certified` includes the lower bound by dual ascent,
which no rival has. / fast, / kmb: the time divided by that of hpcsolve's mode."""


@dataclass(frozen=True)
class Options:
    """What is measured.

    Attributes
    ----------
    seconds, gibibytes
        Limits of a rival: wall-clock seconds and memory.
    best
        Time limit of mode best in seconds, 0 to leave it out.
    """

    repeats: int
    seconds: int
    gibibytes: int
    best: float


def engines() -> tuple[str, ...]:
    """Return every engine that a job file may name."""
    return NEAR_FAR, *(engine.name for engine in ENGINES)


def own_solvers() -> dict[str, Parameters]:
    """Return the parameters of mode fast and of mode kmb by default, with other engines, and as published (halt)."""
    return {
        FAST: Parameters(mode="fast"),
        KMB: Parameters(mode="kmb"),
        **{f"{KMB}, {engine}": Parameters(mode="kmb", engine=engine) for engine in SUITED},
        f"{KMB}, to the last terminal": Parameters(mode="kmb", halt="terminals"),
    }


def measure(instance: Instance, rivals: list[Rival], options: Options) -> list[Timing]:
    """Time all solvers on an instance, hpcsolve first."""
    rows = []
    with HostDevice(1) as device:
        for name, parameters in own_solvers().items():
            rows.append(_reported(instance, own_run(name, instance, device, parameters, options.repeats)))
        if options.best:
            stop = StopCriteria(seconds=options.best)
            rows.append(_reported(instance, own_run(BEST, instance, device, Parameters(mode="best"), 1, stop)))
    for rival in rivals:
        call = rival.prepare(instance.graph)
        row = rival_run(rival.name, instance, call, options.repeats, options.seconds, options.gibibytes)
        rows.append(_reported(instance, row))
    return rows


def _reported(instance: Instance, row: Timing) -> Timing:
    """Print a line to standard error, and return the timing."""
    text = row.failed or f"{row.seconds:.4g} s, weight / optimum {instance.ratio(row.weight or 0)}"
    print(f"{instance.name}: {row.solver}: {text}", file=sys.stderr, flush=True)
    return row


def table(instance: Instance, rows: list[Timing]) -> list[str]:
    """Return a table in Markdown, a row for each solver."""
    known = {row.solver: row.seconds for row in rows if row.seconds}
    cells = []
    for row in rows:
        times = [f"{row.seconds / known[own]:.3g}" if row.seconds else "-" for own in (FAST, KMB)]
        bound = f"{row.bound / row.weight:.4f}" if row.bound and row.weight else ""
        cells.append([
            row.solver, f"{row.seconds:.4g}" if row.seconds is not None else row.failed,
            f"{row.whole:.4g}" if row.whole else "", *times, str(row.weight or "-"),
            instance.ratio(row.weight) if row.weight else "-", bound, str(row.runs),
        ])
    name = f"{instance.name}: n {instance.graph.n}, m {instance.graph.edges}, k {len(instance.terminals)}"
    head = [name, "seconds", "certified", "/ fast", "/ kmb", "weight", "weight / optimum", "bound / weight", "runs"]
    return markdown(head, cells)


def ratios(found: dict[str, list[Timing]]) -> list[str]:
    """Return a table in Markdown of the ratios that mode kmb is allowed and of those measured, or nothing."""
    cells = []
    for (name, rival), most in MOST_RATIO.items():
        seconds = {row.solver: row.seconds for row in found.get(name, [])}
        own, other = seconds.get(KMB), seconds.get(rival)
        if own and other:
            cells.append([f"{KMB} / {rival}, {name}", f"{most:.3f}", f"{own / other:.4f}"])
    return [*markdown(["ratio of times", "allowed", "measured"], cells), ""] if cells else []


def slowest_fast(repeats: int) -> list[str]:
    """Time mode fast on every file, and return a line about the slowest."""
    with HostDevice(1) as device:
        rows = {name: own_run(FAST, read_instance(name), device, Parameters(), repeats) for name in every_name()}
    seconds, name = max((row.seconds or 0, name) for name, row in rows.items())
    return [f"Mode fast on all {len(rows)} files: at most {seconds:.3f} s ({name}); {MOST_SECONDS_FAST} s are allowed."]
