"""A quick tour, for an upper bound: nearest neighbour from every city, then 2-opt and insertion of segments.

For instances of Held-Karp's size (some 40 cities) all neighbours of a tour are costed at once: a move is a
permutation of positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def quick_tour(cost: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """A good tour and its cost; the same for the same matrix, always.

    Parameters
    ----------
    cost
        Shape (n, n), int64; n times the largest must stay below 2^63. Where there is no arc, a cost above all others:
        the tour may use such an arc all the same.

    Returns
    -------
        The cost; the rows in the order of the tour.
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
    """Shape (moves, n): every reversal of a stretch, every stretch of up to 3 moved elsewhere, both ways round."""
    positions = list(range(n))
    reversals = [positions[:a] + positions[a:b][::-1] + positions[b:] for a in range(n) for b in range(a + 2, n + 1)]
    insertions = []
    for length in (1, 2, 3):
        for a in range(n - length + 1):
            stretch, rest = positions[a : a + length], positions[:a] + positions[a + length :]
            for at in range(len(rest)):
                insertions += [rest[:at] + part + rest[at:] for part in (stretch, stretch[::-1])]
    return np.array(reversals + insertions)
