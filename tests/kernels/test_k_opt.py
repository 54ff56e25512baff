"""Improved tours are valid, have the right length, and allow no improving exchange by an oracle that tries them all."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import OF_MATRIX, OF_PAIRS, kernel_cities
from hpcsolve.algorithms.tours.k_opt import MOST_LISTED, KOpt, Rules, threads_for
from hpcsolve.algorithms.tours.near import near_lists
from hpcsolve.device.base import Device, DeviceInfo, nbytes_of
from hpcsolve.device.build import HOST_FLAGS
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.tsp import Tsp
from tests.conftest import Start

Cost = NDArray[np.int32]
Tours = NDArray[Any]
DEEPEST = Rules()
ALL = Rules(breadth=(MOST_LISTED,) * 5)


@dataclass(frozen=True)
class Instance:
    """Costs between cities, or arcs, and the lists of the nearest of each: by (cost, number).

    Attributes
    ----------
    cost
        From row to column.
    paired
        Whether each city is two nodes: then a tour may be read in one direction only.
    """

    cost: Cost
    paired: bool
    width: int

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.cost) * (2 if self.paired else 1)

    def near(self) -> tuple[NDArray[np.uint32], Cost]:
        """Return the lists of all nodes, and the costs of the edges."""
        after, before = nearest(self.cost, self.width), nearest(self.cost.T, self.width)
        rows = list(after)
        if self.paired:
            rows = [row for i in range(len(self.cost)) for row in (2 * before[i] + 1, 2 * after[i])]
        near = np.array(rows, np.uint32)
        costs = np.array([[self.between(i, int(j)) for j in row] for i, row in enumerate(near)], np.int32)
        return near, costs

    def between(self, a: int, b: int) -> int:
        """Return the cost between two nodes."""
        if not self.paired:
            return int(self.cost[a, b])
        if a % 2 == b % 2:
            return 1 << 30
        leaves, enters = (a, b) if a % 2 else (b, a)
        return int(self.cost[leaves // 2, enters // 2])

    def fixed(self) -> NDArray[np.uint32] | None:
        """Return the other end of each node's fixed edge, if there are any."""
        return np.arange(self.nodes, dtype=np.uint32) ^ 1 if self.paired else None


def nearest(cost: NDArray[Any], width: int) -> NDArray[np.int64]:
    """Return the nearest other cities of each city, by (cost, number)."""
    cities = range(len(cost))
    rows = [sorted(set(cities) - {i}, key=lambda j, i=i: (int(cost[i, j]), j))[:width] for i in cities]
    return np.array(rows, np.int64)


def improved(
    device: Device, instance: Instance, tours: Tours, rules: Rules = DEEPEST, incumbents: Tours | None = None,
    threads: int = 0, blocks: int = 3, fixed: NDArray[np.uint32] | None = None,
) -> tuple[Tours, NDArray[np.uint64]]:
    """Return tours and lengths after one call of the search."""
    near, costs = instance.near()
    fixed = instance.fixed() if fixed is None else fixed
    arrays = (near, costs, instance.cost, tours, fixed, incumbents)
    buffers = [device.upload(np.ascontiguousarray(array)) for array in arrays if array is not None]
    lengths = device.zeros(len(tours), np.uint64)
    where = {"n": instance.nodes, "metric": OF_PAIRS if instance.paired else OF_MATRIX, "points": None,
             "matrix": buffers[2], "fixed": None if fixed is None else buffers[4]}
    search = KOpt(device, where, {"width": near.shape[1], "near": buffers[0], "cost": buffers[1]}, tours.dtype, blocks,
                  rules, threads)
    search.improve(buffers[3], lengths, None if incumbents is None else buffers[-1])
    answer = buffers[3].download(), lengths.download()
    search.close()
    for buffer in (*buffers, lengths):
        buffer.free()
    return answer


def length(cost: Cost, tour: NDArray[Any]) -> int:
    """Return the cost of a tour of cities."""
    return int(cost[tour, np.roll(tour, -1)].sum(dtype=np.int64))


def random_costs(n: int, symmetric: bool, high: int = 1000, low: int = 0, seed: int = 0) -> Cost:
    """Return random costs, many of them equal if `high` is small."""
    cost = np.random.default_rng([n, high, seed]).integers(low, high, (n, n), endpoint=True).astype(np.int32)
    cost = np.minimum(cost, cost.T) if symmetric else cost
    np.fill_diagonal(cost, 0)
    return cost


def points(n: int, extent: int, seed: int = 0) -> Cost:
    """Return rounded distances of random points, some of which coincide."""
    point = np.random.default_rng([n, extent, seed]).integers(0, extent, (n, 2))
    distance = np.linalg.norm(point[:, None] - point, axis=2)
    return np.rint(distance).astype(np.int32)


def random_tours(count: int, n: int, seed: int = 0, word: type[np.unsignedinteger[Any]] = np.uint16) -> Tours:
    """Return random permutations."""
    return np.random.default_rng([count, n, seed]).permuted(np.tile(np.arange(n, dtype=word), (count, 1)), axis=1)


DIRECTED = {
    **{f"directed {n}": random_costs(n, False) for n in (*range(4, 10), 30, 64, 65)},
    "directed ties": random_costs(40, False, 3),
    "directed large": random_costs(20, False, 2**30 - 1),
    "directed and symmetric": random_costs(30, True),
}
UNDIRECTED = {
    **{f"points {n}": points(n, 1000) for n in (*range(4, 10), 63, 64, 65, 200)},
    "ties": random_costs(50, True, 3),
    "all equal": random_costs(12, True, 5, 5),
    "zero": random_costs(12, True, 0),
    "one place": points(60, 4),
    "large": random_costs(30, True, 2**30 - 1),
    "triangle inequality broken": random_costs(50, True, 10**6),
}
INSTANCES = {name: Instance(cost, name in DIRECTED, min(8, len(cost) - 1))
             for name, cost in {**DIRECTED, **UNDIRECTED}.items()}


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("depth", [2, 3, 6])
def test_tours_are_valid_with_their_length_and_never_worse(name: str, depth: int, device: Device) -> None:
    instance = INSTANCES[name]
    before = random_tours(12, len(instance.cost))
    tours, lengths = improved(device, instance, before, Rules(depth))
    assert (np.sort(tours, axis=1) == np.arange(len(instance.cost))).all()
    assert [length(instance.cost, tour) for tour in tours] == lengths.tolist()
    assert all(new <= length(instance.cost, old) for new, old in zip(lengths.tolist(), before))
    assert np.array_equal(tours[:, 0], before[:, 0]) or not instance.paired


class Exchanges:
    """Every exchange that a tour's lists allow, each tried by following the tour that it gives.

    An exchange is a tuple of nodes: the edges (0, 1), (2, 3), .. are removed, (1, 2), (3, 4), .. and (last, 0) added.
    """

    def __init__(self, instance: Instance, tour: NDArray[Any], depth: int) -> None:
        """Take one tour of cities."""
        self.instance, self.depth = instance, depth
        self.lists = instance.near()[0].tolist()
        fixed = instance.fixed()
        self.fixed = set() if fixed is None else {frozenset(edge) for edge in enumerate(fixed.tolist())}
        nodes = [node for city in tour.tolist() for node in ((2 * city, 2 * city + 1) if instance.paired else (city,))]
        self.beside = {b: (a, c) for a, b, c in zip([nodes[-1], *nodes], nodes, [*nodes[1:], nodes[0]])}

    def improving(self) -> tuple[int, ...] | None:
        """Return an exchange that shortens the tour, if there is one."""
        return next(self._improving(), None)

    def _improving(self) -> Iterator[tuple[int, ...]]:
        between = self.instance.between
        for a, others in self.beside.items():
            for b in others:
                if frozenset((a, b)) not in self.fixed:
                    yield from self._extended((a, b), between(a, b))

    def _extended(self, exchange: tuple[int, ...], gained: int) -> Iterator[tuple[int, ...]]:
        """Yield the improving exchanges that begin like this one."""
        between, last = self.instance.between, exchange[-1]
        for c in self.lists[last]:
            left = gained - between(last, c)
            if left <= 0 or c in self.beside[last]:
                continue
            for d in self.beside[c]:
                removed = {frozenset(edge) for edge in zip(exchange[::2], exchange[1::2])}
                if d == exchange[0] or frozenset((c, d)) in removed | self.fixed:
                    continue
                longer, gain = (*exchange, c, d), left + between(c, d)
                if gain > between(d, exchange[0]) and self._gives_a_tour(longer):
                    yield longer
                if len(longer) < 2 * self.depth:
                    yield from self._extended(longer, gain)

    def _gives_a_tour(self, exchange: tuple[int, ...]) -> bool:
        """Return whether all nodes lie on one cycle after the exchange."""
        edges = {node: list(others) for node, others in self.beside.items()}
        for a, b in zip(exchange[::2], exchange[1::2]):
            edges[a].remove(b)
            edges[b].remove(a)
        for a, b in zip(exchange[1::2], (*exchange[2::2], exchange[0])):
            edges[a].append(b)
            edges[b].append(a)
        first = exchange[0]
        before, node, steps = first, edges[first][0], 1
        while node != first and steps <= len(edges):
            before, node, steps = node, edges[node][edges[node][0] == before], steps + 1
        return steps == len(edges)


def settled(device: Device, instance: Instance, tours: Tours, rules: Rules) -> Tours:
    """Return tours that the search leaves as they are: a node is not looked at again for changes far from it."""
    tours, lengths = improved(device, instance, tours, rules)
    for _ in range(20):
        tours, again = improved(device, instance, tours, rules)
        if np.array_equal(again, lengths):
            return tours
        lengths = again
    raise AssertionError("the search does not settle")


@pytest.mark.parametrize("paired", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize(("n", "high", "depth", "width"), [
    (5, 9, 6, 2), (9, 1000, 5, 2), (16, 1000, 4, 2), (24, 5, 3, 2), (40, 10**6, 4, 2), (40, 1000, 2, 8),
])
def test_no_improving_exchange_is_left(
    n: int, high: int, depth: int, width: int, paired: bool, device: Device
) -> None:
    """With lists of 2 a step has at most as many items as it goes on with. Exchanges of 2 edges are all tried."""
    instance, rules = Instance(random_costs(n, not paired, high), paired, width), Rules(depth, ALL.breadth)
    tours = settled(device, instance, random_tours(3, n), rules)
    assert [Exchanges(instance, tour, depth).improving() for tour in tours] == [None] * 3


@pytest.mark.parametrize("paired", [False, True], ids=["undirected", "directed"])
def test_the_oracle_finds_improving_exchanges(paired: bool, device: Device) -> None:
    """Random tours can be improved, and so can those that exchanges of fewer edges have improved."""
    instance = Instance(random_costs(24, not paired), paired, 5)
    start = random_tours(10, 24)
    assert all(Exchanges(instance, tour, 3).improving() for tour in start)
    tours, _ = improved(device, instance, start, Rules(3 if paired else 2))
    assert any(Exchanges(instance, tour, 5).improving() for tour in tours)


def test_no_segment_of_a_directed_tour_can_be_moved(device: Device) -> None:
    """Of 6 cities all or-exchanges are tried, by brute force: segments that follow one another change places."""
    for seed in range(20):
        cost = random_costs(6, False, 50, seed=seed)
        instance = Instance(cost, True, 5)
        for tour in settled(device, instance, random_tours(6, 6, seed), Rules(3, ALL.breadth)):
            for turn, i, j in itertools.product(range(6), range(1, 6), range(1, 6)):
                line = np.roll(tour, turn)
                other = np.concatenate([line[i : i + j], line[:i], line[i + j :]])
                assert length(cost, other) >= length(cost, tour)


@pytest.mark.parametrize("paired", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("depth", [2, 3, 6])
def test_small_tours_are_often_optimal(depth: int, paired: bool, device: Device) -> None:
    """The best of 30 random starts with 8 cities, in 30 instances, by brute force over all tours."""
    found = 0
    for seed in range(30):
        cost = random_costs(8, not paired, seed=seed)
        _, lengths = improved(device, Instance(cost, paired, 7), random_tours(30, 8), Rules(depth))
        rest = np.array(list(itertools.permutations(range(1, 8))))
        every = np.concatenate([np.zeros((len(rest), 1), int), rest], axis=1)
        optimum = cost[every, np.roll(every, -1, axis=1)].sum(axis=1, dtype=np.int64).min()
        assert lengths.min() >= optimum
        found += lengths.min() == optimum
    assert found >= (30 if depth > 2 else 0 if paired else 27)


@pytest.mark.parametrize("name", ["points 200", "directed 64"])
def test_only_the_tour_matters_not_its_row(name: str, device: Device) -> None:
    instance = INSTANCES[name]
    start = random_tours(9, len(instance.cost))
    tours, lengths = improved(device, instance, start)
    backwards, reverse = improved(device, instance, start[::-1].copy(), blocks=9)
    alone, one = improved(HostDevice(2), instance, start[4:5])
    assert np.array_equal(tours, backwards[::-1]) and np.array_equal(lengths, reverse[::-1])
    assert np.array_equal(tours[4:5], alone) and np.array_equal(lengths[4:5], one)


@pytest.mark.parametrize("paired", [False, True], ids=["undirected", "directed"])
def test_edges_of_the_incumbent_are_not_looked_at(paired: bool, device: Device) -> None:
    """An incumbent stays, however bad it is. Another tour is improved where it differs."""
    cost = random_costs(80, False) if paired else points(80, 500)
    instance, bad = Instance(cost, paired, 8), random_tours(2, 80)
    same, lengths = improved(device, instance, bad.repeat(3, axis=0), incumbents=bad)
    assert np.array_equal(same, bad.repeat(3, axis=0))
    assert lengths.tolist() == [length(cost, tour) for tour in same]
    good, _ = improved(device, instance, bad)
    kicked = good.repeat(3, axis=0)
    kicked[:, 10:16] = kicked[:, [13, 14, 15, 10, 11, 12]]  # two segments of each change places
    mended, after = improved(device, instance, kicked, incumbents=good)
    before = [length(cost, tour) for tour in kicked]
    assert (after <= before).all() and (after < before).any()
    assert after.tolist() == [length(cost, tour) for tour in mended]
    turned, _ = improved(device, instance, good[:, ::-1].copy(), incumbents=good)
    assert paired or np.array_equal(turned, good[:, ::-1])


@pytest.mark.parametrize("metric", ["EUC_2D", "CEIL_2D", "ATT", "MAN_2D", "MAX_2D", "GEO"])
def test_costs_from_coordinates_and_their_matrix_give_the_same_tours(metric: str, device: Device) -> None:
    """The kernels compute the costs of the instance's own metric, from which the oracle's matrix comes."""
    at = np.random.default_rng(5).integers(-80, 80, (70, 2)).astype(np.float64)
    tsp = Tsp("plane", None, np.arange(70), coordinates=at, metric=metric)
    cities, before = kernel_cities(tsp), random_tours(3, 70, word=np.uint32)
    cost = tsp.cost[np.ix_(cities.order, cities.order)]
    np.fill_diagonal(cost, 0)
    tours, lengths = improved(device, Instance(cost.astype(np.int32), False, 6), before)
    with HostDevice(1) as host:
        search = KOpt.of_nodes(device, cities, near_lists(host, cities, 6, 0), 3)
    again = before.copy()
    assert np.array_equal(search.improved(again), lengths) and np.array_equal(again, tours)
    assert cities.costs_of(again).tolist() == lengths.tolist()
    search.close()


def in_fixed_edges(tour: NDArray[Any], fixed: NDArray[np.uint32]) -> set[int]:
    """Return the nodes with a fixed edge that the tour has."""
    return {int(node) for a, b in zip(tour, np.roll(tour, -1)) if fixed[a] == b for node in (a, b)}


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(6, 40), st.integers(1, 20))
def test_fixed_edges_stay(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    cost = points(n, 300, seed)
    tours = rng.permuted(np.tile(np.arange(n, dtype=np.uint32), (2, 1)), axis=1)
    for tour in tours:
        fixed = np.full(n, 0xFFFFFFFF, np.uint32)
        for at in rng.choice(n // 2, min(count, n // 2), replace=False):
            a, b = tour[2 * at], tour[2 * at + 1]
            fixed[a], fixed[b] = b, a
        found, lengths = improved(HostDevice(1), Instance(cost, False, 5), tour[None], fixed=fixed)
        assert in_fixed_edges(found[0], fixed) == set(np.flatnonzero(fixed != 0xFFFFFFFF).tolist())
        assert length(cost, found[0]) == lengths[0] <= length(cost, tour)


def digest(threads: int) -> str:
    """Return a hash of tours improved in several ways, with so many threads a block."""
    total = hashlib.sha256()
    for paired, word in itertools.product((False, True), (np.uint16, np.uint32)):
        if paired and word is np.uint32:
            continue
        for n, width, depth in ((4, 3, 6), (9, 8, 3), (40, 5, 6)):
            instance = Instance(random_costs(n, not paired, 50), paired, width)
            for part in improved(HostDevice(1), instance, random_tours(2, n, word=word), Rules(depth), threads=threads):
                total.update(part.tobytes())
    return total.hexdigest()


@pytest.mark.slow
def test_blocks_of_real_threads_find_the_same(run_process: Start) -> None:
    program = "from tests.kernels.test_k_opt import digest; print(*map(digest, (1, 32, 45, 160)))"
    flags = HOST_FLAGS.replace("-O3", "-O1").replace("-fopenmp", "-pthread") + " -DHOST_THREADS"
    done = run_process([sys.executable, "-c", program], timeout=240, env={**os.environ, "HPCSOLVE_CXXFLAGS": flags})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(1)] * 4


def test_few_tours_get_more_threads() -> None:
    gpu = DeviceInfo("cuda", "", "", "", units=132)
    assert [threads_for(tours, gpu) for tours in (1, 25, 132 * 16, 132 * 32, 10**6)] == [128, 128, 64, 32, 32]


def test_memory_is_what_was_planned() -> None:
    tsp = uniform_tsp(70, seed=1)
    with HostDevice(1) as device:
        cities = kernel_cities(tsp)
        lists, before = near_lists(device, cities, 8, 2), device.allocated
        search = KOpt.of_nodes(device, cities, lists, 6)
        assert device.allocated - before == nbytes_of(KOpt.shapes(6, 70).values())
        search.close()
        assert device.allocated == before
