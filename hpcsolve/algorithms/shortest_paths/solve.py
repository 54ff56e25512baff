"""What the runner calls: the plan of a run, the run, and a trial of its time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Algorithm, Outcome, Plan, Report, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths import choice, pairs, reductions, search_graph, tables
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, NEAR_FAR, PHAST, PUSH, chosen_engine, kernel_files
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import PLATEAUS_FILE, Refusal, hierarchy_memory
from hpcsolve.algorithms.shortest_paths.engines.kept import Cache
from hpcsolve.algorithms.shortest_paths.question import (
    WORDS,
    Parameters,
    PathStatement,
    question,
    question_with_files,
    scaled,
)
from hpcsolve.algorithms.shortest_paths.search_graph import KINDS, LONG, WORD, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.searches import Engine, Prepared, Request, Want
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.contents import Dataset, columns
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo, batches_at_once
from hpcsolve.errors import InputError
from hpcsolve.formats.vertex_lists import read_queries
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.wording import counted

SEARCHES = {
    "relaxed": Dataset("int64", "Number of arcs relaxed; Dijkstra's algorithm relaxes each once", "search"),
    "rounds": Dataset("int64", "Number of rounds, each of which must wait for the one before", "search"),
}
"""The group `/searches`."""
IN_WORDS = {"u4": "32-bit integers, wider if need be", "u8": "64-bit integers", "f8": "floats"}
"""Keys, in words."""
SEED_BYTES = 256
"""Bytes of the array and the places in lists that each search has in Python."""
ARCS = 1 << 24
"""A block makes searches one after the other until their arcs are so many, at least one: some tenths of a second."""


class ShortestPaths(Algorithm):
    """Searches by Near-Far, or sweeps over a contraction hierarchy."""

    name, kind, answers, parameters = "shortest-paths", "graph", (DISTANCES, PATHS, REDUCTIONS), Parameters
    kernel_files = (*kernel_files(tuple(each for each in ENGINES if each.delivers & Want.CHECKED)), PLATEAUS_FILE,
                    reductions.SUMMARIES_FILE)
    files, words, groups = ("queries", "sources", "targets"), WORDS, {"searches": SEARCHES}

    def statement(self, graph: Graph, parameters: Parameters, to_check: bool = False) -> PathStatement:
        """Return which distances or paths are asked for. About a file of queries, messages name file and line.

        Raises
        ------
        InputError
            As `question`.
        """
        if not isinstance(parameters.queries, str):
            asked, digests = question_with_files(graph, parameters)
            return PathStatement(graph, parameters, asked, digests)
        sha256 = parameters.queries_sha256
        if to_check and sha256 is not None and not os.path.exists(parameters.queries):
            cutoff = None if parameters.cutoff is None else scaled(graph, parameters.cutoff)
            gone = PathQuestion(np.empty(0, np.int64), (), None, None, sha256, cutoff)
            return PathStatement(graph, parameters, gone, {"queries": sha256})
        queries = read_queries(parameters.queries, sha256)
        asked = question(graph, parameters, queries.positions(graph))
        return PathStatement(graph, parameters, asked, {"queries": queries.sha256})

    def plan(
        self, stated: PathStatement, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return the plan by searches, or by sweeps over a hierarchy."""
        graph, asked, count = stated.problem, stated.question, stated.searches
        keys = first_keys(graph)
        sizes = [len(share) for share in _shares(asked, ranks)]
        way = choice.way_of(stated, ranks * choice.workers(info), partial(choice.kept_here, graph, info))
        device, host, shared = memory(stated, keys, way, sizes, info)
        details: dict[str, int | str] = {
            "searches": count,
            WITHOUT_WORK: sizes.count(0),
            "vertices, arcs": f"{graph.n}, {graph.arcs}",
            "distances": IN_WORDS[keys.code],
        }
        if way.engine == PHAST.name:
            details["engine"] = "phast, if the hierarchy takes no more than the work and the memory estimated for it"
        if asked.pairs is not None:
            details["queries"] = len(asked.pairs)
        a_vertex = (max(map(sum, zip(device, host))) + shared) / max(graph.n, 1)
        table = asked.pairs is None and asked.reduction is None
        smaller = '[shortest-paths] reduce = ["sum"] keeps the sum of each row in place of the table' if table else ""
        return Plan(device, host, count * graph.arcs, "arc of Dijkstra's algorithm", (0,) * ranks, details,
                    lambda free: int(min(free) / max(a_vertex, 1)), shared, smaller=smaller)

    def run(
        self, stated: PathStatement, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return distances or paths, as asked, checked on the device. All ranks have the same statement.

        Raises
        ------
        InputError
            A distance, or a sum of distances, does not fit 64 bits.
        """
        graph, cutoff, saved = stated.problem, stated.question.cutoff, checkpoints.saved
        share = _shares(stated.question, comm.size)[comm.rank]
        keys: Keys | None = first_keys(graph)
        way = choice.way_of(stated, choice.workers_of_all(device.info, comm),
                            partial(choice.kept_everywhere, graph, device.info, comm))
        if saved is not None:
            engine = saved.text("engine", [*(engine.name for engine in ENGINES), NEAR_FAR])
            keys, way = KINDS[saved.text("keys", KINDS)], choice.way_by(engine, way.reason)
        while keys is not None:
            prepared, way = choice.prepared_on(graph, device, comm, way, choice.request_of(stated, keys, len(share)))
            with prepared:
                report(0.0)
                kept = tables.SearchCheckpoints(comm, checkpoints, share.start, saved,
                                                {"keys": keys.code, "engine": way.engine})
                work, answer = _found(prepared, stated, share, report, kept)
                cut = cutoff is None or keys.encode_one(cutoff) > prepared.cutoff
            started = time.perf_counter()
            if not any(comm.allgather(cut and bool(work[:, tables.CUT].any()))):
                rank = {"operations": int(work[:, tables.RELAXED].sum()),
                        "seconds_wait": time.perf_counter() - started}
                wrong, every = int(work[:, tables.WRONG].sum()), np.concatenate(comm.gather(work) or [work])
                relaxed, rounds = every.astype(np.int64)[:, [tables.RELAXED, tables.ROUNDS]].T
                return Outcome(answer(), {"searches": columns(SEARCHES, {"relaxed": relaxed, "rounds": rounds})}, rank,
                               wrong=f"{wrong} entries contradict the arcs" if wrong else None)
            (keys, way), saved = _next(keys, way), None
        raise InputError("a path is longer than 2^64 - 2; divide the weights by a power of ten", graph.name)

    def trial(
        self, stated: PathStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int, method: str = "",
    ) -> Trial:
        """Make some of the job's searches, evenly spaced among all, with the engine that makes all of them."""
        graph, asked, parameters, info = stated.problem, stated.question, stated.parameters, device.info
        total, keys = stated.searches, first_keys(graph)
        way = choice.way_of(stated, ranks * choice.workers(info), partial(choice.kept_here, graph, info))
        engine = way.engine
        if way.attempt is not None and isinstance(Cache(graph, keys).contraction(way.attempt.worth), Refusal):
            engine = NEAR_FAR
        busiest = -(-total // ranks)  # searches of the rank that has most
        request = choice.request_of(stated, keys, busiest)
        at_once = chosen_engine(engine, request, info).together(request, info)
        count = min(busiest, at_once * -(-ARCS // max(1, graph.arcs)))
        numbers = np.linspace(0, total, count, endpoint=False).astype(np.int64)
        if asked.pairs is not None:
            some = asked.pairs[np.isin(asked.pairs[:, 0], np.unique(asked.pairs[:, 0])[numbers])]
            queries = [(int(source), int(target)) for source, target in graph.labels[some]]
            parameters = msgspec.structs.replace(parameters, engine=engine, queries=queries, queries_sha256=None)
        else:
            sources = graph.labels[asked.sources if parameters.voronoi else asked.sources[numbers]].tolist()
            parameters = msgspec.structs.replace(parameters, engine=engine, sources=sources, sources_sha256=None)
        watch = Stopwatch()
        small = self.statement(graph, parameters)
        outcome = self.run(small, device, SerialComm(), watch)
        ratio = busiest / count
        measured_on = f"{count} of {counted(total, 'search')}"
        return Trial(small, outcome, watch.setup, (watch.seconds() - watch.setup) * ratio, measured_on, ratio)


def _shares(asked: PathQuestion, size: int) -> list[range]:
    """Return each rank's range of the searches, or of the queries sorted by source."""
    if asked.pairs is None:
        return even_shares(len(asked.seeds), size)
    return pairs.shares(asked.pairs[pairs.by_source(asked.pairs)], size)


def _found(prepared: Prepared, stated: PathStatement, share: range, report: Report, kept: tables.SearchCheckpoints
           ) -> tuple[NDArray[np.uint64], Callable[[], Any]]:
    """Return the counters of this rank's searches, and the collective function that makes the answer of their results.

    Paths are on rank 0 alone, elsewhere the answer is None.
    """
    asked, parameters, comm, keys = stated.question, stated.parameters, kept.comm, prepared.keys
    mine = slice(share.start, share.stop)
    if asked.pairs is not None:
        paths = pairs.solve_pairs(prepared, asked.pairs[pairs.by_source(asked.pairs)][mine], report, kept)
        return paths.work, partial(paths.answer, keys, asked.pairs, comm)
    if asked.reduction is not None:
        found = reductions.solve_summaries(prepared, asked.seeds[mine], asked.targets, asked.reduction, report, kept)
        return found.work, partial(reductions.reductions_of, found, keys, share, asked, stated.problem, comm)
    trees = parameters.predecessors or parameters.voronoi
    rows = tables.solve_table(prepared, asked.seeds[mine], asked.targets, trees, report, kept)
    return rows.work, partial(rows.answer, keys, share, asked, parameters)


def _next(keys: Keys, way: choice.Way) -> tuple[Keys | None, choice.Way]:
    """Return what to try after a distance did not fit: wider keys, then an engine with more bits for distances."""
    engine = chosen_engine(way.engine, Request(0, 0, keys), ONE_CORE)
    if keys is LONG and engine.limit(LONG) < LONG.whole_limit:
        instead = f"a distance exceeds {engine.limit(LONG)}, the longest that {engine.name} finds"
        return keys, choice.Way(PUSH.name, None, instead if engine.study else "")
    return LONG if keys is WORD else None, choice.way_by(way.engine)


def memory(
    stated: PathStatement, keys: Keys, way: choice.Way, sizes: Sequence[int], info: DeviceInfo
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the most bytes of each rank on the device and on the host, and of what the ranks of a host share.

    For engine "phast" it covers the largest hierarchy that may be made, and Near-Far if none is made.
    """
    graph, free, swept = stated.problem, np.flatnonzero(stated.problem.weights == 0), way.engine == PHAST.name
    members = len(np.unique(np.concatenate([graph.tails()[free], graph.heads[free]]))) if len(free) else 0
    need = [(0, 0)] * len(sizes)
    for rank, size in enumerate(sizes):
        request = replace(choice.request_of(stated, keys, size), members=members)
        for name in (PHAST.name, NEAR_FAR) if swept else (way.engine,):
            if size:
                bytes_of = _rank_bytes(chosen_engine(name, request, info), request, stated, info)
                need[rank] = max(need[rank][0], bytes_of[0]), max(need[rank][1], bytes_of[1])
    shared = search_graph.search_graph_bytes(graph.n, graph.arcs, graph.directed, keys)
    before = search_graph.layout_bytes(graph.n, graph.arcs, graph.directed, keys)
    if swept:
        kept = way.attempt.kept if way.attempt else None
        own, building = hierarchy_memory(graph.n, graph.arcs, graph.directed, keys, kept.arcs if kept else None,
                                         kept is not None and kept.weighed)
        shared, before = shared + own, max(before, shared + building)
    # Rank 0 makes what is shared before it takes memory for searches and answers, so the larger of the two counts.
    before -= shared + (need[0][0] if info.kind == "cpu" else 0)
    need[0] = need[0][0], max(need[0][1], before)
    device, host = zip(*need)
    return device, host, shared


def _rank_bytes(engine: Engine, request: Request, stated: PathStatement, info: DeviceInfo) -> tuple[int, int]:
    """Return the bytes on the device and on the host of a rank that makes these searches, or queries."""
    asked, parameters, size = stated.question, stated.parameters, request.searches
    itemsize = request.keys.dtype.itemsize
    if asked.pairs is not None:
        device, host = pairs.pair_bytes(request.n, size, engine.together(request, info), itemsize)
    elif asked.reduction is not None:
        device, host = reductions.reduced_bytes(engine, request, asked.reduction, info)
    else:
        row = request.columns * itemsize + 4 * request.n * (parameters.predecessors or parameters.voronoi)
        batch = min(size, engine.batch(request, info) * batches_at_once(info))
        device = (0 if info.kind == "cpu" else batch * row) + 64 * batch  # a CPU writes into the rows themselves
        host = size * row + (4 * request.n * size if parameters.voronoi else 0)
    # The numbers of all vertices, made of a range of them, and an array for the seeds of each search of all ranks.
    host += 8 * request.n + SEED_BYTES * len(asked.seeds)
    return engine.nbytes(request, info) + device, host
