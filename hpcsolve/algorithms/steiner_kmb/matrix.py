"""The distances between all terminals of the graph that was read, as a table: each rank has its rows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.answers.dataset import datasets
from hpcsolve.answers.table import DistanceTable
from hpcsolve.answers.tree import Tree
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import even_shares


@dataclass(frozen=True)
class Matrix:
    """A rank's rows.

    Attributes
    ----------
    member
        Shape (terminals,): the number of the terminal in the reduced graph that each has become.
    share
        The terminals whose rows they are.
    rows
        Shape (own terminals, terminals), 0 at first.
    """

    member: Indices
    share: range
    rows: NDArray[Any]

    @property
    def own(self) -> Indices:
        """The numbers, in the reduced graph, of those whose rows they are."""
        return self.member[self.share.start : self.share.stop]

    def take(self, sources: Indices, found: NDArray[Any]) -> None:
        """Keep rows of the reduced graph: from these terminals, each once, to all."""
        place = np.full(int(self.member.max()) + 1, -1)
        place[sources] = np.arange(len(sources))
        here = place[self.own]
        self.rows[here >= 0] = found[here[here >= 0]][:, self.member]

    def as_table(self) -> DistanceTable:
        """Return the same as a part of the answer."""
        dataset = datasets(Tree)["matrix"]
        return DistanceTable(self.rows, self.share.start, len(self.member), dataset)


def empty_matrix(member: Indices, dtype: DTypeLike, comm: Comm) -> Matrix:
    """This rank's part, to be filled."""
    share = even_shares(len(member), comm.size)[comm.rank]
    return Matrix(member, share, np.zeros((len(share), len(member)), dtype))
