"""What searches keep in a checkpoint: the rows that are finished, or the queries that are answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Rows, Solved
from hpcsolve.answers.distances import NO_VERTEX
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Number, Part, State, part
from hpcsolve.parallel.comm import Comm, SerialComm

T = TypeVar("T")
COUNTERS = range(2**48)
"""What counters may be: the sum of those of many searches fits 64 bits."""
WORK = 4
"""Number of counters that are kept of a search: wrong entries, cut arcs, relaxed arcs, rounds."""


@dataclass
class SearchCheckpoints:
    """The checkpoints of a rank's searches.

    Attributes
    ----------
    first
        Number of this rank's first row, or first query of those sorted by source.
    saved
        The checkpoint from which the searches go on, or None.
    numbers, parts
        Further numbers and parts of the state.
    """

    comm: Comm = field(default_factory=SerialComm)
    checkpoints: Checkpoints = NONE
    first: int = 0
    saved: Saved | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)
    parts: Sequence[Part] = ()
    boundary: Boundary = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count the pieces of work, between which checkpoints are written."""
        self.boundary = Boundary(self.comm, self.checkpoints)

    def while_any(self, waiting: list[T], rows: RowTable | QueryTable) -> Iterator[T]:
        """Take and yield this rank's pieces of work, the last one first, until no rank has any. Collective."""
        return self.boundary.while_any(waiting, lambda: self._state(rows), rows.nbytes)

    def _state(self, table: RowTable | QueryTable) -> State:
        parts = table.parts(self.first)
        done, count = int(table.finished.sum()), len(table.finished)
        before = self.saved.integer("pieces") if self.saved else 0
        numbers = {**self.numbers, "pieces": before + self.boundary.number + 1}  # differs from state to state
        return State(numbers, [*self.parts, *parts], f"after {done} of {count} {table.noun} of rank 0")


@dataclass
class RowTable:
    """The rows of a rank, one for each search.

    Attributes
    ----------
    keys, before, work
        Distances, predecessors and counters (`WORK`) of each search.
    finished
        Whether each row is finished, shape (rows,).
    under_way
        Rows that are being copied from the device.
    """

    noun: ClassVar = "searches"
    keys: NDArray[Any]
    before: NDArray[np.uint32]
    work: NDArray[np.uint64]
    finished: NDArray[np.bool_]
    under_way: tuple[slice, Rows] | None = None

    def begin(self, part: slice, rows: Rows) -> None:
        """Note that rows are being copied, after waiting for those before."""
        self.arrive()
        self.under_way = part, rows

    def arrive(self) -> None:
        """Wait for the rows that are being copied."""
        if self.under_way is not None:
            part, rows = self.under_way
            self.under_way = None
            rows.wait()
            self.finished[part] = True

    def unfinished(self, most: int) -> list[slice]:
        """Return the unfinished rows as slices of consecutive rows, each of at most `most`."""
        return [slice(first, min(first + most, run.stop))
                for run in runs_of(~self.finished) for first in range(run.start, run.stop, most)]

    def load(self, kept: SearchCheckpoints) -> None:
        """Load the finished rows of a checkpoint. A row has a predecessor for each vertex, or none."""
        if kept.saved is None:
            return
        for found in kept.saved.ranges("work", range(kept.first, kept.first + len(self.keys))):
            here = slice(found.start - kept.first, found.stop - kept.first)
            for name, table in self._tables().items():
                within = COUNTERS if name == "work" else None
                table[here] = kept.saved.rows(name, found, table.shape[1:], table.dtype, within)
            before = self.before[here].view(np.int32)
            kept.saved.require(bool(((before >= NO_VERTEX) & (before < before.shape[1])).all()), "a predecessor")
            self.finished[here] = True

    def nbytes(self) -> int:
        """Return the bytes of the finished rows."""
        return int(self.finished.sum()) * sum(table[:1].nbytes for table in self._tables().values())

    def parts(self, first: int) -> list[Part]:
        """Return the finished rows, after waiting for those that are being copied."""
        self.arrive()
        return [part(name, first + own.start, table[own.start : own.stop])
                for own in runs_of(self.finished) for name, table in self._tables().items()]

    def _tables(self) -> dict[str, NDArray[Any]]:
        return {"keys": self.keys, "before": self.before, "work": self.work}


@dataclass
class QueryTable:
    """The answers to the queries of a rank.

    Attributes
    ----------
    keys, length
        Distance and number of vertices of the path of each query.
    path
        The path of each query.
    work
        Counters (`WORK`) of the searches, in any order.
    finished
        Whether each query is answered, shape (queries,).
    """

    noun: ClassVar = "queries"
    keys: NDArray[Any]
    length: NDArray[np.int64]
    path: list[NDArray[np.int32]]
    work: list[NDArray[np.uint64]]
    finished: NDArray[np.bool_]

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
            self.path[here] = path[int(ends[at] - length[at]) : int(ends[at])]
        if kept.comm.rank == 0:
            self.work.append(kept.saved.gathered("work", (WORK,), np.uint64, ANY_COUNT, COUNTERS))

    def nbytes(self) -> int:
        """Return the bytes of the answers."""
        return int(self.length.sum()) * 4 + int(self.finished.sum()) * (16 + self.keys.itemsize)

    def parts(self, first: int) -> list[Part]:
        """Return the answered queries."""
        query = np.flatnonzero(self.finished)
        path = np.concatenate([np.empty(0, np.int32), *(self.path[at] for at in query.tolist())])
        work = np.concatenate([np.empty((0, WORK), np.uint64), *self.work])
        arrays = {"query": first + query, "keys": self.keys[query], "length": self.length[query], "path": path,
                  "work": work}
        return [part(name, 0, values) for name, values in arrays.items()]


def runs_of(flags: NDArray[np.bool_]) -> list[range]:
    """Return the ranges of consecutive flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))).tolist()
    return [range(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def work_of(solved: Solved) -> NDArray[np.uint64]:
    """Return the counters of searches, shape (searches, WORK)."""
    return np.stack([solved.wrong.astype(np.uint64), solved.cut.astype(np.uint64), solved.relaxed, solved.rounds], 1)


def solved_of(work: NDArray[np.uint64]) -> Solved:
    """Return searches of which only these counters are known, shape (searches, WORK)."""
    none = np.empty(0, np.uint64)
    wrong, cut, relaxed, rounds = work.T
    return Solved(wrong.astype(np.int64), cut.astype(np.uint32), relaxed, rounds, none, none, none.astype(np.uint32),
                  none.astype(np.uint32))
