"""The nine EDGE_WEIGHT_FORMATs of an EXPLICIT matrix in TSPLIB: the order in which a file lists its entries.

All but FULL_MATRIX list one triangle. The rows of the upper triangle are the columns of the lower one, so that
there are only five different orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class EntryOrder:
    """The part of a matrix that a file lists, row by row.

    Attributes
    ----------
    part
        "full", "upper" or "lower".
    diagonal
        Whether a triangle includes the diagonal.
    """

    part: str
    diagonal: bool = True

    def count(self, n: int) -> int:
        """Return how many numbers are listed for n cities."""
        return n * n if self.part == "full" else n * (n + 1) // 2 if self.diagonal else n * (n - 1) // 2

    def span(self, n: int, row: int) -> tuple[int, int]:
        """Return the first listed column of a row, and the one after the last."""
        if self.part == "full":
            return 0, n
        if self.part == "upper":
            return row + (not self.diagonal), n
        return 0, row + self.diagonal

    def index(self, n: int, row: int, column: int) -> int:
        """Return the place (from 0) at which an entry is listed. The diagonal must be listed if the entry is on it."""
        if self.part != "full" and (row < column) != (self.part == "upper"):
            row, column = column, row
        if self.part == "full":
            return row * n + column
        without = row * (not self.diagonal)
        before = row * (2 * n - row + 1) // 2 - without if self.part == "upper" else row * (row + 1) // 2 - without
        return before + column - self.span(n, row)[0]

    def entry(self, n: int, index: int) -> tuple[int, int]:
        """Return the row and column of the entry at a place in the list. This is the inverse of `index`."""
        for row in range(n):
            first, last = self.span(n, row)
            if index < last - first:
                return row, first + index
            index -= last - first
        raise IndexError(index)

    def matrix(self, values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Return the whole matrix, shape (n, n): triangles are mirrored, a diagonal that is not listed is 0."""
        if self.part == "full":
            return values.reshape(n, n)
        cost = np.zeros((n, n), dtype=np.int64)
        begin = 0
        for row in range(n):
            first, last = self.span(n, row)
            piece = values[begin : begin + last - first]
            cost[row, first:last] = piece
            cost[first:last, row] = piece
            begin += last - first
        return cost


def entry_orders() -> Mapping[str, EntryOrder]:
    """Return the order of every EDGE_WEIGHT_FORMAT of explicit costs."""
    return {
        "FULL_MATRIX": EntryOrder("full"),
        "UPPER_ROW": EntryOrder("upper", False),
        "LOWER_ROW": EntryOrder("lower", False),
        "UPPER_DIAG_ROW": EntryOrder("upper"),
        "LOWER_DIAG_ROW": EntryOrder("lower"),
        "UPPER_COL": EntryOrder("lower", False),
        "LOWER_COL": EntryOrder("upper", False),
        "UPPER_DIAG_COL": EntryOrder("lower"),
        "LOWER_DIAG_COL": EntryOrder("upper"),
    }
