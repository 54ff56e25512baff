"""Many small travelling salesman problems in one, and the check of all their tours in plain numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.decimals import FORBIDDEN
from hpcsolve.problems.rounding import Costs, Precision, Rounding, costs_from_integers
from hpcsolve.problems.tsp import Tsp, largest_cost, times


@dataclass(frozen=True, eq=False)
class TspBatch:
    """Instances of the travelling salesman problem.

    Attributes
    ----------
    costs
        Arrays of shape (instances, n, n), int64, as in `Tsp`; the instances are numbered through all arrays.
    scale
        A power of ten. A cost in the unit of the instances is `cost / scale`.
    roundings
        How the costs of each instance were rounded, None where they are exact; empty if those of all are.
    """

    name: str
    costs: tuple[NDArray[np.int64], ...]
    scale: int = 1
    roundings: tuple[Rounding | None, ...] = ()

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
        rounding, at = self.roundings[number] if self.roundings else None, number
        for costs in self.costs:
            if at < len(costs):
                labels = np.arange(len(costs[at]))
                return Tsp(f"{self.name}-{number}", costs[at], labels, self.scale, rounding=rounding)
            at -= len(costs)
        raise IndexError(number)


def batch_of(instances: Sequence[Tsp], name: str) -> TspBatch:
    """Return instances of any sizes as a batch, at their common scale. Raises as `at_scale`."""
    scale = max(tsp.scale for tsp in instances)
    costs = tuple(at_scale(tsp.cost[None], tsp.scale, scale, tsp.name) for tsp in instances)
    return TspBatch(name, costs, scale, roundings_of([tsp.rounding for tsp in instances]))


def roundings_of(roundings: Sequence[Rounding | None]) -> tuple[Rounding | None, ...]:
    """Return the roundings of all instances, or an empty tuple if there is none."""
    return tuple(roundings) if any(roundings) else ()


def fitted(batch: TspBatch, precision: Precision) -> TspBatch:
    """Return the batch that an algorithm takes: with rounded costs where they do not fit or where the job says so.

    Raises
    ------
    InputError
        As `tsp.fitted` and `at_scale`.
    """
    if not precision.rounds(batch):
        return batch
    made, number = [], 0
    for costs in batch.costs:
        before = batch.roundings[number : number + len(costs)]
        number += len(costs)
        found = Costs(costs, batch.scale)
        if not any(before):  # else they were rounded when they were read
            found = costs_from_integers(Costs(costs.reshape(-1), batch.scale), costs.shape[1], precision, batch.name)
            found = found._replace(values=found.values.reshape(costs.shape))
        made.append((found, before if any(before) else roundings_by_instance(found)))
    scale = max(found.scale for found, _ in made)
    whole = tuple(at_scale(found.values, found.scale, scale, batch.name) for found, _ in made)
    return TspBatch(batch.name, whole, scale, roundings_of([one for _, own in made for one in own]))


def roundings_by_instance(costs: Costs) -> list[Rounding | None]:
    """Return how each instance of an array of costs, shape (instances, n, n), was rounded."""
    count, n = costs.values.shape[:2]
    if costs.rounding is None or costs.rounding.exact is None:
        return [None] * count
    exact = costs.rounding.exact
    return [Rounding(costs.rounding.error, lambda index, first=number * n * n: exact(first + index))  # type: ignore[misc]
            for number in range(count)]


def at_scale(costs: NDArray[np.int64], own: int, scale: int, name: str) -> NDArray[np.int64]:
    """Return costs, shape (instances, n, n), at a greater scale than their own.

    Raises
    ------
    InputError
        They do not fit 62 bits at that scale.
    """
    largest = int(np.abs(costs[costs != FORBIDDEN]).max(initial=0))
    if largest * (scale // own) > largest_cost(costs.shape[1]):
        decimals = len(str(scale)) - 1
        what = f"costs up to {largest / own:.6g} are too large to be kept with {decimals} decimals, as another instance"
        raise InputError(f"{what} of the batch has; round the costs, or solve this instance alone", name)
    return times(costs, scale // own)


def check_tours(batch: TspBatch, tours: NDArray[np.int32], costs: NDArray[np.int64], found: NDArray[np.bool_],
                closed: bool) -> None:
    """Check the tours of all instances and their costs.

    Parameters
    ----------
    tours
        All tours, one after the other, as `TspBatch.offset` says, -1 where an instance has no tour.
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
