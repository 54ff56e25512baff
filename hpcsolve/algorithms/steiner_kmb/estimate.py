"""The memory of a run, from the arrays that exist at the same time, and its time, from mode fast and some searches.

What the reductions (reduced_graph.py) leave of a graph is known only after them. An estimate from the degrees of the
vertices is right within a few per cent, and takes hardly any time. tests/algorithms/test_memory.py checks the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Plan, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths.choice import workers
from hpcsolve.algorithms.shortest_paths.engines import (
    AUTO,
    PHAST,
    TILE,
    chosen_engine,
    row_search,
    searcher,
)
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    Refusal,
    hierarchy_memory,
)
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys, layout_bytes, search_graph_bytes
from hpcsolve.algorithms.shortest_paths.searches import WANTS_PATHS, Request
from hpcsolve.algorithms.shortest_paths.solve import Memory
from hpcsolve.algorithms.steiner_kmb.exact import FREE_PART
from hpcsolve.algorithms.steiner_kmb.kmb import Matrix, cutoff_of, keys_for, path_edges, sources_of, spanned_rows
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.nodes import PANEL, capacity, sent_bytes, table_bytes
from hpcsolve.algorithms.steiner_kmb.reduced_graph import WORTHWHILE
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, TreeStatement
from hpcsolve.algorithms.steiner_kmb.solve import on_host, prepared, run
from hpcsolve.algorithms.steiner_kmb.subset_program import pair_bytes
from hpcsolve.algorithms.steiner_kmb.terminal_rows import attempt_of, chosen_rows, shares_of_walk, walk
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.device.base import Device, DeviceInfo, batches_at_once
from hpcsolve.parallel.comm import SerialComm, even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import exact_sum, require_problem

LINKS_A_VERTEX = 8
"""Links that are held for each vertex at most: road-like graphs have 3 or 4, and for a moment they are held twice."""
REDUCTION_BYTES = 62
"""Bytes that building the reduced graph takes for each arc of it."""
ARCS = 1 << 22
"""Roughly the arcs that each block scans in the trial, by one search or several."""
ENDS = {
    "best": 'mode "best" goes on until no vertex makes its tree lighter, and then with ruin and recreate',
    "exact": 'mode "exact" ends when the lightest tree is proven',
}
"""When the modes end whose time is not known beforehand, in words."""
NO_LIMIT = {"best": "", "exact": ", and how many states that takes cannot be foreseen"}


def plan(stated: TreeStatement, ranks: int, info: DeviceInfo) -> Plan:
    """Return what a run will need on `ranks` ranks with such a device each.

    Raises
    ------
    InputError
        The graph's terminals cannot be joined.
    """
    graph, parameters = stated.problem, stated.parameters
    require_problem(graph)
    assert graph.terminals is not None
    k, need = len(graph.terminals), memory(graph, parameters, ranks, info)

    def largest(free: Sequence[int]) -> int:
        parts = zip(free, need.host, need.device)
        return int(min(most / ((a + b + need.shared) / graph.n) for most, a, b in parts))

    alone = parameters.mode == "fast"
    idle = ranks - 1 if alone else sum(not len(share) for share in shares_of_walk(k, ranks))
    details: dict[str, int | str] = {"terminals": k, WITHOUT_WORK: idle}
    if parameters.mode == "exact":
        details["states"] = f"as many as it takes, up to [stop] memory, or else {FREE_PART:.0%} of the free memory"
    width = distance_keys(graph, parameters).dtype.itemsize
    sent = sent_bytes(left_of(graph).n, k, ranks, width) if parameters.mode in ("best", "exact") else [0] * ranks
    work = graph.arcs * (1 if alone else k)
    return Plan(need.device, need.host, work, "arc of Dijkstra's", tuple(sent), details, largest, need.shared)


def memory(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo) -> Memory:
    """Return what a run takes at its peak, on `ranks` ranks with such a device each."""
    assert graph.terminals is not None
    left, k, keys = left_of(graph), len(graph.terminals), distance_keys(graph, parameters)
    fast = parameters.mode == "fast"
    searches = [0] * ranks if fast else [len(share) for share in shares_of_walk(k, ranks)]
    shared = _reduced_bytes(graph, left) + (0 if fast else search_graph_bytes(left.n, left.arcs, False, keys))
    hierarchy, building = _hierarchy_bytes(graph, left, parameters, keys, ranks * workers(info))
    shared += hierarchy
    on_device, on_host = [], []
    for rank, (count, table) in enumerate(zip(searches, _table_bytes(left, k, parameters, ranks, keys))):
        first = rank == 0  # rank 0 also reduces the graph, and makes the tree
        device, beside = _search_bytes(graph, left, parameters, info, keys, count) if count else (0, 0)
        scratch = _scratch_bytes(left, k, parameters, info, keys, rank, ranks)
        # From the reductions on a rank has the network of the smaller graph too, and its table.
        later = _network_bytes(left.n, left.arcs) + table
        one_memory = info.kind == "cpu"  # for device and host; beside a GPU the CPU does the work that needs scratch
        peak = _network_bytes(graph.n, graph.arcs) + max(
            _ascent_bytes(graph) + 8 * graph.arcs - shared,  # what is shared is made after the dual ascents
            REDUCTION_BYTES * left.arcs * first,
            (later + building) * first,
            later + (device + beside if one_memory else max(beside, scratch)),
            later + max(24 * graph.n, _exchange_bytes(left, parameters)) * first,
        )
        if one_memory:  # the host's part is its peak beyond what the device allocates
            moves = _moves_bytes(left, parameters) if first else 0
            pairs = pair_bytes(k) if parameters.mode == "exact" else 0
            device = max(device + scratch, _ascent_bytes(graph), moves, pairs)
        on_host.append(max(0, peak - device) if one_memory else peak)
        on_device.append(device)
    return Memory(tuple(on_device), tuple(on_host), shared)


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
    if parameters.mode in ("best", "exact") or parameters.halt == "terminals" or parameters.matrix:
        starts = graph.offsets[:-1][np.diff(graph.offsets) > 0]
        longest = max(longest, exact_sum(np.minimum.reduceat(graph.weights, starts)))
    return WORD if longest <= WORD.limit else LONG


def _network_bytes(n: int, arcs: int) -> int:
    """Return the bytes of a `Network`, with its list of edges."""
    return 8 * n + 24 * arcs


def _ascent_bytes(graph: Graph) -> int:
    """Return the most bytes that the function of a dual ascent holds, beside what it leaves of the weights."""
    return 20 * graph.n + 16 * graph.arcs


def _reduced_bytes(graph: Graph, left: Sizes) -> int:
    """Return the bytes of a `ReducedGraph`: graph, edges, and the origins of the edges of each step.

    The first step has all edges. If it removed many, another one follows, on about the edges that are left.
    """
    again = (graph.arcs - left.arcs) * WORTHWHILE > graph.arcs
    return 44 * graph.arcs + (28 + 24 * again) * left.arcs + 32 * left.n


def _exchange_bytes(left: Sizes, parameters: Parameters) -> int:
    """Return the bytes that key-path exchange takes."""
    return 100 * left.n + 60 * left.arcs if _moves_bytes(left, parameters) else 0


def _moves_bytes(left: Sizes, parameters: Parameters) -> int:
    """Return the bytes that the function of key-path exchange holds."""
    return 85 * left.n + 14 * left.arcs if parameters.exchange or parameters.mode in ("best", "exact") else 0


def _search_bytes(graph: Graph, left: Sizes, parameters: Parameters, info: DeviceInfo, keys: Keys, count: int
                  ) -> tuple[int, int]:
    """Return the bytes that a rank's searches take on the device, and those of a batch of rows on the host."""
    assert graph.terminals is not None
    best = parameters.mode in ("best", "exact")
    request = Request(left.n, left.arcs, keys, count, None if best else graph.terminals, p=parameters.at_once)
    paths = chosen_engine(parameters.engine, request, info, WANTS_PATHS)
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


def _scratch_bytes(
    left: Sizes, k: int, parameters: Parameters, info: DeviceInfo, keys: Keys, rank: int, ranks: int
) -> int:
    """Return the bytes that the functions of mode best hold, beside its searches."""
    if parameters.mode not in ("best", "exact"):
        return 0
    width, panels = keys.dtype.itemsize, info.threads * PANEL
    links = (4 + LINKS_A_VERTEX * (4 + width)) * left.n + panels * capacity(k) * width
    at_once = min(info.threads, len(range(rank, parameters.starts, ranks)))  # searches by ruin and recreate
    return max(links, 100 * at_once * left.n)


def _table_bytes(left: Sizes, k: int, parameters: Parameters, ranks: int, keys: Keys) -> list[int]:
    """Return the bytes of each rank's share of the table of nodes (mode best) or of its rows of the matrix."""
    width = keys.dtype.itemsize
    if parameters.mode not in ("best", "exact"):
        return [len(share) * k * width * parameters.matrix for share in even_shares(k, ranks)]
    return table_bytes(left.n, k, ranks, width)


def trial(stated: TreeStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Return a trial: a run of mode fast (a second for half a million vertices) and, for mode kmb, some searches."""
    graph, parameters = stated.problem, stated.parameters
    given = msgspec.structs.replace(parameters, mode="fast", matrix=False, halt="bottleneck")
    watch = Stopwatch()
    small = TreeStatement(graph, given)
    outcome = run(small, device, SerialComm(), silent, NO_STOP, seed)
    setup = watch.seconds()
    if parameters.mode == "fast":
        return Trial(small, outcome, setup, 0.0, "the job itself")
    if parameters.mode == "kmb":
        seconds, measured_on, row_ratio, tables = _searched(graph, parameters, ranks, device)
        return Trial(small, outcome, setup, seconds, measured_on, row_ratio, tables=tables)
    limit = None if criteria.seconds is None else max(0.0, criteria.seconds - setup)
    open_end = f"{NO_LIMIT[parameters.mode]}; [stop] seconds would end it"
    why = ENDS[parameters.mode] + (open_end if limit is None else ", or soon after that time")
    return Trial(small, outcome, setup, limit, "mode fast", open_end=why)


def _searched(
    graph: Graph, parameters: Parameters, ranks: int, device: Device
) -> tuple[float, str, float, tuple[DistanceTable, ...]]:
    """Make some searches of mode kmb, from terminals near each other, and find some of the paths.

    Returns the estimated seconds of all searches of a rank, then `measured_on`, `row_ratio` and `tables` of `Trial`.
    """
    with on_host(device) as host:
        smaller, tree = prepared(graph, host)
        net, info, cutoff = network(smaller.graph, host), device.info, cutoff_of(tree, parameters)
        k, keys = len(net.terminals), keys_for(smaller.graph, cutoff)
        share = len(shares_of_walk(k, ranks)[0])
        request = Request(net.n, smaller.graph.arcs, keys, share, p=parameters.at_once)
        engine = chosen_engine(TILE.name if parameters.engine == AUTO else parameters.engine, request, info)
        count = min(share, engine.together(request, info) * -(-ARCS // max(1, smaller.graph.arcs)))
        matrix = Matrix(smaller.member, range(count), np.zeros((count, len(smaller.member)), keys.dtype))
        sources = sources_of(walk(net, tree), SerialComm(), matrix) if parameters.matrix else walk(net, tree)[:count]
        watch = Stopwatch()
        choice, p = chosen_rows(smaller.graph, keys, parameters, device, SerialComm()), parameters.at_once
        with searcher(smaller.graph, device, keys, choice.engine, cutoff=cutoff, searches=count) as ready:
            targets = net.terminals.astype(np.int64)
            with row_search(ready, smaller.graph, choice.engine, p, targets, count, choice.hierarchy) as rows:
                before = watch.seconds()
                spanned_rows(net, sources, tree.bottleneck, rows, keys, silent, matrix if parameters.matrix else None)
            ends = np.stack([tree.first, tree.second], axis=1).astype(np.int64)
            ends = ends[np.argsort(ends[:, 0], kind="stable")][: max(1, (k - 1) * count // k)]
            path_edges(net, ready, ends, SerialComm(), silent)
        ratio = share / count
        tables = (matrix.as_table(),) if parameters.matrix else ()
        seconds = before + (watch.seconds() - before) * ratio
        return seconds, f"mode fast, and {count} of {k} searches", ratio, tables
