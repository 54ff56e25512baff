"""What mode kmb keeps in a checkpoint: the pairs so far, the terminals whose rows are finished, the matrix's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.algorithms.shortest_paths.tables import SearchCheckpoints
from hpcsolve.algorithms.steiner_kmb.kmb.matrix import Matrix
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import ANY_COUNT
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.parallel.comm import Comm, SerialComm

if TYPE_CHECKING:
    from hpcsolve.algorithms.steiner_kmb.kmb.tree import Pairs

ROWS, PATHS = 1, 2
"""The two phases: the rows of distances, from which the pairs follow, and the paths of the chosen pairs."""


@dataclass
class KmbCheckpoints:
    """The checkpoints of a rank in mode kmb.

    Attributes
    ----------
    done
        Terminals whose rows are finished. On rank 0 also those of the checkpoint.
    filled
        Which rows of this rank's part of the matrix are finished.
    """

    comm: Comm = field(default_factory=SerialComm)
    checkpoints: Checkpoints = NONE
    matrix: Matrix | None = None
    boundary: Boundary = field(init=False)
    done: list[Indices] = field(default_factory=list)
    filled: Indices = field(init=False)

    def __post_init__(self) -> None:
        """Take the rows of the matrix from the checkpoint."""
        self.boundary = Boundary(self.comm, self.checkpoints)
        own, saved = range(0) if self.matrix is None else self.matrix.share, self.checkpoints.saved
        self.filled = np.zeros(len(own), np.int64)
        if saved is not None:
            self.filled[:] = saved.rows("filled", own, (), np.int64, range(2))
            if self.matrix is not None:
                rows = self.matrix.rows
                rows[:] = saved.rows("matrix", own, rows.shape[1:], rows.dtype)

    def left(self, sources: Indices) -> Indices:
        """Return the terminals of this rank from which it must still search."""
        saved = self.checkpoints.saved
        if saved is None:
            return sources
        done = saved.gathered("done", (), np.int64, ANY_COUNT)
        if self.comm.rank == 0:
            self.done.append(done)
        if saved.integer("phase", ROWS, PATHS) == PATHS:
            return sources[:0]
        missing = np.empty(0, np.int64) if self.matrix is None else self.matrix.own[self.filled == 0]
        return sources[~np.isin(sources, done) | np.isin(sources, missing)]

    def pairs(self, terminals: int) -> Indices:
        """Return the pairs of the checkpoint on rank 0, elsewhere none, with columns first, second and distance."""
        saved = self.checkpoints.saved
        if saved is None or self.comm.rank:
            return np.empty((0, 3), np.int64)
        found = saved.gathered("pairs", (3,), np.int64, ANY_COUNT, range(2**63))
        ends = found[:, :2]
        saved.require(bool((ends < terminals).all() and (ends[:, 0] < ends[:, 1]).all()), "a pair of terminals")
        return found

    def note(self, batch: Indices) -> None:
        """Note that the rows of these terminals are finished."""
        self.done.append(batch)
        if self.matrix is not None:
            self.filled[np.isin(self.matrix.own, batch)] = 1

    def state(self, pairs: Pairs) -> State:
        """Return the state in the phase of rows, with this rank's pairs."""
        done = np.concatenate([np.empty(0, np.int64), *self.done])
        saved = self.checkpoints.saved
        pieces = self.boundary.number + 1 + (saved.integer("pieces") if saved else 0)
        return State({"phase": ROWS, "pieces": pieces}, [*self.parts(pairs), part("done", 0, done)],
                     f"after the rows of {len(done)} terminals of rank 0")

    def parts(self, pairs: Pairs) -> list[Part]:
        """Return the parts of the state that both phases keep."""
        first = self.matrix.share.start if self.matrix else 0
        table = np.stack([pairs.first, pairs.second, pairs.distance.astype(np.int64)], axis=1)
        found = [part("pairs", 0, table), part("filled", first, self.filled)]
        return found if self.matrix is None else [*found, part("matrix", first, self.matrix.rows)]

    def searches(self, first: int, chosen: Pairs) -> SearchCheckpoints:
        """Return the checkpoints in the phase of paths, where this rank's pairs begin with number `first`."""
        saved = self.checkpoints.saved
        here = saved if saved is not None and saved.integer("phase", ROWS, PATHS) == PATHS else None
        on_rank_0 = np.full(len(chosen.first), self.comm.rank == 0)
        parts = self.parts(chosen.part(on_rank_0))
        return SearchCheckpoints(self.comm, self.checkpoints, first, here, {"phase": PATHS}, parts)

    def each(self, batches: list[Indices], state: Callable[[], State]) -> Iterator[Indices]:
        """Yield batches of this rank's terminals until no rank has any. Collective."""
        return self.boundary.while_any(batches[::-1], state, self.matrix_bytes)

    def matrix_bytes(self) -> int:
        """Return the approximate bytes of this rank's share of a checkpoint."""
        return 0 if self.matrix is None else self.matrix.rows.nbytes
