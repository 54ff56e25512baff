"""Held-Karp with one table in numpy, for problems and halves of tours that are too small to split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

INFINITE = np.int64(1) << 60


def cheapest_order(cost: NDArray[np.int64]) -> tuple[int, list[int]] | None:
    """Return the cost and the order of a cheapest tour from the depot through all cities.

    Parameters
    ----------
    cost
        Shape (m + 1, m + 1), the depot last; `INFINITE` or more where there is no arc. Time m^2 2^m, memory m 2^m
        values.

    Returns
    -------
        The cost and the cities 0..m-1 in their order (of equal tours the one whose last city is the smallest, and so
        on backwards); None if there is no tour.
    """
    m = len(cost) - 1
    if m == 0:
        return (int(cost[0, 0]), []) if cost[0, 0] < INFINITE else None
    # best[S, j]: the cheapest path from the depot through all of S that ends in its member j.
    best = np.full((1 << m, m), INFINITE)
    best[1 << np.arange(m), np.arange(m)] = cost[m, :m]
    for sets in _sets_by_size(m)[2:]:
        for j in range(m):
            ending = sets[sets >> j & 1 == 1]
            arrive = best[ending ^ (1 << j)] + np.minimum(cost[:m, j], INFINITE)
            best[ending, j] = np.minimum(arrive.min(axis=1), INFINITE)
    closed = best[-1] + np.minimum(cost[:m, m], INFINITE)
    value = int(closed.min())
    return None if value >= INFINITE else (value, _walk_back(best, cost, int(closed.argmin())))


def _walk_back(best: NDArray[np.int64], cost: NDArray[np.int64], last: int) -> list[int]:
    m = len(cost) - 1
    order, left = [last], (1 << m) - 1 ^ 1 << last
    while left:
        before = int((best[left] + cost[:m, order[-1]]).argmin())
        order.append(before)
        left ^= 1 << before
    return order[::-1]


def _sets_by_size(m: int) -> list[NDArray[np.int64]]:
    sets = np.arange(1 << m)
    sizes = sum((sets >> bit & 1 for bit in range(m)), np.zeros_like(sets))
    return [sets[sizes == size] for size in range(m + 1)]
