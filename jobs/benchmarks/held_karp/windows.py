"""Files with time windows beside DIDP and CP-SAT: what each proves, and the CPU seconds.

    python -m jobs.benchmarks.held_karp.windows                              # FOLDER/tsptw that HPCSOLVE_DATA names
    python -m jobs.benchmarks.held_karp.windows --all --solvers hpcsolve     # all files there
    python -m jobs.benchmarks.held_karp.windows --files rbg010a.tw --objectives sum --seconds 60

Needs `pip install ortools didppy`; what is not installed is left out. Every solve is a process of its own with one
thread, which may take so many seconds of wall-clock time. The published values are those of `best-known.csv` beside the
files: of sums that of the published tour. Prints Markdown. The exit code is 1 if two solvers prove different optima, or
one that is above a published value.

The time of the end ("finish") of most published files is decided by their last windows. It says little of a method;
sums are the test.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.held_karp.window_models import SOLVERS

FILES = (
    "n20w100.003.txt", "n40w200.002.txt", "n60w80.001.txt", "n60w140.003.txt", "n80w80.002.txt", "n100w60.001.txt",
    "n150w60.003.txt", "n200w40.001.txt", "rbg067a.tw", "rbg132.2.tw", "potvin_rc_205.3.txt", "potvin_rc_208.1.txt",
)
MODULES = {"CP-SAT": "ortools", "didppy": "didppy"}
PACKAGES = ("ortools", "didppy")
PUBLISHED = {"sum": "cost_of_published_tour", "finish": "makespan_optimum"}
Run = dict[str, Any]


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
    options, before = parser.parse_args(), load()
    known = _published(options.folder)
    files = sorted(known) if options.all else options.files
    solvers = [name for name in options.solvers if name not in MODULES or importlib.util.find_spec(MODULES[name])]
    code, lines = 0, []
    for objective in options.objectives:
        rows = []
        for file in files:
            runs = {name: _solved(name, objective, options.folder / file, options) for name in solvers}
            published = known.get(file, {}).get(PUBLISHED[objective], "")
            rows.append([file, published, *(_cell(run) for run in runs.values())])
            print(objective, *rows[-1], sep=" | ", file=sys.stderr, flush=True)
            code |= _differs(file, objective, runs, published)
        proven = [str(sum(cell.startswith("**") for cell in column)) for column in list(zip(*rows))[2:]]
        rows.append(["proven", "", *proven])
        lines += [f'Objective "{objective}":', "", *markdown(["file", "published", *solvers], rows), ""]
    with open_device("cpu", SerialComm())[0] as device:
        machine = describe_machine(device, 1, PACKAGES)
    legend = f"CPU seconds; bold: proven; [a, b]: bounds after {options.seconds:g} s of wall-clock time."
    print("\n".join([*lines, legend, "", *machine, describe_load(before)]))
    return code


def _published(folder: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the table of published values whose files are there, by file."""
    table = folder / "best-known.csv"
    if not table.exists():
        return {}
    with table.open() as lines:
        return {row["file"]: row for row in csv.DictReader(lines) if (folder / row["file"]).exists()}


def _solved(solver: str, objective: str, file: Path, options: argparse.Namespace) -> Run:
    """Return what a solver found, or why it ended."""
    command = [sys.executable, "-m", "jobs.benchmarks.held_karp.window_models", solver, objective, str(file),
               str(options.seconds), str(options.gibibytes)]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         env={**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"})
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        return {"ended": lines[-1][:60] if lines else f"exit {run.returncode}"}
    found: Run = json.loads(run.stdout.splitlines()[-1])
    return found


def _cell(run: Run) -> str:
    if "ended" in run:
        return str(run["ended"])
    if run["proven"]:
        return f"**{run['value'] / run['scale']:.10g}** {run['seconds']:.2g} s"
    low, high = ("none" if run[key] is None else f"{run[key] / run['scale']:.10g}" for key in ("bound", "value"))
    return f"[{low}, {high}] {run['seconds']:.2g} s"


def _differs(file: str, objective: str, runs: dict[str, Run], published: str) -> int:
    """Return 1, after a line that says so, if proven values differ, or one is above the published one."""
    proven = {name: run["value"] / run["scale"] for name, run in runs.items() if run.get("proven")}
    wrong = len(set(proven.values())) > 1 or any(value > float(published or "inf") for value in proven.values())
    if wrong:
        print(f"optima differ, {file}, {objective}: {proven}, published {published}", file=sys.stderr)
    return int(wrong)


if __name__ == "__main__":
    end_with(main, __package__)
