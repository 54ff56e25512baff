"""The Ant System in double precision (ant_system.cpp) from Python: a rival in time, the reference in quality."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import FORBIDDEN, Tsp
from jobs.benchmarks.rivals import compile_library

SOURCE = Path(__file__).with_name("ant_system.cpp")
FLAGS = "-std=c++17 -O3 -march=native -fPIC -shared"
RULES = {"candidates": 0, "textbook": 1, "head-tail": 2}
"""How the next city is drawn, see ant_system.cpp; the number is the compiled program's."""
BETA, RHO = 2.0, 0.5
"""As in the study of Zhou, He and Qiu; alpha is 1, there are as many ants as cities."""


def compiled() -> ctypes.CDLL:
    """ant_system.cpp as a library.

    Raises
    ------
    EnvironmentFault
        If it does not compile.
    """
    library = compile_library(SOURCE, FLAGS)
    library.ant_system_open.restype = ctypes.c_void_p
    return library


class DoubleColony:
    """A colony in double precision, to be used in a `with`.

    Parameters
    ----------
    library
        From `compiled`.
    tsp
        With symmetric costs.
    """

    def __init__(self, library: ctypes.CDLL, tsp: Tsp, seed: int) -> None:
        if not tsp.symmetric:
            raise ValueError(f"{tsp.name}: the reference is for symmetric costs")
        cost = np.where(tsp.cost == FORBIDDEN, 0, tsp.cost).astype(np.int32)
        numbers = ctypes.c_double(BETA), ctypes.c_double(RHO), ctypes.c_uint64(seed)
        self._program, self.n = library, tsp.n
        self._colony = ctypes.c_void_p(library.ant_system_open(tsp.n, _pointer(cost), *numbers))

    def __enter__(self) -> DoubleColony:
        """The colony."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the memory back."""
        self._program.ant_system_close(self._colony)

    def iterate(self, rule: str, iterations: int = 1) -> NDArray[np.int32]:
        """Shape (iterations,): the shortest tour's length up to each."""
        best, mean = np.empty(iterations, np.int32), np.empty(iterations)
        self._program.ant_system_iterate(self._colony, RULES[rule], iterations, _pointer(best), _pointer(mean))
        return best

    def tour(self) -> NDArray[np.int32]:
        """Shape (n,): the shortest one."""
        tour = np.empty(self.n, np.int32)
        self._program.ant_system_best_tour(self._colony, _pointer(tour))
        return tour

    def draws(
        self, rule: str, city: int, visited: NDArray[np.bool_], count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """How often each city was drawn after `city` in `count` draws, and what that is proportional to."""
        drawn, weight = np.zeros(self.n, np.int32), np.empty(self.n)
        given = visited.astype(np.int8)
        self._program.ant_system_draw(self._colony, RULES[rule], city, _pointer(given), count, _pointer(drawn),
                                     _pointer(weight))  # fmt: skip
        return drawn, weight


def _pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
