"""What the runner calls: `estimate` before anything is allocated, and `run`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Interrupted, Outcome, Report, StopCriteria, never
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, ROW_ENGINES, chosen_engine, kernel_files
from hpcsolve.algorithms.shortest_paths.keys import LONG, WORD
from hpcsolve.algorithms.shortest_paths.row_engine import RowRequest
from hpcsolve.algorithms.shortest_paths.rows import batch_rows, row_bytes
from hpcsolve.algorithms.shortest_paths.search_graph import search_graph_bytes
from hpcsolve.algorithms.shortest_paths.searcher import workspace
from hpcsolve.algorithms.steiner_kmb.dual_ascent import Bound, ascended, best_bound
from hpcsolve.algorithms.steiner_kmb.key_path import exchanged
from hpcsolve.algorithms.steiner_kmb.kmb import Work, keys_for, kmb_tree
from hpcsolve.algorithms.steiner_kmb.matrix import Matrix, empty_matrix
from hpcsolve.algorithms.steiner_kmb.network import Network, network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.node_table import sent_bytes, share_bytes
from hpcsolve.algorithms.steiner_kmb.one_steiner import best_tree
from hpcsolve.algorithms.steiner_kmb.order import shares_of_walk
from hpcsolve.algorithms.steiner_kmb.outcome import Certified, Tables, tables_of
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reduce import Indices, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.rounds import AgreedStop
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree, closure, improved, shortest_path_tree
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import exact_sum, require_problem
from hpcsolve.problems.verify.steiner_bound import closure_bound

HOST_KERNEL_FILES = ("steiner/steiner_tree", "steiner/key_path", "steiner/one_steiner", "steiner/dual_ascent")
"""Kernels marked for the CPU, where they run whatever the job's device is."""
KERNEL_FILES = (*HOST_KERNEL_FILES, *kernel_files((*ENGINES, *ROW_ENGINES)))
STOPS = ("seconds", "target")
BYTES_A_VERTEX, BYTES_AN_ARC = 200, 140
"""Host memory at its peak, which is in the dual ascent, as measured on the instances of the tests."""


def can_stop(parameters: Parameters) -> bool:
    """Return whether the mode has an answer before its end, as only "best" has."""
    return parameters.mode == "best"


def estimate(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run on so many ranks, each with such a device, will need.

    Raises
    ------
    InputError
        The graph's terminals cannot be joined, or `matrix` is set in a mode that makes none.
    """
    if parameters.matrix and parameters.mode != "kmb":
        raise InputError(f'steiner-kmb.matrix: mode "{parameters.mode}" makes no matrix; set mode = "kmb"')
    require_problem(graph)
    assert graph.terminals is not None
    alone, k = parameters.mode == "fast", len(graph.terminals)
    sizes = [1] + [0] * (ranks - 1) if alone else [len(share) for share in shares_of_walk(k, ranks)]
    base = BYTES_A_VERTEX * graph.n + BYTES_AN_ARC * graph.arcs
    host = [base + table for table in _table_bytes(graph, parameters, ranks, info)]
    device = tuple(0 if alone else _device_bytes(graph, parameters, size, info) for size in sizes)
    shared = 0 if alone else search_graph_bytes(graph, LONG)

    def largest(free: Sequence[int]) -> int:
        return int(min(most / ((a + b + shared) / graph.n) for most, a, b in zip(free, host, device)))

    work = graph.arcs * (1 if alone else k)
    details: dict[str, int | str] = {"terminals": k, WITHOUT_WORK: sizes.count(0)}
    sent = sent_bytes(graph.n, k, ranks, _width(graph)) if parameters.mode == "best" else [0] * ranks
    return Estimate(device, tuple(host), work, "arc of Dijkstra's", tuple(sent), details, largest, shared)


def _table_bytes(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo) -> list[int]:
    """Return the bytes of each rank's share of the table (mode best, with scratch) or of its rows of the matrix."""
    assert graph.terminals is not None
    k, width = len(graph.terminals), _width(graph)
    if parameters.mode != "best":
        return [len(share) * k * width * parameters.matrix for share in even_shares(k, ranks)]
    units = info.units if info.kind == "cpu" else 1
    batch = batch_rows(parameters.engine, RowRequest(graph.n, graph.n, k, parameters.at_once), info)
    return share_bytes(graph.n, k, ranks, width, batch, units)


def _width(graph: Graph) -> int:
    """Return the most bytes of a distance, since none exceeds the sum of all edges (each of which is two arcs)."""
    return 4 if exact_sum(graph.weights) // 2 <= WORD.limit else 8


def _device_bytes(graph: Graph, parameters: Parameters, searches: int, info: DeviceInfo) -> int:
    """Return the bytes that searches work in, with the widest keys."""
    engine = chosen_engine(parameters.engine, graph, searches, info)
    shapes = workspace(graph.n, engine.at_once(searches, info), engine.room(graph.n), False, LONG)
    space: int = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    assert graph.terminals is not None
    columns = graph.n if parameters.mode == "best" else len(graph.terminals)
    return space + row_bytes(parameters.engine, RowRequest(graph.n, columns, searches, parameters.at_once), info)


def run(
    graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, interrupted: Interrupted = never,
) -> Outcome:
    """Return a Steiner tree with its certificate. `graph` is the same on all ranks, and so is the answer."""
    target = None if criteria.target is None else math.floor(Fraction(str(criteria.target)) * graph.scale)
    stop = AgreedStop(comm, criteria, target, interrupted)
    tables: Tables = {}
    found: Certified | None = None
    with _on_host(device) as host:
        whole = network(graph, host)
        report(0.0, "lower bound")
        bound = ascended(whole, comm)  # first: rank 0, which has the reductions next, has fewer ascents
        smaller, closure_tree = comm.once_per_host(partial(_prepared, graph, host))
        net = network(smaller.graph, host)
        matrix = None
        if parameters.matrix:
            matrix = empty_matrix(smaller.member, keys_for(smaller.graph, closure_tree.weight).dtype, comm)
        tree, work = _tree(smaller, net, closure_tree, device, comm, parameters, report, stop, seed, matrix)
        bound = best_bound(bound, comm)
        if tree is not None and bound is not None:
            tree = exchanged(net, tree) if parameters.exchange or parameters.mode == "best" else tree
            found, tables = _certified(whole, smaller, closure_tree, tree, bound)
    started = time.perf_counter()
    found = comm.bcast(found)
    assert found is not None
    rank = {
        "operations": work.relaxed, "bytes_sent": work.sent, "seconds_kernel": work.seconds,
        "seconds_wait": time.perf_counter() - started,
    }
    answer = found.answer(None if matrix is None else matrix.as_table())
    return Outcome(answer, tables, rank, stop.ended(work.rounds), not stop.broken_off)


def _prepared(graph: Graph, host: Device) -> tuple[ReducedGraph, ClosureTree]:
    smaller = reduced(graph)
    return smaller, closure(network(smaller.graph, host))


def _tree(
    smaller: ReducedGraph, net: Network, closure_tree: ClosureTree, device: Device, comm: Comm, parameters: Parameters,
    report: Report, stop: AgreedStop, seed: int, matrix: Matrix | None,
) -> tuple[Indices | None, Work]:
    """Return the edges of a tree in the reduced graph, on rank 0, and this rank's work. Collective."""
    if len(net.terminals) < 2:
        return np.empty(0, np.int64), Work(0, 0.0)
    if parameters.mode == "best":
        return best_tree(smaller.graph, net, closure_tree, device, comm, parameters, report, stop, seed)
    if parameters.mode == "kmb":
        return kmb_tree(smaller.graph, net, closure_tree, device, comm, parameters, report, matrix)
    if comm.rank > 0:
        return None, Work(0, 0.0)
    started = time.perf_counter()
    tree = improved(net, shortest_path_tree(net))
    return tree, Work(smaller.graph.arcs, time.perf_counter() - started)


def _certified(
    whole: Network, smaller: ReducedGraph, closure_tree: ClosureTree, tree: Indices, bound: Bound
) -> tuple[Certified, Tables]:
    """Return the tree in the graph as it was read, with its lower bound, and the groups beside `/solution`."""
    restored = spanning_tree(whole, smaller.restored(tree))
    least = max(bound.value, closure_bound(closure_tree.weight, len(whole.terminals)))
    return Certified(whole.edges.part(restored), closure_tree, least), tables_of(bound, smaller)


@contextmanager
def _on_host(device: Device) -> Iterator[Device]:
    """Give the job's device if it is the CPU, else one core of the CPU beside it."""
    if device.info.kind == "cpu":
        yield device
        return
    with HostDevice(1) as host:
        yield host
