"""Travelling salesman problems with exact integer costs, and the check of a tour.

Decimal costs are kept exactly as integers with a common scale, or rounded (see `problems.rounding`). A cost in the
unit of the instance is `cost / scale`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.memory import require_free
from hpcsolve.problems.decimals import FORBIDDEN as FORBIDDEN
from hpcsolve.problems.decimals import too_large
from hpcsolve.problems.labels import positions_of
from hpcsolve.problems.rounding import Costs, Precision, Rounding, costs_from_integers
from hpcsolve.wording import counted

Location = Callable[[int, int], tuple[str, int]]
"""Function that returns the file and line from which the cost in a row and column was read, for error messages."""


@dataclass(frozen=True, eq=False)
class Tsp:
    """An instance of the (asymmetric) travelling salesman problem.

    Attributes
    ----------
    cost
        Shape (n, n), int64: costs from row to column, `FORBIDDEN` where there is no arc and on the diagonal.
    labels
        Shape (n,), int64: the numbers of the cities in the input, 1..n in TSPLIB and 0..n-1 in matrices.
    scale
        A power of ten. A cost in the unit of the instance is `cost / scale`.
    rounding
        How costs were rounded, with the given ones by their index in the flattened matrix; None if costs are exact.
    coordinates
        Shape (n, 2 or 3), float64, as in the input. None for a plain matrix.
    city_names
        One name for each city, or empty.
    coordinates_kind
        `geographic.DEGREES` or `geographic.DEGREES_MINUTES` if coordinates are latitudes and longitudes, else empty.
    precedences
        Pairs (a, b) of positions: a comes before b in every tour (sequential ordering problems).
    notes
        What the input has beside the problem, in lines for the log of a run (see `problems.notes`).
    """

    name: str
    cost: NDArray[np.int64]
    labels: NDArray[np.int64]
    scale: int = 1
    coordinates: NDArray[np.float64] | None = None
    comment: str = ""
    city_names: tuple[str, ...] = ()
    coordinates_kind: str = ""
    rounding: Rounding | None = None
    precedences: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.cost)

    @cached_property
    def symmetric(self) -> bool:
        """Whether every arc has the same cost in both directions."""
        return bool(np.array_equal(self.cost, self.cost.T))


def fitted(tsp: Tsp, precision: Precision) -> Tsp:
    """Return the instance that an algorithm takes: with rounded costs where they do not fit or where the job says so.

    Raises
    ------
    InputError
        The costs do not fit, and the job forbids rounding; or as in `rounding.rounded`.
    """
    if tsp.rounding or not precision.rounds(tsp):
        return tsp
    given = Costs(tsp.cost.reshape(-1), tsp.scale)
    costs = costs_from_integers(given, tsp.n, precision, tsp.name)
    return replace(tsp, cost=costs.values.reshape(tsp.n, tsp.n), scale=costs.scale, rounding=costs.rounding)


def largest_cost(n: int) -> int:
    """Return the largest magnitude of a cost among n cities, whose sum over a tour must stay below 2 ** 62."""
    return (2**62 - 1) // max(n, 1)


def times(cost: NDArray[np.int64], factor: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return costs times a factor, `FORBIDDEN` where there is no arc."""
    absent = cost == FORBIDDEN
    return np.where(absent, FORBIDDEN, np.where(absent, 0, cost) * factor)


BYTES_A_COST = 10
"""Bytes for each entry of the cost matrix that making an instance takes at its peak: 8 stay."""


def require_memory(n: int, bytes_a_cost: int = BYTES_A_COST) -> None:
    """Refuse a number of cities whose cost matrix cannot be made in the memory that is free.

    Raises
    ------
    ResourceError
        With the largest n that would fit.
    """
    require_free(bytes_a_cost * n * n, f"the cost matrix of {counted(n, 'city')}",
                 lambda free: counted(math.isqrt(free // bytes_a_cost), "city"))


def from_costs(
    cost: NDArray[np.int64],
    name: str,
    *,
    labels: NDArray[np.int64] | None = None,
    scale: int = 1,
    rounding: Rounding | None = None,
    coordinates: NDArray[np.float64] | None = None,
    comment: str = "",
    city_names: Sequence[str] = (),
    coordinates_kind: str = "",
    location: Location | None = None,
) -> Tsp:
    """Build an instance from exact integer costs. It keeps the array and overwrites its diagonal.

    Parameters
    ----------
    cost
        Shape (n, n), int64, `FORBIDDEN` where there is no arc. The diagonal is ignored.
    labels
        By default 0..n-1.
    city_names
        Dropped if all are blank.
    location
        Tells where an entry was read, for the message if it is too large.

    Raises
    ------
    InputError
        If n times the largest magnitude reaches 2 ** 62.
    """
    n = len(cost)
    np.fill_diagonal(cost, FORBIDDEN)
    limit = largest_cost(n)
    beyond = (cost > limit) & (cost != FORBIDDEN) | (cost < -limit)
    numbers = np.arange(n, dtype=np.int64) if labels is None else np.ascontiguousarray(labels, dtype=np.int64)
    if beyond.any():
        row, column = (int(i) for i in np.unravel_index(np.argmax(beyond), beyond.shape))
        what = f"the cost from city {numbers[row]} to city {numbers[column]} {too_large(str(cost[row, column]), limit)}"
        raise InputError(what, *((name, None) if location is None else location(row, column)))
    names = tuple(city_names) if any(map(str.strip, city_names)) else ()
    return Tsp(name, cost, numbers, scale, coordinates, comment, names, coordinates_kind, rounding)


def positions(tsp: Tsp, cities: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
    """Return the positions (from 0) of cities by label or name, with the errors of `positions_of`."""
    return positions_of(tsp.labels, cities, tsp.name, "city", "cities", tsp.city_names)


def check_tour(tsp: Tsp, tour: ArrayLike, path: str = "cycle", start: int | None = None, end: int | None = None) -> int:
    """Check a tour and return its cost, in plain numpy and independently of every solver.

    Parameters
    ----------
    tour
        Shape (n,), integers: positions 0..n-1 in the order in which they are visited.
    path
        "cycle", which returns to the first city, or "open".
    start, end
        Positions that the tour must begin and end with. Only an open path may have `end`.

    Returns
    -------
    int
        The cost as a scaled integer, 0 for a single city.

    Raises
    ------
    ValueError
        If the shape or an end is wrong, a city is out of range, missing or visited twice, or an arc is forbidden.
    """
    cities = np.asarray(tour)
    check_permutation(tsp, cities, path, start, end)
    after = np.roll(cities, -1) if path == "cycle" else cities[1:]
    before = cities[: len(after)]
    if tsp.n == 1:
        return 0
    costs = tsp.cost[before, after]
    if (costs == FORBIDDEN).any():
        leg = int(np.argmax(costs == FORBIDDEN))
        raise ValueError(f"leg {leg + 1}: no arc from city {tsp.labels[before[leg]]} to {tsp.labels[after[leg]]}")
    return int(costs.sum())


def check_permutation(tsp: Tsp, cities: NDArray[Any], path: str, start: int | None, end: int | None) -> None:
    """Check that a tour has every city once, and its ends. Takes and raises as `check_tour`, but looks at no arc."""
    if path not in ("cycle", "open"):
        raise ValueError(f"path is {path!r}; it must be 'cycle' or 'open'")
    if path == "cycle" and end is not None:
        raise ValueError("a cycle has no end city; only an open path has one")
    if cities.shape != (tsp.n,) or cities.dtype.kind not in "iu":
        raise ValueError(f"the tour is {cities.dtype} of shape {cities.shape}; it must be integers of shape ({tsp.n},)")
    outside = (cities < 0) | (cities >= tsp.n)
    if outside.any():
        raise ValueError(f"position {cities[np.argmax(outside)]} is out of range 0 to {tsp.n - 1}")
    visits = np.bincount(cities.astype(np.int64), minlength=tsp.n)
    if (visits != 1).any():
        city = int(np.argmax(visits != 1))
        times = "is missing" if visits[city] == 0 else f"is visited {visits[city]} times"
        raise ValueError(f"city {tsp.labels[city]} (position {city}) {times}")
    for word, required, city in (("starts", start, int(cities[0])), ("ends", end, int(cities[-1]))):
        if required is not None and required != city:
            raise ValueError(f"the tour {word} at position {city}, not at {required}")
