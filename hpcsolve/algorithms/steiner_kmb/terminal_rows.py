"""Searches from the terminals: in which order, by which engine, and how far. Rows of distances, and paths.

Terminals near each other in their spanning tree stand together. Rows are made by a hierarchy (engine "phast") or by the
engine "tile", unless the job names another one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths import choice, engines, search_graph
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, Refusal, hierarchy_memory
from hpcsolve.algorithms.shortest_paths.engines.single import Searcher
from hpcsolve.algorithms.shortest_paths.engines.tile import SOURCES
from hpcsolve.algorithms.shortest_paths.pairs import shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.searches import Prepared, Request, Want
from hpcsolve.algorithms.shortest_paths.tables import RELAXED, SearchCheckpoints
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, left_of
from hpcsolve.algorithms.steiner_kmb.setting import Parameters
from hpcsolve.device.base import Device, DeviceInfo, batches_at_once
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import exact_sum

TILE_STEPS = {"kmb": 1.5, "best": 5.0, "exact": 5.0}
"""Steps of a search by the engine "tile", as `NEAR_FAR_STEPS` of choice.py, by mode.

Searches of mode kmb end at the last terminal or before. In the other modes searches go to every vertex.
"""


def walk(net: Network, closure_tree: ClosureTree) -> Indices:
    """Return the terminals' numbers in the depth-first order of their spanning tree."""
    first, second = (np.searchsorted(net.terminals, end) for end in (closure_tree.first, closure_tree.second))
    return depth_first(len(net.terminals), first, second)


def depth_first(count: int, first: Indices, second: Indices) -> Indices:
    """Return the nodes of a tree in depth-first order, from number 0, short edges first.

    Parameters
    ----------
    first, second
        The ends of the tree's edges, the shortest first.
    """
    branches: list[list[int]] = [[] for _ in range(count)]
    for tail, head in zip(first[::-1].tolist(), second[::-1].tolist()):  # the longest edge first: it is taken last
        branches[tail].append(head)
        branches[head].append(tail)
    order, seen, waiting = [], bytearray(count), [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        seen[node] = 1
        waiting.extend(other for other in branches[node] if not seen[other])
    return np.array(order)


def shares_of_walk(terminals: int, ranks: int) -> list[Indices]:
    """Return each rank's places in the walk: whole groups of the engine "tile", dealt in turn for even loads."""
    group = max(1, min(SOURCES, -(-terminals // ranks)))
    owner = np.arange(terminals) // group % ranks
    return [np.flatnonzero(owner == rank) for rank in range(ranks)]


def attempt_of(graph: Graph, parameters: Parameters, cores: int) -> choice.Attempt | Refusal:
    """Return how much work a hierarchy may take, or why none is made.

    Parameters
    ----------
    cores
        Number of `workers` of all ranks.
    """
    if parameters.mode == "fast" or parameters.engine not in (engines.AUTO, engines.PHAST.name):
        return Refusal("")
    if parameters.engine == engines.PHAST.name:
        return choice.required(graph)
    assert graph.terminals is not None
    return choice.worth_trying(graph, len(graph.terminals), cores, steps=TILE_STEPS[parameters.mode])


def chosen_rows(
    graph: Graph, keys: search_graph.Keys, parameters: Parameters, device: Device, comm: Comm
) -> tuple[str, Hierarchy | None]:
    """Return the engine that makes rows, and the hierarchy if that is "phast". Collective.

    One rank of each host makes the hierarchy, and all share it.

    Parameters
    ----------
    graph
        The reduced graph.

    Raises
    ------
    InputError
        The job asks for the engine "phast", and no hierarchy can be made.
    """
    if parameters.engine not in (engines.AUTO, engines.PHAST.name):
        return parameters.engine, None
    attempt, hierarchy = attempt_of(graph, parameters, choice.workers_of_all(device.info, comm)), None
    if isinstance(attempt, Refusal):
        line = f"engine: tile: {attempt.reason}"
    elif isinstance(found := choice.agreed_hierarchy(
            graph, keys, attempt, device.info, comm, engines.TILE.name), Refusal):
        line = f"engine: tile: {found.reason}"
    else:
        hierarchy, line = found, choice.described(found, attempt)
    if line not in device.notes:  # the log has it once
        device.notes.append(line)
    return (engines.TILE if hierarchy is None else engines.PHAST).name, hierarchy


def terminal_searches(
    graph: Graph, keys: search_graph.Keys, parameters: Parameters, device: Device, comm: Comm, count: int, cutoff: int,
    targets: Indices | None = None,
) -> tuple[Searcher, Callable[[], AbstractContextManager[Prepared]]]:
    """Return what searches one by one, for paths, and a function that returns what makes `count` rows. Collective.

    Both end at the cutoff. The first is to be entered before the second.

    Parameters
    ----------
    graph
        The reduced graph.
    targets
        Positions of the vertices that rows have, None for all.

    Raises
    ------
    InputError
        As `chosen_rows`.
    """
    laid_out = comm.once_per_host(partial(search_graph.lay_out, graph, keys))
    engine, hierarchy = chosen_rows(graph, keys, parameters, device, comm)
    single = engines.searcher(graph, device, keys, engine, cutoff=cutoff, search_graph=laid_out, searches=count)
    return single, partial(engines.row_search, single, graph, engine, parameters.at_once, targets, count, hierarchy)


def keys_for(graph: Graph, farthest: int) -> search_graph.Keys:
    """Return the narrowest keys that hold every weight, and distances up to `farthest`."""
    heaviest = int(graph.weights.max()) if graph.arcs else 0
    return search_graph.WORD if max(heaviest, farthest) <= search_graph.WORD.limit else search_graph.LONG


def path_edges(
    net: Network, prepared: Prepared, pairs: Indices, comm: Comm, report: Report,
    kept: Callable[[int], SearchCheckpoints] = lambda first: SearchCheckpoints(),
) -> tuple[Indices, int]:
    """Return the edges on shortest paths between this rank's share of pairs, and the number of arcs relaxed.

    Parameters
    ----------
    pairs
        Shape (pairs, 2): positions, sorted by the first one.
    kept
        Returns this rank's checkpoints, given the number of its first pair.
    """
    share = shares(pairs, comm.size)[comm.rank]
    found = solve_pairs(prepared, pairs[share.start : share.stop], lambda done, message="": report(0.7 + 0.2 * done),
                        kept(share.start))
    path = found.path
    inside = np.ones(max(len(path) - 1, 0), dtype=bool)
    inside[np.cumsum(found.length)[:-1] - 1] = False  # from the end of a path to the beginning of the next
    return np.unique(net.edge_numbers(path[:-1][inside], path[1:][inside])), int(found.work[:, RELAXED].sum())


def likely_keys(graph: Graph, parameters: Parameters) -> search_graph.Keys:
    """Return the keys that distances most likely have. Only a search knows the longest distance.

    No Steiner tree is heavier than a spanning tree of the graph, which has about the lightest edge of each vertex.
    Distances up to the bottleneck are far shorter.
    """
    if not graph.arcs:
        return search_graph.WORD
    longest = int(graph.weights.max())
    if parameters.mode in ("best", "exact") or parameters.to_last_terminal:
        starts = graph.offsets[:-1][np.diff(graph.offsets) > 0]
        longest = max(longest, exact_sum(np.minimum.reduceat(graph.weights, starts)))
    return search_graph.WORD if longest <= search_graph.WORD.limit else search_graph.LONG


def search_bytes(
    graph: Graph, parameters: Parameters, info: DeviceInfo, keys: search_graph.Keys, count: int
) -> tuple[int, int]:
    """Return the bytes that a rank's searches take on the device, and those of a batch of rows on the host."""
    best, (n, arcs) = parameters.mode in ("best", "exact"), left_of(graph)
    request = Request(n, arcs, keys, count, None if best else graph.terminals, p=parameters.at_once)
    paths = engines.chosen_engine(parameters.engine, request, info, Want.PATHS)
    names = (engines.TILE.name, engines.PHAST.name) if parameters.engine == engines.AUTO else (parameters.engine,)
    used = [engines.chosen_engine(name, request, info) for name in names]
    batch = min(count, max(each.batch(request, info) for each in used))
    row = request.columns * keys.dtype.itemsize
    held = row * min(count, batch * batches_at_once(info))
    working = max(0 if each is paths else each.nbytes(request, info) for each in used)
    device = paths.nbytes(request, info) + working + (held if info.kind == "cuda" else 0)
    layout = search_graph.layout_bytes(n, arcs, False, keys) - search_graph.search_graph_bytes(n, arcs, False, keys)
    return device, max(row * batch + held, layout - device if info.kind == "cpu" else layout)


def shared_search_bytes(graph: Graph, parameters: Parameters, keys: search_graph.Keys, cores: int) -> tuple[int, int]:
    """Return the most bytes that the ranks of a host share for searches, and those that making it takes beside them.

    That is the graph as the kernels read it, and a hierarchy with its own graph if one may be made.
    """
    n, arcs = left_of(graph)
    own = search_graph.search_graph_bytes(n, arcs, False, keys)
    if isinstance(attempt_of(graph, parameters, cores), Refusal):
        return own, 0
    hierarchy, building = hierarchy_memory(n, arcs, False, keys)
    return 2 * own + hierarchy, building - hierarchy - own
