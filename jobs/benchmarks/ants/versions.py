"""MAX-MIN Ant System of this checkout beside that of another one: gap to the optimum after the same CPU seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

from jobs.benchmarks.common.table import markdown

CHILD = """
import json, sys
from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import StopCriteria
from jobs.benchmarks.ants.instances import read_instances
from jobs.benchmarks.ants.runs import compile_kernels, search

instance, seconds, seeds = read_instances(sys.argv[1:2])[0], float(sys.argv[2]), int(sys.argv[3])
compile_kernels(instance.tsp, Parameters())
stop = StopCriteria(seconds=seconds, target=float(instance.optimum))
runs = [search(instance.tsp, Parameters(), stop, seed) for seed in range(1, seeds + 1)]
print(json.dumps([[instance.gap(run.cost), run.cpu] for run in runs]))
"""
"""The program of a process, of modules that other versions have too."""
HERE = Path(__file__).resolve().parents[3]


def compared(names: list[str], other: Path, seconds: float, seeds: int) -> list[str]:
    """Return a table with a row for each instance: mean gap and CPU seconds of both versions, which run in turn."""
    rows = []
    for name in names:
        cells = [name]
        for folder in (HERE, other):
            runs = _runs(folder, name, seconds, seeds)
            gaps = [gap for gap, _ in runs]
            found = sum(gap == 0 for gap in gaps)
            cells += [f"{mean(gaps):.3f} %", f"{found} of {seeds}", f"{mean(cpu for _, cpu in runs):.2f}"]
        rows.append(cells)
        print(", ".join(cells), file=sys.stderr, flush=True)
    columns = [f"{version}{what}" for version in ("", "other: ") for what in ("gap", "optimal", "CPU s")]
    return markdown(["instance", *columns], rows)


def _runs(folder: Path, name: str, seconds: float, seeds: int) -> list[tuple[float, float]]:
    """Return the gap in percent and the CPU seconds of each run of a version. A run ends at the optimum."""
    command = [sys.executable, "-c", CHILD, name, str(seconds), str(seeds)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [(gap, cpu) for gap, cpu in json.loads(done.stdout)]
