"""Time and weight of all solvers side by side, one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import get_args

from hpcsolve.algorithms.base import Limits
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.algorithms.steiner_kmb.parameters import RowEngine
from hpcsolve.device.host import HostDevice
from jobs.benchmarks.report import markdown
from jobs.benchmarks.steiner_instances import Instance, every_name, instance
from jobs.benchmarks.steiner_rivals import EACH_TERMINAL, KOU, Rival
from jobs.benchmarks.steiner_runs import Timing, own_run, rival_run

FAST, KMB, BEST = "hpcsolve, fast", "hpcsolve, kmb", "hpcsolve, best"
INSTANCES = ["es1000fst08", "lin37", "alue7080", "es10000fst01", "G103", "I083"]
SUITED: tuple[RowEngine, ...] = ("near-far", "dijkstra")
"""Engines beside the default one that a CPU has a use for."""
BARS = {("lin37", EACH_TERMINAL): 1 / 3, ("alue7080", EACH_TERMINAL): 1 / 3, ("lin37", KOU): 1 / 20}
"""The largest share of a rival's time that we allow our kmb."""
MOST_FAST = 0.5
"""Seconds that mode fast may take on any file."""
HOW = """\
CPU seconds of one core, all in one run, the best of {asked.repeats} where they are short. Nobody reads a file in that
time, and everybody has the graph in its own form before. A rival runs in a child process, which is ended after
{asked.seconds} s by the clock, or where it wants more than {asked.gibibytes} GiB. hpcsolve's time is that up to the
tree: reductions, layout, searches, tree. `certified` adds what the others do not have: a lower bound by dual ascent.
x fast, x kmb: times hpcsolve's."""


@dataclass(frozen=True)
class Asked:
    """Repeats; the rivals' limits, in seconds by the clock and GiB; what mode best gets, 0 to leave it out."""

    repeats: int
    seconds: int
    gibibytes: int
    best: float


def engines() -> tuple[RowEngine, ...]:
    """Every engine that a job may name."""
    return get_args(RowEngine)


def own_solvers() -> dict[str, Parameters]:
    """Modes fast and kmb; the latter on other engines, and to the last terminal, as published."""
    return {
        FAST: Parameters(mode="fast"),
        KMB: Parameters(mode="kmb"),
        **{f"{KMB}, {engine}": Parameters(mode="kmb", engine=engine) for engine in SUITED},
        f"{KMB}, to the last terminal": Parameters(mode="kmb", halt="terminals"),
    }


def measure(where: Instance, rivals: list[Rival], asked: Asked) -> list[Timing]:
    """All solvers, hpcsolve first."""
    rows = []
    with HostDevice(1) as device:
        for name, parameters in own_solvers().items():
            rows.append(_told(where, own_run(name, where, device, parameters, asked.repeats)))
        if asked.best:
            limits = Limits(seconds=asked.best)
            rows.append(_told(where, own_run(BEST, where, device, Parameters(mode="best"), 1, limits)))
    for rival in rivals:
        call = rival.ready(where.graph)
        rows.append(_told(where, rival_run(rival.name, where, call, asked.repeats, asked.seconds, asked.gibibytes)))
    return rows


def _told(where: Instance, row: Timing) -> Timing:
    text = row.failed or f"{row.seconds:.4g} s, {where.ratio(row.weight or 0)} of the optimum"
    print(f"{where.name}: {row.solver}: {text}", file=sys.stderr, flush=True)
    return row


def table(where: Instance, rows: list[Timing]) -> list[str]:
    """Markdown."""
    known = {row.solver: row.seconds for row in rows if row.seconds}
    cells = []
    for row in rows:
        times = [f"{row.seconds / known[own]:.3g}" if row.seconds else "-" for own in (FAST, KMB)]
        bound = f"{row.bound / row.weight:.4f}" if row.bound and row.weight else ""
        cells.append([
            row.solver, f"{row.seconds:.4f}" if row.seconds is not None else row.failed,
            f"{row.whole:.4f}" if row.whole else "", *times, str(row.weight or "-"),
            where.ratio(row.weight) if row.weight else "-", bound, str(row.runs),
        ])  # fmt: skip
    name = f"{where.name}: n {where.graph.n}, m {where.graph.edges}, k {len(where.terminals)}"
    head = [name, "seconds", "certified", "x fast", "x kmb", "weight", "weight / optimum", "bound / weight", "runs"]
    return markdown(head, cells)


def bars(found: dict[str, list[Timing]]) -> list[str]:
    """Markdown: what was asked of kmb, and what was seen."""
    cells = []
    for (name, rival), most in BARS.items():
        seconds = {row.solver: row.seconds for row in found.get(name, [])}
        own, other = seconds.get(KMB), seconds.get(rival)
        if own and other:
            cells.append([f"{KMB}, of the time of {rival}, {name}", f"{most:.3f}", f"{own / other:.4f}"])
    return [*markdown(["share", "at most", "seen"], cells), ""] if cells else []


def slowest_fast(repeats: int) -> list[str]:
    """Mode fast on every file: a line."""
    with HostDevice(1) as device:
        rows = {name: own_run(FAST, instance(name), device, Parameters(), repeats) for name in every_name()}
    seconds, name = max((row.seconds or 0, name) for name, row in rows.items())
    return [f"Mode fast on all {len(rows)} files: at most {seconds:.3f} s ({name}); {MOST_FAST} s were allowed."]
