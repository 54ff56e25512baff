"""Improved tours are valid, have the right length, and allow no improving move by an oracle that tries them all."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.instance import nbytes
from hpcsolve.algorithms.ant_colony.max_min import (
    KINDS,
    TOUR_THREADS,
    LocalSearch,
)
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.build import HOST_FLAGS
from hpcsolve.device.host import HostDevice
from tests.conftest import Start

Cost = NDArray[np.int32]
Tours = NDArray[np.uint16]
FLIPS = {"2-opt": 1, "3-opt": 2, "4-opt": 3}


def nearest(cost: Cost) -> list[list[int]]:
    """Return all other cities of each city, by (cost, number)."""
    cities = range(len(cost))
    return [sorted(set(cities) - {i}, key=lambda j, i=i: (int(cost[i, j]), j)) for i in cities]


def improved(
    device: Device, cost: Cost, tours: Tours, kind: str, breadth: int = 8, incumbents: Tours | None = None,
    threads: int = TOUR_THREADS,
) -> tuple[Tours, NDArray[np.uint64]]:
    """Return tours and lengths after one call of the search. Lists are wider than the breadth."""
    lists = [row + [i] * 3 for i, row in enumerate(nearest(cost))]
    buffers = [device.upload(a) for a in (cost, np.array(lists, np.uint16), tours)]
    lengths, former = device.zeros(len(tours), np.uint64), device.upload(incumbents) if incumbents is not None else None
    search = LocalSearch(device, buffers[0], buffers[1], buffers[2], lengths, kind, breadth, threads)
    search.improve(former)
    answer = buffers[2].download(), lengths.download()
    search.close()
    for buffer in (*buffers, lengths, *([former] if former else [])):
        buffer.free()
    return answer


def length(cost: Cost, tour: NDArray[Any]) -> int:
    """Return the cost of a tour."""
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


def random_tours(count: int, n: int, seed: int = 0) -> Tours:
    """Return random permutations."""
    return np.random.default_rng([count, n, seed]).permuted(np.tile(np.arange(n, dtype=np.uint16), (count, 1)), axis=1)


def costs_for(kind: str) -> dict[str, Cost]:
    """Return instances of every size up to 9 and larger ones, with ties, coinciding points and the largest costs."""
    if kind == "insertion":
        small = {f"directed {n}": random_costs(n, False) for n in (*range(4, 10), 30, 64, 65)}
        return {**small, "directed ties": random_costs(40, False, 3), "directed large": random_costs(20, False, 2**30)}
    return {
        **{f"points {n}": points(n, 1000) for n in (*range(4, 10), 63, 64, 65, 200)},
        "ties": random_costs(50, True, 3),
        "all equal": random_costs(12, True, 5, 5),
        "zero": random_costs(12, True, 0),
        "one place": points(60, 4),
        "large": random_costs(30, True, 2**30),
        "triangle inequality broken": random_costs(50, True, 10**6),
    }


CASES = [(kind, name) for kind in KINDS for name in costs_for(kind)]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_tours_are_valid_with_their_length_and_never_worse(kind: str, name: str, device: Device) -> None:
    cost = costs_for(kind)[name]
    before = random_tours(12, len(cost))
    tours, lengths = improved(device, cost, before, kind)
    assert (np.sort(tours, axis=1) == np.arange(len(cost))).all()
    assert [length(cost, tour) for tour in tours] == lengths.tolist()
    assert all(new <= length(cost, old) for new, old in zip(lengths.tolist(), before))


class Moves:
    """Every move of a kind that a tour's lists allow, each tried by following the tour that it gives.

    A move is a tuple of cities: the edges (0, 1), (2, 3), .. are removed, (1, 2), (3, 4), .. and (last, 0) are added.
    """

    def __init__(self, cost: Cost, tour: NDArray[Any], kind: str, breadth: int) -> None:
        """Take one tour."""
        self.cost, self.kind, self.directed = cost.tolist(), kind, kind == "insertion"
        self.lists = [row[:breadth] for row in nearest(cost)]
        cities = tour.tolist()
        self.before = dict(zip(cities, cities[-1:] + cities[:-1]))
        self.after = dict(zip(cities, cities[1:] + cities[:1]))

    def beside(self, city: int) -> tuple[int, ...]:
        """Return the other ends of the edges at a city that may be removed, or the tail of the arc to it."""
        return (self.before[city],) if self.directed else (self.before[city], self.after[city])

    def improving(self) -> tuple[int, ...] | None:
        """Return a move that shortens the tour, if there is one."""
        starts = ((a, b) for a in self.before for b in self.beside(a))
        return next(filter(None, (self.extended((a, b), self.cost[b][a], True) for a, b in starts)), None)

    def extended(self, move: tuple[int, ...], gained: int, tour: bool) -> tuple[int, ...] | None:
        """Return such a move that begins like this one. `tour` tells whether this one, closed, gives a tour."""
        for c in self.lists[move[-1]]:
            left = gained - self.cost[move[-1]][c]
            if left <= 0:
                return None
            for d in self.beside(c):
                longer, gain = (*move, c, d), left + self.cost[d][c]
                if not self.sound(longer):
                    continue
                closes = self.gives_a_tour(longer)
                if closes and gain > self.cost[d][move[0]]:
                    return longer
                found = self.extended(longer, gain, closes) if self.goes_on(len(longer), tour, closes) else None
                if found:
                    return found
        return None

    def goes_on(self, cities: int, before: bool, closes: bool) -> bool:
        """Return whether a move may go on: flips follow flips. A cycle and a path must be joined by the next edge."""
        if closes:
            return before and cities // 2 - 1 < FLIPS.get(self.kind, 0)
        return cities == 4 and self.kind != "2-opt"

    def sound(self, move: tuple[int, ...]) -> bool:
        """Return whether the removed edges differ, and no added edge is in the tour."""
        out = {frozenset(edge) for edge in zip(move[::2], move[1::2])}
        there = [self.after[a] == b or (not self.directed and self.before[a] == b)
                 for a, b in zip(move[1::2], move[2::2])]
        return len(out) == len(move) // 2 and not any(there)

    def gives_a_tour(self, move: tuple[int, ...]) -> bool:
        """Return whether all cities lie on one cycle after the move."""
        new = list(zip(move[1::2], (*move[2::2], move[0])))
        if self.directed:
            after = {**self.after, **dict(new)}
            return is_cycle(lambda _, city: after[city], len(after))
        edges = {city: [self.before[city], self.after[city]] for city in self.before}
        for a, b in zip(move[::2], move[1::2]):
            edges[a].remove(b)
            edges[b].remove(a)
        for a, b in new:
            edges[a].append(b)
            edges[b].append(a)
        return is_cycle(lambda last, city: edges[city][edges[city][0] == last], len(edges))


def is_cycle(step: Callable[[int, int], int], n: int) -> bool:
    """Return whether n steps from city 0, and no fewer, come back to it."""
    last, city, steps = -1, 0, 0
    while steps < n and (steps == 0 or city != 0):
        last, city, steps = city, step(last, city), steps + 1
    return city == 0 and steps == n


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "high"), [(5, 9), (9, 1000), (16, 1000), (24, 5), (60, 10**6)])
def test_no_improving_move_is_left(kind: str, n: int, high: int, device: Device) -> None:
    """The search is repeated until nothing changes, since a city is not looked at again for changes far from it."""
    cost, breadth = random_costs(n, kind != "insertion", high), 5
    tours, lengths = improved(device, cost, random_tours(4, n), kind, breadth)
    for _ in range(20):
        tours, again = improved(device, cost, tours, kind, breadth)
        if np.array_equal(again, lengths):
            break
        lengths = again
    assert np.array_equal(again, lengths)
    assert [Moves(cost, tour, kind, breadth).improving() for tour in tours] == [None] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_finds_improving_moves(kind: str, device: Device) -> None:
    """Random tours can be improved, and so can those that a weaker kind has improved."""
    cost = random_costs(24, kind != "insertion")
    start = random_tours(10, 24)
    assert all(Moves(cost, tour, kind, 5).improving() for tour in start)
    weaker = {"3-opt": "2-opt", "4-opt": "3-opt"}.get(kind)
    if weaker:
        tours, _ = improved(device, cost, start, weaker, 5)
        assert any(Moves(cost, tour, kind, 5).improving() for tour in tours)


@pytest.mark.parametrize("kind", KINDS)
def test_small_tours_are_often_optimal(kind: str, device: Device) -> None:
    """The best of 30 random starts with 8 cities, in 30 instances, by brute force over all tours."""
    found = 0
    for seed in range(30):
        cost = random_costs(8, kind != "insertion", seed=seed)
        _, lengths = improved(device, cost, random_tours(30, 8), kind)
        rest = np.array(list(itertools.permutations(range(1, 8))))
        every = np.concatenate([np.zeros((len(rest), 1), int), rest], axis=1)
        optimum = cost[every, np.roll(every, -1, axis=1)].sum(axis=1, dtype=np.int64).min()
        assert lengths.min() >= optimum
        found += lengths.min() == optimum
    assert found >= (27 if kind == "2-opt" else 30)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_tour_matters_not_its_row(kind: str, device: Device) -> None:
    cost = random_costs(70, False) if kind == "insertion" else points(70, 500)
    start = random_tours(9, 70)
    tours, lengths = improved(device, cost, start, kind)
    backwards, reverse = improved(device, cost, start[::-1].copy(), kind)
    alone, one = improved(HostDevice(2), cost, start[4:5], kind)
    assert np.array_equal(tours, backwards[::-1]) and np.array_equal(lengths, reverse[::-1])
    assert np.array_equal(tours[4:5], alone) and np.array_equal(lengths[4:5], one)


@pytest.mark.parametrize("kind", KINDS)
def test_edges_of_the_incumbent_are_not_looked_at(kind: str, device: Device) -> None:
    """An incumbent stays, however bad it is. Another tour is improved where it differs."""
    cost = random_costs(80, False) if kind == "insertion" else points(80, 500)
    bad = random_tours(2, 80)
    same, _ = improved(device, cost, bad.repeat(3, axis=0), kind, incumbents=bad)
    assert np.array_equal(same, bad.repeat(3, axis=0))
    good, _ = improved(device, cost, bad, kind)
    kicked = good.repeat(3, axis=0)
    kicked[:, 10:16] = kicked[:, [13, 14, 15, 10, 11, 12]]  # two segments of each change places
    mended, after = improved(device, cost, kicked, kind, incumbents=good)
    before = [length(cost, tour) for tour in kicked]
    assert (after <= before).all() and (after < before).any()
    assert after.tolist() == [length(cost, tour) for tour in mended]
    turned, _ = improved(device, cost, good[:, ::-1].copy(), kind, incumbents=good)
    assert kind == "insertion" or np.array_equal(turned, good[:, ::-1])


def digest(threads: int) -> str:
    """Return a hash of tours improved by every kind, in some sizes, with so many threads a block."""
    total = hashlib.sha256()
    for kind in KINDS:
        for n, breadth in ((4, 3), (9, 8), (40, 5)):
            cost = random_costs(n, kind != "insertion", 50)
            for part in improved(HostDevice(1), cost, random_tours(2, n), kind, breadth, threads=threads):
                total.update(part.tobytes())
    return total.hexdigest()


@pytest.mark.slow
def test_blocks_of_real_threads_find_the_same(run_process: Start) -> None:
    module = "tests.algorithms.ant_colony.test_local_search"
    program = f"from {module} import digest; print(*map(digest, (1, 32, 45, 256)))"
    flags = HOST_FLAGS.replace("-O3", "-O1").replace("-fopenmp", "-pthread") + " -DHOST_THREADS"
    done = run_process([sys.executable, "-c", program], timeout=120, env={**os.environ, "HPCSOLVE_CXXFLAGS": flags})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(1)] * 4


def test_few_tours_get_more_threads() -> None:
    gpu = DeviceInfo("cuda", "", "", "", units=132)
    threads = [LocalSearch.threads_for(kind, 8, 25, gpu) for kind in ("2-opt", "3-opt", "insertion")]
    assert threads == [128, 256, 64] and LocalSearch.threads_for("3-opt", 5, 1000, gpu) == 96
    assert LocalSearch.threads_for("4-opt", 8, 132 * 32, gpu) == LocalSearch.threads_for("4-opt", 8, 4000, gpu) == 32


def test_memory_is_what_was_planned() -> None:
    device, cost = HostDevice(1), points(70, 500)
    lists = np.array(nearest(cost), np.uint16)
    inputs = [device.upload(a) for a in (cost, lists, random_tours(6, 70), np.zeros(6, np.uint64))]
    before = device.allocated
    search = LocalSearch(device, inputs[0], inputs[1], inputs[2], inputs[3], "3-opt", 8)
    assert device.allocated - before == nbytes(LocalSearch.shapes(6, 70, 8))
    search.close()
    assert device.allocated == before
