"""The table of distances between all terminals of the graph as it was read. Each rank has some of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.answers.contents import DistanceTable, datasets
from hpcsolve.answers.tree import Tree
from hpcsolve.parallel.comm import Comm, even_shares


@dataclass(frozen=True)
class Matrix:
    """This rank's rows of the table.

    Attributes
    ----------
    member
        Shape (terminals,): the number that each terminal has in the reduced graph, where contraction may join several.
    share
        The terminals of this rank's rows.
    rows
        Shape (len(share), terminals), 0 at first.
    """

    member: Indices
    share: range
    rows: NDArray[Any]

    @property
    def own(self) -> Indices:
        """The numbers, in the reduced graph, of the terminals of this rank's rows."""
        return self.member[self.share.start : self.share.stop]

    def take(self, sources: Indices, found: NDArray[Any]) -> None:
        """Take over found rows: distances from these terminals of the reduced graph to all of its terminals."""
        place = np.full(int(self.member.max()) + 1, -1)
        place[sources] = np.arange(len(sources))
        here = place[self.own]
        self.rows[here >= 0] = found[here[here >= 0]][:, self.member]

    def as_table(self) -> DistanceTable:
        """Return the rows as this rank's part of the answer."""
        dataset = datasets(Tree)["matrix"]
        return DistanceTable(self.rows, self.share.start, len(self.member), dataset)


def empty_matrix(member: Indices, dtype: DTypeLike, comm: Comm) -> Matrix:
    """Return this rank's rows, to be filled."""
    share = even_shares(len(member), comm.size)[comm.rank]
    return Matrix(member, share, np.zeros((len(share), len(member)), dtype))
