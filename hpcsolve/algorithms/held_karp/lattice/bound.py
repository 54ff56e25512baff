"""A quick tour for an upper bound: the nearest-neighbour tour from every city, then 2-opt and or-opt moves.

Held-Karp's instances are so small (some 40 cities) that all moves of a tour are tried at once: a move is a permutation
of positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
    tours = np.stack([_nearest_neighbour(cost, start) for start in range(n)])
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


def _nearest_neighbour(cost: NDArray[np.int64], start: int) -> NDArray[np.int64]:
    left = np.ones(len(cost), bool)
    tour = [start]
    left[start] = False
    while left.any():
        candidates = np.flatnonzero(left)
        tour.append(int(candidates[cost[tour[-1], candidates].argmin()]))
        left[tour[-1]] = False
    return np.array(tour)


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
