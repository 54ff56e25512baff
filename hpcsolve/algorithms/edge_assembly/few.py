"""The best tour of a few cities, or of a few chains of forced edges, among all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.edge_assembly.outcome import in_order
from hpcsolve.algorithms.edge_assembly.parameters import FEWEST_CITIES, Assembly
from hpcsolve.answers.tour import Tour
from hpcsolve.errors import InputError


def best_of_few(stated: Assembly) -> Tour:
    """Return the cheapest tour, the first of equal ones in the order of its cities.

    Raises
    ------
    InputError
        No tour has all forced legs.
    """
    tsp, asked = stated.problem, stated.question
    found = []
    for order in _orders(stated):
        tour = in_order(stated, order)
        try:
            found.append((asked.check(tsp, tour), tour.tolist()))
        except ValueError:
            continue  # its ends are others, or a forced leg is missing
    if not found:
        raise InputError(f"{tsp.name}: no tour has all of these legs", "edge-assembly.forced")
    cost, best = min(found)
    return Tour(cost, np.array(best, np.int32), True)


def _orders(stated: Assembly) -> Iterator[NDArray[np.int64]]:
    """Yield tours of positions, among them all that answer the question."""
    n = stated.problem.n
    if n < FEWEST_CITIES:
        yield from map(np.array, permutations(range(n)))
        return
    cities = stated.cities()
    nodes = np.arange(cities.nodes, dtype=np.uint32).reshape(len(cities.order), -1)
    for rest in permutations(range(1, len(nodes))):
        cycle = nodes[[0, *rest]].reshape(-1)
        if cities.fixed is not None:
            fixed = cities.fixed[cycle]
            beside = (fixed == np.roll(cycle, -1)) | (fixed == np.roll(cycle, 1))
            if not (beside | (fixed >= cities.nodes)).all():
                continue
        yield cities.tour_of(cycle)[0]
