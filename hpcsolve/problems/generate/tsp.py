"""Random travelling salesman problems from a seed: the same bytes on every platform and with every version of numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.graph import graph_kinds
from hpcsolve.problems.generate.random_words import below, made, require_integers, words
from hpcsolve.problems.tsp import Tsp, from_costs, largest_cost, require_memory


def generate(kind: str, **parameters: object) -> Tsp:
    """Make the instance that a job file's `{ generate = "uniform-tsp", n = 24, seed = 1 }` asks for.

    Parameters
    ----------
    kind
        "uniform-tsp", "clustered-tsp" or "random-matrix".
    parameters
        The arguments of the function of that name below.

    Raises
    ------
    InputError
        Unknown kind or key (naming the nearest), a missing n, a value of the wrong type or out of range.
    """
    if kind in graph_kinds():
        raise InputError(f"{kind} makes a graph, not a travelling salesman problem")
    return made(_kinds(), kind, parameters)


def uniform_tsp(n: int, seed: int = 1, extent: int = 1000) -> Tsp:
    """Cities at uniform integer points of the square 0..extent-1, EUC_2D distances; labels 1..n.

    Parameters
    ----------
    n
        Number of cities, at least 1.
    seed
        Of the random numbers, at least 0.
    extent
        Number of integer coordinates a side.
    """
    require_integers(n=(n, 1), seed=(seed, 0), extent=(extent, 1))
    require_memory(n)
    points = below(words(seed, 2 * n), extent).reshape(n, 2)
    return _euclidean(points, f"uniform-{n}-seed{seed}", f"uniform-tsp n={n} seed={seed} extent={extent}")


def clustered_tsp(n: int, seed: int = 1, extent: int = 1000, clusters: int = 4, spread: int | None = None) -> Tsp:
    """Cities around uniform centres, the offset a sum of four uniform integers; EUC_2D distances; labels 1..n.

    Parameters
    ----------
    clusters
        Number of centres; each city's is drawn at random.
    spread
        Largest offset in x and in y, default extent / 10; points outside of the square are reflected into it.
    """
    spread = max(extent // 10, 1) if spread is None and isinstance(extent, int) else spread
    require_integers(n=(n, 1), seed=(seed, 0), extent=(extent, 1), clusters=(clusters, 1), spread=(spread, 0))
    assert spread is not None
    require_memory(max(n, clusters))
    raw = words(seed, 2 * clusters + 9 * n)
    centres = below(raw[: 2 * clusters], extent).reshape(clusters, 2)
    chosen = below(raw[2 * clusters : 2 * clusters + n], clusters)
    quarters = below(raw[2 * clusters + n :], spread + 1).reshape(4, n, 2)
    # Sum of four in 0..spread, less its mean, halved: within -spread..spread, bell-shaped.
    offsets = (quarters.sum(axis=0) - 2 * spread) // 2
    points = _reflected(centres[chosen] + offsets, extent)
    text = f"clustered-tsp n={n} seed={seed} extent={extent} clusters={clusters} spread={spread}"
    return _euclidean(points, f"clustered-{n}-seed{seed}", text)


def random_matrix(n: int, seed: int = 1, low: int = 1, high: int = 1000, symmetric: bool = False) -> Tsp:
    """A matrix of uniform integer costs in low..high, both included; labels 1..n.

    Parameters
    ----------
    low, high
        Integers, negative ones too; high - low below 2 ** 31.
    symmetric
        Whether both directions of an arc cost the same.
    """
    require_integers(n=(n, 1), seed=(seed, 0), low=(low, -(2**31)), high=(high, -(2**31)))
    if not isinstance(symmetric, bool):
        raise InputError(f"symmetric is {symmetric!r}; it must be true or false")
    if high < low or max(abs(low), abs(high)) > largest_cost(n):
        raise InputError(f"low is {low}, high is {high}; low <= high, within {largest_cost(n)}, must hold")
    require_memory(n)
    cost = below(words(seed, n * n), high - low + 1).reshape(n, n) + low
    if symmetric:
        cost = np.triu(cost, 1) + np.triu(cost, 1).T
    text = f"random-matrix n={n} seed={seed} low={low} high={high} symmetric={str(symmetric).lower()}"
    return from_costs(cost, f"random-{n}-seed{seed}", labels=np.arange(1, n + 1), comment=text)


def euclidean_costs(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """EUC_2D distances, floor(distance + 1/2), between integer points of shape (n, 2)."""
    costs = np.empty((len(points), len(points)), dtype=np.int64)
    places = points.astype(np.float64)
    for row, (x, y) in enumerate(places):
        costs[row] = np.floor(np.sqrt((places[:, 0] - x) ** 2 + (places[:, 1] - y) ** 2) + 0.5)
    return costs


def _kinds() -> Mapping[str, Callable[..., Tsp]]:
    return {"uniform-tsp": uniform_tsp, "clustered-tsp": clustered_tsp, "random-matrix": random_matrix}


def _reflected(points: NDArray[np.int64], extent: int) -> NDArray[np.int64]:
    """Points folded back at the borders of 0..extent-1, as often as it takes."""
    period = max(2 * (extent - 1), 1)
    folded = np.mod(points, period)
    return np.minimum(folded, period - folded) if extent > 1 else np.zeros_like(points)


def _euclidean(points: NDArray[np.int64], name: str, comment: str) -> Tsp:
    labels = np.arange(1, len(points) + 1)
    coordinates = points.astype(np.float64)
    return from_costs(euclidean_costs(points), name, labels=labels, coordinates=coordinates, comment=comment)
