"""Independent answers: slow, short, and unlike what they check."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import FORBIDDEN


def cost_of(cost: NDArray[np.int64], tour: list[int], closed: bool = True) -> int | None:
    """The cost of a tour in Python integers, None if it uses a forbidden arc."""
    arcs = [int(cost[a, b]) for a, b in pairwise([*tour, tour[0]] if closed else tour)]
    return None if FORBIDDEN in arcs else sum(arcs)


def brute_force(
    cost: NDArray[np.int64], closed: bool = True, start: int | None = None, end: int | None = None
) -> int | None:
    """The least cost over all orders of the cities; None if every one uses a forbidden arc."""
    n = len(cost)
    if n == 1:
        return 0
    fixed = (0,) if closed else ()
    values = [
        value
        for order in permutations([c for c in range(n) if c not in fixed])
        if (start is None or closed or order[0] == start) and (end is None or order[-1] == end)
        and (value := cost_of(cost, [*fixed, *order], closed)) is not None
    ]  # fmt: skip
    return min(values, default=None)


def pull_table(cost: NDArray[np.int64]) -> dict[tuple[int, int], float]:
    """Bellman's recursion as it stands in the textbook.

    (set of cities, city outside) -> the cheapest path from the last row's city through the set to the city; infinite
    where there is none."""
    m = len(cost) - 1
    distance = np.where(cost == FORBIDDEN, np.inf, cost.astype(float)).tolist()
    table: dict[tuple[int, int], float] = {}
    for whole in range(1 << m):
        members = [i for i in range(m) if whole >> i & 1]
        for j in [*(j for j in range(m) if not whole >> j & 1), m]:
            through = (table[whole ^ 1 << i, i] + distance[i][j] for i in members)
            table[whole, j] = min(through) if members else distance[m][j]
    return table


def textbook_optimum(cost: NDArray[np.int64]) -> int | None:
    """The cheapest tour by the table, None if there is none; exact below 2^53."""
    m = len(cost) - 1
    value = pull_table(cost)[(1 << m) - 1, m]
    return None if value == np.inf else int(value)
