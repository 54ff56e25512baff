"""The Ant System in double precision (ant_system.cpp) called from Python: a rival in time, the reference in quality."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import Tsp
from jobs.benchmarks.ants.instances import plain_costs
from jobs.benchmarks.common.compiled import compile_library, pointer

SOURCE = Path(__file__).with_name("ant_system.cpp")
FLAGS = "-std=c++17 -O3 -march=native -fPIC -shared"
RULES = {"candidates": 0, "textbook": 1, "head-tail": 2}
"""The rules by which ant_system.cpp may draw the next city, with their numbers there."""
BETA, RHO = 2.0, 0.5
"""The settings of Zhou, He and Qiu; alpha is 1, and there are as many ants as cities."""


def load_reference() -> ctypes.CDLL:
    """Compile ant_system.cpp and return the loaded library.

    Raises
    ------
    EnvironmentFault
        If it does not compile.
    """
    library = compile_library(SOURCE, FLAGS)
    library.ant_system_open.restype = ctypes.c_void_p
    return library


class DoubleColony:
    """A colony in double precision, to be used in a `with` statement.

    Parameters
    ----------
    library
        The result of `load_reference`.
    tsp
        An instance with symmetric costs.
    """

    def __init__(self, library: ctypes.CDLL, tsp: Tsp, seed: int) -> None:
        if not tsp.symmetric:
            raise ValueError(f"{tsp.name}: the reference needs symmetric costs")
        cost = plain_costs(tsp).astype(np.int32)
        numbers = ctypes.c_double(BETA), ctypes.c_double(RHO), ctypes.c_uint64(seed)
        self._library, self.n = library, tsp.n
        self._colony = ctypes.c_void_p(library.ant_system_open(tsp.n, pointer(cost), *numbers))

    def __enter__(self) -> DoubleColony:
        """Return the colony."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Free the colony's memory."""
        self._library.ant_system_close(self._colony)

    def iterate(self, rule: str, iterations: int = 1) -> NDArray[np.int32]:
        """Run iterations and return the length of the shortest tour up to each, shape (iterations,)."""
        best, mean = np.empty(iterations, np.int32), np.empty(iterations)
        self._library.ant_system_iterate(self._colony, RULES[rule], iterations, pointer(best), pointer(mean))
        return best

    def tour(self) -> NDArray[np.int32]:
        """Return the shortest tour so far, shape (n,)."""
        tour = np.empty(self.n, np.int32)
        self._library.ant_system_best_tour(self._colony, pointer(tour))
        return tour

    def draws(
        self, rule: str, city: int, visited: NDArray[np.bool_], count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return how often each city was drawn in `count` draws of the city after `city`, and the exact weights."""
        drawn, weight = np.zeros(self.n, np.int32), np.empty(self.n)
        given = visited.astype(np.int8)
        self._library.ant_system_draw(self._colony, RULES[rule], city, pointer(given), count, pointer(drawn),
                                      pointer(weight))
        return drawn, weight
