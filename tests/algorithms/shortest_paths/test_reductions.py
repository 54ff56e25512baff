"""Reductions of tables by sweeps and by searches one by one, against scipy's distances reduced in plain Python."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.engines.phast import WIDTHS, Shape, Sweeper
from hpcsolve.algorithms.shortest_paths.reductions import (
    FARTHEST,
    REACHED,
    WITHIN,
    Reducer,
    buckets_of,
    solve_summaries,
    sums_of,
)
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, REAL, WORD
from hpcsolve.algorithms.shortest_paths.tables import WRONG, SearchCheckpoints
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.access import Access, Steps, by_formula
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import to_scipy
from hpcsolve.problems.questions import Reduction
from tests.algorithms.shortest_paths.test_phast import GRAPHS, hierarchy_of, random_graph, roads


@dataclass(frozen=True)
class Asked:
    """What is asked of a graph: sources and targets (None: all), what is kept, and a cutoff of the searches."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64] | None
    reduction: Reduction
    cutoff: int | None = None


def random_question(graph, seed):
    """Return a question with some sources, targets that may stand twice, and up to three cutoffs."""
    rng = np.random.default_rng(seed)
    sources = rng.choice(graph.n, min(graph.n, int(rng.integers(1, 70))), replace=False)
    targets = rng.integers(0, graph.n, int(rng.integers(1, 40))) if seed % 3 else None
    cutoffs = tuple(rng.integers(0, 1200, int(rng.integers(0, 4))).tolist())
    columns = graph.n if targets is None else len(targets)
    reduction = Reduction(cutoffs, int(rng.integers(0, 8)), True, True, access=random_access(columns, rng))
    return Asked(sources, targets, reduction, int(rng.integers(0, 1500)) if seed % 2 else None)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_a_distance_is_covered_by_a_step_of_its_bucket(dtype):
    """It lies between the first steps of its bucket and of the next one, where the kernel searches it by halves."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        largest = int(np.iinfo(dtype).max) >> int(rng.integers(0, 8 * np.dtype(dtype).itemsize - 5))
        step = np.sort(rng.integers(0, largest, int(rng.integers(1, 300)), dtype=dtype, endpoint=True))
        steps = step.tolist()
        dropped, bucket = buckets_of(step, bits := int(rng.integers(1, 11)))
        assert len(bucket) == 2**bits + 1
        for value in {0, *steps, *(max(0, limit - 1) for limit in steps), *(limit + 1 for limit in steps[:-1])}:
            if value <= steps[-1]:
                first, last = bucket[(value >> dropped) : (value >> dropped) + 2].tolist()
                assert bisect_left(steps, value, first, last) == bisect_left(steps, value)


def random_access(columns, rng):
    """Return up to three decays of up to 29 steps, and opportunities whose sums exceed 32 bits, or None."""
    decays = []
    for steps in rng.integers(1, 30, rng.integers(0, 4)).tolist():
        limits = np.sort(rng.choice(1200, steps, replace=False)).astype(np.uint64)
        decays.append(Steps(limits, rng.integers(0, 10**6 + 1, steps).astype(np.uint32)))
    opportunities = rng.integers(0, 10**11, columns).astype(np.uint64)
    return Access(tuple("abc"[: len(decays)]), tuple(decays), opportunities) if decays else None


def access_by(decay, near, opportunities):
    """Return opportunities times shares, added up, given pairs of a distance and the column of a target."""
    limits, shares = decay.limits.tolist(), [*decay.shares.tolist(), 0]
    return sum(shares[bisect_left(limits, distance)] * opportunities[column] for distance, column in near)


def expected(graph, asked, keys):
    """Return the summaries, from scipy's distances by sorting."""
    rows = dijkstra(to_scipy(graph).astype(float), indices=asked.sources,
                    limit=np.inf if asked.cutoff is None else asked.cutoff)
    names = range(graph.n) if asked.targets is None else asked.targets.tolist()
    none, half = keys.no_path, 4 * keys.dtype.itemsize
    found = []
    for row in rows:
        near = sorted((int(row[v]), v) for v in names if np.isfinite(row[v]))
        total, far = sum(d for d, _ in near), max([d for d, _ in near], default=0)
        least = min([v for d, v in near if d == far], default=none)
        kept = (near + asked.reduction.nearest * [(none, none)])[: asked.reduction.nearest]
        digits = [total >> i * half & (1 << half) - 1 for i in range(3)]
        counts = [sum(d <= cutoff for d, _ in near) for cutoff in asked.reduction.cutoffs]
        access, columns = asked.reduction.access, [(row[v], column) for column, v in enumerate(names)]
        totals = [access_by(decay, columns, access.opportunities.tolist()) for decay in access.decays] if access else []
        parts = [part for total in totals for part in (total & none, total >> 2 * half)]
        found.append([len(near), *digits, far, least, *counts, *parts, *(d for d, _ in kept), *(v for _, v in kept)])
    return np.array(found, keys.dtype)


def summaries(prepared, asked):
    """Return the summaries that a prepared graph makes. The check on the device must find nothing."""
    seeds = list(asked.sources[:, None])
    found = solve_summaries(prepared, seeds, asked.targets, asked.reduction, silent, SearchCheckpoints())
    assert not found.work[:, WRONG].any()
    return found.keys


def searched(graph, asked, keys, device):
    """Return the summaries by Near-Far."""
    with searcher(graph, device, keys, cutoff=asked.cutoff, searches=len(asked.sources)) as prepared:
        return summaries(prepared, asked)


def swept(graph, asked, keys, device, shape, in_parts, threads=64):
    """Return the summaries by sweeps, with so many sources a group and groups at a time."""
    limit = keys.limit if asked.cutoff is None else min(keys.limit, asked.cutoff)
    with Sweeper(device, hierarchy_of(graph, keys, in_parts), keys, limit, shape, False, threads) as prepared:
        return summaries(prepared, asked)


def test_small_graphs_equal_scipy():
    """Ties, weights of 0, several components, directed or not, by every engine, width of a group and order.

    HPCSOLVE_PHAST_GRAPHS=10000 tries so many; it takes 20 minutes.
    """
    for seed in range(GRAPHS):
        graph, keys = random_graph(seed), (WORD, LONG)[seed // 2 % 2]
        asked, device = random_question(graph, seed), HostDevice(1 + seed % 3)
        right = expected(graph, asked, keys)
        assert np.array_equal(searched(graph, asked, keys, device), right), seed
        for width in WIDTHS[keys.code]:
            mine = swept(graph, asked, keys, device, Shape(width, 1 + seed % 2), bool(seed // 3 % 2))
            assert np.array_equal(mine, right), (seed, width)


@pytest.mark.parametrize(("keys", "directed"), [(WORD, False), (LONG, True)], ids=["32", "64"])
def test_several_parts_on_every_device(keys, directed, device):
    """The targets are more than a warp of a GPU goes through, and more than a piece."""
    graph = roads(2500, directed)
    access = Access(("a", "b"), (by_formula("exponential", 3000, True), by_formula("linear", 900_000, True)),
                    np.arange(2500, dtype=np.uint64) ** 3 // 2)
    asked = Asked(np.arange(0, 2500, 101), None, Reduction((3000, 12_000), 5, True, True, access=access))
    right = expected(graph, asked, keys)
    assert np.array_equal(searched(graph, asked, keys, device), right)
    for width in WIDTHS[keys.code]:
        mine = swept(graph, asked, keys, device, Shape(width, 2), device.info.kind == "cuda")
        assert np.array_equal(mine, right), width


@pytest.mark.parametrize("threads", [32, 96])
def test_rows_of_a_few_threads_reduced(threads, device):
    """Where a block is real threads (test_on_stub_driver.py), it has so many."""
    for keys, seed in ((WORD, 4), (LONG, 8)):
        graph = random_graph(seed)
        asked = random_question(graph, seed)
        right = expected(graph, asked, keys)
        for width in WIDTHS[keys.code]:
            mine = swept(graph, asked, keys, device, Shape(width, 1), device.info.kind == "cuda", threads)
            assert np.array_equal(mine, right), (seed, width)


def test_floats_by_searches(device):
    """All but the sum, which job files cannot ask for."""
    graph = random_graph(12)
    half = Graph(**{**vars(graph), "weights": graph.weights / 2})
    offered = np.arange(graph.n, dtype=np.uint64) + 1
    halves, whole = (Access(("a",), (Steps(np.array([1.5, 20]) * k, np.array([10**6, 250_000], np.uint32)),), offered)
                     for k in (1, 2))
    asked = Asked(np.arange(min(9, graph.n)), None, Reduction((3, 40), 4, access=halves))
    with searcher(half, device, REAL) as prepared:
        found = summaries(prepared, asked)
    doubled = Asked(asked.sources, None, Reduction((6, 80), 4, access=whole))
    right = expected(graph, doubled, LONG)
    counts, nearest_names = slice(WITHIN, WITHIN + 2 + 2), slice(WITHIN + 2 + 2 + 4, None)  # counts and access
    assert np.array_equal(found[:, counts], right[:, counts])
    assert np.array_equal(found[:, nearest_names], right[:, nearest_names])
    assert np.array_equal(found[:, [REACHED, FARTHEST + 1]], right[:, [REACHED, FARTHEST + 1]])
    halves = REAL.decode(found[:, FARTHEST].copy())
    assert np.array_equal(2 * halves, right[:, FARTHEST].astype(float))


@pytest.mark.parametrize("keys", [WORD, LONG], ids=["32", "64"])
def test_sums_of_large_distances_do_not_wrap(keys, device):
    """Sum many of the largest distances. A sum of 2^64 or more is told."""
    for columns, value in ((1000, keys.limit), (1 if keys is LONG else 300, keys.limit - 1), (2, keys.limit)):
        lines = np.full((1, columns, 16), value, keys.dtype)
        vertex, out = np.arange(columns, dtype=np.uint32), np.empty((16, WITHIN), keys.dtype)
        with Reducer(device, keys, 16, 1, vertex, vertex, keys.limit, Reduction(sums=True)) as reducer:
            buffer = device.output(out)
            reducer.reduce(columns, 16, device.upload(lines), buffer)
            buffer.download(out)
        total, found = columns * int(value), sums_of(out, keys)
        assert (found is None) == (total >= 2**64)
        assert found is None or set(found.tolist()) == {total}
