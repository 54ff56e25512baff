"""Random travelling salesman problems from a seed, the same on every platform and with every version of numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.memory import require_free
from hpcsolve.problems.generate.random_integers import integers_below, next_words, require_integers, require_truths
from hpcsolve.problems.rounding import largest_cost
from hpcsolve.problems.tsp import Tsp, from_costs, from_points, require_memory
from hpcsolve.wording import counted

BYTES_A_RANDOM_COST = 24
"""As `tsp.BYTES_A_COST`, with the random words from which the costs are computed."""






def uniform_tsp(n: int, seed: int = 1, extent: int = 1000) -> Tsp:
    """Generate cities at uniform integer points of a square, with EUC_2D distances and labels 1..n.

    Parameters
    ----------
    n
        Number of cities, at least 1.
    seed
        Seed of the random numbers, at least 0.
    extent
        Coordinates are 0..extent-1.
    """
    require_integers(n=(n, 1), seed=(seed, 0), extent=(extent, 1))
    _require_memory(n, 48)
    points = integers_below(next_words(np.random.PCG64(seed), 2 * n), extent).reshape(n, 2)
    return _euclidean(points, f"uniform-{n}-seed{seed}", f"uniform-tsp n={n} seed={seed} extent={extent}")


def clustered_tsp(n: int, seed: int = 1, extent: int = 1000, clusters: int = 4, spread: int | None = None) -> Tsp:
    """Generate cities around uniform centres, with EUC_2D distances and labels 1..n.

    The offset of a city from its centre is the sum of four uniform integers less its mean.

    Parameters
    ----------
    clusters
        Number of centres, from which each city draws one.
    spread
        Largest offset in x and in y, by default extent / 10. Points outside the square are reflected into it.
    """
    spread = max(extent // 10, 1) if spread is None and isinstance(extent, int) else spread
    require_integers(n=(n, 1), seed=(seed, 0), extent=(extent, 1), clusters=(clusters, 1), spread=(spread, 0))
    assert spread is not None
    _require_memory(max(n, clusters), 224)
    raw = next_words(np.random.PCG64(seed), 2 * clusters + 9 * n)
    centres = integers_below(raw[: 2 * clusters], extent).reshape(clusters, 2)
    chosen = integers_below(raw[2 * clusters : 2 * clusters + n], clusters)
    quarters = integers_below(raw[2 * clusters + n :], spread + 1).reshape(4, n, 2)
    # The sum of four in 0..spread, less its mean and halved, is bell-shaped within -spread..spread.
    offsets = (quarters.sum(axis=0) - 2 * spread) // 2
    points = _reflected(centres[chosen] + offsets, extent)
    text = f"clustered-tsp n={n} seed={seed} extent={extent} clusters={clusters} spread={spread}"
    return _euclidean(points, f"clustered-{n}-seed{seed}", text)


def random_matrix(n: int, seed: int = 1, low: int = 1, high: int = 1000, symmetric: bool = False) -> Tsp:
    """Generate a matrix of uniform integer costs, with labels 1..n.

    Parameters
    ----------
    low
        Smallest cost, possibly negative.
    high
        Largest cost, included, less than low + 2 ** 31.
    symmetric
        Whether both directions of an arc cost the same.
    """
    require_integers(n=(n, 1), seed=(seed, 0), low=(low, -(2**31)), high=(high, -(2**31)))
    require_truths(symmetric=symmetric)
    if high < low or max(abs(low), abs(high)) > largest_cost(n):
        bounds = f"-{largest_cost(n)} <= low <= high <= {largest_cost(n)}"
        raise InputError(f"low is {low}, high is {high}; {bounds} must hold")
    require_memory(n, BYTES_A_RANDOM_COST)
    cost = integers_below(next_words(np.random.PCG64(seed), n * n), high - low + 1).reshape(n, n) + low
    if symmetric:
        cost = np.triu(cost, 1) + np.triu(cost, 1).T
    text = f"random-matrix n={n} seed={seed} low={low} high={high} symmetric={str(symmetric).lower()}"
    return from_costs(cost, f"random-{n}-seed{seed}", labels=np.arange(1, n + 1), comment=text)


def _require_memory(n: int, bytes_a_city: int) -> None:
    """Refuse to generate more cities than the free memory holds. Raises `ResourceError`."""
    require_free(bytes_a_city * n, f"generating {counted(n, 'city')}",
                 lambda free: counted(free // bytes_a_city, "city"))


def _reflected(points: NDArray[np.int64], extent: int) -> NDArray[np.int64]:
    """Return the points reflected at the borders of 0..extent-1 until they lie inside."""
    period = max(2 * (extent - 1), 1)
    folded = np.mod(points, period)
    return np.minimum(folded, period - folded) if extent > 1 else np.zeros_like(points)


def _euclidean(points: NDArray[np.int64], name: str, comment: str) -> Tsp:
    labels, places = np.arange(1, len(points) + 1), points.astype(np.float64)
    return from_points(places, "EUC_2D", name, labels, comment=comment)
