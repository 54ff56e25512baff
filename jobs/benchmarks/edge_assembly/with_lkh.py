"""Runs LKH, as elkai has it, on a TSPLIB file. Started by `solvers.py`. It needs nothing of hpcsolve.

    python -m jobs.benchmarks.edge_assembly.with_lkh cities.tsp TOUR KEY=VALUE...

The keys are those of LKH's parameter file, which elkai's own calls do not give access to. LKH prints a line for each
better tour. The numbers of the last tour's cities, from 1, are written into the file TOUR.
"""

from __future__ import annotations

import sys

from elkai import _elkai


def main() -> None:
    """Read, search, and write the tour."""
    path, target, *keys = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        problem = file.read()
    parameters = "".join(f"{key.replace('=', ' = ')}\n" for key in (*keys, "PROBLEM_FILE=:stdin:"))
    tour = _elkai.solve_problem(parameters, problem)
    with open(target, "w", encoding="ascii") as file:
        file.write(" ".join(map(str, tour)))
    print("ended", flush=True)


if __name__ == "__main__":
    main()
