"""Files with time windows beside DIDP, CP-SAT and PyVRP: what each proves or finds, and the CPU seconds.

    python -m jobs.benchmarks.held_karp.windows                              # FOLDER/tsptw that HPCSOLVE_DATA names
    python -m jobs.benchmarks.held_karp.windows --all --solvers hpcsolve     # all files there
    python -m jobs.benchmarks.held_karp.windows --files rbg010a.tw --objectives sum --seconds 60
    python -m jobs.benchmarks.held_karp.windows --rush                       # generated rush hours, hpcsolve alone

Needs `pip install ortools didppy pyvrp`; what is not installed is left out. Each solve is a process of its own with one
thread, which may take so many seconds of wall-clock time. The published values are those of `best-known.csv` beside the
files: of sums that of the published tour. Prints Markdown. The exit code is 1 if two solvers prove different optima, or
one that is above a published value.

The time of the end ("finish") of most published files is decided by their last windows. It says little of a method;
sums are the test.

With --rush: the end of generated tours whose travel times depend on the time of departure (`a_rush_day`), with and
without opening times, in this process.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hpcsolve
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.held_karp.proofs import Run, cell, differ, legend, machine, solved
from jobs.benchmarks.held_karp.window_models import SOLVERS

FILES = (
    "n20w100.003.txt", "n40w200.002.txt", "n60w80.001.txt", "n60w140.003.txt", "n80w80.002.txt", "n100w60.001.txt",
    "n150w60.003.txt", "n200w40.001.txt", "rbg067a.tw", "rbg132.2.tw", "potvin_rc_205.3.txt", "potvin_rc_208.1.txt",
)
MODULES = {"CP-SAT": "ortools", "didppy": "didppy", "PyVRP": "pyvrp"}
PACKAGES = ("ortools", "didppy", "pyvrp")
STOPS, WIDTHS, SEEDS = (20, 40, 60), (50, 200, 500, 2000), range(3)
"""Generated rush hours: stops beside the depot, widths of windows, and seeds."""
DEPARTURES = np.arange(0, 1200, 100)
"""Their times of departure. Every fourth table, from the second one on, is that of a rush hour."""
MODELS = "jobs.benchmarks.held_karp.window_models"
PUBLISHED = {"sum": "cost_of_published_tour", "finish": "makespan_optimum"}


def main() -> int:
    """Measure all solvers, print the tables, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.windows", __doc__)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("HPCSOLVE_DATA", ".")) / "tsptw")
    parser.add_argument("--files", nargs="+", metavar="FILE", default=list(FILES))
    parser.add_argument("--all", action="store_true", help="all files of the folder")
    parser.add_argument("--objectives", nargs="+", choices=list(PUBLISHED), default=list(PUBLISHED))
    parser.add_argument("--solvers", nargs="+", choices=list(SOLVERS), default=list(SOLVERS))
    parser.add_argument("--seconds", type=float, default=20, help="wall-clock limit of a solve (default 20)")
    parser.add_argument("--gibibytes", type=int, default=8, help="memory for each process (default 8)")
    parser.add_argument("--rush", action="store_true", help="generated rush hours in place of files")
    parser.add_argument("--stops", type=int, nargs="+", default=list(STOPS), help="of generated rush hours")
    options, before = parser.parse_args(), load()
    if options.rush:
        print("\n".join([*_rush_hours(options), *machine(before, PACKAGES)]))
        return 0
    known = _published(options.folder)
    files = sorted(known) if options.all else options.files
    solvers = [name for name in options.solvers if name not in MODULES or importlib.util.find_spec(MODULES[name])]
    code, lines = 0, []
    for objective in options.objectives:
        rows = []
        for file in files:
            runs = {name: solved(MODELS, [name, objective, str(options.folder / file)], options) for name in solvers}
            published = known.get(file, {}).get(PUBLISHED[objective], "")
            rows.append([file, published, *(cell(run) for run in runs.values())])
            print(objective, *rows[-1], sep=" | ", file=sys.stderr, flush=True)
            code |= differ(f"{file}, {objective}", runs, published)
        proven = [str(sum(cell.startswith("**") for cell in column)) for column in list(zip(*rows))[2:]]
        rows.append(["proven", "", *proven])
        lines += [f'Objective "{objective}":', "", *markdown(["file", "published", *solvers], rows), ""]
    print("\n".join([*lines, legend(options.seconds), *machine(before, PACKAGES)]))
    return code


def _rush_hours(options: argparse.Namespace) -> list[str]:
    """Return the lines about generated rush hours: a row for each number of stops and width, a column for each seed."""
    lines = list[str]()
    for opens in (True, False):
        rows = []
        for stops in options.stops:
            for width in WIDTHS:
                cells = [cell(_driven(stops, width, seed, opens, options.seconds)) for seed in SEEDS]
                rows.append([str(stops), str(width), *cells])
                print("rush", opens, *rows[-1], sep=" | ", file=sys.stderr, flush=True)
        title = "with opening times" if opens else "without opening times"
        lines += [f"Rush hours, {title}:", "", *markdown(["stops", "width", *(f"seed {k}" for k in SEEDS)], rows), ""]
    return [*lines, legend(options.seconds)]


def _driven(stops: int, width: int, seed: int, opens: bool, seconds: float) -> Run:
    """Return what hpcsolve finds, with its CPU seconds once kernels are built."""
    cost, tables, windows = a_rush_day(stops, width, seed, opens)
    with tempfile.TemporaryDirectory() as folder:
        np.save(file := Path(folder) / "tables.npy", tables)
        keys: dict[str, Any] = {"objective": "finish", "travel_times": str(file), "departures": DEPARTURES.tolist(),
                                "device": "cpu", "threads": 1}
        hpcsolve.solve(cost[:5, :5], "held-karp", **{**keys, "departures": [0], "travel_times": _calm(folder, cost)})
        begun = time.process_time()
        try:
            result = hpcsolve.solve(cost, "held-karp", windows=windows, stop={"seconds": seconds}, **keys)
        except hpcsolve.errors.ResourceError:
            return {"ended": f"no tour in {seconds:g} s"}
    value, bound = (result.contents.value("solution", name) for name in ("cost", "lower_bound"))
    return {"value": int(value), "bound": int(value if bound is None else bound), "proven": bool(result.optimal),
            "scale": 1, "seconds": time.process_time() - begun}


def _calm(folder: str, cost: NDArray[np.int64]) -> str:
    """Return the file of one table of five cities, by which kernels are built and loaded."""
    np.save(file := Path(folder) / "calm.npy", cost[None, :5, :5])
    return str(file)


def a_rush_day(stops: int, width: int, seed: int, opens: bool = True
               ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[int, int]]]:
    """Return costs, travel times at `DEPARTURES`, and windows of stops in the plane.

    The windows are at most `width` long, around the times of a random tour. Without `opens` they begin at 0. Travel
    times are up to 2.4 times the distance in a rush hour, and up to 1.2 times at others, differently for each leg.
    """
    rng, n = np.random.default_rng([stops, seed, width]), stops + 1
    points = rng.integers(0, 50, (n, 2))
    cost = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)).astype(np.int64)
    tables = np.zeros((len(DEPARTURES), n, n), np.int64)
    for k in range(len(DEPARTURES)):
        percent = 100 + rng.integers(0, 20, (n, n)) + (rng.integers(30, 120, (n, n)) if k % 4 == 1 else 0)
        tables[k] = cost * percent // 100
        if k:
            tables[k] = np.maximum(tables[k], tables[k - 1] - np.diff(DEPARTURES)[k - 1])
    tour, now, windows = [0, *(1 + rng.permutation(stops)).tolist()], 0, [(0, 0)] * n
    for tail, head in pairwise(tour):
        now += int(np.interp(now, DEPARTURES, tables[:, tail, head]))
        before, after = rng.integers(0, width // 2 + 1, 2).tolist()
        windows[head] = (max(0, now - before) if opens else 0, now + after)
    windows[0] = (0, now + 3 * int(cost[tour[-1], 0]) + width)
    return cost, tables, windows


def _published(folder: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the table of published values whose files are there, by file."""
    table = folder / "best-known.csv"
    if not table.exists():
        return {}
    with table.open() as lines:
        return {row["file"]: row for row in csv.DictReader(lines) if (folder / row["file"]).exists()}


if __name__ == "__main__":
    end_with(main, __package__)
