"""What the runner calls to run a job, and what a run returns: a tree with its lower bound, and the tables beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, Outcome, Report, StopCriteria
from hpcsolve.algorithms.shortest_paths.engines import (
    kernel_files,
)
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import CONTRACTION_FILE, HIERARCHY_FILE
from hpcsolve.algorithms.steiner_kmb.best import BEST_EFFORT, RUIN_FILE, polished
from hpcsolve.algorithms.steiner_kmb.bounds import (
    DUAL_ASCENT_FILE,
    REDUCTIONS_FILE,
    DualSolution,
    best_dual,
    certified_bound,
    own_dual,
)
from hpcsolve.algorithms.steiner_kmb.exact import searched
from hpcsolve.algorithms.steiner_kmb.kmb import Matrix, empty_matrix, keys_for, kmb_tree
from hpcsolve.algorithms.steiner_kmb.network import (
    MOVES_FILE,
    TREE_FILE,
    ClosureTree,
    Network,
    exchanges,
    locally_best,
    network,
)
from hpcsolve.algorithms.steiner_kmb.nodes import ONE_STEINER_FILE
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.reductions import SteinerState, shrunk_together
from hpcsolve.algorithms.steiner_kmb.setting import RoundStop, Setting, TreeStatement, Work
from hpcsolve.algorithms.steiner_kmb.subset_program import PROGRAM_FILE
from hpcsolve.answers.contents import Column, Dataset, DistanceTable, columns
from hpcsolve.answers.tree import Prices, Tree, tree_from_edges
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

HOST_FILES = (TREE_FILE, DUAL_ASCENT_FILE, MOVES_FILE, RUIN_FILE, ONE_STEINER_FILE, REDUCTIONS_FILE, PROGRAM_FILE,
              CONTRACTION_FILE, HIERARCHY_FILE)
"""What runs on the host's cores whatever the job's device is."""
KERNEL_FILES = (*HOST_FILES, *kernel_files())
REDUCTIONS = {
    "vertices": Dataset("int64", "Vertices after the reductions"),
    "edges": Dataset("int64", "Edges after the reductions"),
    "contracted": Dataset("int64", "Edges of weight 0 that were contracted"),
    "parallel": Dataset("int64", "Parallel edges and loops that were dropped"),
    "ends": Dataset("int64", "Leaves that were dropped: vertices with one neighbour"),
    "passed": Dataset("int64", "Vertices with two neighbours that became part of an edge"),
    "terminals": Dataset("int64", "Of modes best and exact: edges in some lightest tree, which were contracted",
                         optional=True),
    "special": Dataset("int64", "Of modes best and exact: edges in no lightest tree, by the special distance",
                       optional=True),
    "lighter": Dataset("int64", "Of modes best and exact: edges in no tree lighter than the best one at that time",
                       optional=True),
}
"""The group `/reductions`."""
HISTORY = {
    "step": Dataset("int64", "Number of rounds before it", "row"),
    "seconds": Dataset("float64", "Since the start", "row", "s"),
    "best": Dataset("float64", "Weight of the best tree so far, in the instance's own unit", "row"),
}
"""The group `/history` of modes best and exact: a row for each better tree, and one for the best at the end."""
LAYERS = {
    "size": Dataset("int64", "Number of terminals in the sets", "layer"),
    "sets": Dataset("int64", "Sets of which states were kept", "layer"),
    "states": Dataset("int64", "States (a set and a vertex) that were kept", "layer"),
}
"""The group `/layers` of mode exact: a row for each size of sets. It is empty if reductions and bounds were enough."""
Tables = Mapping[str, Mapping[str, Column]]


def run(
    stated: TreeStatement, device: Device, comm: Comm, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return a Steiner tree with its certificate, the same on all ranks."""
    graph, parameters = stated.problem, stated.parameters
    stop = RoundStop(comm, criteria, criteria.scaled_target(graph.scale), checkpoints, started=checkpoints.clock())
    with on_host(device) as host:
        setting = Setting(network(graph, host), host, device, comm, parameters, report, stop, seed)
        report(0.0, "lower bound")
        dual = own_dual(setting.whole, comm)  # before the reductions: rank 0 makes these, and has fewer ascents
        smaller, closure_tree = comm.once_per_host(partial(prepared, graph, host))
        if parameters.mode in ("best", "exact"):
            return _reduced_and_searched(smaller, dual, closure_tree, setting)
        return _grown(smaller, dual, closure_tree, setting)


@contextmanager
def on_host(device: Device) -> Iterator[HostDevice]:
    """Yield the job's device if it is the CPU, else the CPU cores that the rank has beside it."""
    if isinstance(device, HostDevice):
        yield device
        return
    with HostDevice(device.info.threads) as host:
        yield host


def prepared(graph: Graph, host: HostDevice) -> tuple[ReducedGraph, ClosureTree]:
    """Return the reduced graph, and the minimum spanning tree of its terminal distance graph."""
    smaller = reduced(graph)
    return smaller, network(smaller.graph, host).closure()


def _grown(smaller: ReducedGraph, dual: DualSolution | None, closure_tree: ClosureTree, run: Setting) -> Outcome:
    """Return the outcome of modes fast and kmb. Collective."""
    net, comm = network(smaller.graph, run.host), run.comm
    matrix = None
    if run.parameters.matrix:
        matrix = empty_matrix(smaller.member, keys_for(smaller.graph, closure_tree.weight).dtype, comm)
    tree, work = _tree(smaller, net, closure_tree, run, matrix)
    dual = best_dual(dual, comm)
    found: tuple[Indices, int] | None = None
    tables: Tables = {}
    if tree is not None and dual is not None:
        tree = locally_best(net, tree, kinds=(exchanges,)) if run.parameters.exchange else tree
        bound = certified_bound(dual, closure_tree, len(run.whole.terminals))
        found = run.whole.spanning_tree(smaller.restored(tree)), bound.value
        tables = tables_of(dual, smaller)
    started = time.perf_counter()
    found = comm.bcast(found)
    assert found is not None
    answer = certified(run.whole, found[0], closure_tree, found[1], None if matrix is None else matrix.as_table())
    return Outcome(answer, tables, rank_of(work, time.perf_counter() - started), "", True)


def _tree(
    smaller: ReducedGraph, net: Network, closure_tree: ClosureTree, run: Setting, matrix: Matrix | None
) -> tuple[Indices | None, Work]:
    """Return the edges of a tree in the reduced graph, on rank 0, and this rank's work. Collective."""
    if len(net.terminals) < 2:
        return np.empty(0, np.int64), Work(0, 0.0)
    if run.parameters.mode == "kmb":
        return kmb_tree(smaller.graph, net, closure_tree, run, matrix)
    if run.comm.rank > 0:
        return None, Work(0, 0.0)
    started = time.perf_counter()
    tree = net.improved(net.shortest_path_tree())
    return tree, Work(smaller.graph.arcs, time.perf_counter() - started)


def _reduced_and_searched(
    smaller: ReducedGraph, dual: DualSolution | None, closure_tree: ClosureTree, run: Setting
) -> Outcome:
    """Return the outcome of modes best and exact. Collective."""
    dual = run.comm.bcast(best_dual(dual, run.comm))
    assert dual is not None
    bound = certified_bound(dual, closure_tree, len(run.whole.terminals))
    state = SteinerState(smaller, bound)
    layers: Tables = {}
    if run.parameters.mode == "best":
        run.report(0.0, "reductions")
        found, work = polished(shrunk_together(state, run, BEST_EFFORT), run)
        ended = "" if found.proven else run.stop.ended(work.rounds)
        answer = certified(run.whole, found.tree, closure_tree, bound.value)
    else:
        exact = searched(state, run.stop.criteria.memory, run)
        found, work, ended = exact.found, exact.work, exact.ended
        answer = certified(run.whole, found.tree, closure_tree, found.bound.value, None, found.proven,
                           found.bound.proof)
        layers = layers_of(exact.sets, exact.states)
    tables = {**tables_of(dual, found.smaller), **history_of(work.history, smaller.graph.scale), **layers}
    complete = found.proven or not run.stop.broken_off
    return Outcome(answer, tables, rank_of(work, 0.0), ended, complete)


def certified(
    whole: Network, tree: Indices, closure_tree: ClosureTree, lower_bound: int, matrix: DistanceTable | None = None,
    optimal: bool | None = None, proof: str | None = None,
) -> Tree:
    """Return the answer: a tree in the graph as it was read, with a lower bound, and this rank's part of the matrix.

    Parameters
    ----------
    optimal, proof
        As in `answers.tree.Tree`.
    """
    edges = whole.edges.part(tree)
    columns = edges.tails, edges.heads, edges.weights
    return tree_from_edges(columns, lower_bound, closure_tree.weight, closure_tree.bottleneck, proof, matrix, optimal)


def tables_of(dual: DualSolution, smaller: ReducedGraph) -> Tables:
    """Return the groups `/prices` and `/reductions`."""
    prices = Prices(dual.root, dual.terminals.astype(np.int32), dual.duals.astype(np.int64))
    sizes = {"vertices": smaller.graph.n, "edges": smaller.graph.edges}
    return {"prices": prices.group(), "reductions": columns(REDUCTIONS, {**sizes, **smaller.counts})}


def layers_of(sets: Sequence[int], states: Sequence[int]) -> Tables:
    """Return the group `/layers` with the numbers of sets and states of each size, from 1."""
    return {"layers": columns(LAYERS, {"size": np.arange(1, len(sets) + 1), "sets": np.array(sets, np.int64),
                                       "states": np.array(states, np.int64)})}


def history_of(rows: Sequence[tuple[int, float, int]], scale: int) -> Tables:
    """Return the group `/history` with these rows (`Work.history`), or no group if there are none.

    Parameters
    ----------
    scale
        A weight in the instance's own unit is weight / scale.
    """
    if not rows:
        return {}
    steps, seconds, weights = zip(*rows)
    best = np.array(weights, np.int64) / scale
    return {"history": columns(HISTORY, {"step": steps, "seconds": seconds, "best": best})}


def rank_of(work: Work, waited: float) -> dict[str, float | int]:
    """Return this rank's share of `/ranks`."""
    return {
        "operations": work.relaxed, "bytes_sent": work.sent, "seconds_kernel": work.seconds,
        "seconds_copy": work.seconds_copy, "seconds_wait": waited,
    }
