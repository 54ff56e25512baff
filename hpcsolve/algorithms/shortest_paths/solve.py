"""The calls of the runner: `estimate` before anything is allocated, `run`, and `check`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.base import (
    UNLIMITED,
    WITHOUT_WORK,
    Column,
    Estimate,
    Limits,
    Outcome,
    Report,
    Rows,
    as_column,
)
from hpcsolve.algorithms.shortest_paths.engine import MOST_BLOCKS, Found, Searcher, batch_size, searcher, wider
from hpcsolve.algorithms.shortest_paths.keys import LONG, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.question import Parameters, Question, question
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.parallel.partition import blocks
from hpcsolve.problems.graph import Graph

KERNEL_FILES = ("near_far", "paths", "dijkstra", "bellman_ford")
NOBODY = -1


def estimate(graph: Graph, parameters: Parameters, ranks: int) -> Estimate:
    """What a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the graph.
    """
    asked, keys = question(graph, parameters), first_keys(graph)
    if asked.pairs is not None:
        raise InputError("shortest-paths.queries: designed, and not there yet")
    shares = [len(share) for share in blocks(len(asked.seeds), ranks)]
    device = tuple(_device_bytes(graph, keys, share) if share else 0 for share in shares)
    # Rows as they come from the device, as they are kept, and the graph laid out.
    row = graph.n * (keys.dtype.itemsize + 4)
    host = tuple(share * row + min(share, MOST_BLOCKS) * 3 * row + _graph_bytes(graph, keys) for share in shares)
    details: dict[str, int | str] = {
        "searches": len(asked.seeds),
        WITHOUT_WORK: shares.count(0),
        "vertices, arcs": f"{graph.n}, {graph.arcs}",
        "distances": {"u4": "32-bit integers, wider if need be", "u8": "64-bit integers", "f8": "floats"}[keys.code],
    }

    def largest(free: Sequence[int]) -> int:
        a_vertex = (max(device) + max(host)) / max(graph.n, 1)
        return int(min(free) / max(a_vertex, 1))

    return Estimate(device, host, len(asked.seeds) * graph.arcs, "arc of Dijkstra's", (0,) * ranks, details, largest)


def _graph_bytes(graph: Graph, keys: Keys) -> int:
    sides = 2 if graph.directed else 1
    return sides * (4 * (graph.n + 1) + 2 * keys.dtype.itemsize * graph.arcs)


def _device_bytes(graph: Graph, keys: Keys, searches: int) -> int:
    """The graph and the buffers of the largest batch, exact but for the sources' own places."""
    at_once = min(searches, batch_size(graph.n, keys))
    row = graph.n * (keys.dtype.itemsize + 12) + 28
    return _graph_bytes(graph, keys) + at_once * row + 4 * (graph.n // 32 + 2)


@dataclass(frozen=True)
class _Mine:
    """What a rank found: all its searches."""

    keys: Keys
    found: list[Found]
    seconds_kernel: float


def run(
    graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report, limits: Limits = UNLIMITED
) -> Outcome:
    """Distances, and whatever else was asked for; checked on the device. `graph` is the same on all ranks.

    Raises
    ------
    InputError
        A distance does not fit 64 bits.
    """
    asked = on_rank_0(comm, lambda: question(graph, parameters))
    share = blocks(len(asked.seeds), comm.size)[comm.rank]
    mine = _search(graph, asked.seeds[share.start : share.stop], device, parameters, report)
    started = time.perf_counter()
    kinds = comm.allgather(None if mine is None else mine.keys.code)
    waited = time.perf_counter() - started
    if mine is None or None in kinds:
        raise InputError("a shortest path is longer than 2^64 - 2; scale the weights down", graph.name)
    # One type on all ranks: the widest that any of them needed.
    keys = LONG if "u8" in kinds else mine.keys
    rank = {
        "operations": int(sum(f.relaxed.sum() for f in mine.found)),
        "wrong": int(sum(f.wrong.sum() for f in mine.found)),
        "seconds_kernel": mine.seconds_kernel,
        "seconds_wait": waited,
    }
    solution = _solution(asked)
    rows = _rows(mine, keys, share, asked, parameters, graph.n)
    return Outcome(None, solution, rows, {"searches": _searches(mine, comm)}, rank)


def check(graph: Graph, parameters: Parameters, outcome: Outcome) -> str | None:
    """What the device's check of this rank's rows found wrong, None if nothing."""
    wrong = int(outcome.rank.get("wrong", 0))
    return f"{wrong} entries contradict the arcs" if wrong else None


def _search(graph: Graph, seeds: Sequence[NDArray[np.int64]], device: Device, parameters: Parameters,
            report: Report) -> _Mine | None:
    """All searches of this rank, with keys wide enough that nothing is cut off but by the cutoff; None if none are."""
    keys: Keys | None = first_keys(graph)
    engine = parameters.engine
    while keys is not None:
        prepared = searcher(graph, device, keys, engine, _scaled(parameters.delta, graph),
                            _scaled(parameters.cutoff, graph))  # fmt: skip
        found = _all_batches(prepared, seeds, report)
        prepared.close()
        if not _overflowed(prepared, found, parameters, graph):
            return _Mine(keys, found, prepared.timer.seconds)
        if keys is LONG and engine in ("near-far", "dijkstra"):
            engine = "bellman-ford-push"  # holds the one bit more
        else:
            keys = wider(keys)
    return None


def _all_batches(prepared: Searcher, seeds: Sequence[NDArray[np.int64]], report: Report) -> list[Found]:
    found: list[Found] = []
    for batch in prepared.search(seeds):
        found.append(batch)
        report(sum(len(f.keys) for f in found) / len(seeds))
    return found


def _overflowed(prepared: Searcher, found: list[Found], parameters: Parameters, graph: Graph) -> bool:
    """Whether a search met the largest key, not the cutoff that was asked for."""
    cutoff = _scaled(parameters.cutoff, graph)
    asked_for = cutoff is not None and prepared.keys.encode_one(cutoff) <= prepared.limit
    return not asked_for and any(f.cut.any() for f in found)


def _scaled(value: float | None, graph: Graph) -> float | None:
    return None if value is None else value * graph.scale


def _solution(asked: Question) -> dict[str, Column]:
    columns = {"source": as_column(asked.sources.astype(np.int32), "Positions of the sources, from 0", "1", "source")}
    if asked.targets is not None:
        text = "Positions of the targets, from 0"
        columns["target"] = as_column(asked.targets.astype(np.int32), text, "1", "target")
    return columns


def _rows(mine: _Mine, keys: Keys, share: range, asked: Question, parameters: Parameters, n: int) -> dict[str, Rows]:
    def whole(parts: list[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
        return np.concatenate(parts) if parts else np.empty((0, n), dtype)

    def rows(values: NDArray[Any], text: str, none: float) -> Rows:
        column = "vertex" if asked.targets is None else "target"
        return Rows(values, share.start, len(asked.seeds), text, "1", ("search", column), none)

    distance = keys.decode(whole([_widened(f.keys, mine.keys, keys) for f in mine.found], keys.dtype))
    before = whole([f.predecessor for f in mine.found], np.int32)
    none = np.inf if keys.code == "f8" else keys.unreached
    kept = distance if asked.targets is None else distance[:, asked.targets]
    table = {"distance": rows(kept, "Distance from the sources of each search, times /instance/scale", none)}
    if parameters.predecessors:
        text = "The vertex before on a shortest path, the smallest of those that fit"
        table["predecessor"] = rows(before, text, NOBODY)
    if parameters.voronoi:
        reached = distance != none
        nearest = np.array([np.where(r, roots(b), NOBODY) for r, b in zip(reached, before)], np.int32)
        table["nearest"] = rows(nearest.reshape(-1, n), "The source from which a vertex is nearest", NOBODY)
    return table


def roots(predecessor: NDArray[np.int32]) -> NDArray[np.int32]:
    """The root of each vertex in a forest of predecessors (-1: none), shape (n,); by doubling the steps taken."""
    above = np.where(predecessor < 0, np.arange(len(predecessor), dtype=np.int32), predecessor)
    while not np.array_equal(above, above[above]):
        above = above[above]
    return above


def _widened(values: NDArray[np.unsignedinteger], own: Keys, common: Keys) -> NDArray[np.unsignedinteger]:
    """Keys of another width; unreached stays unreached."""
    if own.dtype == common.dtype:
        return values
    return np.where(values == own.unreached, np.uint64(common.unreached), values.astype(np.uint64))


def _searches(mine: _Mine, comm: Comm) -> Mapping[str, Column]:
    """Rank 0's table of all searches: what they took. Collective."""
    parts = comm.gather([(f.relaxed, f.rounds) for f in mine.found]) or []
    pairs = [pair for part in parts for pair in part]
    relaxed = np.concatenate([a for a, _ in pairs] or [np.empty(0, np.uint64)]).astype(np.int64)
    rounds = np.concatenate([b for _, b in pairs] or [np.empty(0, np.uint64)]).astype(np.int64)
    return {
        "relaxed": as_column(relaxed, "Arcs followed; Dijkstra's algorithm follows each once", "1", "search"),
        "rounds": as_column(rounds, "Dependent steps", "1", "search"),
    }
