"""Mode kmb as its authors published it: searches to the last terminal (`halt`), and the table of distances (`matrix`).

The tree is that of mode kmb. Engines that search from many terminals at once do not look for the last one: 98 to 100 %
of the vertices are settled by then, so with these keys a search goes as far as the weight of the terminals' tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.steiner_kmb.kmb import Rows
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.setting import Parameters
from hpcsolve.algorithms.steiner_kmb.terminal_rows import keys_for
from hpcsolve.answers.contents import DistanceTable, datasets
from hpcsolve.answers.tree import Tree
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part, part
from hpcsolve.parallel.comm import Comm, even_shares


def cutoff_of(closure_tree: ClosureTree, parameters: Parameters) -> int:
    """Return the distance beyond which no search of mode kmb goes."""
    return closure_tree.weight if parameters.to_last_terminal else closure_tree.bottleneck


def rows_for(parameters: Parameters, smaller: ReducedGraph, closure_tree: ClosureTree, comm: Comm) -> Rows:
    """Return which rows a rank makes in mode kmb, and what it keeps of them."""
    cutoff = cutoff_of(closure_tree, parameters)
    if not parameters.matrix:
        return Rows(cutoff)
    share = even_shares(len(smaller.member), comm.size)[comm.rank]
    return Matrix(cutoff, smaller.member, share, keys_for(smaller.graph, cutoff).dtype)


@dataclass
class Matrix(Rows):
    """This rank's rows of the table of distances between terminals. Its searches begin at the terminals of these rows.

    Attributes
    ----------
    member
        Shape (terminals,): the number that each terminal has in the reduced graph, where contraction may join several.
    share
        The terminals of this rank's rows.
    rows
        Shape (len(share), terminals), 0 at first.
    filled
        Shape (len(share),): 1 for a finished row, else 0.
    """

    member: Indices
    share: range
    dtype: DTypeLike
    rows: NDArray[Any] = field(init=False)
    filled: Indices = field(init=False)

    def __post_init__(self) -> None:
        """Make room for the rows."""
        self.rows = np.zeros((len(self.share), len(self.member)), self.dtype)
        self.filled = np.zeros(len(self.share), np.int64)

    @property
    def own(self) -> Indices:
        """The numbers, in the reduced graph, of the terminals of this rank's rows."""
        return self.member[self.share.start : self.share.stop]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.rows.nbytes

    def sources(self, order: Indices, comm: Comm) -> Indices:
        """Return the terminals of this rank's rows, those near each other together."""
        return order[np.isin(order, self.own)]

    def take(self, batch: Indices, rows: NDArray[Any]) -> None:
        """Take over rows: distances from these terminals of the reduced graph to all of its terminals."""
        place = np.full(int(self.member.max()) + 1, -1)
        place[batch] = np.arange(len(batch))
        here = place[self.own]
        self.rows[here >= 0] = rows[np.ix_(here[here >= 0], self.member)]
        self.filled[here >= 0] = 1

    def missing(self) -> Indices:
        """Return the terminals whose rows are not there yet."""
        missing: Indices = self.own[self.filled == 0]
        return missing

    def parts(self) -> list[Part]:
        """Return the rows as parts of a checkpoint."""
        return [part("filled", self.share.start, self.filled), part("matrix", self.share.start, self.rows)]

    def resume(self, saved: Saved) -> None:
        """Take the rows from a checkpoint."""
        self.filled[:] = saved.rows("filled", self.share, (), np.int64, range(2))
        self.rows[:] = saved.rows("matrix", self.share, self.rows.shape[1:], self.rows.dtype)

    def table(self) -> DistanceTable:
        """Return the rows as this rank's part of the answer."""
        return DistanceTable(self.rows, self.share.start, len(self.member), datasets(Tree)["matrix"])
