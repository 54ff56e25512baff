"""Brute force over all orders of the cities, for every objective and constraint, and random questions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.questions import Loads, TourQuestion, Windows, legs
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs

OBJECTIVES = ("sum", "latency", "position", "bottleneck", "lexicographic", "finish")
MISSING = 2**61


@cache
def orders(n: int) -> NDArray[np.int64]:
    """Return all orders of n cities, shape (n!, n)."""
    return np.array(list(permutations(range(n))), np.int64)


def tours_of(n: int, question: TourQuestion) -> NDArray[np.int64]:
    """Return all tours with the ends that a question asks for. A cycle without a start begins in city 0."""
    tours = orders(n)
    start = 0 if question.path == "cycle" and question.start is None else question.start
    if start is not None:
        tours = tours[tours[:, 0] == start]
    return tours if question.end is None else tours[tours[:, -1] == question.end]


def values_of(tsp: Tsp, question: TourQuestion, tours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the value of each tour by its definition, `MISSING` where it breaks a constraint."""
    n, count = tsp.n, legs(tsp.n, question.path)
    heads = np.roll(tours, -1, axis=1)[:, :count]
    tails = tours[:, :count]
    table = tsp.cost if question.leg_costs is None else question.leg_costs
    costs = np.broadcast_to(table, (count, n, n))[np.arange(count), tails, heads]
    bad = (costs == NO_ARC).any(axis=1)
    forbidden = np.zeros((n, n), bool)
    for a, b in question.forbidden:
        forbidden[a, b] = True
    bad |= forbidden[tails, heads].any(axis=1)
    place = np.argsort(tours, axis=1)
    for a, b in question.precedences:
        bad |= place[:, a] > place[:, b]
    if question.places is not None:
        bad |= ~question.places[tours, np.arange(n)].all(axis=1)
    if question.loads is not None:
        carried = question.loads.change[tours].cumsum(axis=1)
        bad |= (carried.min(axis=1) < 0) | (carried.max(axis=1) > question.loads.capacity)
    costs = np.where(bad[:, None], 0, costs)
    values = _combined(question, costs, heads)
    if question.windows is not None:
        begins, ends, late = _served_at(tsp, question, tours, costs)
        bad |= late
        values = ends if question.objective == "finish" else values
        if question.objective == "latency":
            weights = np.ones(n, np.int64) if question.weights is None else question.weights
            back = weights[tours[:, 0]] * ends if question.path == "cycle" and n > 1 else 0
            values = (weights[tours] * begins).sum(axis=1) + back
    values = np.where(bad, MISSING, values)
    if question.objective == "lexicographic" and count:
        dearest = np.where(bad, MISSING, costs.max(axis=1))
        values = np.where(dearest == dearest.min(), values, MISSING)
    return values


def _combined(question: TourQuestion, costs: NDArray[np.int64], heads: NDArray[np.int64]) -> NDArray[np.int64]:
    if question.objective == "latency":
        weights = np.ones_like(costs) if question.weights is None else question.weights[heads]
        return (costs.cumsum(axis=1) * weights).sum(axis=1)
    if question.objective == "bottleneck":
        return costs.max(axis=1) if costs.shape[1] else np.zeros(len(costs), np.int64)
    weighted = question.objective == "position" and question.weights is not None
    return (costs * question.weights if weighted else costs).sum(axis=1)


def _served_at(tsp: Tsp, question: TourQuestion, tours: NDArray[np.int64], costs: NDArray[np.int64]) -> Any:
    """Return when each city of each tour is served, when the tour ends, and whether a window is missed."""
    windows = question.windows
    assert windows is not None
    begins, time, late = np.zeros_like(tours), np.zeros(len(tours), np.int64), np.zeros(len(tours), bool)
    for place in range(tsp.n):
        city = tours[:, place]
        time = begins[:, place] = np.maximum(time + (costs[:, place - 1] if place else 0), windows.earliest[city])
        late |= time > windows.latest[city]
        time = time + windows.service[city]
    if question.path == "cycle" and tsp.n > 1:
        time = time + costs[:, -1]
        late |= time > windows.latest[tours[:, 0]]
    return begins, time, late


def best_order(tsp: Tsp, question: TourQuestion) -> tuple[int, list[int]] | None:
    """Return the least value and, of the tours that have it, the one that read backwards is the smallest, or None."""
    tours = tours_of(tsp.n, question)
    values = values_of(tsp, question, tours)
    if not len(tours) or values.min() >= MISSING:
        return None
    best = tours[values == values.min()]
    backwards = best[np.lexsort([best[:, k] for k in range(tsp.n)])]
    return int(values.min()), backwards[0].tolist()


def is_best_order(tsp: Tsp, question: TourQuestion, value: int | None, tour: list[int] | None) -> bool:
    """Check that a tour is the best one by the tie rule, or None where there is none. Return whether there is one."""
    expected = best_order(tsp, question)
    assert (value, tour) == ((None, None) if expected is None else expected)
    return expected is not None


def random_question(n: int, seed: int, objective: str, constraints: tuple[str, ...] = (), symmetric: bool = False,
                    top: int = 1000) -> tuple[Tsp, TourQuestion]:
    """Return a random instance and question with an objective and constraints out of "before", "position",
    "not-position", "ends", "open", "forbidden" and, of "sum" and "latency", "windows"."""
    rng = np.random.default_rng([n, seed, OBJECTIVES.index(objective), len(constraints), symmetric])
    cost = rng.integers(1, top + 1, (n, n))
    tsp = from_costs(np.minimum(cost, cost.T) if symmetric else cost, f"{objective}-{n}-{seed}")
    path = "open" if {"open", "ends"} & set(constraints) else "cycle"
    ends = rng.permutation(n)[:2].tolist()
    start, end = (ends[0], ends[1] if n > 1 else None) if "ends" in constraints else (None, None)
    count = legs(n, path)
    values: dict[str, Any] = {"path": path, "start": start, "end": end, "objective": objective}
    if objective == "latency" and seed % 2:
        values["weights"] = rng.integers(0, 6, n)
    if objective == "position" and seed % 2:
        values["weights"] = rng.integers(0, 6, count)
    elif objective == "position":
        table = rng.integers(1, top + 1, (count, n, n))
        table[rng.random(table.shape) < 0.1] = NO_ARC
        values["leg_costs"] = np.where(np.eye(n, dtype=bool), NO_ARC, table)
    if objective == "finish" or "windows" in constraints:
        earliest = rng.integers(0, top * n // 2 + 1, n)
        values["windows"] = Windows(earliest, earliest + rng.integers(top, 2 * top * n + 1, n),
                                    rng.integers(0, top // 4 + 1, n))
    return tsp, TourQuestion(**values, **_constraints(rng, n, constraints))


def around_a_tour(n: int, seed: int) -> tuple[Tsp, TourQuestion]:
    """Return an instance with windows around a random tour: zero legs, equal and missed windows, and service."""
    rng = np.random.default_rng([n, seed])
    cost = rng.integers(0, [3, 10, 40][seed % 3], (n, n))
    if seed % 5 == 0:
        cost[rng.random((n, n)) < 0.1] = NO_ARC
    tour, now, width = np.append(0, 1 + rng.permutation(n - 1)), 0, int(rng.integers(0, 30))
    earliest, latest, service = (np.zeros(n, np.int64) for _ in range(3))
    for tail, head in zip(tour[:-1].tolist(), tour[1:].tolist()):
        service[head] = rng.integers(0, 3) * (seed % 2)
        now += 0 if cost[tail, head] == NO_ARC else int(cost[tail, head])
        earliest[head] = max(0, now - rng.integers(0, width + 1))
        latest[head] = earliest[head] + rng.integers(0, width + 1) * (2 if rng.random() < 0.3 else 1)
        now = max(now, earliest[head]) + service[head]
    latest[0] = now + rng.integers(0, 20)
    return from_costs(cost, f"windows-{n}-{seed}"), TourQuestion(objective="finish",
                                                                windows=Windows(earliest, latest, service))


def with_loads(tsp: Tsp, question: TourQuestion, seed: int) -> TourQuestion:
    """Return a question with loads and a capacity that a random one of its tours keeps to, of every fifth it does not.
    """
    rng, tours = np.random.default_rng([tsp.n, seed]), tours_of(tsp.n, question)
    possible = tours[values_of(tsp, question, tours) < MISSING]
    tour = (possible if len(possible) else tours)[rng.integers(len(possible) or len(tours))]
    change = rng.integers(-3, 4, tsp.n)
    change[tour[0]] += max(0, -int(change[tour].cumsum().min()))
    most = int(change[tour].cumsum().max())
    return replace(question, loads=Loads(change, max(0, most - (seed % 5 == 4))))


def a_day(n: int, seed: int, width: int) -> tuple[Tsp, TourQuestion]:
    """Return stops in the plane, with windows of about a width around the times of a random tour."""
    rng = np.random.default_rng([n, seed])
    x = rng.integers(0, 30, (n, 2))
    cost = np.abs(x[:, None] - x).sum(axis=2)
    now = np.append(0, cost[np.arange(n - 1), np.arange(1, n)].cumsum())
    earliest, latest = np.maximum(0, now - rng.integers(0, width, n)), now + rng.integers(0, width, n)
    earliest[0], latest[0] = 0, now[-1] + cost[-1, 0] + width
    return from_costs(cost, "day"), TourQuestion(windows=Windows(earliest, latest, np.zeros(n, np.int64)))


def _constraints(rng: np.random.Generator, n: int, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "before" in names:
        order = rng.permutation(n).tolist()
        pairs = [(order[a], order[b]) for b in range(n) for a in range(b) if rng.random() < 0.15]
        found["precedences"] = tuple(pairs)
    if {"position", "not-position"} & set(names):
        places = np.ones((n, n), bool)
        for name in names:
            if name in ("position", "not-position"):
                city, place = rng.integers(n), rng.integers(n)
                places[city] &= (np.arange(n) == place) == (name == "position")
        found["places"] = places
    if "forbidden" in names:
        arcs = np.argwhere((rng.random((n, n)) < 0.3) & ~np.eye(n, dtype=bool))
        found["forbidden"] = tuple((int(a), int(b)) for a, b in arcs)
    return found


def numpy_program(tsp: Tsp, question: TourQuestion) -> int | None:
    """Return the least value by the textbook's table of (set, last city) in numpy, or None if there is no tour."""
    if question.objective == "lexicographic":
        dearest = numpy_program(tsp, replace(question, objective="bottleneck"))
        allowed = np.where(tsp.cost > (MISSING if dearest is None else dearest), NO_ARC, tsp.cost)
        return numpy_program(tsp.with_costs(allowed), replace(question, objective="sum"))
    n, sets = tsp.n, np.arange(1 << tsp.n)
    size = sum((sets >> city & 1 for city in range(n)), np.zeros_like(sets))
    first = 0 if question.path == "cycle" and question.start is None else question.start
    before = [sum({1 << a for a, b in question.precedences if b == city}) for city in range(n)]
    best = np.full((1 << n, n), MISSING)
    for city in range(n) if first is None else (first,):
        if not before[city] and (question.places is None or question.places[city, 0]):
            best[1 << city, city] = _served(question, city, np.zeros(1, np.int64))[0]
    for k in range(1, n):
        layer = sets[size == k]
        for i in range(n):
            for j in range(n):
                allowed = question.places is None or question.places[j, k]
                allowed &= question.end is None or (k == n - 1) == (j == question.end)
                some = layer[(layer >> i & 1 == 1) & (layer >> j & 1 == 0) & (layer & before[j] == before[j])]
                if allowed and len(some):
                    found = _served(question, j, _arrive(tsp, question, k - 1, i, j, best[some, i], some))
                    best[some | 1 << j, j] = np.minimum(best[some | 1 << j, j], found)
    ends = best[-1]
    if question.path == "cycle" and n > 1:
        whole = sets[-1:]
        ends = np.concatenate([_arrive(tsp, question, n - 1, i, int(first or 0), best[-1:, i], whole)
                               for i in range(n) if i != first])
        if question.windows is not None:
            ends = np.where(ends > question.windows.latest[int(first or 0)], MISSING, ends)
    elif question.windows is not None:
        ends = np.minimum(ends + question.windows.service, MISSING)
    return None if ends.min() >= MISSING else int(ends.min())


def _arrive(tsp: Tsp, question: TourQuestion, leg: int, i: int, j: int, path: NDArray[np.int64],
            visited: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the values of paths with one more leg, before the city is served."""
    cost = int((tsp.cost if question.leg_costs is None else question.leg_costs[leg])[i, j])
    if cost == NO_ARC or (i, j) in question.forbidden:
        return np.full_like(path, MISSING)
    times = np.ones_like(path)
    if question.objective == "latency":
        weights = np.ones(tsp.n, np.int64) if question.weights is None else question.weights
        left = sum((1 - (visited >> city & 1)) * weights[city] for city in range(tsp.n))
        times = left + (weights[question.start or 0] if question.path == "cycle" else 0)
    elif question.objective == "position" and question.weights is not None:
        times = times * question.weights[leg]
    service = 0 if question.windows is None else question.windows.service[i]
    longer = np.maximum(path, cost) if question.objective == "bottleneck" else path + times * cost + service
    return np.where(path >= MISSING, MISSING, longer)


def _served(question: TourQuestion, city: int, arrival: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when a city is served, after waiting for its window, `MISSING` if that is missed."""
    if question.windows is None:
        return arrival
    time = np.maximum(arrival, question.windows.earliest[city])
    return np.where(time > question.windows.latest[city], MISSING, time)
