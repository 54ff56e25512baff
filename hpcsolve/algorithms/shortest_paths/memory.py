"""Estimates the memory of a run, from the arrays that exist at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.shortest_paths.engines.known import PHAST, chosen_engine
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import contraction_bytes, most_arcs
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import hierarchy_bytes, weighing_bytes
from hpcsolve.algorithms.shortest_paths.engines.phast.restriction import restriction_bytes
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Shape, shape_for
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import workspace as sweep_workspace
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.pairs import PATH_ROOM, SOURCES_A_BATCH
from hpcsolve.algorithms.shortest_paths.prepare import Way
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.reduce.memory import searched_bytes, swept_bytes
from hpcsolve.algorithms.shortest_paths.search_graph import layout_bytes, search_graph_bytes
from hpcsolve.algorithms.shortest_paths.searcher import workspace
from hpcsolve.algorithms.shortest_paths.tables import rows_at_once
from hpcsolve.device.base import DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion


@dataclass(frozen=True)
class Memory:
    """Bytes of each rank on the device and on the host, and of what the ranks of a host share."""

    device: tuple[int, ...]
    host: tuple[int, ...]
    shared: int


def memory(graph: Graph, keys: Keys, asked: PathQuestion, parameters: Parameters, way: Way, sizes: Sequence[int],
           info: DeviceInfo) -> Memory:
    """Return the peak memory of a run, given the number of searches, or queries, of each rank.

    For engine "phast" it covers the largest hierarchy that may be made, and Near-Far if none is made.
    """
    swept = way.engine == PHAST
    of_rank = _sweep_bytes if swept else _search_bytes
    need = [of_rank(graph, keys, asked, parameters, size, info) if size else (0, 0) for size in sizes]
    plain = search_graph_bytes(graph.n, graph.arcs, graph.directed, keys)
    shared, before = plain, layout_bytes(graph.n, graph.arcs, graph.directed, keys)
    if swept:
        kept = way.attempt.kept if way.attempt else None
        most = kept.arcs if kept else most_arcs(graph.n, graph.arcs)
        shared = plain + hierarchy_bytes(graph.n, graph.directed, most, keys)
        building = 0 if kept else contraction_bytes(graph.n, graph.arcs)
        if not (kept and kept.weighed):
            building = max(building, weighing_bytes(graph.n, graph.directed, most, keys))
        before = max(before, plain + building)
    # Rank 0 makes what is shared before it takes memory for searches and answers, so the larger of the two counts.
    before -= shared + (need[0][0] if info.kind == "cpu" else 0)
    need[0] = need[0][0], max(need[0][1], before)
    device, host = (tuple(part[i] for part in need) for i in (0, 1))
    return Memory(device, host, shared)


def _search_bytes(graph: Graph, keys: Keys, asked: PathQuestion, parameters: Parameters, size: int, info: DeviceInfo
                  ) -> tuple[int, int]:
    """Return the bytes on the device and on the host of a rank that makes `size` searches, or queries, one by one."""
    engine = chosen_engine(parameters.engine, graph, size, info)
    at_once = engine.at_once(size, info)
    shapes = workspace(graph.n, at_once, engine.room(graph.n), graph.weights.min(initial=1) == 0, keys)
    device = nbytes_of(shapes.values()) + engine.bytes_a_vertex * graph.n
    if asked.pairs is not None:
        batch = min(size, SOURCES_A_BATCH * at_once)
        paths = 4 * (graph.n + PATH_ROOM * batch)
        return device + paths + 60 * batch, paths + size * (keys.dtype.itemsize + 12 + 8 * PATH_ROOM)
    if asked.reduction is not None:
        found = searched_bytes(graph.n, asked, size, rows_at_once(graph.n, keys, info), info, keys)
        return device + found[0], found[1]
    columns = graph.n if asked.targets is None else len(asked.targets)
    row = columns * keys.dtype.itemsize + 4 * graph.n * (parameters.predecessors or parameters.voronoi)
    batch = min(size, rows_at_once(graph.n, keys, info) * batches_at_once(info))
    nearest = 4 * graph.n * size if parameters.voronoi else 0
    in_place = info.kind == "cpu" and asked.targets is None
    return device + (0 if in_place else batch * row) + 64 * batch, size * row + nearest


def _sweep_bytes(graph: Graph, keys: Keys, asked: PathQuestion, parameters: Parameters, size: int, info: DeviceInfo
                 ) -> tuple[int, int]:
    """Return the bytes on the device and on the host of a rank that sweeps for `size` sources.

    If no hierarchy is made, the rank searches one by one instead. The larger of both needs counts.
    """
    shape = shape_for(graph.n, size, info, keys, parameters.predecessors)
    device = nbytes_of(sweep_workspace(graph.n, shape, _members(graph), parameters.predecessors, keys).values())
    columns = graph.n if asked.targets is None else len(asked.targets)
    if asked.targets is not None:
        device += restriction_bytes(graph.n, most_arcs(graph.n, graph.arcs), keys)
    if asked.reduction is not None:
        reduced = swept_bytes(graph.n, asked, size, shape, info, keys)
        found = _search_bytes(graph, keys, asked, parameters, size, info)
        return max(device + reduced[0], found[0]), max(reduced[1], found[1])
    row = columns * keys.dtype.itemsize + 4 * graph.n * parameters.predecessors
    batch = min(size, shape.width * shape.groups)
    in_place = info.kind == "cpu"
    device += 4 * columns + 24 * batch + (0 if in_place else batch * batches_at_once(info) * row)
    found = _search_bytes(graph, keys, asked, parameters, size, info)
    return max(device, found[0]), max(size * row + _copied(shape, asked, row), found[1])


def _copied(shape: Shape, asked: PathQuestion, row: int) -> int:
    """Return the bytes of the rows of targets that are copied into the table."""
    return 0 if asked.targets is None else shape.width * shape.groups * row


def _members(graph: Graph) -> int:
    """Return the number of vertices at the ends of arcs of weight 0."""
    free = np.flatnonzero(graph.weights == 0)
    return len(np.unique(np.concatenate([graph.tails()[free], graph.heads[free]]))) if len(free) else 0
