"""What the runner calls: `estimate` before anything is allocated, `run`, and `check`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria
from hpcsolve.algorithms.shortest_paths import pairs
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, PUSH, Engine, EngineName, chosen_engine, kernel_files
from hpcsolve.algorithms.shortest_paths.keys import KINDS, LONG, Keys, first_keys, wider
from hpcsolve.algorithms.shortest_paths.pairs import (
    PATH_ROOM,
    SOURCES_A_BATCH,
    QueryAnswers,
    by_source,
    shares,
    solve_pairs,
)
from hpcsolve.algorithms.shortest_paths.question import Parameters, question
from hpcsolve.algorithms.shortest_paths.resume import SearchCheckpoints
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out, layout_bytes, search_graph_bytes
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, searcher, workspace
from hpcsolve.algorithms.shortest_paths.tables import SearchRows, answer_of, rows_at_once, solve_table
from hpcsolve.answers.dataset import Column, Dataset, columns
from hpcsolve.answers.distances import PathQuestion
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo, batches_at_once
from hpcsolve.device.memory import give_back_freed_memory
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.parallel.partition import even_shares
from hpcsolve.problems.graph import Graph

KERNEL_FILES = kernel_files(ENGINES)
SEARCHES = {
    "relaxed": Dataset("int64", "Number of arcs relaxed; Dijkstra's algorithm relaxes each once", "search"),
    "rounds": Dataset("int64", "Number of rounds, each of which must wait for the one before", "search"),
}
"""The group `/searches`."""


def estimate(graph: Graph, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run on so many ranks, each with such a device, will need.

    Raises
    ------
    InputError
        The parameters do not fit the graph.
    """
    asked, keys = question(graph, parameters), first_keys(graph)
    sizes = [len(share) for share in _shares(asked, ranks)]
    memory = [_memory(graph, keys, asked, parameters, size, info) if size else (0, 0) for size in sizes]
    details: dict[str, int | str] = {
        "searches": searches(asked),
        WITHOUT_WORK: sizes.count(0),
        "vertices, arcs": f"{graph.n}, {graph.arcs}",
        "distances": {"u4": "32-bit integers, wider if need be", "u8": "64-bit integers", "f8": "floats"}[keys.code],
    }
    if asked.pairs is not None:
        details["queries"] = len(asked.pairs)
    shared = search_graph_bytes(graph.n, graph.arcs, graph.directed, keys)
    # Rank 0 lays the graph out before it takes memory for searches and answers, so the larger of the two counts.
    layout = layout_bytes(graph.n, graph.arcs, graph.directed, keys) - shared
    layout -= memory[0][0] if info.kind == "cpu" else 0
    memory[0] = memory[0][0], max(memory[0][1], layout)
    a_vertex = (max(map(sum, memory)) + shared) / max(graph.n, 1)

    def largest(free: Sequence[int]) -> int:
        return int(min(free) / max(a_vertex, 1))

    device, host = (tuple(part[i] for part in memory) for i in (0, 1))
    work = searches(asked) * graph.arcs
    return Estimate(device, host, work, "arc of Dijkstra's", (0,) * ranks, details, largest, shared)


def searches(asked: PathQuestion) -> int:
    """Return the number of searches that a question takes."""
    return len(asked.seeds) if asked.pairs is None else len(np.unique(asked.pairs[:, 0]))


def _memory(graph: Graph, keys: Keys, asked: PathQuestion, parameters: Parameters, size: int, info: DeviceInfo
            ) -> tuple[int, int]:
    """Return the bytes on the device and on the host of a rank with `size` searches, or queries."""
    engine = chosen_engine(parameters.engine, graph, size, info)
    at_once = engine.at_once(size, info)
    shapes = workspace(graph.n, at_once, engine.room(graph.n), graph.weights.min(initial=1) == 0, keys)
    device = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    device += engine.bytes_a_vertex * graph.n
    if asked.pairs is not None:
        batch = min(size, SOURCES_A_BATCH * at_once)
        paths = 4 * (graph.n + PATH_ROOM * batch)
        return device + paths + 60 * batch, paths + size * (keys.dtype.itemsize + 12 + 8 * PATH_ROOM)
    columns = graph.n if asked.targets is None else len(asked.targets)
    row = columns * keys.dtype.itemsize + 4 * graph.n * (parameters.predecessors or parameters.voronoi)
    batch = min(size, rows_at_once(graph.n, keys, info) * batches_at_once(info))
    nearest = 4 * graph.n * size if parameters.voronoi else 0
    in_place = info.kind == "cpu" and asked.targets is None
    return device + (0 if in_place else batch * row) + 64 * batch, size * row + nearest


def run(
    graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return distances or paths, as asked, checked on the device. `graph` is the same on all ranks.

    Raises
    ------
    InputError
        A distance does not fit 64 bits.
    """
    asked = on_rank_0(comm, lambda: question(graph, parameters))
    share = _shares(asked, comm.size)[comm.rank]
    keys: Keys | None = first_keys(graph)
    engine, cutoff, saved = parameters.engine, _scaled(parameters.cutoff, graph), checkpoints.saved
    if saved is not None:
        keys, engine = KINDS[str(saved.numbers["keys"])], str(saved.numbers["engine"])
    while keys is not None:
        kind = keys
        search_graph = comm.once_per_host(partial(lay_out, graph, kind))
        give_back_freed_memory()  # what laying out took: rows may need as much
        with searcher(graph, device, kind, engine, _scaled(parameters.delta, graph), cutoff, search_graph=search_graph,
                      searches=len(share), batch=parameters.batch) as prepared:
            report(0.0)
            kept = SearchCheckpoints(comm, checkpoints, share.start, saved, {"keys": kind.code, "engine": engine})
            mine = _answer(prepared, asked, share, parameters, report, kept)
            seconds = {"seconds_kernel": prepared.timer.seconds, "seconds_copy": prepared.seconds_copy}
            cut = cutoff is None or kind.encode_one(cutoff) > prepared.cutoff
        started = time.perf_counter()
        if not any(comm.allgather(cut and any(batch.cut.any() for batch in mine.batches))):
            rank = _rank_columns(mine, {**seconds, "seconds_wait": time.perf_counter() - started})
            return _outcome(mine, kind, asked, share, parameters, comm, rank)
        (keys, engine), saved = _next(kind, prepared.engine), None
    raise InputError("a shortest path is longer than 2^64 - 2; scale the weights down", graph.name)


def check(graph: Graph, parameters: Parameters, outcome: Outcome) -> str | None:
    """Return what the device's check of this rank's searches found wrong, or None."""
    wrong = int(outcome.rank.get("wrong", 0))
    return f"{wrong} entries contradict the arcs" if wrong else None


def _shares(asked: PathQuestion, size: int) -> list[range]:
    """Return each rank's range of the searches, or of the queries sorted by source."""
    if asked.pairs is None:
        return even_shares(len(asked.seeds), size)
    return shares(asked.pairs[by_source(asked.pairs)], size)


def _answer(prepared: Searcher, asked: PathQuestion, share: range, parameters: Parameters, report: Report,
            kept: SearchCheckpoints) -> SearchRows | QueryAnswers:
    """Return this rank's part of the answer."""
    mine = slice(share.start, share.stop)
    if asked.pairs is not None:
        return solve_pairs(prepared, asked.pairs[by_source(asked.pairs)][mine], report, kept)
    wanted = parameters.predecessors or parameters.voronoi
    return solve_table(prepared, asked.seeds[mine], asked.targets, wanted, report, kept)


def _next(keys: Keys, engine: Engine) -> tuple[Keys | None, EngineName]:
    """Return what to try after a distance did not fit: wider keys, then an engine with one bit more for distances."""
    if keys is LONG and not engine.whole_keys:
        return keys, PUSH.name
    return wider(keys), engine.name


def _scaled(value: float | None, graph: Graph) -> float | None:
    return None if value is None else value * graph.scale


def _rank_columns(
    mine: SearchRows | QueryAnswers, seconds: Mapping[str, float]
) -> dict[str, float | int]:
    return {
        "operations": int(sum(batch.relaxed.sum() for batch in mine.batches)),
        "wrong": int(sum(batch.wrong.sum() for batch in mine.batches)),
        **seconds,
    }


def _outcome(
    mine: SearchRows | QueryAnswers, keys: Keys, asked: PathQuestion, share: range, parameters: Parameters, comm: Comm,
    rank: Mapping[str, float | int],
) -> Outcome:
    tables = {"searches": _searches(mine, comm)}
    if isinstance(mine, QueryAnswers):
        assert asked.pairs is not None
        return Outcome(pairs.answer_of(mine, keys, asked.pairs, comm), tables, rank)
    return Outcome(answer_of(mine, keys, share, asked, parameters), tables, rank)


def _searches(mine: SearchRows | QueryAnswers, comm: Comm) -> Mapping[str, Column]:
    """Return the group `/searches` on rank 0, elsewhere this rank's part of it. Collective."""
    own = [np.concatenate([np.empty(0, np.uint64), *(getattr(batch, name) for batch in mine.batches)])
           for name in ("relaxed", "rounds")]
    parts: list[Any] = comm.gather(own) or [own]
    relaxed, rounds = (np.concatenate([part[i] for part in parts]).astype(np.int64) for i in (0, 1))
    return columns(SEARCHES, {"relaxed": relaxed, "rounds": rounds})
