"""Generators of travelling salesman problems give the same bytes for a seed and name bad keys."""

import hashlib
import math

import numpy as np
import pytest

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.problems.generate import generate
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.problems.tsp import NO_ARC


def digest(tsp):
    places = b"" if tsp.coordinates is None else tsp.coordinates.astype("<f8").tobytes()
    return hashlib.sha256(tsp.cost.astype("<i8").tobytes() + places).hexdigest()[:16]


def by_hand(seed, count, bound):
    """Return random integers by the documented rule, computed in Python integers."""
    return [(int(w) >> 32) * bound >> 32 for w in np.random.PCG64(seed).random_raw(count)]


def test_uniform_points_and_distances():
    tsp = uniform_tsp(30, 5)
    flat = by_hand(5, 60, 1000)
    points = list(zip(flat[::2], flat[1::2], strict=True))
    assert tsp.coordinates.tolist() == [[float(x), float(y)] for x, y in points]
    for i, a in enumerate(points):
        for j, b in enumerate(points):
            assert tsp.cost[i, j] == (NO_ARC if i == j else math.floor(math.dist(a, b) + 0.5))
    assert tsp.labels.tolist() == list(range(1, 31)) and tsp.scale == 1 and tsp.symmetric
    assert (tsp.name, tsp.comment) == ("uniform-30-seed5", "uniform-tsp n=30 seed=5 extent=1000")


# Recorded once. These must never change, because users cite instances by their seed.
RECORDED = {
    "uniform": (lambda: uniform_tsp(24, 1), "8e487cba5813f4cc"),
    "clustered": (lambda: clustered_tsp(40, 3), "bf953dd326d832e6"),
    "matrix": (lambda: random_matrix(12, 7), "433624fd02a2cee9"),
    "symmetric": (lambda: random_matrix(12, 7, -5, 5, True), "56f5bface14c2907"),
}


@pytest.mark.parametrize("kind", RECORDED)
def test_bytes_are_the_recorded_ones(kind):
    make, recorded = RECORDED[kind]
    assert digest(make()) == recorded


@pytest.mark.parametrize(("make", "options"), [(uniform_tsp, {}), (clustered_tsp, {"clusters": 200, "spread": 2500})])
def test_points_fill_the_square_and_stay_in_it(make, options):
    points = make(2000, 2, **options).coordinates
    assert (points.min(axis=0) <= 5).all() and (points.max(axis=0) >= 994).all()
    assert points.min() >= 0 and points.max() <= 999 and np.array_equal(points, np.floor(points))


def test_uniform_words_are_spread_evenly():
    cells = np.bincount((uniform_tsp(5000, 9).coordinates // 100).astype(int) @ [10, 1], minlength=100)
    chi_square = ((cells - 50) ** 2 / 50).sum()
    assert 55 < chi_square < 155, "99 degrees of freedom: a probability of 1 in 10 000 lies outside"


def test_clusters_are_clusters():
    tsp = clustered_tsp(200, 4, 10_000, clusters=3, spread=100)
    points = tsp.coordinates
    near = (np.abs(points[:, None] - points[None]).max(axis=2) <= 200).sum(axis=1)
    assert (near >= 30).all(), "every city is surrounded by its cluster"
    assert tsp.comment == "clustered-tsp n=200 seed=4 extent=10000 clusters=3 spread=100"
    assert clustered_tsp(9, 1, clusters=1, spread=0).cost[0, 1] == 0


def test_matrix_range():
    tsp = random_matrix(60, 3, -2, 2)
    off = tsp.cost[tsp.cost != NO_ARC]
    assert off.tolist().count(-2) > 500 and set(off.tolist()) == {-2, -1, 0, 1, 2}
    assert not tsp.symmetric and random_matrix(60, 3, symmetric=True).symmetric


def test_seeds_and_kinds_differ():
    assert digest(uniform_tsp(10, 1)) != digest(uniform_tsp(10, 2))
    assert digest(generate("tsp", "uniform-tsp", n=10, seed=2)) == digest(uniform_tsp(10, 2))
    assert digest(generate("tsp", "clustered-tsp", n=10, seed=2, spread=5)) == digest(clustered_tsp(10, 2, spread=5))
    assert digest(generate("tsp", "random-matrix", n=4, low=0)) == digest(random_matrix(4, 1, 0))
    assert uniform_tsp(1).n == 1 and uniform_tsp(3, extent=1).cost[0, 1] == 0


BAD = [
    ("uniform", {"n": 5}, "unknown generator 'uniform'; did you mean uniform-tsp"),
    ("zzz", {"n": 5}, "the generators are uniform-tsp, clustered-tsp, random-matrix"),
    ("uniform-tsp", {}, "needs the key n"),
    ("uniform-tsp", {"n": 5, "sead": 1}, "no key 'sead'; did you mean seed"),
    ("uniform-tsp", {"n": 5, "clusters": 1}, "no key 'clusters'"),
    ("uniform-tsp", {"n": "5"}, "n is '5'; it must be an integer"),
    ("uniform-tsp", {"n": 5.0}, "n is 5.0"),
    ("uniform-tsp", {"n": True}, "n is True"),
    ("uniform-tsp", {"n": 0}, "n is 0; it must be 1 to"),
    ("uniform-tsp", {"n": 5, "seed": -1}, "seed is -1"),
    ("uniform-tsp", {"n": 5, "seed": 2**63}, "seed is"),
    ("uniform-tsp", {"n": 5, "extent": 0}, "extent is 0"),
    ("uniform-tsp", {"n": 5, "extent": 2**31}, "extent is 2147483648"),
    ("clustered-tsp", {"n": 5, "clusters": 0}, "clusters is 0"),
    ("clustered-tsp", {"n": 5, "extent": "x"}, "extent is 'x'"),
    ("clustered-tsp", {"n": 5, "spread": -1}, "spread is -1"),
    ("random-matrix", {"n": 5, "low": 3, "high": 2}, "low is 3, high is 2"),
    ("random-matrix", {"n": 5, "low": -(2**31), "high": 2**31 - 1}, "too large"),
    ("random-matrix", {"n": 5, "symmetric": 1}, "symmetric is 1; it must be true or false"),
]


@pytest.mark.parametrize(("kind", "keys", "message"), BAD)
def test_bad_keys(kind, keys, message):
    with pytest.raises(InputError, match=message):
        generate("tsp", kind, **keys)


@pytest.mark.parametrize("kind", ["uniform-tsp", "clustered-tsp", "random-matrix"])
def test_a_billion_cities_allocate_nothing(kind):
    with pytest.raises(ResourceError, match="1000000000 cities"):
        generate("tsp", kind, n=10**9)
    with pytest.raises((ResourceError, InputError)):
        generate("tsp", "clustered-tsp", n=5, clusters=10**9)
