"""What the runner calls: `estimate` before anything is allocated, `run`, and `check`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria
from hpcsolve.algorithms.shortest_paths import pairs
from hpcsolve.algorithms.shortest_paths.engines.known import ENGINES, NEAR_FAR, PHAST, PUSH, kernel_files
from hpcsolve.algorithms.shortest_paths.engines.phast import contraction, hierarchy, plateaus, sweeper
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import workers
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper
from hpcsolve.algorithms.shortest_paths.keys import KINDS, LONG, Keys, first_keys, wider
from hpcsolve.algorithms.shortest_paths.memory import memory
from hpcsolve.algorithms.shortest_paths.pairs import QueryAnswers, by_source, shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.prepare import (
    Way,
    engine_of,
    kept_everywhere,
    kept_here,
    prepared_on,
    way_by,
    way_of,
    workers_of_all,
)
from hpcsolve.algorithms.shortest_paths.question import Parameters, question
from hpcsolve.algorithms.shortest_paths.reduce import reducer
from hpcsolve.algorithms.shortest_paths.reduce.answer import reductions_of, solve_summaries
from hpcsolve.algorithms.shortest_paths.resume import SearchCheckpoints
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.tables import SearchRows, answer_of, solve_table
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm, even_shares
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion

KERNEL_FILES = (*kernel_files(ENGINES), sweeper.FILE, plateaus.FILE, reducer.FILE, contraction.FILE, hierarchy.FILE)
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
    way = way_of(graph, parameters, asked, ranks * workers(info), partial(kept_here, graph, info))
    need = memory(graph, keys, asked, parameters, way, sizes, info)
    details: dict[str, int | str] = {
        "searches": searches(asked),
        WITHOUT_WORK: sizes.count(0),
        "vertices, arcs": f"{graph.n}, {graph.arcs}",
        "distances": {"u4": "32-bit integers, wider if need be", "u8": "64-bit integers", "f8": "floats"}[keys.code],
    }
    if way.engine == PHAST:
        details["engine"] = "phast, if the hierarchy takes no more than the work and the memory estimated for it"
    if asked.pairs is not None:
        details["queries"] = len(asked.pairs)
    a_vertex = (max(map(sum, zip(need.device, need.host))) + need.shared) / max(graph.n, 1)

    def largest(free: Sequence[int]) -> int:
        return int(min(free) / max(a_vertex, 1))

    work = searches(asked) * graph.arcs
    table = asked.pairs is None and asked.reduction is None
    smaller = '[shortest-paths] reduce = ["sum"] keeps the sum of each row in place of the table' if table else ""
    return Estimate(need.device, need.host, work, "arc of Dijkstra's", (0,) * ranks, details, largest, need.shared,
                    smaller=smaller)


def searches(asked: PathQuestion) -> int:
    """Return the number of searches that a question takes."""
    return len(asked.seeds) if asked.pairs is None else len(np.unique(asked.pairs[:, 0]))


def run(
    graph: Graph, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return distances or paths, as asked, checked on the device. `graph` is the same on all ranks.

    Raises
    ------
    InputError
        A distance, or a sum of distances, does not fit 64 bits.
    """
    asked = on_rank_0(comm, lambda: question(graph, parameters))
    share = _shares(asked, comm.size)[comm.rank]
    keys: Keys | None = first_keys(graph)
    cutoff, saved = asked.cutoff, checkpoints.saved
    way = way_of(graph, parameters, asked, workers_of_all(device.info, comm),
                 partial(kept_everywhere, graph, device.info, comm))
    if saved is not None:
        known = [*(engine.name for engine in ENGINES), NEAR_FAR, PHAST]
        keys, way = KINDS[saved.text("keys", KINDS)], way_by(saved.text("engine", known), way.reason)
    while keys is not None:
        kind = keys
        with prepared_on(graph, device, comm, kind, way, parameters, cutoff, len(share), asked.targets) as prepared:
            report(0.0)
            numbers = {"keys": kind.code, "engine": engine_of(prepared, way)}
            kept = SearchCheckpoints(comm, checkpoints, share.start, saved, numbers)
            mine = _answer(prepared, asked, share, parameters, report, kept)
            seconds = {"seconds_kernel": prepared.timer.seconds, "seconds_copy": prepared.seconds_copy}
            cut = cutoff is None or kind.encode_one(cutoff) > prepared.cutoff
        started = time.perf_counter()
        if not any(comm.allgather(cut and any(batch.cut.any() for batch in mine.batches))):
            rank = _rank_columns(mine, {**seconds, "seconds_wait": time.perf_counter() - started})
            return _outcome(mine, kind, asked, share, graph, parameters, comm, rank)
        (keys, way), saved = _next(kind, prepared, way), None
    raise InputError("a path is longer than 2^64 - 2; divide the weights by a power of ten", graph.name)


def check(graph: Graph, parameters: Parameters, outcome: Outcome) -> str | None:
    """Return what the device's check of this rank's searches found wrong, or None."""
    wrong = int(outcome.rank.get("wrong", 0))
    return f"{wrong} entries contradict the arcs" if wrong else None


def _shares(asked: PathQuestion, size: int) -> list[range]:
    """Return each rank's range of the searches, or of the queries sorted by source."""
    if asked.pairs is None:
        return even_shares(len(asked.seeds), size)
    return shares(asked.pairs[by_source(asked.pairs)], size)


def _answer(prepared: Searcher | Sweeper, asked: PathQuestion, share: range, parameters: Parameters, report: Report,
            kept: SearchCheckpoints) -> SearchRows | QueryAnswers:
    """Return this rank's part of the answer."""
    mine = slice(share.start, share.stop)
    if asked.pairs is not None:
        assert isinstance(prepared, Searcher)
        return solve_pairs(prepared, asked.pairs[by_source(asked.pairs)][mine], report, kept)
    if asked.reduction is not None:
        return solve_summaries(prepared, asked.seeds[mine], asked.targets, asked.reduction, report, kept)
    wanted = parameters.predecessors or parameters.voronoi
    return solve_table(prepared, asked.seeds[mine], asked.targets, wanted, report, kept)


def _next(keys: Keys, prepared: Searcher | Sweeper, way: Way) -> tuple[Keys | None, Way]:
    """Return what to try after a distance did not fit: wider keys, then an engine with one bit more for distances."""
    whole = isinstance(prepared, Searcher) and prepared.engine.whole_keys
    if keys is LONG and not whole:
        return keys, Way(PUSH.name)
    return wider(keys), way_by(engine_of(prepared, way))


def _rank_columns(
    mine: SearchRows | QueryAnswers, seconds: Mapping[str, float]
) -> dict[str, float | int]:
    return {
        "operations": int(sum(batch.relaxed.sum() for batch in mine.batches)),
        "wrong": int(sum(batch.wrong.sum() for batch in mine.batches)),
        **seconds,
    }


def _outcome(
    mine: SearchRows | QueryAnswers, keys: Keys, asked: PathQuestion, share: range, graph: Graph,
    parameters: Parameters, comm: Comm, rank: Mapping[str, float | int],
) -> Outcome:
    tables = {"searches": _searches(mine, comm)}
    if isinstance(mine, QueryAnswers):
        assert asked.pairs is not None
        return Outcome(pairs.answer_of(mine, keys, asked.pairs, comm), tables, rank)
    if asked.reduction is not None:
        return Outcome(reductions_of(mine, keys, share, asked, graph, comm), tables, rank)
    return Outcome(answer_of(mine, keys, share, asked, parameters), tables, rank)


def _searches(mine: SearchRows | QueryAnswers, comm: Comm) -> Mapping[str, Column]:
    """Return the group `/searches` on rank 0, elsewhere this rank's part of it. Collective."""
    own = [np.concatenate([np.empty(0, np.uint64), *(getattr(batch, name) for batch in mine.batches)])
           for name in ("relaxed", "rounds")]
    parts: list[Any] = comm.gather(own) or [own]
    relaxed, rounds = (np.concatenate([part[i] for part in parts]).astype(np.int64) for i in (0, 1))
    return columns(SEARCHES, {"relaxed": relaxed, "rounds": rounds})
