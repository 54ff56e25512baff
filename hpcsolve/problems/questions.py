"""What a job asks: of a tour its objective and its constraints, with the check of an order, and of a graph which paths.

The check is plain numpy on the instance, and uses nothing of a solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.problems.access import Access
from hpcsolve.problems.snapping import Snapped
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, Tsp
from hpcsolve.problems.windows import Windows as Windows

Objective = Literal["sum", "latency", "position", "bottleneck", "lexicographic", "finish", "prize"]
VALUES: Mapping[str, str] = {
    "sum": "cost added up", "latency": "sum of weighted arrivals", "position": "cost by place added up",
    "bottleneck": "dearest leg", "lexicographic": "cost added up, the dearest leg", "finish": "time of the end",
    "prize": "cost added up",
}
"""What the value of each objective is, in words."""


@dataclass(frozen=True, eq=False)
class Loads:
    """What a vehicle takes in and hands over, in whole units.

    Attributes
    ----------
    change
        Shape (n,), int64: what each city adds to the load, negative where it takes from it. That of the first city is
        taken in at the departure; at the return of a cycle nothing changes.
    capacity
        The most that the vehicle holds.
    """

    change: NDArray[np.int64]
    capacity: int

    def after(self, tour: ArrayLike) -> NDArray[np.int64]:
        """Return the load after each city of a tour. The vehicle comes empty to the first one."""
        return np.cumsum(self.change[np.asarray(tour)])


@dataclass(frozen=True, eq=False)
class TourQuestion:
    """What tour a job asks for. Cities are positions in the instance.

    Attributes
    ----------
    path
        "cycle", or "open" for a path through all cities.
    start, end
        The first and the last city. None: any city of an open path; a cycle begins at city 0.
    objective
        "sum" of the legs' costs; "latency", the sum of weight * arrival over the cities, where the return to the first
        city of a cycle counts too, and with windows the begin of the service in place of the arrival; "position", the
        sum of the legs' costs, which depend on their place; "bottleneck", the dearest leg; "lexicographic", the sum
        among tours whose dearest leg is least; "finish", the earliest end; "prize", the most prize within the budget,
        or for each prize the tour of least cost, with windows of the earliest end. Such a tour may leave out all cities
        but its ends, and its value is the cost or the end.
    weights
        int64, or None where all are 1: for "latency" of the cities, shape (n,); for "position" of the legs.
    leg_costs
        For "position", shape (legs, n, n), int64: the costs of each leg in place of the instance's, or None.
    windows
        For "finish", "latency" and "prize", and for "sum", where neither waiting nor service counts; or None.
    precedences
        Pairs (a, b): a comes before b.
    places
        Shape (n, n), bool: [city, place] is whether the city may stand at that place of the tour, both from 0. None:
        anywhere.
    forbidden
        Pairs (a, b): no leg leads from a to b.
    forced
        Pairs (a, b): a leg leads from a to b or, where costs are symmetric, from b to a.
    loads
        What the cities load, so that after none of them the load is below 0 or above the capacity; or None.
    travel_times
        By time of departure, in place of the instance's costs; or None. With them there are windows. The traveller
        leaves a city when its service ends.
    prizes
        For "prize" of the cities, shape (n,), int64; or None.
    budget
        For "prize" the most that the tour's value may be, or None.
    """

    path: str = "cycle"
    start: int | None = None
    end: int | None = None
    objective: Objective = "sum"
    weights: NDArray[np.int64] | None = None
    leg_costs: NDArray[np.int64] | None = None
    windows: Windows | None = None
    precedences: tuple[tuple[int, int], ...] = ()
    places: NDArray[np.bool_] | None = None
    forbidden: tuple[tuple[int, int], ...] = ()
    forced: tuple[tuple[int, int], ...] = ()
    loads: Loads | None = None
    travel_times: TravelTimes | None = None
    prizes: NDArray[np.int64] | None = None
    budget: int | None = None

    @property
    def plain(self) -> bool:
        """Whether a value is the sum of the legs' costs, and no constraint is about places, times, loads, forced legs.

        Forbidden legs are allowed: they are arcs that do not exist.
        """
        of_order = self.places is not None or self.windows is not None or self.loads is not None
        return self.objective == "sum" and not (self.precedences or self.forced or of_order)

    @property
    def constrained(self) -> bool:
        """Whether not every order with these ends may be taken."""
        pairs = self.precedences or self.forbidden or self.forced
        return bool(pairs) or any(limit is not None for limit in (self.places, self.windows, self.loads))

    @property
    def is_an_end(self) -> bool:
        """Whether a tour's value is the time at which it ends."""
        return self.objective == "finish" or (self.objective == "prize" and self.windows is not None)

    @property
    def value_in_words(self) -> str:
        """What a tour's value is."""
        return VALUES["finish" if self.is_an_end else self.objective]

    def prize(self, tour: ArrayLike) -> int:
        """Return the sum of the prizes of a tour's cities."""
        return 0 if self.prizes is None else int(self.prizes[np.asarray(tour)].sum())

    def value(self, tour: ArrayLike, values: Sequence[Any]) -> Any:
        """Return the value of a tour whose legs have these costs, integers or decimals in the unit of the windows."""
        if self.objective == "bottleneck":
            return max(values, default=0)
        if self.objective == "latency":
            heads = leg_ends(np.asarray(tour), self.path)[1].tolist()
            weights = [1] * len(heads) if self.weights is None else self.weights[heads].tolist()
            if self.windows is not None:  # the first city's service may begin late too
                first = np.asarray(tour)[:1]
                weights = [*([1] if self.weights is None else self.weights[first].tolist()), *weights]
                return sum(weight * time for weight, time in zip(weights, self.times(tour, values), strict=True))
            return sum(weight * arrival for weight, arrival in zip(weights, accumulate(values), strict=True))
        if self.is_an_end:
            assert self.windows is not None
            cities, times = np.asarray(tour).tolist(), self.times(tour, values)
            return times[-1] + (int(self.windows.service[cities[-1]]) if len(times) == len(cities) else 0)
        if self.objective == "position" and self.weights is not None:
            return sum(weight * value for weight, value in zip(self.weights.tolist(), values, strict=True))
        return sum(values)

    def times(self, tour: ArrayLike, values: Sequence[Any]) -> list[Any]:
        """Return when service begins at each city of a tour with time windows, then when a cycle is back."""
        windows, times, time = self.windows, [], 0
        assert windows is not None
        for city, travel in zip(np.asarray(tour).tolist(), [0, *values]):
            times.append(max(time + travel, int(windows.earliest[city])))
            time = times[-1] + int(windows.service[city])
        return [*times, time + values[-1]] if len(values) == len(times) else times

    def check(self, tsp: Tsp, tour: ArrayLike) -> int:
        """Check a tour against this question and return its value.

        Parameters
        ----------
        tour
            Shape (n,), integers: positions 0..n-1 in the order in which they are visited. With "prize" some of them.

        Raises
        ------
        ValueError
            It is not an order of all cities with the right ends; or a leg has no arc or is forbidden, a city stands
            at a forbidden place or before one that must precede it, a leg is missing that is forced, the load is below
            0 or above the capacity, a window is missed, or the budget is exceeded.
        """
        order = np.asarray(tour)
        self._check_permutation(tsp, order)
        tails, heads = leg_ends(order.astype(np.int64), self.path)
        values = self.legs_of(tsp, order)
        missing = values == NO_ARC
        if missing.any():
            leg = int(np.argmax(missing))
            raise ValueError(f"leg {leg + 1}: no arc from city {tsp.labels[tails[leg]]} to {tsp.labels[heads[leg]]}")
        arcs = set(zip(tails.tolist(), heads.tolist(), strict=True)) if self.forbidden else ()
        for a, b in self.forbidden:
            if (a, b) in arcs:
                raise ValueError(f"the tour goes from city {tsp.labels[a]} to {tsp.labels[b]}, which is forbidden")
        self._require_places(tsp, order.astype(np.int64))
        self._require_forced(tsp, order.astype(np.int64))
        self._require_loads(tsp, order.astype(np.int64))
        whole = values.tolist()
        self._require_windows(tsp, order, whole)
        value = int(self.value(order, whole))
        if self.budget is not None and value > self.budget:
            raise ValueError(f"the {self.value_in_words} is {value}, above the budget {self.budget}")
        return value

    def _check_permutation(self, tsp: Tsp, cities: NDArray[Any]) -> None:
        """Check that a tour has every city once, with "prize" at most once, and its ends."""
        if self.path not in ("cycle", "open"):
            raise ValueError(f"path is {self.path!r}; it must be 'cycle' or 'open'")
        if self.path == "cycle" and self.end is not None:
            raise ValueError("a cycle has no end city; only an open path has one")
        some = self.objective == "prize"
        fits = cities.ndim == 1 and 1 <= len(cities) <= tsp.n if some else cities.shape == (tsp.n,)
        if not fits or cities.dtype.kind not in "iu":
            what = f"the tour is {cities.dtype} of shape {cities.shape}"
            raise ValueError(f"{what}; it must be integers of shape ({f'1 to {tsp.n}' if some else tsp.n},)")
        outside = (cities < 0) | (cities >= tsp.n)
        if outside.any():
            raise ValueError(f"position {cities[np.argmax(outside)]} is out of range 0 to {tsp.n - 1}")
        visits = np.bincount(cities.astype(np.int64), minlength=tsp.n)
        wrong = visits > 1 if some else visits != 1
        if wrong.any():
            city = int(np.argmax(wrong))
            times = "is missing" if visits[city] == 0 else f"is visited {visits[city]} times"
            raise ValueError(f"city {tsp.labels[city]} (position {city}) {times}")
        start = self.start
        if some and self.path == "cycle" and start is None:
            start = 0  # which other tours have, too, but somewhere
        for word, required, city in (("starts", start, int(cities[0])), ("ends", self.end, int(cities[-1]))):
            if required is not None and required != city:
                raise ValueError(f"the tour {word} at position {city}, not at {required}")

    def _require_places(self, tsp: Tsp, order: NDArray[np.int64]) -> None:
        place = np.argsort(order) if self.precedences else order
        for a, b in self.precedences:
            if place[a] >= place[b]:
                raise ValueError(f"city {tsp.labels[a]} must come before city {tsp.labels[b]}, and comes after it")
        if self.places is not None:
            wrong = ~self.places[order, np.arange(len(order))]
            if wrong.any():
                at = int(np.argmax(wrong))
                raise ValueError(f"city {tsp.labels[order[at]]} stands at place {at + 1}, which is forbidden")

    def _require_forced(self, tsp: Tsp, order: NDArray[np.int64]) -> None:
        if not self.forced:
            return
        place, (tails, heads) = np.argsort(order), np.array(self.forced, np.int64).T
        apart = place[heads] - place[tails]
        if self.path == "cycle":
            apart %= len(order)
        back = (len(order) - 1 if self.path == "cycle" else -1) if tsp.symmetric else 1
        missing = (apart != 1) & (apart != back)
        if missing.any():
            a, b = self.forced[int(np.argmax(missing))]
            raise ValueError(f"no leg leads from city {tsp.labels[a]} to city {tsp.labels[b]}, which is forced")

    def _require_loads(self, tsp: Tsp, order: NDArray[np.int64]) -> None:
        if self.loads is None:
            return
        after = self.loads.after(order)
        wrong = (after < 0) | (after > self.loads.capacity)
        if wrong.any():
            at = int(np.argmax(wrong))
            limit = "below 0" if after[at] < 0 else f"above the capacity {self.loads.capacity}"
            raise ValueError(f"after city {tsp.labels[order[at]]} the load is {after[at]}, {limit}")

    def _require_windows(self, tsp: Tsp, order: NDArray[Any], values: list[int]) -> None:
        if self.windows is None:
            return
        cities = order.tolist()
        for place, (city, time) in enumerate(zip([*cities, cities[0]], self.times(cities, values))):
            if time > self.windows.latest[city]:
                what = "is served" if place < len(cities) else "is reached again"
                raise ValueError(f"city {tsp.labels[city]} {what} at {time}, after its window ends at "
                                 f"{self.windows.latest[city]}")

    def legs_of(self, tsp: Tsp, tour: ArrayLike) -> NDArray[np.int64]:
        """Return the cost of each leg of a tour, without weights. With `travel_times` it is the time as driven."""
        tails, heads = leg_ends(np.asarray(tour).astype(np.int64), self.path)
        if self.travel_times is not None:
            return self._driven(tails.tolist(), heads.tolist())
        if self.leg_costs is None:
            return tsp.between(tails, heads)
        return self.leg_costs[np.arange(len(tails)), tails, heads]

    def _driven(self, tails: list[int], heads: list[int]) -> NDArray[np.int64]:
        """Return the travel time of each leg at its departure. The legs behind one without an arc have no meaning."""
        windows, travel, times, time = self.windows, self.travel_times, list[int](), 0
        assert windows is not None and travel is not None
        for tail, head in zip(tails, heads, strict=True):
            leave = max(time, int(windows.earliest[tail])) + int(windows.service[tail])
            times.append(travel.takes(tail, head, leave))
            time = leave + (0 if times[-1] == NO_ARC else times[-1])
        return np.array(times, np.int64)

    def departures(self, tsp: Tsp, tour: ArrayLike) -> NDArray[np.int64] | None:
        """Return when the traveller leaves each city that a leg leads from, or None without time windows."""
        windows, order = self.windows, np.asarray(tour).astype(np.int64)
        if windows is None:
            return None
        count = legs(len(order), self.path)
        begins = np.array(self.times(order, self.legs_of(tsp, order).tolist())[:count], np.int64)
        return begins + windows.service[order[:count]]


@dataclass(frozen=True)
class Reduction:
    """What is kept of each row of distances in place of the row itself.

    Attributes
    ----------
    cutoffs
        The number of targets within each of these distances is kept. In the unit of `graph.weights`.
    nearest
        Number of nearest targets that are kept.
    sums, farthest
        Whether the sum of the distances is kept, and the farthest target.
    whole
        Whether all vertices are sources and targets, so that radius, diameter and centre of the graph are known.
    access
        Decays and opportunities by which the access is kept, or None.
    """

    cutoffs: tuple[int | float, ...] = ()
    nearest: int = 0
    sums: bool = False
    farthest: bool = False
    whole: bool = False
    access: Access | None = None


@dataclass(frozen=True)
class PathQuestion:
    """What a job asks of a graph: distances from sources, or the paths of queries.

    Attributes
    ----------
    sources
        Shape (sources,), int64: positions of the sources in the order of the job, for queries one per query.
    seeds
        The sources where each search begins: one array per search, of one source or of all; empty if there are queries.
    targets
        Shape (targets,), int64: positions of the targets, or None for all vertices.
    pairs
        Shape (queries, 2), int64: positions of source and target of each query in the order of the job, or None.
    pairs_sha256
        SHA-256 of the labels in `pairs`, where `pairs` itself was not read from its file.
    cutoff
        Distance, times the scale, beyond which a vertex counts as unreached, or None.
    reduction
        What is kept of the row of each source, or None for the whole row.
    places
        The places that stand for sources and targets, or none.
    """

    sources: NDArray[np.int64]
    seeds: tuple[NDArray[np.int64], ...]
    targets: NDArray[np.int64] | None
    pairs: NDArray[np.int64] | None = None
    pairs_sha256: str | None = None
    cutoff: float | None = None
    reduction: Reduction | None = None
    places: tuple[Snapped, ...] = ()


def legs(n: int, path: str) -> int:
    """Return the number of legs of a tour of n cities. A single city has none."""
    return 0 if n == 1 else n if path == "cycle" else n - 1


def leg_ends(order: NDArray[np.int64], path: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cities where each leg begins and ends."""
    if len(order) < 2:
        return order[:0], order[:0]
    return (order, np.roll(order, -1)) if path == "cycle" else (order[:-1], order[1:])


def check_tour(tsp: Tsp, tour: ArrayLike, path: str = "cycle", start: int | None = None, end: int | None = None) -> int:
    """Check a tour and return its cost. Raises as `TourQuestion.check`, without constraints but its ends."""
    return TourQuestion(path, start, end).check(tsp, tour)


def dearest_leg(tsp: Tsp, tour: ArrayLike, path: str) -> int:
    """Return the cost of a tour's dearest leg, 0 for a single city."""
    tails, heads = leg_ends(np.asarray(tour).astype(np.int64), path)
    return int(tsp.between(tails, heads).max()) if len(tails) else 0
