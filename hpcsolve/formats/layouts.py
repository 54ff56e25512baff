"""The nine layouts of an EXPLICIT matrix in TSPLIB: which entry of the matrix each number of the file is.

All but FULL_MATRIX give one triangle. Row by row through the upper triangle is column by column through the lower one,
so that there are four orders only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Layout:
    """Which part of a matrix is written, row by row.

    Attributes
    ----------
    part
        "full", "upper" or "lower".
    diagonal
        Whether a triangle has the diagonal.
    """

    part: str
    diagonal: bool = True

    def count(self, n: int) -> int:
        """How many numbers a matrix of n cities has."""
        return n * n if self.part == "full" else n * (n + 1) // 2 if self.diagonal else n * (n - 1) // 2

    def span(self, n: int, row: int) -> tuple[int, int]:
        """First and last-plus-one column written of a row."""
        if self.part == "full":
            return 0, n
        if self.part == "upper":
            return row + (not self.diagonal), n
        return 0, row + self.diagonal

    def index(self, n: int, row: int, column: int) -> int:
        """Which number of the file, from 0, is an entry (one on the diagonal only where it is written)."""
        if self.part != "full" and (row < column) != (self.part == "upper"):
            row, column = column, row
        if self.part == "full":
            return row * n + column
        without = row * (not self.diagonal)
        before = row * (2 * n - row + 1) // 2 - without if self.part == "upper" else row * (row + 1) // 2 - without
        return before + column - self.span(n, row)[0]

    def entry(self, n: int, index: int) -> tuple[int, int]:
        """Row and column of a number of the file; the inverse of `index`."""
        for row in range(n):
            first, last = self.span(n, row)
            if index < last - first:
                return row, first + index
            index -= last - first
        raise IndexError(index)

    def matrix(self, values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """The whole matrix, shape (n, n); triangles are mirrored, a diagonal not in the file is 0."""
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


def layouts() -> Mapping[str, Layout]:
    """Every EDGE_WEIGHT_FORMAT of explicit costs."""
    return {
        "FULL_MATRIX": Layout("full"),
        "UPPER_ROW": Layout("upper", False),
        "LOWER_ROW": Layout("lower", False),
        "UPPER_DIAG_ROW": Layout("upper"),
        "LOWER_DIAG_ROW": Layout("lower"),
        "UPPER_COL": Layout("lower", False),
        "LOWER_COL": Layout("upper", False),
        "UPPER_DIAG_COL": Layout("lower"),
        "LOWER_DIAG_COL": Layout("upper"),
    }
