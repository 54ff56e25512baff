"""Orders of cities beside CP-SAT, DIDP and python-tsp: the largest size that each proves, by kind of problem.

    python -m jobs.benchmarks.held_karp.orders                               # 60 CPU seconds an instance, half an hour
    python -m jobs.benchmarks.held_karp.orders --kinds latency --seconds 10
    python -m jobs.benchmarks.held_karp.orders --at-once 4 --chart orders.svg

Needs `pip install ortools didppy python-tsp`; what is not installed is left out. Every run is a process of its own with
one thread, and is ended after the CPU seconds or if it needs more memory. The sizes grow until a solver fails; there is
one instance of each size. Prints Markdown. The exit code is 1 if two solvers prove different optima.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import require_matplotlib, save
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.held_karp.order_models import KINDS, SOLVERS

SIZES = [10, 15, 20, 25, 30, 35, 40, 50, 60, 75, 100]
PLAIN = ("tour", "directed")
"""The kinds that python-tsp knows."""
MODULES = {"CP-SAT": "ortools", "didppy": "didppy", "python-tsp": "python_tsp"}
PACKAGES = ("ortools", "didppy", "python-tsp")
"""What pip calls them."""


@dataclass(frozen=True)
class Proven:
    """The optima of a kind that a solver has proven, its CPU seconds by size, and why it ended."""

    solver: str
    kind: str
    optima: dict[int, int]
    seconds: dict[int, float]
    ended: str

    @property
    def largest(self) -> int:
        """The largest size, 0 if there is none."""
        return max(self.optima, default=0)


def main() -> int:
    """Measure all solvers, print the tables, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.orders", __doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N")
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds for each instance (default 60)")
    parser.add_argument("--gibibytes", type=int, default=8, help="memory for each process (default 8)")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="processes at a time (default 1)")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the largest sizes (needs matplotlib)")
    options, before = parser.parse_args(), load()
    if options.chart:
        require_matplotlib()
    solvers = [name for name in SOLVERS if name not in MODULES or importlib.util.find_spec(MODULES[name])]
    wanted = [(name, kind) for kind in options.kinds for name in solvers if name != "python-tsp" or kind in PLAIN]
    with ThreadPoolExecutor(options.at_once) as pool:
        found = list(pool.map(lambda pair: _prove(*pair, options), wanted))
    print("\n".join(_report(found, options, before)))
    if options.chart:
        _draw(found, options)
    return _differences(found)


def _prove(solver: str, kind: str, options: argparse.Namespace) -> Proven:
    """Solve larger and larger instances until one is not proven."""
    optima, seconds, ended = dict[int, int](), dict[int, float](), "the largest size is proven"
    for n in options.sizes:
        command = [sys.executable, "-m", "jobs.benchmarks.held_karp.order_models", solver, kind, str(n),
                   str(options.seconds), str(options.gibibytes)]
        run = subprocess.run(command, capture_output=True, text=True,
                             env={**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"})
        if run.returncode:
            # A signal: the limit of CPU seconds, or the system ended it for its memory.
            ended = f"{n}: " + (f"more than {options.seconds} CPU s" if run.returncode in (-9, -24) else _reason(run))
            break
        line = json.loads(run.stdout.splitlines()[-1])
        optima[n], seconds[n] = line["optimum"], line["seconds"]
        print(f"{kind}, {n} cities: {solver} {seconds[n]:.2f} s", file=sys.stderr, flush=True)
    return Proven(solver, kind, optima, seconds, ended)


def _reason(run: subprocess.CompletedProcess[str]) -> str:
    """Return why a process ended, as its last line has it."""
    lines = run.stderr.strip().splitlines()
    return "out of memory" if any("memory" in line.lower() or "alloc" in line for line in lines) else (
        lines[-1] if lines else f"exit {run.returncode}")


def _report(found: list[Proven], options: argparse.Namespace, before: float) -> list[str]:
    """Return the lines of the report."""
    with open_device("cpu", SerialComm())[0] as device:
        machine = describe_machine(device, 1, PACKAGES)
    solvers = list(dict.fromkeys(one.solver for one in found))
    rows, ends = [], []
    for kind in options.kinds:
        own = {one.solver: one for one in found if one.kind == kind}
        rows.append([KINDS[kind], *(_cell(own[name]) if name in own else "" for name in solvers)])
        ends += [f"- {KINDS[kind]}: {name} ended at {one.ended}" for name, one in own.items()]
    return [f"Largest number of cities proven within {options.seconds} CPU seconds, with the CPU seconds it took:", "",
            *markdown(["kind", *solvers], rows), "", *ends, "", *machine, describe_load(before)]


def _cell(one: Proven) -> str:
    return f"{one.largest} ({one.seconds[one.largest]:.3g} s)" if one.largest else "none"


def _draw(found: list[Proven], options: argparse.Namespace) -> None:
    """Draw CPU seconds against the number of cities, a panel for each kind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(options.kinds), 3.2), layout="constrained")
    panels: Any = figure.subplots(1, len(options.kinds), sharey=True, squeeze=False)[0]
    solvers = list(SOLVERS)
    for axes, kind in zip(panels, options.kinds):
        for one in found:
            if one.kind == kind and one.optima:
                colour = f"C{solvers.index(one.solver)}"
                axes.plot(list(one.seconds), list(one.seconds.values()), "o-", ms=3, color=colour, label=one.solver)
        axes.set(title=KINDS[kind], xlabel="cities", yscale="log", ylim=(1e-3, 2 * options.seconds))
        axes.title.set_fontsize(9)
        axes.axhline(options.seconds, color="0.7", lw=0.8)
    panels[0].set_ylabel("CPU seconds for the proof")
    handles = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
    save(figure, options.chart)


def _differences(found: list[Proven]) -> int:
    """Print the sizes whose solvers prove different optima, and return the exit code."""
    code = 0
    for kind in {one.kind for one in found}:
        for n in sorted({n for one in found if one.kind == kind for n in one.optima}):
            values = {one.solver: one.optima[n] for one in found if one.kind == kind and n in one.optima}
            if len(set(values.values())) > 1:
                print(f"optima differ, {kind}, {n} cities: {values}", file=sys.stderr)
                code = 1
    return code


if __name__ == "__main__":
    end_with(main, __package__)
