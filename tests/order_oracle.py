"""Brute force over all orders of the cities, for every objective and constraint, and random questions."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.order import TourQuestion, Windows, legs
from hpcsolve.problems.tsp import FORBIDDEN, Tsp, from_costs

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
    bad = (costs == FORBIDDEN).any(axis=1)
    forbidden = np.zeros((n, n), bool)
    for a, b in question.forbidden:
        forbidden[a, b] = True
    bad |= forbidden[tails, heads].any(axis=1)
    place = np.argsort(tours, axis=1)
    for a, b in question.precedences:
        bad |= place[:, a] > place[:, b]
    if question.places is not None:
        bad |= ~question.places[tours, np.arange(n)].all(axis=1)
    costs = np.where(bad[:, None], 0, costs)
    if question.objective == "finish":
        values, late = _finish(tsp, question, tours, costs)
        bad |= late
    else:
        values = _combined(question, costs, heads)
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


def _finish(tsp: Tsp, question: TourQuestion, tours: NDArray[np.int64], costs: NDArray[np.int64]) -> Any:
    windows = question.windows
    assert windows is not None
    time, late = np.zeros(len(tours), np.int64), np.zeros(len(tours), bool)
    for place in range(tsp.n):
        city = tours[:, place]
        time = np.maximum(time + (costs[:, place - 1] if place else 0), windows.earliest[city])
        late |= time > windows.latest[city]
        time = time + windows.service[city]
    if question.path == "cycle" and tsp.n > 1:
        time = time + costs[:, -1]
        late |= time > windows.latest[tours[:, 0]]
    return time, late


def best_order(tsp: Tsp, question: TourQuestion) -> tuple[int, list[int]] | None:
    """Return the least value and, of the tours that have it, the one that read backwards is the smallest, or None."""
    tours = tours_of(tsp.n, question)
    values = values_of(tsp, question, tours)
    if not len(tours) or values.min() >= MISSING:
        return None
    best = tours[values == values.min()]
    backwards = best[np.lexsort([best[:, k] for k in range(tsp.n)])]
    return int(values.min()), backwards[0].tolist()


def random_question(n: int, seed: int, objective: str, constraints: tuple[str, ...] = (), symmetric: bool = False,
                    top: int = 1000) -> tuple[Tsp, TourQuestion]:
    """Return a random instance and question with an objective and constraints out of "before", "position",
    "not-position", "ends", "open" and "forbidden"."""
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
        table[rng.random(table.shape) < 0.1] = FORBIDDEN
        values["leg_costs"] = np.where(np.eye(n, dtype=bool), FORBIDDEN, table)
    if objective == "finish":
        earliest = rng.integers(0, top * n // 2 + 1, n)
        values["windows"] = Windows(earliest, earliest + rng.integers(top, 2 * top * n + 1, n),
                                    rng.integers(0, top // 4 + 1, n))
    return tsp, TourQuestion(**values, **_constraints(rng, n, constraints))


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
