"""The answer to queries: distance and path from a source to a target each, with one search per source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Prepared, Want, query_searches
from hpcsolve.algorithms.shortest_paths.tables import COUNTERS, WORK, SearchCheckpoints
from hpcsolve.answers.paths import Paths
from hpcsolve.checkpoint.saved import ANY_COUNT
from hpcsolve.checkpoint.store import Part, part
from hpcsolve.parallel.comm import Comm, even_shares

SOURCES_A_BATCH = 64
"""Searches of one batch, per block. Many, since most are short."""
PATH_ROOM = 64
"""Entries for the path of each query at first. A batch has additional room for one path through all vertices."""


def by_source(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of the queries, shape (queries,), in which those of one source stand together."""
    return np.argsort(pairs[:, 0], kind="stable")


def shares(pairs: NDArray[np.int64], size: int) -> list[range]:
    """Return each rank's range of the sorted queries. The numbers of sources differ by one at most."""
    starts = np.append(np.flatnonzero(np.diff(pairs[:, 0], prepend=-1)), len(pairs)).tolist()
    return [range(starts[part.start], starts[part.stop]) for part in even_shares(len(starts) - 1, size)]


@dataclass
class QueryTable:
    """The answers to the queries of a rank, in their order.

    Attributes
    ----------
    keys
        Shape (queries,): distances as keys.
    length
        Shape (queries,): number of vertices of each path, 0 where there is none.
    paths
        The path of each query: positions in the graph's own order.
    counters
        Counters of the searches (`WORK`), in any order.
    finished
        Whether each query is answered, shape (queries,).
    """

    noun: ClassVar = "queries"
    keys: NDArray[Any]
    length: NDArray[np.int64] = field(init=False)
    paths: list[NDArray[np.int32]] = field(init=False)
    counters: list[NDArray[np.uint64]] = field(default_factory=list)
    finished: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without answers."""
        count = len(self.keys)
        self.length, self.finished = np.zeros(count, np.int64), np.zeros(count, bool)
        self.paths = [np.empty(0, np.int32)] * count

    @property
    def path(self) -> NDArray[np.int32]:
        """The vertices of all paths, one path after the other."""
        return np.concatenate([np.empty(0, np.int32), *self.paths])

    @property
    def work(self) -> NDArray[np.uint64]:
        """Counters of the searches, shape (searches, WORK)."""
        return np.concatenate([np.empty((0, WORK), np.uint64), *self.counters])

    def load(self, kept: SearchCheckpoints, n: int) -> None:
        """Take the answers of a checkpoint, for n vertices, and on rank 0 the counters of all searches."""
        if kept.saved is None:
            return
        query = kept.saved.gathered("query", (), np.int64, ANY_COUNT)
        count = range(len(query), len(query) + 1)
        length = kept.saved.gathered("length", (), np.int64, count, range(n + 1))
        ends, every = np.cumsum(length), int(length.sum())
        keys = kept.saved.gathered("keys", (), self.keys.dtype, count)
        path = kept.saved.gathered("path", (), np.int32, range(every, every + 1), range(n))
        for at in np.flatnonzero((query >= kept.first) & (query < kept.first + len(self.keys))).tolist():
            here = int(query[at]) - kept.first
            self.keys[here], self.length[here], self.finished[here] = keys[at], length[at], True
            self.paths[here] = path[int(ends[at] - length[at]) : int(ends[at])]
        if kept.comm.rank == 0:
            self.counters.append(kept.saved.gathered("work", (WORK,), np.uint64, ANY_COUNT, COUNTERS))

    def nbytes(self) -> int:
        """Return the bytes of the answers."""
        return int(self.length.sum()) * 4 + int(self.finished.sum()) * (16 + self.keys.itemsize)

    def parts(self, first: int) -> list[Part]:
        """Return the answered queries."""
        query = np.flatnonzero(self.finished)
        path = np.concatenate([np.empty(0, np.int32), *(self.paths[at] for at in query.tolist())])
        arrays = {"query": first + query, "keys": self.keys[query], "length": self.length[query], "path": path,
                  "work": self.work}
        return [part(name, 0, values) for name, values in arrays.items()]


    def answer(self, keys: Keys, pairs: NDArray[np.int64], comm: Comm) -> Paths | None:
        """Return the answer on rank 0, with the queries in their own order, elsewhere None. Collective.

        Arrays may exceed 2 GiB.
        """
        own: tuple[NDArray[Any], ...] = (self.keys, self.length, self.path)
        sizes = comm.gather([len(array) for array in own])
        if sizes is None:
            for array in own:
                comm.send(array, 0).wait()
            return None
        parts = [own]
        for rank in range(1, comm.size):
            parts.append(tuple(np.empty(size, array.dtype) for size, array in zip(sizes[rank], own, strict=True)))
            for array in parts[-1]:
                comm.receive(array, rank).wait()
        order = by_source(pairs)
        length, distance = np.zeros(len(pairs), np.int64), np.empty(len(pairs), keys.dtype)
        distance[order], length[order], gathered = (np.concatenate(column) for column in zip(*parts))
        offset = np.concatenate([[0], np.cumsum(length)])
        path = np.empty(offset[-1], np.int32)
        # How far each entry of the gathered paths, which are sorted by source, must move to its place.
        moved = np.repeat(offset[order] - np.concatenate([[0], np.cumsum(length[order])[:-1]]), length[order])
        path[moved + np.arange(len(path))] = gathered
        source, target = pairs.astype(np.int32).T
        return Paths(np.ascontiguousarray(source), np.ascontiguousarray(target), keys.decode(distance), offset, path)


def pair_bytes(n: int, queries: int, blocks: int, itemsize: int) -> tuple[int, int]:
    """Return the bytes on the device and on the host of `solve_pairs`, beside what searches work in."""
    batch = min(queries, SOURCES_A_BATCH * blocks)
    paths = 4 * (n + PATH_ROOM * batch)
    return paths + 60 * batch, paths + queries * (itemsize + 12 + 8 * PATH_ROOM)


def solve_pairs(
    prepared: Prepared, pairs: NDArray[np.int64], report: Report, kept: SearchCheckpoints | None = None
) -> QueryTable:
    """Answer queries, sorted by source. Collective if checkpoints are kept.

    Queries whose paths do not fit are answered again, with more room.
    """
    kept, table = kept or SearchCheckpoints(), QueryTable(np.empty(len(pairs), prepared.keys.dtype))
    table.load(kept, prepared.graph.n)
    room, places, left = PATH_ROOM, prepared.graph.places(), np.flatnonzero(~table.finished)
    source = np.cumsum(np.diff(pairs[left, 0], prepend=-1) != 0) - 1  # the number of each query's source
    cuts = np.flatnonzero(np.diff(source // (SOURCES_A_BATCH * prepared.blocks))) + 1
    waiting = np.split(left, cuts)[::-1] if len(left) else []  # the last batch first
    for mine in kept.while_any(waiting, table):
        searches = query_searches(pairs[mine], places)
        found = prepared.solve(searches, Want.TARGETS | Want.PATHS, path_room=prepared.graph.n + room * len(mine))
        late = found.open_query
        if late.any():
            waiting.append(mine[late])
            room *= 2
        table.counters.append(found.work)
        table.keys[mine], table.length[mine] = found.target_keys, found.path_length
        for query in np.flatnonzero(~late).tolist():
            begin = int(found.path_begin[query])
            table.paths[mine[query]] = found.path[begin : begin + int(found.path_length[query])].astype(np.int32)
        table.finished[mine[~late]] = True
        report(float(table.finished.mean()))
    return table
