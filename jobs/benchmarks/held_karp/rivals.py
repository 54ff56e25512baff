"""The rivals of Held-Karp: exact solvers with the same recursion, each up to the n that it solves in reasonable time.

A rival takes a matrix of costs, shape (n, n), int64, zeros on the diagonal, and returns the cost of an optimal tour.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device import build
from jobs.benchmarks.common.compiled import compile_library, pointer

Costs = NDArray[np.int64]
FULL_TABLE = Path(__file__).with_name("full_table.cpp")
TEXTBOOK, VECTORISED = "OpenMP full table", "OpenMP full table, vectorised"


@dataclass(frozen=True)
class Rival:
    """A solver to compare with.

    Attributes
    ----------
    letter
        Its mark in the chart of characters.
    largest
        The largest n that it is given.
    prepare
        Takes the costs, does what need not be timed, and returns the call that is timed.
    table_bytes
        The bytes of its table for n cities.
    """

    name: str
    letter: str
    largest: int
    prepare: Callable[[Costs], Callable[[], int]]
    table_bytes: Callable[[int], int] = lambda n: 0


def all_rivals(threads: int) -> tuple[list[Rival], list[str]]:
    """Return the rivals that are installed, and a line for each one that is not."""
    library = _full_table()
    rivals = [
        Rival(TEXTBOOK, "t", 26, partial(_textbook, library, threads), lambda n: 4 * (n - 1) << n - 1),
        Rival(VECTORISED, "v", 26, partial(_vectorised, library, threads), lambda n: 4 * _stride(n) << n - 1),
    ]
    skipped = []
    for name, letter, largest, maker in (("held-karp (Rust)", "r", 20, _rust), ("python-tsp", "p", 16, _python_tsp)):
        try:
            rivals.append(Rival(name, letter, largest, maker()))
        except ImportError as error:
            skipped.append(f"{name}: skipped, {error}")
    rivals.append(Rival("Python dictionary", "d", 18, lambda costs: lambda: dictionary_held_karp(costs.tolist())))
    return rivals, skipped


def dictionary_held_karp(cost: list[list[int]]) -> int:
    """Return the optimum, found as teaching scripts do: (set, last city) -> (cost, city before) in a dictionary."""
    n = len(cost)
    best = {(1 << j, j): (cost[0][j], 0) for j in range(1, n)}
    for size in range(2, n):
        for cities in combinations(range(1, n), size):
            whole = sum(1 << j for j in cities)
            for j in cities:
                before = whole & ~(1 << j)
                best[whole, j] = min((best[before, i][0] + cost[i][j], i) for i in cities if i != j)
    whole = 2**n - 2
    value, last = min((best[whole, j][0] + cost[j][0], j) for j in range(1, n))
    tour = [last]
    while whole.bit_count() > 1:
        whole, last = whole & ~(1 << last), best[whole, last][1]
        tour.append(last)
    cycle = [0, *reversed(tour), 0]
    assert sum(cost[a][b] for a, b in pairwise(cycle)) == value
    return value


def _rust() -> Callable[[Costs], Callable[[], int]]:
    from held_karp import solve_flat

    def prepare(costs: Costs) -> Callable[[], int]:
        flat, n = costs.astype(float).reshape(-1).tolist(), len(costs)
        return lambda: _whole(solve_flat(flat, n)[1])

    return prepare


def _python_tsp() -> Callable[[Costs], Callable[[], int]]:
    from python_tsp.exact import solve_tsp_dynamic_programming

    return lambda costs: lambda: _whole(solve_tsp_dynamic_programming(costs)[1])


def _whole(value: float) -> int:
    """Return an optimum, which must be an integer, as one."""
    if value != int(value):
        raise ValueError(f"the costs are integers, the optimum is {value}")
    return int(value)


def _full_table() -> ctypes.CDLL:
    """Compile full_table.cpp with the flags of hpcsolve's kernels."""
    library = compile_library(FULL_TABLE, os.environ.get("HPCSOLVE_CXXFLAGS", build.HOST_FLAGS))
    for name in ("full_table_textbook", "full_table_vectorised"):
        library[name].restype = ctypes.c_uint32
    return library


def _textbook(library: ctypes.CDLL, threads: int, costs: Costs) -> Callable[[], int]:
    n = len(costs)
    order, start = np.empty(1 << n - 1, np.uint32), np.empty(n + 1, np.uint32)
    library.full_table_order(n - 1, pointer(order), pointer(start))
    given, table = _depot_last(costs), _touched((n - 1) << n - 1)
    keep = given, order, start, table
    pointers = [pointer(array) for array in keep]
    return lambda: library.full_table_textbook(len(keep[0]), threads, *pointers)


def _vectorised(library: ctypes.CDLL, threads: int, costs: Costs) -> Callable[[], int]:
    n = len(costs)
    keep = _depot_last(costs), _touched(_stride(n) << n - 1)
    pointers = [pointer(array) for array in keep]
    return lambda: library.full_table_vectorised(len(keep[0]), threads, *pointers)


def _stride(n: int) -> int:
    """Return the distance of two rows of the vectorised table in values, as in full_table.cpp."""
    return (n + 7) // 8 * 8 if n <= 24 else n


def _touched(values: int) -> NDArray[np.uint32]:
    """Return a table whose pages the system has provided already, so that no rival is timed for that."""
    return np.full(values, 7, np.uint32)


def _depot_last(costs: Costs) -> NDArray[np.uint32]:
    """Return the costs with the first city moved to the end, as full_table.cpp takes them."""
    return np.ascontiguousarray(np.roll(costs, -1, axis=(0, 1)), dtype=np.uint32)

