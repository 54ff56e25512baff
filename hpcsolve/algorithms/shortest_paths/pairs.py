"""The answer to queries: distance and path from a source to a target each, with one search per source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.batch import Solved
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.resume import QueryTable, SearchCheckpoints, solved_of, work_of
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.searches import WANTS_PATHS, WANTS_TARGETS, query_searches
from hpcsolve.answers.paths import Paths
from hpcsolve.parallel.comm import Comm, even_shares

SOURCES_A_BATCH = 64
"""Searches of one batch, per block. Many, since most are short."""
PATH_ROOM = 64
"""Entries for the path of each query at first. A batch has additional room for one path through all vertices."""


@dataclass(frozen=True)
class QueryAnswers:
    """The answers to this rank's queries, in their order.

    Attributes
    ----------
    keys
        Shape (queries,): distances as keys.
    length
        Shape (queries,), int64: vertices of each path, 0 where there is none.
    path
        The vertices of all paths, one path after the other: positions in the graph's own order.
    batches
        What the searches took and what their check found.
    """

    keys: NDArray[Any]
    length: NDArray[np.int64]
    path: NDArray[np.int32]
    batches: Sequence[Solved]


def by_source(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of the queries, shape (queries,), in which those of one source stand together."""
    return np.argsort(pairs[:, 0], kind="stable")


def shares(pairs: NDArray[np.int64], size: int) -> list[range]:
    """Return each rank's range of the sorted queries. The numbers of sources differ by one at most."""
    starts = np.append(np.flatnonzero(np.diff(pairs[:, 0], prepend=-1)), len(pairs)).tolist()
    return [range(starts[part.start], starts[part.stop]) for part in even_shares(len(starts) - 1, size)]


def solve_pairs(
    prepared: Searcher, pairs: NDArray[np.int64], report: Report, kept: SearchCheckpoints | None = None
) -> QueryAnswers:
    """Answer queries, sorted by source. Collective if checkpoints are kept.

    Queries whose paths do not fit are answered again, with more room.
    """
    kept = kept or SearchCheckpoints()
    keys, length = np.empty(len(pairs), prepared.keys.dtype), np.zeros(len(pairs), np.int64)
    path: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(pairs)
    table = QueryTable(keys, length, path, [], np.zeros(len(pairs), bool))
    table.load(kept, prepared.graph.n)
    batches, room, places = [solved_of(work) for work in table.work], PATH_ROOM, prepared.graph.places()
    left = np.flatnonzero(~table.finished)
    waiting = [left[part] for part in _batches(pairs[left], SOURCES_A_BATCH * prepared.blocks)]
    for mine in kept.while_any(waiting, table):
        searches = query_searches(pairs[mine], places)
        found = prepared.solve(searches, WANTS_TARGETS | WANTS_PATHS, path_room=prepared.graph.n + room * len(mine))
        late = found.open_query
        if late.any():
            waiting.append(mine[late])
            room *= 2
        batches.append(found)
        table.work.append(work_of(found))
        keys[mine] = found.target_keys
        length[mine] = found.path_length
        for query in np.flatnonzero(~late).tolist():
            begin = int(found.path_begin[query])
            path[mine[query]] = found.path[begin : begin + int(found.path_length[query])].astype(np.int32)
        table.finished[mine[~late]] = True
        report(float(table.finished.mean()))
    return QueryAnswers(keys, length, np.concatenate([np.empty(0, np.int32), *path]), batches)


def _batches(pairs: NDArray[np.int64], sources: int) -> list[NDArray[np.int64]]:
    """Return the numbers of the queries in batches of so many sources, the last batch first."""
    number = np.cumsum(np.diff(pairs[:, 0], prepend=pairs[0, 0] if len(pairs) else 0) != 0) // sources
    cuts = np.flatnonzero(np.diff(number)) + 1
    return np.split(np.arange(len(pairs)), cuts)[::-1] if len(pairs) else []


def answer_of(mine: QueryAnswers, keys: Keys, pairs: NDArray[np.int64], comm: Comm) -> Paths | None:
    """Return the answer on rank 0, with the queries in their own order, elsewhere None. Collective."""
    parts = _gathered(mine, comm)
    if parts is None:
        return None
    order = by_source(pairs)
    length, distance = np.zeros(len(pairs), np.int64), np.empty(len(pairs), keys.dtype)
    distance[order], length[order] = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    offset = np.concatenate([[0], np.cumsum(length)])
    path = np.empty(offset[-1], np.int32)
    # How far each entry of the gathered paths, which are sorted by source, must move to its place.
    moved = np.repeat(offset[order] - np.concatenate([[0], np.cumsum(length[order])[:-1]]), length[order])
    path[moved + np.arange(len(path))] = np.concatenate([part[2] for part in parts])
    source, target = pairs.astype(np.int32).T
    return Paths(np.ascontiguousarray(source), np.ascontiguousarray(target), keys.decode(distance), offset, path)


def _gathered(mine: QueryAnswers, comm: Comm) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] | None:
    """Return every rank's keys, lengths and paths on rank 0, elsewhere None. Arrays may exceed 2 GiB. Collective."""
    own: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] = (mine.keys, mine.length, mine.path)
    sizes = comm.gather([len(array) for array in own])
    if sizes is None:
        for array in own:
            comm.send(array, 0).wait()
        return None
    parts = [own]
    for rank in range(1, comm.size):
        arrays = tuple(np.empty(size, array.dtype) for size, array in zip(sizes[rank], own, strict=True))
        for array in arrays:
            comm.receive(array, rank).wait()
        parts.append((arrays[0], arrays[1], arrays[2]))
    return parts
