"""Solves files of TSPLIB by `method = "bounded"`, as tours, by latency and with precedences, and prints CPU seconds.

    python -m jobs.benchmarks.held_karp.order_files FOLDER                  # FOLDER has eil51.tsp, ftv33.atsp, ...
    python -m jobs.benchmarks.held_karp.order_files FOLDER --only ry48p p43 --seconds 300
    python -m jobs.benchmarks.held_karp.order_files FOLDER --beside PROGRAM # PROGRAM MODE MATRIX, timed in turn

Every solve is a process of its own with one thread, and ends after so many seconds of wall-clock time: what is not
proven then has its bound and its gap. The precedences are random, in files of TSPLIB's SOP format. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hpcsolve
from hpcsolve.formats import read
from hpcsolve.problems.tsp import NO_ARC
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load

SYMMETRIC, DIRECTED = ("gr24", "bays29", "eil51", "berlin52", "eil76"), ("ftv33", "ftv38", "p43", "ry48p")
SOLVE = "solve-one"
"""The first argument of the process of one case, before the case in JSON."""
PLACES = 32
"""Cities of the instance with random costs by place."""
SHARES = (0.02, 0.1, 0.3)
"""Shares of all pairs of cities between which there is a precedence."""


@dataclass(frozen=True)
class Case:
    """What is solved: a file, or a random instance, and the keys of the job."""

    name: str
    mode: str
    file: Path
    keys: dict[str, object]


def main() -> int:
    """Solve all, print the table, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.order_files", __doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="files whose names begin like this")
    parser.add_argument("--seconds", type=float, default=300, help="wall-clock limit of a solve (default 300)")
    parser.add_argument("--beside", metavar="PROGRAM", help="another program: PROGRAM MODE FILE with n and the matrix")
    options, before = parser.parse_args(), load()
    with tempfile.TemporaryDirectory() as folder:
        cases = [case for case in _cases(options.folder, Path(folder))
                 if not options.only or case.name.startswith(tuple(options.only))]
        rows = [_row(case, options, Path(folder)) for case in cases]
    titles = ["instance", "kind", "cities", "cost", "proven bound", "gap", "states", "CPU s", "CPU s beside"]
    print("\n".join([*markdown(titles, rows), "", describe_load(before)]))
    return 0


def _cases(folder: Path, made: Path) -> list[Case]:
    cases = [Case(name, "tsp", folder / f"{name}.tsp", {}) for name in SYMMETRIC]
    cases += [Case(name, "atsp", folder / f"{name}.atsp", {}) for name in DIRECTED]
    cases += [Case(name, "latency", folder / f"{name}.tsp", {"objective": "latency"}) for name in SYMMETRIC[2:]]
    costs = made / "costs.npy"
    np.save(costs, np.random.default_rng(PLACES).integers(1, 1001, (PLACES, PLACES, PLACES)))
    cases.append(Case(f"random-{PLACES}", "pos", costs, {"objective": "position", "costs": str(costs)}))
    for name in DIRECTED:
        for share in SHARES:
            file = made / f"{name}-{share:g}.sop"
            file.write_text(with_precedence(folder / f"{name}.atsp", share))
            cases.append(Case(file.stem, "sop", file, {"path": "open"}))
    return cases


def with_precedence(file: Path, share: float) -> str:
    """Return the text of an SOP file: the costs of an ATSP file, from its first city to its last, random precedences.

    Parameters
    ----------
    share
        The part of all pairs of inner cities with a precedence, all in the direction of one random order.
    """
    cost = read(file).problem.cost.copy()
    n, rng = len(cost), np.random.default_rng(round(1000 * share))
    order = 1 + rng.permutation(n - 2)
    cost[np.arange(n), np.arange(n)] = 0
    first, second = np.triu_indices(n - 2, 1)
    chosen = rng.random(len(first)) < share
    cost[order[second[chosen]], order[first[chosen]]] = -1
    cost[1:, 0] = cost[n - 1, :-1] = -1
    cost[0, n - 1] = cost[cost != NO_ARC].max()
    rows = "\n".join(" ".join(map(str, row)) for row in cost.tolist())
    head = f"NAME: {file.stem}-{share:g}\nTYPE: SOP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    return f"{head}EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n{n}\n{rows}\nEOF\n"


def _row(case: Case, options: argparse.Namespace, folder: Path) -> list[str]:
    given = json.dumps({"mode": case.mode, "file": str(case.file), "keys": case.keys, "seconds": options.seconds})
    command = [sys.executable, "-m", __spec__.name, SOLVE, given]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         env={**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"})
    if run.returncode:
        return [case.name, case.mode, "", run.stderr.strip().splitlines()[-1], "", "", "", "", ""]
    found = json.loads(run.stdout.splitlines()[-1])
    gap = "proven" if found["optimal"] else f"{100 * (found['cost'] / found['bound'] - 1):.2g} %"
    beside = f"{_beside(case, options.beside, folder):.2f}" if options.beside and case.mode != "sop" else ""
    row = [case.name, case.mode, *(str(found[key]) for key in ("n", "cost", "bound")), gap, f"{found['states']:.3g}",
           f"{found['seconds']:.2f}", beside]
    print(" ".join(row), file=sys.stderr, flush=True)
    return row


def solve_one(mode: str, file: str, keys: dict[str, object], seconds: float) -> int:
    """Solve one case in this process, and print what was found as JSON."""
    problem = np.load(file)[0] if mode == "pos" else file
    hpcsolve.solve(np.arange(144).reshape(12, 12) + 1, device="cpu", threads=1, method="bounded")  # loads the kernels
    begun = time.process_time()
    result = hpcsolve.solve(problem, device="cpu", threads=1, method="bounded", stop={"seconds": seconds}, **keys)
    spent, value = time.process_time() - begun, result.contents.value
    bound = value("solution", "lower_bound")
    print(json.dumps({
        "n": int(value("instance", "n")), "cost": int(value("solution", "cost")), "seconds": spent,
        "optimal": bool(value("solution", "optimal")), "states": int(np.sum(value("layers", "states", [0]))),
        "bound": int(value("solution", "cost") if bound is None else bound)}))
    return 0


def _beside(case: Case, program: str, folder: Path) -> float:
    """Return the CPU seconds of another program on the same costs."""
    cost = np.load(case.file) if case.mode == "pos" else read(case.file).problem.cost.copy()
    n, matrix = cost.shape[-1], folder / "matrix.txt"
    cost[..., np.arange(n), np.arange(n)] = 0
    np.savetxt(matrix, cost.reshape(-1, n), "%d", header=str(n), comments="")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, case.mode, str(matrix), "quiet=1"], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    end_with(main if sys.argv[1:2] != [SOLVE] else lambda: solve_one(**json.loads(sys.argv[2])), __package__)
