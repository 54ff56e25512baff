"""First tours follow from the rule, told anew in plain Python, and end quickly where all cities are alike."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import NONE, Cities, kernel_cities
from hpcsolve.algorithms.tours.near import NearLists, near_lists
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.tsp import Tsp, from_matrix, from_points
from tests.races.tours import first_tours

WORD = 2**64 - 1


def random_words(stream: int) -> Iterator[int]:
    """Yield the numbers of 32 bits of a stream: splitmix64 once, then xorshift64*."""
    z = stream + 0x9E3779B97F4A7C15 & WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    state = (z ^ z >> 31) | 1
    while True:
        state ^= state >> 12
        state ^= state << 25 & WORD
        state ^= state >> 27
        yield (state * 2685821657736338717 & WORD) >> 32


class Paths:
    """Paths that grow together, with the set of each node's path."""

    def __init__(self, nodes: int) -> None:
        """Begin with a path for each node."""
        self.beside: list[list[int]] = [[] for _ in range(nodes)]
        self.path = [{node} for node in range(nodes)]

    def may_join(self, a: int, b: int) -> bool:
        """Return whether an edge between two nodes leaves paths."""
        return len(self.beside[a]) < 2 and len(self.beside[b]) < 2 and self.path[a] is not self.path[b]

    def join(self, a: int, b: int) -> None:
        """Join two paths."""
        self.beside[a].append(b)
        self.beside[b].append(a)
        both = self.path[a] | self.path[b]
        for node in both:
            self.path[node] = both


def by_the_rule(cities: Cities, lists: NearLists, stream: int) -> set[frozenset[int]]:
    """Return the edges of the first tour. No two edges may cost the same, but for those of lists."""
    n, paths, words, order = cities.nodes, Paths(cities.nodes), random_words(stream), list(range(cities.nodes))
    for a, b in enumerate([] if cities.fixed is None else cities.fixed.tolist()):
        if b != NONE and b > a:
            paths.join(a, b)
    for i in range(n, 1, -1):
        other = next(words) * i >> 32
        order[i - 1], order[other] = order[other], order[i - 1]
    for node in order * 2:
        there = [other for other in lists.near[node].tolist() if paths.may_join(node, other)]
        if there:
            paths.join(node, there[0])
    costs = {}
    for a in range(n):
        for b in range(a):
            if not cities.paired or a % 2 != b % 2:
                costs[a, b] = edge_cost(cities, a, b)
    for a, b in sorted(costs, key=lambda edge: costs[edge]):
        if paths.may_join(a, b):
            paths.join(a, b)
    ends = [node for node in range(n) if len(paths.beside[node]) < 2]
    return {frozenset((a, b)) for a in range(n) for b in paths.beside[a]} | {frozenset(ends)}


def edge_cost(cities: Cities, a: int, b: int) -> int:
    """Return the instance's cost of the edge between two nodes."""
    if cities.paired:
        leaves, enters = (a, b) if a % 2 else (b, a)
        return int(cities.tsp.cost[cities.order[leaves // 2], cities.order[enters // 2]])
    return int(cities.tsp.cost[cities.order[a], cities.order[b]])


def edges_of(tour: NDArray[np.uint32]) -> set[frozenset[int]]:
    """Return the edges of a tour of nodes."""
    return {frozenset(edge) for edge in zip(tour.tolist(), np.roll(tour, -1).tolist())}


def plane(n: int, metric: str = "EUC_2D", extent: float = 1e6, seed: int = 0) -> Tsp:
    """Return random points."""
    at = np.random.default_rng([n, seed]).integers(0, int(extent), (n, 2)).astype(float)
    return from_points(at, metric, "plane", np.arange(n))


def matrix(n: int, symmetric: bool, seed: int = 0) -> Tsp:
    """Return random costs that all differ."""
    costs = np.random.default_rng([n, seed]).permutation(n * n).reshape(n, n) + 1
    return from_matrix(np.minimum(costs, costs.T) if symmetric else costs)


@pytest.mark.parametrize("tsp", [plane(60), plane(90, "MAN_2D"), matrix(50, True), matrix(40, False)],
                         ids=["euclidean", "any", "matrix", "paired"])
@pytest.mark.parametrize("edges", [[], [(1, 2), (2, 5), (7, 9), (11, 10)]], ids=["free", "forced"])
def test_tours_follow_from_the_rule(tsp: Tsp, edges: list[tuple[int, int]], host: HostDevice) -> None:
    cities = kernel_cities(tsp, edges)
    lists = near_lists(host, cities, 4, 1)
    tours = first_tours(host, cities, lists, [1, 2, 2**63 + 5])
    for tour, stream in zip(tours, [1, 2, 2**63 + 5]):
        assert edges_of(tour) == by_the_rule(cities, lists, stream)
    assert len({tour.tobytes() for tour in tours}) == 3
    assert np.array_equal(tours, first_tours(host, cities, lists, [1, 2, 2**63 + 5], threads=1))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 30), st.booleans())
def test_every_node_is_there_once_and_fixed_edges_stay(seed: int, n: int, extent: int, points: bool) -> None:
    tsp = plane(n, extent=extent, seed=seed) if points else matrix(n, seed % 2 == 0, seed)
    edges = [(2 * i, 2 * i + 1) for i in range(n // 4)]
    with HostDevice(1) as host:
        cities = kernel_cities(tsp, edges)
        tours = first_tours(host, cities, near_lists(host, cities, 4, 1), [seed, seed + 1])
    assert (np.sort(tours, axis=1) == np.arange(cities.nodes)).all()
    for tour in tours:
        fixed = [] if cities.fixed is None else list(enumerate(cities.fixed.tolist()))
        assert {frozenset(edge) for edge in fixed if edge[1] != NONE} <= edges_of(tour)


@pytest.mark.parametrize("at", [
    np.zeros((20000, 2)), np.c_[np.arange(20000), np.zeros(20000)], np.random.default_rng(1).integers(0, 3, (20000, 2)),
    np.repeat(np.arange(5), 4000)[:, None] * [1, 7],
], ids=["one place", "a line", "nine places", "five places"])
def test_cities_that_are_alike_take_no_longer(at: NDArray[np.float64], host: HostDevice) -> None:
    tsp = from_points(at.astype(float), "EUC_2D", "plane", np.arange(len(at)))
    cities = kernel_cities(tsp)
    lists, begun = near_lists(host, cities, 8, 2), time.process_time()
    tour = first_tours(host, cities, lists, [1])
    assert time.process_time() - begun < 2.0
    assert np.array_equal(np.sort(tour[0]), np.arange(len(at)))
    assert cities.costs_of(tour)[0] <= 8 * np.ptp(at, axis=0).sum()
