"""The memory of a run, from the arrays that exist at the same time, and the time of mode kmb, from some searches.

What the reductions (reduced_graph.py) leave of a graph is known only after them. An estimate from the degrees of the
vertices is right within a few per cent, and takes hardly any time. tests/algorithms/test_memory.py checks the memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths.choice import workers
from hpcsolve.algorithms.shortest_paths.engines import AUTO, PHAST, TILE, chosen_engine
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Refusal, hierarchy_memory
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys, layout_bytes, search_graph_bytes
from hpcsolve.algorithms.shortest_paths.searches import Request, Want
from hpcsolve.algorithms.steiner_kmb.kmb import MOST_PAIRS, KmbCheckpoints, spanned_rows
from hpcsolve.algorithms.steiner_kmb.network import Network, network, prepared
from hpcsolve.algorithms.steiner_kmb.nodes import PANEL, capacity, sent_bytes, table_bytes
from hpcsolve.algorithms.steiner_kmb.reduced_graph import WORTHWHILE
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, on_host
from hpcsolve.algorithms.steiner_kmb.study import Matrix, cutoff_of, is_study
from hpcsolve.algorithms.steiner_kmb.subset_program import pair_bytes
from hpcsolve.algorithms.steiner_kmb.terminal_rows import (
    attempt_of,
    keys_for,
    path_edges,
    shares_of_walk,
    terminal_searches,
    walk,
)
from hpcsolve.algorithms.trial import Stopwatch
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.device.base import Device, DeviceInfo, batches_at_once
from hpcsolve.parallel.comm import SerialComm, even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import exact_sum

LINKS_A_VERTEX = 8
"""Links that are held for each vertex at most: road-like graphs have 3 or 4, and for a moment they are held twice."""
REDUCTION_BYTES = 70
"""Bytes that building the reduced graph takes for each arc of the graph as it was read."""
PAIR_BYTES, NEAR_PAIRS = 80, 36
"""Bytes that a pair of terminals takes while pairs are collected and sorted, and the pairs of each terminal.

In road networks a terminal has 20 to 35 others within the bottleneck. More pairs are made fewer at `MOST_PAIRS`.
"""
ARCS = 1 << 22
"""Roughly the arcs that each block scans in the trial, by one search or several."""


def memory(
    graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return what a run takes at its peak, on `ranks` ranks with such a device each."""
    assert graph.terminals is not None
    left, k, keys = left_of(graph), len(graph.terminals), distance_keys(graph, parameters)
    fast, best = parameters.mode == "fast", parameters.mode in ("best", "exact")
    searches = [0] * ranks if fast else [len(share) for share in shares_of_walk(k, ranks)]
    # A reduced graph has its edges, and the origins of the edges of each step. The first step has all edges. If it
    # removed many, another one follows, on about the edges that are left.
    again = (graph.arcs - left.arcs) * WORTHWHILE > graph.arcs
    shared = 44 * graph.arcs + (28 + 24 * again) * left.arcs + 32 * left.n
    shared += 0 if fast else search_graph_bytes(left.n, left.arcs, False, keys)
    own_hierarchy, building = _hierarchy_bytes(graph, left, parameters, keys, ranks * workers(info))
    shared += own_hierarchy
    width, local = keys.dtype.itemsize, best or parameters.exchange
    ascent = 20 * graph.n + 16 * graph.arcs  # what the function holds, beside what it leaves of the weights
    tables = [len(share) * k * width * parameters.matrix for share in even_shares(k, ranks)]
    on_device, on_host = [], []
    for rank, table in enumerate(table_bytes(left.n, k, ranks, width) if best else tables):
        first, count = rank == 0, searches[rank]  # rank 0 also reduces the graph, and makes the tree
        device, beside = _search_bytes(graph, left, parameters, info, keys, count) if count else (0, 0)
        scratch = 0
        if best:  # links of vertices and panels of the table, then searches by ruin and recreate
            links = (4 + LINKS_A_VERTEX * (4 + width)) * left.n + info.threads * PANEL * capacity(k) * width
            scratch = max(links, 100 * min(info.threads, len(range(rank, parameters.starts, ranks))) * left.n)
        # Mode kmb sorts the pairs of terminals that it has collected, with copies of their numbers and distances.
        sorted_pairs = 0 if best else PAIR_BYTES * min(MOST_PAIRS, NEAR_PAIRS * count)
        # From the reductions on a rank has the network of the smaller graph too, and its table.
        later = Network.bytes_for(left.n, left.arcs) + table
        one_memory = info.kind == "cpu"  # for device and host; beside a GPU the CPU does the work that needs scratch
        peak = Network.bytes_for(graph.n, graph.arcs) + max(
            ascent + 8 * graph.arcs - shared,  # what is shared is made after the dual ascents
            REDUCTION_BYTES * graph.arcs * first,
            (later + building) * first,
            later + sorted_pairs + (device + beside if one_memory else max(beside, scratch)),
            later + max(24 * graph.n, (100 * left.n + 60 * left.arcs) * local) * first,  # or local search
        )
        if one_memory:  # the host's part is its peak beyond what the device allocates, functions of the host included
            moves = (85 * left.n + 14 * left.arcs) * local * first
            pairs = pair_bytes(k) if parameters.mode == "exact" else 0
            device = max(device + scratch, ascent, moves, pairs)
        on_host.append(max(0, peak - device) if one_memory else peak)
        on_device.append(device)
    return tuple(on_device), tuple(on_host), shared


def sent(graph: Graph, parameters: Parameters, ranks: int) -> tuple[int, ...]:
    """Return the bytes that each rank sends."""
    assert graph.terminals is not None
    if parameters.mode not in ("best", "exact"):
        return (0,) * ranks
    width = distance_keys(graph, parameters).dtype.itemsize
    return tuple(sent_bytes(left_of(graph).n, len(graph.terminals), ranks, width))


@dataclass(frozen=True)
class Sizes:
    """Number of vertices and of arcs."""

    n: int
    arcs: int


def left_of(graph: Graph) -> Sizes:
    """Return an estimate of what reductions leave: they remove leaves and vertices of chains, with one edge each."""
    passing = np.diff(graph.offsets) <= 2
    passing[graph.terminals] = False
    gone = int(passing.sum())
    return Sizes(max(1, graph.n - gone), max(0, graph.arcs - 2 * gone))


def distance_keys(graph: Graph, parameters: Parameters) -> Keys:
    """Return the keys that distances most likely have. Only a search knows the longest distance.

    No Steiner tree is heavier than a spanning tree of the graph, which has about the lightest edge of each vertex.
    Distances up to the bottleneck are far shorter.
    """
    if not graph.arcs:
        return WORD
    longest = int(graph.weights.max())
    if parameters.mode in ("best", "exact") or is_study(parameters):
        starts = graph.offsets[:-1][np.diff(graph.offsets) > 0]
        longest = max(longest, exact_sum(np.minimum.reduceat(graph.weights, starts)))
    return WORD if longest <= WORD.limit else LONG


def _search_bytes(graph: Graph, left: Sizes, parameters: Parameters, info: DeviceInfo, keys: Keys, count: int
                  ) -> tuple[int, int]:
    """Return the bytes that a rank's searches take on the device, and those of a batch of rows on the host."""
    assert graph.terminals is not None
    best = parameters.mode in ("best", "exact")
    request = Request(left.n, left.arcs, keys, count, None if best else graph.terminals, p=parameters.at_once)
    paths = chosen_engine(parameters.engine, request, info, Want.PATHS)
    names = (TILE.name, PHAST.name) if parameters.engine == AUTO else (parameters.engine,)
    engines = [chosen_engine(name, request, info) for name in names]
    batch = min(count, max(each.batch(request, info) for each in engines))
    row = request.columns * keys.dtype.itemsize
    held = row * min(count, batch * batches_at_once(info))
    working = max(0 if each is paths else each.nbytes(request, info) for each in engines)
    device = paths.nbytes(request, info) + working + (held if info.kind == "cuda" else 0)
    layout = layout_bytes(left.n, left.arcs, False, keys) - search_graph_bytes(left.n, left.arcs, False, keys)
    return device, max(row * batch + held, layout - device if info.kind == "cpu" else layout)


def _hierarchy_bytes(graph: Graph, left: Sizes, parameters: Parameters, keys: Keys, cores: int) -> tuple[int, int]:
    """Return the most bytes that a hierarchy takes with its graph, and those that making it takes beside them."""
    if isinstance(attempt_of(graph, parameters, cores), Refusal):
        return 0, 0
    own, building = hierarchy_memory(left.n, left.arcs, False, keys)
    own += search_graph_bytes(left.n, left.arcs, False, keys)
    return own, building - own


def some_searches(
    graph: Graph, parameters: Parameters, ranks: int, device: Device
) -> tuple[float, str, float, tuple[DistanceTable, ...]]:
    """Make some searches of mode kmb, from terminals near each other, and find some of the paths.

    Returns the estimated seconds of all searches of a rank, then `measured_on`, `row_ratio` and `tables` of `Trial`.
    """
    with on_host(device) as host:
        smaller, tree = prepared(graph, host)
        net, info, cutoff = network(smaller.graph, host), device.info, cutoff_of(tree, parameters)
        k, keys, comm = len(net.terminals), keys_for(smaller.graph, cutoff), SerialComm()
        share = len(shares_of_walk(k, ranks)[0])
        request = Request(net.n, smaller.graph.arcs, keys, share, p=parameters.at_once)
        engine = chosen_engine(TILE.name if parameters.engine == AUTO else parameters.engine, request, info)
        count = min(share, engine.together(request, info) * -(-ARCS // max(1, smaller.graph.arcs)))
        matrix = Matrix(cutoff, smaller.member, range(count), keys.dtype) if parameters.matrix else None
        sources = matrix.sources(walk(net, tree), comm) if matrix else walk(net, tree)[:count]
        watch = Stopwatch()
        single, row_search = terminal_searches(
            smaller.graph, keys, parameters, device, comm, count, cutoff, net.terminals.astype(np.int64))
        with single:
            with row_search() as rows:
                before = watch.seconds()
                spanned_rows(net, sources, tree.bottleneck, rows, kept=KmbCheckpoints(matrix) if matrix else None)
            ends = np.stack([tree.first, tree.second], axis=1).astype(np.int64)
            ends = ends[np.argsort(ends[:, 0], kind="stable")][: max(1, (k - 1) * count // k)]
            path_edges(net, single, ends, comm, silent)
        ratio = share / count
        tables = (matrix.table(),) if matrix else ()
        seconds = before + (watch.seconds() - before) * ratio
        return seconds, f"mode fast, and {count} of {k} searches", ratio, tables
