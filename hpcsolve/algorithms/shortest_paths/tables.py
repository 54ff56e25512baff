"""The answer to sources: one row of distances per search, with predecessors or nearest sources if wanted.

Finished rows are kept in checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Prepared, Solved, Want, row_searches
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.answers.distances import Distances, distance_table
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Number, Part, State, part
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.check_distances import NO_VERTEX, no_path_of, roots
from hpcsolve.problems.questions import PathQuestion

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.pairs import QueryTable
    from hpcsolve.algorithms.shortest_paths.reductions import Reducer

T = TypeVar("T")
COUNTERS = range(2**48)
"""What counters may be: the sum of those of many searches fits 64 bits."""
WRONG, CUT, RELAXED, ROUNDS = range(4)
"""The counters that are kept of a search, as in `Solved`."""
WORK = 4
"""Their number."""


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
    keys
        Shape (searches, n or number of targets): distances as keys, in the graph's own order; or a summary of them.
    before
        Shape (searches, n), uint32: predecessors, all ones where there is none; shape (searches, 0) if not wanted.
    restricted
        As in `Prepared`.
    work
        Shape (searches, WORK): counters.
    finished
        Whether each row is finished, shape (rows,).
    under_way
        Rows that are being copied from the device.
    """

    noun: ClassVar = "searches"
    keys: NDArray[Any]
    before: NDArray[np.uint32]
    restricted: bool = False
    work: NDArray[np.uint64] = field(init=False)
    finished: NDArray[np.bool_] = field(init=False)
    under_way: tuple[slice, Solved] | None = None

    def __post_init__(self) -> None:
        """Begin without finished rows."""
        self.work, self.finished = np.zeros((len(self.keys), WORK), np.uint64), np.zeros(len(self.keys), bool)

    def fill(
        self, prepared: Prepared, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, step: int,
        report: Report, kept: SearchCheckpoints, reducer: Reducer | None = None,
    ) -> None:
        """Fill the rows that are missing, `step` of them at a time, or their summaries by a reducer."""
        self.load(kept)
        places, trees = prepared.graph.places(), self.before.shape[1] > 0
        wanted = (Want.DISTANCES if targets is None else Want.TARGETS) | Want.PREDECESSORS * trees
        for some in kept.while_any(self.unfinished(step)[::-1], self):
            solved = prepared.start(row_searches(seeds[some], targets, places), wanted, self.keys[some],
                                    self.before[some] if trees else None, reducer=reducer)
            self.arrive()  # those before, while these may still be copied
            self.work[some], self.under_way = solved.work, (some, solved)
            report(float(self.finished.mean()))
        self.arrive()

    def arrive(self) -> None:
        """Wait for the rows that are being copied."""
        if self.under_way is not None:
            part, solved = self.under_way
            self.under_way = None
            solved.wait()
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

    def answer(self, keys: Keys, share: range, asked: PathQuestion, parameters: Parameters) -> Distances:
        """Return this rank's part of the answer."""
        dimension = "source, " if len(asked.seeds) == len(asked.sources) else "search, "
        dimension += "vertex" if asked.targets is None else "target"

        def table(name: str, values: NDArray[Any], none: float) -> DistanceTable:
            return distance_table(name, values, share.start, len(asked.seeds), dimension, none)

        distance, before = keys.decode(self.keys), self.before.view(np.int32)
        none = no_path_of(distance.dtype)
        predecessor = nearest = None
        if parameters.predecessors:
            predecessor = table("predecessor", before, NO_VERTEX)
        if parameters.voronoi:
            owners = [np.where(d != none, roots(b), NO_VERTEX) for d, b in zip(distance, before)]
            nearest = table("nearest", np.array(owners, np.int32).reshape(-1, distance.shape[1]), NO_VERTEX)
        target = None if asked.targets is None else asked.targets.astype(np.int32)
        source = asked.sources.astype(np.int32)
        return Distances(source, table("distance", distance, none), target, predecessor, nearest, self.restricted)

    def _tables(self) -> dict[str, NDArray[Any]]:
        return {"keys": self.keys, "before": self.before, "work": self.work}


def runs_of(flags: NDArray[np.bool_]) -> list[range]:
    """Return the ranges of consecutive flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))).tolist()
    return [range(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def solve_table(
    prepared: Prepared, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, predecessors: bool,
    report: Report, kept: SearchCheckpoints | None = None,
) -> RowTable:
    """Search from each set of seeds, and return the rows. Collective if checkpoints are kept."""
    n = prepared.graph.n
    keys = np.empty((len(seeds), n if targets is None else len(targets)), prepared.keys.dtype)
    before = np.empty((len(seeds), n if predecessors else 0), np.uint32)
    table = RowTable(keys, before, prepared.restricted)
    table.fill(prepared, seeds, targets, prepared.at_once, report, kept or SearchCheckpoints())
    return table
