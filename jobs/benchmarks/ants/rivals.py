"""The solvers that people use for one good tour: LKH (elkai) and fast-tsp, both from PyPI and both optional."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import Tsp
from jobs.benchmarks.ants.instances import plain_costs

Solve = Callable[[Tsp, float], NDArray[np.int32]]
"""Takes an instance and a time limit in seconds, and returns the tour, shape (n,)."""


def installed() -> tuple[dict[str, Solve], list[str]]:
    """Return the rivals that are installed, by name, and a line for each one that is not."""
    found, skipped = {}, []
    for name, maker in (("fast-tsp", _fast_tsp), ("LKH (elkai)", _elkai)):
        try:
            found[name] = maker()
        except ImportError as error:
            skipped.append(f"{name}: skipped, {error}")
    return found, skipped


def _fast_tsp() -> Solve:
    import fast_tsp

    def solve(tsp: Tsp, seconds: float) -> NDArray[np.int32]:
        return np.array(fast_tsp.find_tour(plain_costs(tsp).astype(np.uint16), duration_seconds=seconds), np.int32)

    return solve


def _elkai() -> Solve:
    """Return one run of LKH with its own settings, which has no time limit: `seconds` has no effect."""
    import elkai

    def solve(tsp: Tsp, seconds: float) -> NDArray[np.int32]:
        return np.array(elkai.DistanceMatrix(plain_costs(tsp).tolist()).solve_tsp(runs=1)[:-1], np.int32)

    return solve


def has_time_limit(name: str) -> bool:
    """Return whether the rival runs for a given time."""
    return name == "fast-tsp"


def can_solve(name: str, tsp: Tsp) -> bool:
    """Return whether the rival takes the instance: fast-tsp takes only symmetric costs below 2^16."""
    return name != "fast-tsp" or (tsp.symmetric and int(plain_costs(tsp).max()) < 2**16)
