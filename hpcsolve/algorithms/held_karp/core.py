"""The problem that is solved, whatever the user asks: a cheapest tour from a depot through all cities and back.

An open path becomes a tour by its depot. With free ends the depot is one more city, which costs nothing to leave and to
reach; with a fixed start it is the start, which costs nothing to return to; with both ends fixed it is the two merged,
left as the start and reached as the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.tour import TourQuestion
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import FORBIDDEN, Tsp, positions


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[held-karp]` table of a job file.

    Attributes
    ----------
    path
        "cycle": the tour returns to its first city; "open": it does not.
    start, end
        Labels or names (as in the instance's file) of the first and the last city; by default the first city of a cycle
        is the instance's first, the ends of an open path are free. A cycle has no `end`.
    layout
        "planes": split over ranks, any size; "compact": one rank, one table of all states, for study and as an oracle.
    """

    path: Literal["cycle", "open"] = "cycle"
    start: int | str | None = None
    end: int | str | None = None
    layout: Literal["planes", "compact"] = "planes"


def asked(tsp: Tsp, parameters: Parameters) -> TourQuestion:
    """Return the question: from where to where the tour leads. Raises as `core_problem`."""
    start, end = (_position(tsp, parameters.start, "start"), _position(tsp, parameters.end, "end"))
    return TourQuestion(parameters.path, start, end)


@dataclass(frozen=True)
class Core:
    """The problem that is solved: m cities and a depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m + 1), int64: the m cities, then the depot; `FORBIDDEN` where there is no arc, and on the
        diagonal.
    before, cities, after
        Positions in the instance: of the fixed start (none or one), of the m cities in the order of the matrix, and of
        the fixed end (none or one).
    """

    cost: NDArray[np.int64]
    before: tuple[int, ...]
    cities: tuple[int, ...]
    after: tuple[int, ...]

    def tour(self, order: list[int]) -> NDArray[np.int32]:
        """Return the answer, in positions of the instance, for an order of the m cities."""
        return np.array([*self.before, *(self.cities[i] for i in order), *self.after], np.int32)


def core_problem(tsp: Tsp, parameters: Parameters) -> Core:
    """Return the core of an instance.

    Raises
    ------
    InputError
        `start` or `end` is not a city of the instance, both are the same city, or a cycle is given an end.
    """
    start, end = ends(tsp, parameters)
    if parameters.path == "cycle":
        depot = 0 if start is None else start
        return _with_depot(tsp, (depot,), (), tsp.cost[depot], tsp.cost[:, depot])
    free = np.zeros(tsp.n, np.int64)
    return _with_depot(
        tsp,
        () if start is None else (start,),
        () if end is None else (end,),
        free if start is None else tsp.cost[start],
        free if end is None else tsp.cost[:, end],
    )


def ends(tsp: Tsp, parameters: Parameters) -> tuple[int | None, int | None]:
    """Return the positions of the start and the end, None where they are free. Raises as `core_problem`."""
    start = _position(tsp, parameters.start, "start")
    end = _position(tsp, parameters.end, "end")
    if parameters.path == "cycle" and end is not None:
        raise InputError('held-karp.end: a cycle ends where it starts; remove it or set path = "open"')
    if start is not None and start == end:
        if tsp.n > 1:
            raise InputError("held-karp.end: an open path cannot end in the city where it starts")
        end = None  # one city is both ends
    return start, end


def _position(tsp: Tsp, city: int | str | None, key: str) -> int | None:
    if city is None:
        return None
    try:
        return int(positions(tsp, [city])[0])
    except InputError as error:
        raise InputError(f"held-karp.{key}: {error}") from None


def _with_depot(tsp: Tsp, before: tuple[int, ...], after: tuple[int, ...], leave: NDArray[np.int64],
                reach: NDArray[np.int64]) -> Core:
    cities = tuple(c for c in range(tsp.n) if c not in (*before, *after))
    m = len(cities)
    cost = np.full((m + 1, m + 1), FORBIDDEN)
    cost[:m, :m] = tsp.cost[np.ix_(cities, cities)]
    cost[m, :m] = leave[list(cities)]
    cost[:m, m] = reach[list(cities)]
    np.fill_diagonal(cost, FORBIDDEN)
    if m == 0:  # no city but the ends: the tour is the arc from one to the other, if there are two
        cost[0, 0] = tsp.cost[before[0], after[0]] if before and after and before != after else 0
    return Core(cost, before, cities, after)
