"""The kernels of the engine phast on small graphs. Those that make a hierarchy run on the CPU, whatever the device."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths.engines import hierarchy, searcher
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    UNLIMITED,
    Contraction,
    Hierarchy,
    contracted,
)
from hpcsolve.algorithms.shortest_paths.engines.phast import WIDTHS, Shape, Sweeper
from hpcsolve.algorithms.shortest_paths.reductions import solve_summaries
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys, SearchGraph, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.algorithms.shortest_paths.tables import SearchCheckpoints
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.access import ONE, Access, Steps, by_formula
from hpcsolve.problems.graph import Graph, from_edges
from hpcsolve.problems.questions import Reduction


def hierarchies(device: Device) -> None:
    """Rows and predecessors by every width, with plateaus, in parts and depth first, are those of Near-Far."""
    rng = np.random.default_rng(5)
    ends, weights = rng.integers(0, 60, (2, 100)), rng.integers(0, 9, 100)
    for keys, directed in ((WORD, False), (LONG, True)):
        graph = from_edges(*ends, weights, n=60, directed=directed)
        same_as_near_far(device, graph, keys)


def same_as_near_far(device: Device, graph: Graph, keys: Keys) -> None:
    """Compare the tables from some sources."""
    host = device if isinstance(device, HostDevice) else HostDevice(1)
    laid_out = lay_out(graph, keys)
    contraction = contracted(laid_out, UNLIMITED, host)
    assert isinstance(contraction, Contraction)
    sources = [np.array([v]) for v in range(0, 60, 3)]
    wanted, shape = Want.DISTANCES | Want.PREDECESSORS, (len(sources), graph.n)
    first = np.empty(shape, keys.dtype), np.empty(shape, np.uint32)
    with searcher(graph, HostDevice(1), keys, searches=len(sources)) as prepared:
        prepared.solve(row_searches(sources, None, prepared.graph.places()), wanted, *first)
    # Depth-first order is for blocks of one thread: it has no levels, between which several threads need a barrier.
    real_threads = device.info.kind == "cuda" or "HOST_THREADS" in os.environ.get("HPCSOLVE_CXXFLAGS", "")
    for in_parts in (True,) if real_threads else (True, False):
        given = several_parts(laid_out, contraction, keys, host, in_parts)
        for width in WIDTHS[keys.code]:
            found = np.empty(shape, keys.dtype), np.empty(shape, np.uint32)
            with Sweeper(device, given, keys, keys.limit, Shape(width, 2), True, 96) as sweeper:
                solved = sweeper.solve(row_searches(sources, None, given.graph.places()), wanted, *found)
            assert not solved.wrong.any(), (keys.code, width)
            assert all(np.array_equal(mine, other) for mine, other in zip(found, first)), (keys.code, width)
            restricted_to_targets(device, given, keys, Shape(width, 2), sources, first[0])
    same_summaries(device, laid_out, contraction, graph, keys)


def several_parts(
    laid_out: SearchGraph, contraction: Contraction, keys: Keys, host: HostDevice, in_parts: bool
) -> Hierarchy:
    """Return a hierarchy with several parts in a launch, and levels that are wide, as larger graphs have them."""
    with mock.patch.object(hierarchy, "PART", 5):
        found = Hierarchy.of(laid_out, contraction, keys, host, in_parts)
    assert not in_parts or 2 < len(found.launch) < len(found.part) - 5
    return found


def restricted_to_targets(
    device: Device, given: Hierarchy, keys: Keys, shape: Shape, sources: list[NDArray[np.int64]], rows: NDArray[Any]
) -> None:
    """Sweep over the part of a hierarchy above a target, and compare with the column of whole rows."""
    targets = np.array([7])
    part = given.above(given.graph.places()[targets], keys)
    assert part is not None
    with Sweeper(device, given, keys, keys.limit, shape, threads=96, restriction=part) as sweeper:
        searches = row_searches(sources, targets, given.graph.places())
        solved = sweeper.solve(searches, Want.TARGETS)
    assert np.array_equal(solved.target_keys, rows[:, targets[0]]), (keys.code, shape.width)


def same_summaries(device: Device, laid_out: SearchGraph, contraction: Contraction, graph: Graph, keys: Keys) -> None:
    """Reduce the rows of sweeps of every width and those of Near-Far, with targets enough for two warps of a GPU."""
    targets, seeds = np.arange(2100) % 60, [np.array([v]) for v in range(0, 60, 3)]
    decays = Steps(np.array([20], np.uint64), np.array([ONE], np.uint32)), by_formula("exponential", 9, True)
    access = Access(("within", "exponential"), decays, np.arange(2100, dtype=np.uint64) ** 3)
    reduction = Reduction((4, 20), 3, True, True, access=access)
    with searcher(graph, device, keys, searches=len(seeds)) as prepared:
        expected = solve_summaries(prepared, seeds, targets, reduction, silent, SearchCheckpoints()).keys
    host = device if isinstance(device, HostDevice) else HostDevice(1)
    given = several_parts(laid_out, contraction, keys, host, True)
    for width in WIDTHS[keys.code]:
        with Sweeper(device, given, keys, keys.limit, Shape(width, 2), threads=96) as sweeper:
            found = solve_summaries(sweeper, seeds, targets, reduction, silent, SearchCheckpoints()).keys
        assert np.array_equal(found, expected), (keys.code, width)
