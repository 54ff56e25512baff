"""The kernels of the engine phast on small graphs. Those that make a hierarchy run on the CPU, whatever the device."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.shortest_paths.keys import LONG, WORD, Keys
from hpcsolve.algorithms.shortest_paths.phast.choice import UNLIMITED
from hpcsolve.algorithms.shortest_paths.phast.contraction import Contraction, contracted
from hpcsolve.algorithms.shortest_paths.phast.hierarchy import hierarchy
from hpcsolve.algorithms.shortest_paths.phast.sweeper import WIDTHS, Shape, Sweeper
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out
from hpcsolve.algorithms.shortest_paths.searcher import searcher
from hpcsolve.algorithms.shortest_paths.searches import WANTS_DISTANCES, WANTS_PREDECESSORS, row_searches
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import from_edges


def hierarchies(device: Device) -> None:
    """Rows and predecessors by every width, with plateaus, in levels and depth first, are those of Near-Far."""
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
    wanted, shape = WANTS_DISTANCES | WANTS_PREDECESSORS, (len(sources), graph.n)
    first = np.empty(shape, keys.dtype), np.empty(shape, np.uint32)
    with searcher(graph, HostDevice(1), keys, searches=len(sources)) as prepared:
        prepared.solve(row_searches(sources, None, prepared.graph.places()), wanted, *first)
    for in_levels in (True, False) if device.info.kind == "cpu" else (True,):
        given = hierarchy(laid_out, contraction, keys, host, in_levels)
        for width in WIDTHS[keys.code]:
            found = np.empty(shape, keys.dtype), np.empty(shape, np.uint32)
            threads = 96 if in_levels else 32  # the depth-first order is for one warp, or a CPU's one thread
            with Sweeper(device, given, keys, keys.limit, Shape(width, 2), True, threads) as sweeper:
                solved = sweeper.solve(row_searches(sources, None, given.graph.places()), wanted, *found)
            assert not solved.wrong.any(), (keys.code, width)
            assert all(np.array_equal(mine, other) for mine, other in zip(found, first)), (keys.code, width)
