"""What the runner calls: `estimate` before anything is allocated, and `run`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria
from hpcsolve.algorithms.shortest_paths.engines import (
    AUTO,
    BLOCK,
    ENGINES,
    GRID,
    PHAST,
    ROW_ENGINES,
    TILE,
    kernel_files,
)
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import CONTRACTION_FILE, HIERARCHY_FILE
from hpcsolve.algorithms.steiner_kmb import dual_ascent, key_path
from hpcsolve.algorithms.steiner_kmb.best import node_tree, ruin
from hpcsolve.algorithms.steiner_kmb.best.node_table import sent_bytes
from hpcsolve.algorithms.steiner_kmb.best.polish import polished, shrunk_for_best
from hpcsolve.algorithms.steiner_kmb.best.rounds import RoundStop
from hpcsolve.algorithms.steiner_kmb.best.setting import Setting
from hpcsolve.algorithms.steiner_kmb.dual_ascent import Bound, best_bound, own_bound
from hpcsolve.algorithms.steiner_kmb.exact import layer
from hpcsolve.algorithms.steiner_kmb.exact.search import FREE_PART, searched
from hpcsolve.algorithms.steiner_kmb.key_path import exchanged
from hpcsolve.algorithms.steiner_kmb.kmb.matrix import Matrix, empty_matrix
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work, keys_for, kmb_tree
from hpcsolve.algorithms.steiner_kmb.memory import distance_keys, left_of, memory
from hpcsolve.algorithms.steiner_kmb.network import REDUCTIONS_FILE, TREE_FILE, Network, network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.order import shares_of_walk
from hpcsolve.algorithms.steiner_kmb.outcome import Certified, Tables, history_of, layers_of, tables_of
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reductions.shrink import Shrunk
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Edges, Indices, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree, closure, improved, shortest_path_tree
from hpcsolve.answers.tree import DUAL, SEARCH
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import closure_bound, require_problem

HOST_FILES = (TREE_FILE, dual_ascent.FILE, key_path.FILE, ruin.FILE, node_tree.FILE, REDUCTIONS_FILE, layer.FILE,
              CONTRACTION_FILE, HIERARCHY_FILE)
"""What runs on the host's cores whatever the job's device is."""
KERNEL_FILES = (*HOST_FILES, *kernel_files((*ENGINES, *ROW_ENGINES)))


def files_of(parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria) -> tuple[str, ...]:
    """Return the kernel files of a job: mode fast searches on the CPU alone, the others by rows and one by one."""
    if parameters.mode == "fast":
        return HOST_FILES
    names = {BLOCK.name, GRID.name, *((PHAST, TILE) if parameters.engine == AUTO else (parameters.engine,))}
    return (*HOST_FILES, *kernel_files(tuple(one for one in (*ENGINES, *ROW_ENGINES) if one.name in names)))


STOPS = ("seconds", "target", "memory")
"""The keys of [stop] that some mode honours (`can_stop`)."""


def can_stop(parameters: Parameters, key: str) -> bool:
    """Return whether this key of [stop] can end the mode. Only "best" and "exact" have an answer before their end."""
    return parameters.mode == "exact" or (parameters.mode == "best" and key != "memory")


def can_resume(parameters: Parameters) -> bool:
    """Return whether the mode writes checkpoints. Mode "fast" takes no longer than reading the graph."""
    return parameters.mode != "fast"


def estimate(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run will need on `ranks` ranks with such a device each.

    Raises
    ------
    InputError
        The graph's terminals cannot be joined, or `matrix` is set in a mode that makes none.
    """
    if parameters.matrix and parameters.mode != "kmb":
        raise InputError(f'steiner-kmb.matrix: mode "{parameters.mode}" makes no matrix; set mode = "kmb"')
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
    return Estimate(need.device, need.host, work, "arc of Dijkstra's", tuple(sent), details, largest, need.shared)


def run(
    graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return a Steiner tree with its certificate. `graph` is the same on all ranks, and so is the answer."""
    stop = RoundStop(comm, criteria, criteria.scaled_target(graph.scale), checkpoints, started=checkpoints.clock())
    tables: Tables = {}
    found: Certified | None = None
    with on_host(device) as host:
        whole = network(graph, host)
        report(0.0, "lower bound")
        bound = own_bound(whole, comm)  # before the reductions: rank 0 makes these, and has fewer ascents
        smaller, closure_tree = comm.once_per_host(partial(prepared, graph, host))
        if parameters.mode in ("best", "exact"):
            setting = Setting(whole, host, device, comm, parameters, report, stop, seed)
            return _reduced_and_searched(graph, smaller, bound, closure_tree, criteria, setting)
        net = network(smaller.graph, host)
        matrix = None
        if parameters.matrix:
            matrix = empty_matrix(smaller.member, keys_for(smaller.graph, closure_tree.weight).dtype, comm)
        tree, work = _tree(smaller, net, closure_tree, device, comm, parameters, report, stop, matrix)
        bound = best_bound(bound, comm)
        if tree is not None and bound is not None:
            tree = exchanged(net, tree) if parameters.exchange else tree
            found, tables = _certified(whole, smaller, closure_tree, tree, bound)
    started = time.perf_counter()
    found = comm.bcast(found)
    assert found is not None
    answer = found.answer(None if matrix is None else matrix.as_table())
    return Outcome(answer, tables, rank_of(work, time.perf_counter() - started), "", True)


def rank_of(work: Work, waited: float) -> dict[str, float | int]:
    """Return this rank's share of `/ranks`."""
    return {
        "operations": work.relaxed, "bytes_sent": work.sent, "seconds_kernel": work.seconds,
        "seconds_copy": work.seconds_copy, "seconds_wait": waited,
    }


def _reduced_and_searched(
    graph: Graph, smaller: ReducedGraph, bound: Bound | None, closure_tree: ClosureTree, criteria: StopCriteria,
    run: Setting,
) -> Outcome:
    """Return the outcome of modes best and exact. Collective."""
    bound = run.comm.bcast(best_bound(bound, run.comm))
    assert bound is not None
    least = _lower_bound(bound, closure_tree, run.whole)
    layers: Tables = {}
    if run.parameters.mode == "best":
        run.report(0.0, "reductions")
        found, work = polished(shrunk_for_best(smaller, run), run)
        certificate = Certified(_edges(run, found), closure_tree, min(least, found.weight))
        ended = "" if found.proven else run.stop.ended(work.rounds)
    else:
        exact = searched(smaller, least, criteria.memory, run)
        found, work, ended = exact.found, exact.work, exact.ended
        proof = DUAL if found.bound <= least else SEARCH
        certificate = Certified(_edges(run, found), closure_tree, found.bound, found.proven, proof)
        layers = layers_of(exact.sets, exact.states)
    tables = {**tables_of(bound, found.smaller), **history_of(work.history, graph.scale), **layers}
    complete = found.proven or not run.stop.broken_off
    return Outcome(certificate.answer(None), tables, rank_of(work, 0.0), ended, complete)


def _edges(run: Setting, found: Shrunk) -> Edges:
    return run.whole.edges.part(found.tree)


def prepared(graph: Graph, host: HostDevice) -> tuple[ReducedGraph, ClosureTree]:
    """Return the reduced graph, and the minimum spanning tree of its terminal distance graph."""
    smaller = reduced(graph)
    return smaller, closure(network(smaller.graph, host))


def _tree(
    smaller: ReducedGraph, net: Network, closure_tree: ClosureTree, device: Device, comm: Comm, parameters: Parameters,
    report: Report, stop: RoundStop, matrix: Matrix | None,
) -> tuple[Indices | None, Work]:
    """Return the edges of a tree in the reduced graph, on rank 0, and this rank's work. Collective."""
    if len(net.terminals) < 2:
        return np.empty(0, np.int64), Work(0, 0.0)
    if parameters.mode == "kmb":
        return kmb_tree(smaller.graph, net, closure_tree, device, comm, parameters, report, matrix, stop.checkpoints)
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
    least = _lower_bound(bound, closure_tree, whole)
    return Certified(whole.edges.part(restored), closure_tree, least), tables_of(bound, smaller)


def _lower_bound(bound: Bound, closure_tree: ClosureTree, whole: Network) -> int:
    """Return the greater one of the bounds by dual ascent and by the terminal distance graph."""
    return max(bound.value, closure_bound(closure_tree.weight, len(whole.terminals)))


@contextmanager
def on_host(device: Device) -> Iterator[HostDevice]:
    """Yield the job's device if it is the CPU, else the CPU cores that the rank has beside it."""
    if isinstance(device, HostDevice):
        yield device
        return
    with HostDevice(device.info.threads) as host:
        yield host
