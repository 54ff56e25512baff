"""Which costs searches for tours take, whose kernels have 32-bit integers."""

from __future__ import annotations

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import bounded_distance
from hpcsolve.problems.tsp import MOST_PAIRED, NO_ARC, Tsp

LARGEST_COST = 1 << 30
"""Largest difference of two costs, so that sums of a few of them fit 32 bits too."""


def cost_range(tsp: Tsp) -> tuple[int, int]:
    """Return the least and the largest cost of an arc, 0 for a single city.

    Of coordinates it is a range that all distances lie in. No matrix is made for it.
    """
    if tsp.metric and tsp.coordinates is not None:
        largest = bounded_distance(tsp.coordinates, tsp.metric)
        if largest <= LARGEST_COST or tsp.n > MOST_PAIRED:
            return 0, int(min(largest, 2.0**62))
        return 0, max(int(costs.max(where=costs != NO_ARC, initial=0)) for _, costs in tsp.row_blocks())
    cost = tsp.cost
    if tsp.n == 1:
        return 0, 0
    return int(cost.min()), int(cost.max(where=cost != NO_ARC, initial=-NO_ARC))


def costs_fit(tsp: Tsp) -> bool:
    """Return whether 32 bits suffice for the costs as they are."""
    low, high = cost_range(tsp)
    return high - min(low, 0) <= LARGEST_COST


def require_costs(tsp: Tsp, algorithm: str) -> None:
    """Raise `InputError` if arcs are missing, or if 32 bits do not suffice for the costs."""
    if not tsp.metric:
        missing = tsp.cost == NO_ARC
        if int(missing.sum()) > tsp.n:
            row, column = next((int(i), int(j)) for i, j in zip(*missing.nonzero()) if i != j)
            what = f"there is no arc from city {tsp.labels[row]} to city {tsp.labels[column]}"
            raise InputError(f"{what}; {algorithm} needs one between any two cities: give it a large cost", tsp.name)
    low, high = cost_range(tsp)
    if high - min(low, 0) > LARGEST_COST:
        what = f"costs range from {low} to {high} in units of 1/{tsp.scale}"
        raise InputError(f"{what}; {algorithm} takes a range up to {LARGEST_COST}: round or scale them", tsp.name)
