"""What people use for one good tour: LKH (elkai) and fast-tsp, both from PyPI and both optional."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import FORBIDDEN, Tsp

Solve = Callable[[Tsp, float], NDArray[np.int32]]
"""Takes an instance and seconds that it may take; returns the tour, shape (n,)."""


def installed() -> tuple[dict[str, Solve], list[str]]:
    """Those that are installed, by name, and a line for each that is not."""
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
        return np.array(fast_tsp.find_tour(_costs(tsp).astype(np.uint16), duration_seconds=seconds), np.int32)

    return solve


def _elkai() -> Solve:
    """One run with LKH's own settings: it takes as long as it takes, whatever `seconds` says."""
    import elkai

    def solve(tsp: Tsp, seconds: float) -> NDArray[np.int32]:
        return np.array(elkai.DistanceMatrix(_costs(tsp).tolist()).solve_tsp(runs=1)[:-1], np.int32)

    return solve


def takes_a_budget(name: str) -> bool:
    """Whether the solver works for a given time."""
    return name == "fast-tsp"


def can_solve(name: str, tsp: Tsp) -> bool:
    """fast-tsp takes symmetric costs below 2^16 only."""
    return name != "fast-tsp" or (tsp.symmetric and int(_costs(tsp).max()) < 2**16)


def _costs(tsp: Tsp) -> NDArray[np.int64]:
    return np.where(tsp.cost == FORBIDDEN, 0, tsp.cost)
