"""What the runner calls: the statement of a job, its plan, a run, a trial, and a second search.

A run returns a tree with its lower bound, and the tables beside it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec
import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Algorithm, Outcome, Plan, Report, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths import engines
from hpcsolve.algorithms.shortest_paths.choice import workers
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import CONTRACTION_FILE, HIERARCHY_FILE
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Request
from hpcsolve.algorithms.steiner_kmb import best, bounds, exact, kmb, network, nodes, reduced_graph, terminal_rows
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.reductions import SteinerState, shrunk_together
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, RoundStop, Setting, TreeStatement, Work
from hpcsolve.algorithms.steiner_kmb.study import Matrix, cutoff_of, rows_for
from hpcsolve.algorithms.steiner_kmb.subset_program import PROGRAM_FILE, pair_bytes
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Column, Contents, Dataset, DistanceTable, columns, datasets
from hpcsolve.answers.tree import TREE, Prices, Tree, TreeQuestion, tree_from_edges
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.host import on_host
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import largest_cost
from hpcsolve.problems.steiner import require_problem

HOST_FILES = (network.TREE_FILE, bounds.DUAL_ASCENT_FILE, network.MOVES_FILE, best.RUIN_FILE, nodes.ONE_STEINER_FILE,
              bounds.REDUCTIONS_FILE, PROGRAM_FILE, CONTRACTION_FILE, HIERARCHY_FILE)
"""What runs on the host's cores whatever the job's device is."""
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
UNKNOWN_ENDS = {
    "best": 'mode "best" goes on until no vertex makes its tree lighter, and then with ruin and recreate',
    "exact": 'mode "exact" ends when the lightest tree is proven',
}
"""When the modes end whose time is not known beforehand, in words."""
ARCS = 1 << 22
"""Roughly the arcs that each block scans in the trial, by one search or several."""
NO_LIMIT = {"best": "", "exact": ", and how many states that takes cannot be foreseen"}


class SteinerKmb(Algorithm):
    """Steiner trees by growing, by Kou, Markowsky and Berman, by iterated 1-Steiner, or exactly."""

    name, kind, answers, parameters = "steiner-kmb", "steiner", (TREE,), Parameters
    kernel_files = (*HOST_FILES, *engines.kernel_files())
    groups: ClassVar = {"prices": datasets(Prices), "reductions": REDUCTIONS, "history": HISTORY, "layers": LAYERS}

    def kernels_of(
        self, parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria
    ) -> tuple[str, ...]:
        """Return the kernel files of a job: mode fast searches on the CPU alone, the others by rows and one by one."""
        if parameters.mode == "fast":
            return HOST_FILES
        named = engines.engine_named(parameters.engine)
        rows = (engines.TILE, engines.PHAST) if parameters.engine == engines.AUTO else () if named is None else (named,)
        return (*HOST_FILES, *engines.kernel_files((*rows, engines.BLOCK, engines.GRID)))

    def little_for_a_gpu(self, parameters: Parameters) -> str:
        """Return the mode, but for mode kmb: the others search from few vertices, or long after the searches."""
        return "" if parameters.mode == "kmb" else f"mode {parameters.mode}"

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest weight with which the sum of all edges stays below 2^62."""
        return largest_cost(edges)

    def statement(self, problem: Graph, parameters: Parameters, to_check: bool = False) -> TreeStatement:
        """Return the statement. Raises `InputError` if `matrix` is set in a mode that makes none."""
        if parameters.matrix and parameters.mode != "kmb":
            raise InputError(f'steiner-kmb.matrix: mode "{parameters.mode}" makes no matrix; set mode = "kmb"')
        return TreeStatement(problem, parameters, TreeQuestion(parameters.matrix))

    def plan(
        self, stated: TreeStatement, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return what the mode needs. Raises `InputError` if the graph's terminals cannot be joined."""
        graph, parameters = require_problem(stated.problem), stated.parameters
        k, mode, keys = len(stated.problem.terminals), parameters.mode, terminal_rows.likely_keys(graph, parameters)
        device, host, shared = _memory(graph, parameters, keys, ranks, info)

        def largest(free: Sequence[int]) -> int:
            return int(min(most / ((a + b + shared) / graph.n) for most, a, b in zip(free, host, device)))

        idle = ranks - 1 if mode == "fast" else sum(not len(share) for share in terminal_rows.shares_of_walk(k, ranks))
        details: dict[str, int | str] = {"terminals": k, WITHOUT_WORK: idle}
        if mode == "exact":
            most = f"{exact.FREE_PART:.0%} of the free memory"
            details["states"] = f"as many as it takes, up to [stop] memory, or else {most}"
        sent = [0] * ranks
        if mode in ("best", "exact"):
            sent = nodes.NodeTable.sent_bytes(reduced_graph.left_of(graph)[0], k, ranks, keys.dtype.itemsize)
        work = graph.arcs * (1 if mode == "fast" else k)
        return Plan(device, host, work, "arc of Dijkstra's algorithm", tuple(sent), details, largest, shared)

    def run(
        self, stated: TreeStatement, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return a Steiner tree with its certificate, the same on all ranks."""
        graph, parameters = stated.problem, stated.parameters
        stop = RoundStop(comm, criteria, criteria.scaled_target(graph.scale), checkpoints, started=checkpoints.clock())
        with on_host(device) as host:
            whole = network.network(graph, host)
            setting = Setting(whole, host, device, comm, parameters, report, stop, seed)
            report(0.0, "lower bound")
            dual = bounds.own_dual(whole, comm)  # before the reductions: rank 0 makes these, and has fewer ascents
            smaller, closure_tree = comm.once_per_host(partial(network.prepared, graph, host))
            if parameters.mode in ("best", "exact"):
                return _searched(smaller, dual, closure_tree, setting)
            return _grown(smaller, dual, closure_tree, setting)

    def trial(
        self, stated: TreeStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int, method: str = "",
    ) -> Trial:
        """Run mode fast (a second for half a million vertices) and, for mode kmb, make some searches."""
        graph, parameters = stated.problem, stated.parameters
        small = TreeStatement(graph, msgspec.structs.replace(parameters, mode="fast", matrix=False, halt="bottleneck"))
        watch = Stopwatch()
        outcome = self.run(small, device, SerialComm(), seed=seed)
        setup = watch.seconds()
        if parameters.mode == "fast":
            return Trial(small, outcome, setup, 0.0, "the job itself")
        if parameters.mode == "kmb":
            seconds, count, ratio, tables = _some_searches(graph, parameters, ranks, device)
            measured_on = f"mode fast, and {count} of {len(graph.terminals)} searches"
            return Trial(small, outcome, setup, seconds, measured_on, ratio, tables=tables)
        limit = None if criteria.seconds is None else max(0.0, criteria.seconds - setup)
        open_end = f"{NO_LIMIT[parameters.mode]}; [stop] seconds would end it"
        why = UNKNOWN_ENDS[parameters.mode] + (open_end if limit is None else ", or soon after that time")
        return Trial(small, outcome, setup, limit, "mode fast", open_end=why)

    def again(self, stated: TreeStatement, contents: Contents) -> Verdict:
        """Return the verdict of a second search with other roots and fewer reductions."""
        return exact.search_again(stated, contents)


def _grown(
    smaller: ReducedGraph, dual: bounds.DualSolution | None, closure_tree: ClosureTree, run: Setting
) -> Outcome:
    """Return the outcome of modes fast and kmb. Collective."""
    net, comm = network.network(smaller.graph, run.host), run.comm
    rows = rows_for(run.parameters, smaller, closure_tree, comm)
    tree, work = np.empty(0, np.int64) if comm.rank == 0 else None, Work()
    if len(net.terminals) > 1 and run.parameters.mode == "kmb":
        tree, work = kmb.kmb_tree(smaller.graph, net, closure_tree, run, rows)
    elif len(net.terminals) > 1 and comm.rank == 0:
        tree = net.improved(net.shortest_path_tree())
        work = Work(smaller.graph.arcs)
    dual = bounds.best_dual(dual, comm)
    found: tuple[Indices, bounds.LowerBound] | None = None
    if tree is not None and dual is not None:
        if run.parameters.exchange:
            tree = net.locally_best(tree, kinds=(network.PATHS,))
        bound = bounds.certified_bound(dual, closure_tree, len(run.whole.terminals))
        found = run.whole.spanning_tree(smaller.restored(tree)), bound
    started = time.perf_counter()
    found = comm.bcast(found)
    assert found is not None
    rank = work.of_rank(time.perf_counter() - started)
    answer = _answer(run.whole, found[0], closure_tree, found[1].certified, matrix=rows.table())
    return Outcome(answer, _groups(dual, smaller), rank)


def _searched(
    smaller: ReducedGraph, dual: bounds.DualSolution | None, closure_tree: ClosureTree, run: Setting
) -> Outcome:
    """Return the outcome of modes best and exact. Collective."""
    dual = bounds.best_dual(dual, run.comm)
    own = None if dual is None else bounds.certified_bound(dual, closure_tree, len(run.whole.terminals))
    bound, sizes = run.comm.bcast(own), None
    assert bound is not None
    state = SteinerState(smaller, bound)
    run.report(0.0, "reductions")
    if run.parameters.mode == "best":  # its result has the bound that its prices prove
        found, work = best.polished(shrunk_together(state, run, best.BEST_EFFORT), run)
        ended = "" if found.proven else run.stop.ended(work.rounds)
        answer = _answer(run.whole, found.tree, closure_tree, found.bound.certified)
    else:
        found, work, ended, sizes = exact.searched(state, run.stop.criteria.memory, run)
        answer = _answer(run.whole, found.tree, closure_tree, found.bound.value, found.bound.proof, found.proven)
    groups = _groups(dual, found.smaller, work.history, sizes)
    return Outcome(answer, groups, work.of_rank(), ended, found.proven or not run.stop.broken_off)


def _answer(
    whole: Network, tree: Indices, closure_tree: ClosureTree, lower_bound: int, proof: str | None = None,
    optimal: bool | None = None, matrix: DistanceTable | None = None,
) -> Tree:
    """Return the record of a tree in the graph as it was read, with a lower bound."""
    edges = whole.edges.part(tree)
    return tree_from_edges((edges.tails, edges.heads, edges.weights), lower_bound, closure_tree.weight,
                           closure_tree.bottleneck, proof, matrix, optimal)


def _groups(
    dual: bounds.DualSolution | None, smaller: ReducedGraph, history: Sequence[tuple[int, float, int]] = (),
    sizes: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Mapping[str, Mapping[str, Column]]:
    """Return the groups beside the answer on rank 0, which has the best ascent, and elsewhere none.

    Parameters
    ----------
    history
        As in `Work`.
    sizes
        Of mode exact: the numbers of sets and states of each size, from 1.
    """
    if dual is None:
        return {}
    left = {"vertices": smaller.graph.n, "edges": smaller.graph.edges, **smaller.counts}
    prices = Prices(dual.root, dual.terminals.astype(np.int32), dual.duals.astype(np.int64))
    found = {"prices": prices.group(), "reductions": columns(REDUCTIONS, left)}
    if history:
        steps, seconds, weights = zip(*history)
        best = np.array(weights, np.int64) / smaller.graph.scale
        found["history"] = columns(HISTORY, {"step": steps, "seconds": seconds, "best": best})
    if sizes is not None:
        sets, states = (np.array(counts, np.int64) for counts in sizes)
        found["layers"] = columns(LAYERS, {"size": np.arange(1, len(sets) + 1), "sets": sets, "states": states})
    return found


def _memory(
    graph: Graph, parameters: Parameters, keys: Keys, ranks: int, info: DeviceInfo
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the most bytes of each rank on the device and on the host, and of what the ranks of a host share.

    What the reductions leave of a graph is estimated (`left_of`).
    """
    (n, arcs), k, width = reduced_graph.left_of(graph), len(graph.terminals), keys.dtype.itemsize  # type: ignore[arg-type]
    fast, searching = parameters.mode == "fast", parameters.mode in ("best", "exact")
    searches = [0] * ranks if fast else [len(share) for share in terminal_rows.shares_of_walk(k, ranks)]
    cores, shared, building = ranks * workers(info), reduced_graph.reduced_bytes(graph), 0
    if not fast:
        of_searches, building = terminal_rows.shared_search_bytes(graph, parameters, keys, cores)
        shared += of_searches
    ascent = 20 * graph.n + 16 * graph.arcs  # what a dual ascent holds beside the reduced costs
    tables = [len(share) * k * width * parameters.matrix for share in even_shares(k, ranks)]
    local, on_device, on_host = searching or parameters.exchange, [], []
    for rank, table in enumerate(nodes.NodeTable.bytes_for(n, k, ranks, width) if searching else tables):
        first, count = rank == 0, searches[rank]  # rank 0 also reduces the graph, and makes the tree
        device, beside = terminal_rows.search_bytes(graph, parameters, info, keys, count) if count else (0, 0)
        scratch = 0
        if searching:  # iterated 1-Steiner, then searches by ruin and recreate
            starts = min(info.threads, len(range(rank, parameters.starts, ranks)))
            scratch = max(nodes.NodeTable.links_bytes(n, k, width, info.threads), 100 * starts * n)
        # Mode kmb sorts the pairs of terminals that it has collected, with copies of their numbers and distances.
        sorted_pairs = 0 if searching else kmb.PAIR_BYTES * min(kmb.MOST_PAIRS, kmb.NEAR_PAIRS * count)
        # From the reductions on a rank has the network of the smaller graph too, and its table.
        later = Network.bytes_for(n, arcs) + table
        one_memory = info.kind == "cpu"  # for device and host; beside a GPU the CPU does the work that needs scratch
        peak = Network.bytes_for(graph.n, graph.arcs) + max(
            ascent + 8 * graph.arcs - shared,  # what is shared is made after the dual ascents
            reduced_graph.REDUCTION_BYTES * graph.arcs * first,
            (later + building) * first,
            later + sorted_pairs + (device + beside if one_memory else max(beside, scratch)),
            later + max(24 * graph.n, (100 * n + 60 * arcs) * local) * first,  # or local search
        )
        if one_memory:  # the host's part is its peak beyond what the device allocates, functions of the host included
            moves = (85 * n + 14 * arcs) * local * first
            pairs = pair_bytes(k) if parameters.mode == "exact" else 0
            device = max(device + scratch, ascent, moves, pairs)
        on_host.append(max(0, peak - device) if one_memory else peak)
        on_device.append(device)
    return tuple(on_device), tuple(on_host), shared


def _some_searches(
    graph: Graph, parameters: Parameters, ranks: int, device: Device
) -> tuple[float, int, float, tuple[DistanceTable, ...]]:
    """Make some searches of mode kmb, from terminals near each other, and find some of the paths.

    Returns the estimated seconds of all searches of a rank, the number of searches, then `row_ratio` and `tables` of
    `Trial`.
    """
    with on_host(device) as host:
        smaller, tree = network.prepared(graph, host)
        net, cutoff = network.network(smaller.graph, host), cutoff_of(tree, parameters)
        k, keys, comm = len(net.terminals), terminal_rows.keys_for(smaller.graph, cutoff), SerialComm()
        share = len(terminal_rows.shares_of_walk(k, ranks)[0])
        request = Request(net.n, smaller.graph.arcs, keys, share, p=parameters.at_once)
        name = engines.TILE.name if parameters.engine == engines.AUTO else parameters.engine
        together = engines.chosen_engine(name, request, device.info).together(request, device.info)
        count = min(share, together * -(-ARCS // max(1, smaller.graph.arcs)))
        matrix = Matrix(cutoff, smaller.member, range(count), keys.dtype) if parameters.matrix else None
        order = terminal_rows.walk(net, tree)
        sources = matrix.sources(order, comm) if matrix else order[:count]
        watch = Stopwatch()
        single, row_search = terminal_rows.terminal_searches(
            smaller.graph, keys, parameters, device, comm, count, cutoff, net.terminals.astype(np.int64))
        with single:
            with row_search() as rows:
                before = watch.seconds()
                kept = kmb.KmbCheckpoints(matrix) if matrix else None
                kmb.spanned_rows(net, sources, tree.bottleneck, rows, kept=kept)
            ends = np.stack([tree.first, tree.second], axis=1).astype(np.int64)
            ends = ends[np.argsort(ends[:, 0], kind="stable")][: max(1, (k - 1) * count // k)]
            terminal_rows.path_edges(net, single, ends, comm, silent)
        seconds = before + (watch.seconds() - before) * (share / count)
        return seconds, count, share / count, (matrix.table(),) if matrix else ()
