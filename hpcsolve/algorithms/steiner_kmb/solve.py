"""The calls of the runner: `estimate` before anything is allocated, and `run`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import (
    UNLIMITED,
    WITHOUT_WORK,
    Column,
    Estimate,
    Limits,
    Outcome,
    Report,
    as_column,
)
from hpcsolve.algorithms.steiner_kmb.bound import Bound, best_bound
from hpcsolve.algorithms.steiner_kmb.network import network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters, require_there
from hpcsolve.algorithms.steiner_kmb.reduce import Edges, Reduced, reduced
from hpcsolve.algorithms.steiner_kmb.trees import Closure, closure, improved, shortest_path_tree
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import require_problem
from hpcsolve.problems.steiner_bound import guaranteed, ratio_of

HOST_KERNEL_FILES = ("steiner_tree", "dual_ascent")
"""Marked for the CPU: they run there whatever the job's device is."""
KERNEL_FILES = HOST_KERNEL_FILES
BYTES_A_VERTEX, BYTES_AN_ARC = 200, 140
"""Of the host's memory at the largest moment, which is the dual ascent: measured on the instances of the tests."""


Tables = Mapping[str, Mapping[str, Column]]


@dataclass(frozen=True)
class Answer:
    """A tree in the graph as it was read, and what no tree is lighter than."""

    tree: Edges
    closure: Closure
    lower_bound: int

    @property
    def weight(self) -> int:
        """Of the tree, exact."""
        return int(self.tree.weights.sum())


def estimate(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """What a run on so many ranks will need.

    Raises
    ------
    InputError
        The mode is not there yet, or the graph is no Steiner problem that has a solution.
    """
    require_there(parameters)
    require_problem(graph)
    assert graph.terminals is not None
    host = BYTES_A_VERTEX * graph.n + BYTES_AN_ARC * graph.arcs
    tree = 24 * graph.n  # as the others get it
    details: dict[str, int | str] = {"terminals": len(graph.terminals), WITHOUT_WORK: ranks - 1}

    def largest(free: Sequence[int]) -> int:
        return int(free[0] // (host / graph.n))

    zeros = (0,) * ranks
    return Estimate(zeros, (host, *[tree] * (ranks - 1)), graph.arcs, "arc of one search", zeros, details, largest)


def run(graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report, limits: Limits = UNLIMITED
        ) -> Outcome:  # fmt: skip
    """A Steiner tree with its certificate. `graph` is the same on all ranks; so is `solution`."""
    started = time.perf_counter()
    mine, tables = _fast(graph, device, report) if comm.rank == 0 else (None, {})
    seconds = time.perf_counter() - started
    answer = comm.bcast(mine)
    assert answer is not None
    waited = time.perf_counter() - started - seconds
    rank = {"operations": graph.arcs if mine else 0, "seconds_kernel": seconds, "seconds_wait": waited}
    return Outcome(answer.weight, _solution(answer), tables=tables, rank=rank)


def _fast(graph: Graph, device: Device, report: Report) -> tuple[Answer, Tables]:
    """Reduce, grow a tree, take the spanning tree of what it found, and put back what was taken out."""
    smaller = reduced(graph)
    report(0.3, "reduced")
    with _on_host(device) as host:
        net, whole = network(smaller.graph, host), network(graph, host)
        near = closure(net)
        tree = improved(net, shortest_path_tree(net))
        restored = spanning_tree(whole, smaller.restored(tree))
        report(0.6, "lower bound")
        bound = best_bound(whole)
    least = max(bound.value, guaranteed(near.weight, len(whole.terminals)))
    tables = {"prices": _prices(bound), "reductions": _reductions(smaller)}
    return Answer(whole.edges.part(restored), near, least), tables


@contextmanager
def _on_host(device: Device) -> Iterator[Device]:
    """The job's device if it is the CPU, else the CPU beside it."""
    if device.info.kind == "cpu":
        yield device
        return
    with HostDevice(1) as host:
        yield host


def _solution(answer: Answer) -> dict[str, Column]:
    tree, weight, least = answer.tree, answer.weight, answer.lower_bound
    text = "No Steiner tree of this instance is lighter; proven by /prices or by closure_mst"
    return {
        "u": as_column(tree.tails.astype(np.int32), "Ends of the tree's edges, the smaller position", "1", "edge"),
        "v": as_column(tree.heads.astype(np.int32), "Ends of the tree's edges, the larger position", "1", "edge"),
        "weight": as_column(tree.weights.astype(np.int64), "Weight of each edge, times /instance/scale", "1", "edge"),
        "lower_bound": Column(_int64(least), text),
        "ratio": Column(np.array(ratio_of(weight, least)), "So many times the optimum at most: cost / lower_bound"),
        "closure_mst": Column(_int64(answer.closure.weight), "Spanning tree of the terminals' distances: its weight"),
        "closure_bottleneck": Column(_int64(answer.closure.bottleneck), "Its longest edge"),
    }


def _int64(number: int) -> Any:
    return np.array(number, dtype=np.int64)


def _prices(bound: Bound) -> dict[str, Column]:
    text = "Terminal (position) whose set of vertices asks for a price, in order"
    return {
        "root": Column(_int64(bound.root), "Position of the terminal that no set holds"),
        "terminal": as_column(bound.terminals.astype(np.int32), text, "1", "raise"),
        "price": as_column(bound.prices.astype(np.int64), "The price: all together are a lower bound", "1", "raise"),
    }


def _reductions(smaller: Reduced) -> dict[str, Column]:
    texts = {
        "contracted": "Edges of weight 0 that were contracted",
        "parallel": "Parallel edges and loops that were dropped",
        "ends": "Vertices of one neighbour that were dropped",
        "passed": "Vertices of two that became part of an edge",
    }
    sizes = {
        "vertices": Column(_int64(smaller.graph.n), "Vertices that were left"),
        "edges": Column(_int64(smaller.graph.edges), "Edges that were left"),
    }
    return sizes | {name: Column(_int64(number), texts[name]) for name, number in smaller.counts.items()}
