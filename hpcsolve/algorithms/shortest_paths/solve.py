"""What the runner calls: the plan of a run, the run, and a trial of its time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.shortest_paths.choice import (
    Way,
    kept_everywhere,
    kept_here,
    prepared_on,
    request_of,
    way_by,
    way_of,
    workers,
    workers_of_all,
)
from hpcsolve.algorithms.shortest_paths.engines import (
    ENGINES,
    NEAR_FAR,
    PHAST,
    PUSH,
    chosen_engine,
    kernel_files,
)
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    PLATEAUS_FILE,
    Refusal,
    contraction_bytes,
    hierarchy_bytes,
    most_arcs,
    weighing_bytes,
)
from hpcsolve.algorithms.shortest_paths.engines.kept import cached_contraction
from hpcsolve.algorithms.shortest_paths.pairs import QueryTable, by_source, pair_bytes, paths_of, shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.question import Parameters, PathStatement, statement
from hpcsolve.algorithms.shortest_paths.reductions import (
    SUMMARIES_FILE,
    reduced_bytes,
    reductions_of,
    solve_summaries,
)
from hpcsolve.algorithms.shortest_paths.search_graph import (
    KINDS,
    LONG,
    Keys,
    first_keys,
    layout_bytes,
    search_graph_bytes,
    wider,
)
from hpcsolve.algorithms.shortest_paths.searches import CHECKED, Engine, Prepared, Request
from hpcsolve.algorithms.shortest_paths.tables import (
    CUT,
    RELAXED,
    ROUNDS,
    WRONG,
    RowTable,
    SearchCheckpoints,
    distances_of,
    solve_table,
)
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.distances import Distances
from hpcsolve.answers.paths import Paths
from hpcsolve.answers.reductions import Reductions
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo, batches_at_once
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.wording import counted

KERNEL_FILES = (*kernel_files(tuple(each for each in ENGINES if each.delivers & CHECKED)), PLATEAUS_FILE,
                SUMMARIES_FILE)
SEARCHES = {
    "relaxed": Dataset("int64", "Number of arcs relaxed; Dijkstra's algorithm relaxes each once", "search"),
    "rounds": Dataset("int64", "Number of rounds, each of which must wait for the one before", "search"),
}
"""The group `/searches`."""
ARCS = 1 << 24
"""A block makes searches one after the other until their arcs are so many, at least one: some tenths of a second."""


def run(stated: PathStatement, device: Device, comm: Comm, report: Report, checkpoints: Checkpoints = NONE) -> Outcome:
    """Return distances or paths, as asked, checked on the device. All ranks have the same statement.

    Raises
    ------
    InputError
        A distance, or a sum of distances, does not fit 64 bits.
    """
    graph, parameters, asked = stated.problem, stated.parameters, stated.question
    share = _shares(asked, comm.size)[comm.rank]
    keys: Keys | None = first_keys(graph)
    saved = checkpoints.saved
    way = way_of(graph, parameters, asked, workers_of_all(device.info, comm),
                 partial(kept_everywhere, graph, device.info, comm))
    if saved is not None:
        known = [*(engine.name for engine in ENGINES), NEAR_FAR]
        keys, way = KINDS[saved.text("keys", KINDS)], way_by(saved.text("engine", known), way.reason)
    while keys is not None:
        kind = keys
        prepared, way = prepared_on(graph, device, comm, way, request_of(graph, kind, asked, parameters, len(share)))
        with prepared:
            report(0.0)
            numbers = {"keys": kind.code, "engine": way.engine}
            kept = SearchCheckpoints(comm, checkpoints, share.start, saved, numbers)
            mine = _found(prepared, asked, share, parameters, report, kept)
            seconds = {"seconds_kernel": prepared.timer.seconds, "seconds_copy": prepared.seconds_copy}
            cut = asked.cutoff is None or kind.encode_one(asked.cutoff) > prepared.cutoff
        started = time.perf_counter()
        if not any(comm.allgather(cut and bool(mine.work[:, CUT].any()))):
            rank = {"operations": int(mine.work[:, RELAXED].sum()), **seconds,
                    "seconds_wait": time.perf_counter() - started}
            tables, wrong = {"searches": _searches(mine.work, comm)}, int(mine.work[:, WRONG].sum())
            return Outcome(_answer(mine, kind, asked, share, graph, parameters, comm), tables, rank,
                           wrong=f"{wrong} entries contradict the arcs" if wrong else None)
        (keys, way), saved = _next(kind, way), None
    raise InputError("a path is longer than 2^64 - 2; divide the weights by a power of ten", graph.name)


def _shares(asked: PathQuestion, size: int) -> list[range]:
    """Return each rank's range of the searches, or of the queries sorted by source."""
    if asked.pairs is None:
        return even_shares(len(asked.seeds), size)
    return shares(asked.pairs[by_source(asked.pairs)], size)


def _found(prepared: Prepared, asked: PathQuestion, share: range, parameters: Parameters, report: Report,
           kept: SearchCheckpoints) -> RowTable | QueryTable:
    """Return what this rank's searches find."""
    mine = slice(share.start, share.stop)
    if asked.pairs is not None:
        return solve_pairs(prepared, asked.pairs[by_source(asked.pairs)][mine], report, kept)
    if asked.reduction is not None:
        return solve_summaries(prepared, asked.seeds[mine], asked.targets, asked.reduction, report, kept)
    wanted = parameters.predecessors or parameters.voronoi
    return solve_table(prepared, asked.seeds[mine], asked.targets, wanted, report, kept)


def _next(keys: Keys, way: Way) -> tuple[Keys | None, Way]:
    """Return what to try after a distance did not fit: wider keys, then an engine with more bits for distances."""
    engine = chosen_engine(way.engine, Request(0, 0, keys), ONE_CORE)
    if keys is LONG and engine.limit(LONG) < LONG.whole_limit:
        instead = f"a distance exceeds {engine.limit(LONG)}, the longest that {engine.name} finds"
        return keys, Way(PUSH.name, None, instead if engine.study else "")
    return wider(keys), way_by(way.engine)


def _answer(mine: RowTable | QueryTable, keys: Keys, asked: PathQuestion, share: range, graph: Graph,
            parameters: Parameters, comm: Comm) -> Distances | Paths | Reductions | None:
    """Return this rank's part of the answer. Paths are on rank 0 alone, elsewhere None. Collective."""
    if isinstance(mine, QueryTable):
        assert asked.pairs is not None
        return paths_of(mine, keys, asked.pairs, comm)
    if asked.reduction is not None:
        return reductions_of(mine, keys, share, asked, graph, comm)
    return distances_of(mine, keys, share, asked, parameters)


def _searches(work: NDArray[np.uint64], comm: Comm) -> Mapping[str, Column]:
    """Return the group `/searches` on rank 0, elsewhere this rank's part of it. Collective."""
    parts = comm.gather(work) or [work]
    relaxed, rounds = np.concatenate(parts).astype(np.int64)[:, [RELAXED, ROUNDS]].T
    return columns(SEARCHES, {"relaxed": relaxed, "rounds": rounds})


def plan(stated: PathStatement, ranks: int, info: DeviceInfo) -> Plan:
    """Return what a run on so many ranks, each with such a device, will need."""
    graph, parameters, asked = stated.problem, stated.parameters, stated.question
    keys = first_keys(graph)
    sizes = [len(share) for share in _shares(asked, ranks)]
    way = way_of(graph, parameters, asked, ranks * workers(info), partial(kept_here, graph, info))
    need = memory(graph, keys, asked, parameters, way, sizes, info)
    details: dict[str, int | str] = {
        "searches": searches(asked),
        WITHOUT_WORK: sizes.count(0),
        "vertices, arcs": f"{graph.n}, {graph.arcs}",
        "distances": {"u4": "32-bit integers, wider if need be", "u8": "64-bit integers", "f8": "floats"}[keys.code],
    }
    if way.engine == PHAST.name:
        details["engine"] = "phast, if the hierarchy takes no more than the work and the memory estimated for it"
    if asked.pairs is not None:
        details["queries"] = len(asked.pairs)
    a_vertex = (max(map(sum, zip(need.device, need.host))) + need.shared) / max(graph.n, 1)

    def largest(free: Sequence[int]) -> int:
        return int(min(free) / max(a_vertex, 1))

    work = searches(asked) * graph.arcs
    table = asked.pairs is None and asked.reduction is None
    smaller = '[shortest-paths] reduce = ["sum"] keeps the sum of each row in place of the table' if table else ""
    return Plan(need.device, need.host, work, "arc of Dijkstra's", (0,) * ranks, details, largest, need.shared,
                    smaller=smaller)


def searches(asked: PathQuestion) -> int:
    """Return the number of searches that a question takes."""
    return len(asked.seeds) if asked.pairs is None else len(np.unique(asked.pairs[:, 0]))


@dataclass(frozen=True)
class Memory:
    """Bytes of each rank on the device and on the host, and of what the ranks of a host share."""

    device: tuple[int, ...]
    host: tuple[int, ...]
    shared: int


def memory(graph: Graph, keys: Keys, asked: PathQuestion, parameters: Parameters, way: Way, sizes: Sequence[int],
           info: DeviceInfo) -> Memory:
    """Return the peak memory of a run, given the number of searches, or queries, of each rank.

    For engine "phast" it covers the largest hierarchy that may be made, and Near-Far if none is made.
    """
    swept, requests = way.engine == PHAST.name, [request_of(graph, keys, asked, parameters, size) for size in sizes]
    names, members = (PHAST.name, NEAR_FAR) if swept else (way.engine,), _members(graph)
    need = [_most(_rank_bytes(chosen_engine(name, request, info), replace(request, members=members), asked, parameters,
                              info) for name in names) if request.searches else (0, 0) for request in requests]
    plain = search_graph_bytes(graph.n, graph.arcs, graph.directed, keys)
    shared, before = plain, layout_bytes(graph.n, graph.arcs, graph.directed, keys)
    if swept:
        kept = way.attempt.kept if way.attempt else None
        most = kept.arcs if kept else most_arcs(graph.n, graph.arcs)
        shared = plain + hierarchy_bytes(graph.n, graph.directed, most, keys)
        building = 0 if kept else contraction_bytes(graph.n, graph.arcs)
        if not (kept and kept.weighed):
            building = max(building, weighing_bytes(graph.n, graph.directed, most, keys))
        before = max(before, plain + building)
    # Rank 0 makes what is shared before it takes memory for searches and answers, so the larger of the two counts.
    before -= shared + (need[0][0] if info.kind == "cpu" else 0)
    need[0] = need[0][0], max(need[0][1], before)
    device, host = (tuple(part[i] for part in need) for i in (0, 1))
    return Memory(device, host, shared)


def _most(needs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the most bytes on the device, and the most on the host."""
    device, host = zip(*needs)
    return max(device), max(host)


def _rank_bytes(engine: Engine, request: Request, asked: PathQuestion, parameters: Parameters, info: DeviceInfo
                ) -> tuple[int, int]:
    """Return the bytes on the device and on the host of a rank that makes these searches, or queries."""
    n, size, itemsize = request.n, request.searches, request.keys.dtype.itemsize
    if asked.pairs is not None:
        device, host = pair_bytes(n, size, engine.together(request, info), itemsize)
    elif asked.reduction is not None:
        device, host = reduced_bytes(engine, request, asked.reduction, info)
    else:
        row = request.columns * itemsize + 4 * n * (parameters.predecessors or parameters.voronoi)
        batch = min(size, engine.batch(request, info) * batches_at_once(info))
        device = (0 if info.kind == "cpu" else batch * row) + 64 * batch  # a CPU writes into the rows themselves
        host = size * row + (4 * n * size if parameters.voronoi else 0)
    return engine.nbytes(request, info) + device, host


def _members(graph: Graph) -> int:
    """Return the number of vertices at the ends of arcs of weight 0."""
    free = np.flatnonzero(graph.weights == 0)
    return len(np.unique(np.concatenate([graph.tails()[free], graph.heads[free]]))) if len(free) else 0


def trial(stated: PathStatement, ranks: int, device: Device) -> Trial:
    """Make some of the job's searches, evenly spaced among all."""
    graph, parameters, asked = stated.problem, stated.parameters, stated.question
    total = searches(asked)
    busiest = -(-total // ranks)  # searches of the rank that has most
    parameters = _with_engine(graph, parameters, asked, ranks, device.info)
    request = request_of(graph, first_keys(graph), asked, parameters, busiest)
    at_once = chosen_engine(parameters.engine, request, device.info).together(request, device.info)
    count = min(busiest, at_once * -(-ARCS // max(1, graph.arcs)))
    some = _some(graph, parameters, asked, np.linspace(0, total, count, endpoint=False).astype(np.int64))
    watch = Stopwatch()
    small = statement(graph, some)
    outcome = run(small, device, SerialComm(), watch)
    ratio = busiest / count
    measured_on = f"{count} of {counted(total, 'search')}"
    return Trial(small, outcome, watch.setup, (watch.seconds() - watch.setup) * ratio, measured_on, ratio)


def _with_engine(graph: Graph, parameters: Parameters, asked: PathQuestion, ranks: int, info: DeviceInfo
                 ) -> Parameters:
    """Return the parameters with the engine that all searches of the job will be made with, whatever their number."""
    way = way_of(graph, parameters, asked, ranks * workers(info), partial(kept_here, graph, info))
    if way.attempt is None:
        return msgspec.structs.replace(parameters, engine=way.engine)
    refused = isinstance(cached_contraction(graph, first_keys(graph), way.attempt.worth), Refusal)
    return msgspec.structs.replace(parameters, engine=NEAR_FAR if refused else way.engine)


def _some(graph: Graph, parameters: Parameters, asked: PathQuestion, numbers: NDArray[np.int64]) -> Parameters:
    """Return the parameters that ask only for the searches with these numbers."""
    if asked.pairs is not None:
        pairs = asked.pairs[np.isin(asked.pairs[:, 0], np.unique(asked.pairs[:, 0])[numbers])]
        queries = [(int(source), int(target)) for source, target in graph.labels[pairs]]
        return msgspec.structs.replace(parameters, queries=queries, queries_sha256=None)
    sources = asked.sources if parameters.voronoi else asked.sources[numbers]
    return msgspec.structs.replace(parameters, sources=graph.labels[sources].tolist())
