"""Costs as small non-negative integers: states have 16 bits wherever a bound proves that they suffice, else 32.

Two exact steps lead there. Dual values of the assignment problem are subtracted from rows and columns: this changes the
cost of every tour by the same amount, and leaves no cost negative. (For a symmetric matrix both duals of a city are
averaged, at twice the scale, so that it stays symmetric.) Then the cost of a quick tour is an upper bound for every
prefix of an optimal tour, so that values above it may all become infinity.

The quick tour is the best nearest-neighbour tour, improved by 2-opt and or-opt moves. Held-Karp's instances are so
small (some 40 cities) that all moves of a tour are tried at once: a move is a permutation of positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.problem import NO_PATH
from hpcsolve.algorithms.tours.cities import nearest_neighbour_tour
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import NO_ARC


@dataclass(frozen=True)
class ReducedCosts:
    """A core problem in small integers.

    Attributes
    ----------
    cost
        Shape (m + 1, m + 1), int64, 0 <= cost <= `no_path`; that also where no optimal tour can use the arc.
    itemsize
        Bytes of a state, 2 or 4.
    factor, shift
        factor * (cost of a tour in the instance) = cost of the tour here + shift.
    feasible
        False if even the assignment problem has no solution: there is no tour.
    upper_bound
        Cost of the quick tour in the instance's scaled integers; None if it needs a missing arc.
    """

    cost: NDArray[np.int64]
    itemsize: int
    factor: int
    shift: int
    feasible: bool
    upper_bound: int | None

    @property
    def no_path(self) -> int:
        """The value that means that there is no path."""
        return NO_PATH[self.itemsize]

    @property
    def symmetric(self) -> bool:
        """Whether each arc costs the same in both directions."""
        return bool(np.array_equal(self.cost, self.cost.T))

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """The type of a state."""
        return np.dtype(f"u{self.itemsize}")


def reduce_costs(cost: NDArray[np.int64]) -> ReducedCosts:
    """Return the costs for the smallest states that are proven to suffice.

    Raises
    ------
    InputError
        Not even 32 bits suffice.
    """
    allowed = cost != NO_ARC
    upper_bound = _quick_bound(cost, allowed)

    def fitting(itemsize: int, matrix: NDArray[np.int64], factor: int, shift: int) -> ReducedCosts | None:
        """Return these costs for states of so many bytes, or None if these do not suffice."""
        if allowed.any() and matrix[allowed].min() < 0:
            return None
        # A prefix of an optimal tour costs no more than the quick tour, and no more than all cities' dearest arcs.
        largest = sum(int(row[ok].max()) for row, ok in zip(matrix, allowed) if ok.any())
        largest = largest if upper_bound is None else min(largest, factor * upper_bound - shift)
        if largest >= NO_PATH[itemsize]:
            return None
        clipped = np.where(allowed & (matrix <= largest), matrix, NO_PATH[itemsize])
        return ReducedCosts(clipped, itemsize, factor, shift, True, upper_bound)

    if found := fitting(2, cost, 1, 0):
        return found
    duals = assignment_duals(cost, allowed)
    subtracted = None if duals is None else _subtract(cost, allowed, *duals)
    if subtracted and (found := fitting(2, *subtracted)):
        return found
    if found := fitting(4, cost, 1, 0) or (fitting(4, *subtracted) if subtracted else None):
        return found
    if subtracted is None:
        return ReducedCosts(np.where(allowed, 0, NO_PATH[2]), 2, 1, 0, False, None)
    raise InputError("the costs are too far apart for 32-bit states even after subtracting dual values: "
                     "round them to fewer digits, or give a matrix that allows a good tour")


def _quick_bound(cost: NDArray[np.int64], allowed: NDArray[np.bool_]) -> int | None:
    """Return the cost of the quick tour, or None if it needs a missing arc."""
    # A missing arc must cost more than a tour can save elsewhere, and sums must stay within 64 bits.
    spread = int(np.abs(cost[allowed]).max()) if allowed.any() else 0
    missing = min(2 * (spread + 1) * len(cost), 2**62 // max(1, len(cost)))
    value, tour = quick_tour(np.where(allowed, cost, missing))
    return value if allowed[tour, np.roll(tour, -1)].all() else None


def _subtract(cost: NDArray[np.int64], allowed: NDArray[np.bool_], u: NDArray[np.int64],
              v: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, int]:
    """Return the costs with dual values subtracted, symmetric if the costs are, with their factor and shift."""
    factor = 1
    if np.array_equal(cost, cost.T):
        factor, u = 2, u + v
        v = u
    reduced = np.where(allowed, factor * np.where(allowed, cost, 0) - u[:, None] - v[None, :], NO_ARC)
    return reduced, factor, sum(map(int, u)) + sum(map(int, v))


def assignment_duals(
    cost: NDArray[np.int64], allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return integers u, v with u[i] + v[j] <= cost[i, j] and the optimum as their sum, or None without an assignment.

    scipy gives the assignment; the duals are shortest distances (Bellman-Ford) in the exchange graph of its columns,
    in integers.

    Raises
    ------
    InputError
        The costs are too large for that.
    """
    from scipy.optimize import linear_sum_assignment  # rank 0 alone calls this

    try:
        _, column = linear_sum_assignment(np.where(allowed, cost.astype(float), np.inf))
    except ValueError:
        return None
    n = len(cost)
    chosen = cost[np.arange(n), column]
    # Row i gives up its column for column j: an arc column[i] -> j of length cost[i, j] - chosen[i].
    length = np.where(allowed, cost, 0) - chosen[:, None]
    v = np.zeros(n, np.int64)
    for _ in range(n + 1):
        shorter = np.minimum(v, np.where(allowed, v[column][:, None] + length, 0).min(axis=0))
        if np.array_equal(shorter, v):
            return chosen - v[column], v
        v = shorter
    raise InputError("the costs are too large for exact dual values (above 2^53): round them to fewer digits")


def quick_tour(cost: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """Return the cost of a good tour and the tour, which follows from the matrix alone.

    Parameters
    ----------
    cost
        Shape (n, n), int64; n times the largest must stay below 2^63. A missing arc has a cost above all others; the
        tour may use it all the same.

    Returns
    -------
        The cost, and the rows in the order of the tour.
    """
    n = len(cost)
    if n < 4:
        tour = np.arange(n)
        return int(_costs(cost, tour[None])[0]), tour
    moves = _moves(n)
    tours = np.stack([nearest_neighbour_tour(cost, start) for start in range(n)])
    best = tours[_costs(cost, tours).argmin()]
    value = int(_costs(cost, best[None])[0])
    while True:
        neighbours = best[moves]
        values = _costs(cost, neighbours)
        if values.min() >= value:
            return value, best
        value, best = int(values.min()), neighbours[values.argmin()]


def _costs(cost: NDArray[np.int64], tours: NDArray[np.int64]) -> NDArray[np.int64]:
    values: NDArray[np.int64] = cost[tours, np.roll(tours, -1, axis=1)].sum(axis=1)
    return values


def _moves(n: int) -> NDArray[np.intp]:
    """Return the moves of a tour as permutations of its positions, shape (moves, n).

    They are all reversals of a segment (2-opt), and all segments of up to 3 cities moved elsewhere, in either direction
    (or-opt).
    """
    positions = list(range(n))
    reversals = [positions[:a] + positions[a:b][::-1] + positions[b:] for a in range(n) for b in range(a + 2, n + 1)]
    insertions = []
    for length in (1, 2, 3):
        for a in range(n - length + 1):
            segment, rest = positions[a : a + length], positions[:a] + positions[a + length :]
            for at in range(len(rest)):
                insertions += [rest[:at] + part + rest[at:] for part in (segment, segment[::-1])]
    return np.array(reversals + insertions)
