"""Many small travelling salesman problems in one, and the check of all their tours in plain numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.decimals import FORBIDDEN
from hpcsolve.problems.tsp import Tsp, times


@dataclass(frozen=True, eq=False)
class TspBatch:
    """Instances of the travelling salesman problem.

    Attributes
    ----------
    costs
        Arrays of shape (instances, n, n), int64, as in `Tsp`; the instances are numbered through all arrays.
    scale
        A power of ten. A cost in the unit of the instances is `cost / scale`.
    """

    name: str
    costs: tuple[NDArray[np.int64], ...]
    scale: int = 1

    @property
    def count(self) -> int:
        """Number of instances."""
        return sum(map(len, self.costs))

    @cached_property
    def cities(self) -> NDArray[np.int32]:
        """Shape (instances,): the number of cities of each."""
        return np.repeat([c.shape[1] for c in self.costs], [len(c) for c in self.costs]).astype(np.int32)

    @cached_property
    def offset(self) -> NDArray[np.int64]:
        """Shape (instances + 1,): where each tour begins in an array of all tours, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.cities, dtype=np.int64)])

    def instance(self, number: int) -> Tsp:
        """Return one of the instances."""
        for costs in self.costs:
            if number < len(costs):
                return Tsp(f"{self.name}-{number}", costs[number], np.arange(len(costs[number])), self.scale)
            number -= len(costs)
        raise IndexError(number)


def batch_of(instances: Sequence[Tsp], name: str) -> TspBatch:
    """Return instances of any sizes as a batch, at their common scale."""
    scale = max(tsp.scale for tsp in instances)
    return TspBatch(name, tuple(times(tsp.cost, scale // tsp.scale)[None] for tsp in instances), scale)


def check_tours(batch: TspBatch, tours: NDArray[np.int32], costs: NDArray[np.int64], found: NDArray[np.bool_],
                closed: bool) -> None:
    """Check the tours of all instances and their costs.

    Parameters
    ----------
    tours
        All tours behind each other, as `TspBatch.offset` says, -1 where an instance has no tour.
    costs, found
        Shape (instances,): the cost of each tour, and whether there is one.

    Raises
    ------
    ValueError
        A tour is not an order of all cities, uses a forbidden arc, or has another cost. The message names the
        instance.
    """
    at, place = 0, 0
    for table in batch.costs:
        count, n = len(table), table.shape[1]
        own = slice(at, at + count)
        orders = tours[place : place + count * n].reshape(count, n).astype(np.int64)
        legs = n if closed and n > 1 else n - 1
        tails, heads = orders[:, :legs], np.roll(orders, -1, axis=1)[:, :legs]
        values = table[np.arange(count)[:, None], np.maximum(tails, 0), np.maximum(heads, 0)]
        wrong = {
            "is not an order of its cities": (np.sort(orders, axis=1) != np.arange(n)).any(axis=1),
            "takes a forbidden arc": (values == FORBIDDEN).any(axis=1),
            "has another cost": np.where(values == FORBIDDEN, 0, values).sum(axis=1) != costs[own],
        }
        for what, where in wrong.items():
            bad = np.flatnonzero(where & found[own])
            if len(bad):
                raise ValueError(f"the tour of instance {at + int(bad[0])} {what}")
        at, place = at + count, place + count * n
