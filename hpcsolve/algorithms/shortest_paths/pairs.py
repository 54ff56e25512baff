"""Queries: distance and path from a source to a target each. All queries of one source are one search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.batch import Solved
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_PATHS, WANTS_TARGETS, query_jobs
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.answers.paths import Paths
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import even_shares

SOURCES_A_BATCH = 64
"""Searches a block and batch: most are short."""
PATH_ROOM = 64
"""Entries for paths that a query is given at first, beside one path of all vertices."""


@dataclass(frozen=True)
class Answers:
    """Answers to queries, in their order.

    Attributes
    ----------
    keys
        Shape (queries,).
    length
        Shape (queries,), int64: vertices of each path, 0 where there is none.
    path
        int32, the paths one after the other: positions in the graph's own order.
    batches
        What the searches took and what their check found.
    """

    keys: NDArray[Any]
    length: NDArray[np.int64]
    path: NDArray[np.int32]
    batches: Sequence[Solved]


def by_source(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """An order of the queries, shape (queries,), in which those of one source stand together."""
    return np.argsort(pairs[:, 0], kind="stable")


def shares(pairs: NDArray[np.int64], size: int) -> list[range]:
    """Each rank's part of sorted queries: as many sources as the others have, one at most more or less."""
    starts = np.append(np.flatnonzero(np.diff(pairs[:, 0], prepend=-1)), len(pairs)).tolist()
    return [range(starts[part.start], starts[part.stop]) for part in even_shares(len(starts) - 1, size)]


def solve_pairs(prepared: Searcher, pairs: NDArray[np.int64], report: Report) -> Answers:
    """Answer queries, sorted by source, and ask those again whose paths find no room."""
    keys, length = np.empty(len(pairs), prepared.keys.dtype), np.zeros(len(pairs), np.int64)
    path: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(pairs)
    batches, waiting, room = [], [*_batches(pairs, SOURCES_A_BATCH * prepared.blocks)], PATH_ROOM
    places = prepared.graph.places()
    while waiting:
        mine = waiting.pop()
        jobs = query_jobs(pairs[mine], places)
        found = prepared.solve(jobs, WANTS_TARGETS | WANTS_PATHS, path_room=prepared.graph.n + room * len(mine))
        late = found.open_query
        if late.any():
            waiting.append(mine[late])
            room *= 2
        batches.append(found)
        keys[mine] = found.target_keys
        length[mine] = found.path_length
        for query in np.flatnonzero(~late).tolist():
            begin = int(found.path_begin[query])
            path[mine[query]] = found.path[begin : begin + int(found.path_length[query])].astype(np.int32)
        report(1 - sum(map(len, waiting)) / len(pairs))
    return Answers(keys, length, np.concatenate([np.empty(0, np.int32), *path]), batches)


def _batches(pairs: NDArray[np.int64], sources: int) -> list[NDArray[np.int64]]:
    """Return the numbers of the queries in batches cut between sources, the last batch first."""
    number = np.cumsum(np.diff(pairs[:, 0], prepend=pairs[0, 0] if len(pairs) else 0) != 0) // sources
    cuts = np.flatnonzero(np.diff(number)) + 1
    return np.split(np.arange(len(pairs)), cuts)[::-1] if len(pairs) else []


def answer_of(mine: Answers, keys: Keys, pairs: NDArray[np.int64], comm: Comm) -> Paths | None:
    """Return the answer on rank 0, with the queries in their own order, elsewhere None. Collective."""
    parts = _gathered(mine, comm)
    if parts is None:
        return None
    order = by_source(pairs)
    length, distance = np.zeros(len(pairs), np.int64), np.empty(len(pairs), keys.dtype)
    distance[order], length[order] = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    offset = np.concatenate([[0], np.cumsum(length)])
    path = np.empty(offset[-1], np.int32)
    # Where each entry of the paths, as they came, belongs.
    moved = np.repeat(offset[order] - np.concatenate([[0], np.cumsum(length[order])[:-1]]), length[order])
    path[moved + np.arange(len(path))] = np.concatenate([part[2] for part in parts])
    source, target = pairs.astype(np.int32).T
    return Paths(np.ascontiguousarray(source), np.ascontiguousarray(target), keys.decode(distance), offset, path)


def _gathered(mine: Answers, comm: Comm) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] | None:
    """Every rank's answers on rank 0: messages of any size."""
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
