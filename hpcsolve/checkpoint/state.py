"""What an algorithm hands over at a boundary of its work, so that the work can go on from there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Number = int | float | str


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a table. Each rank hands over those that it has.

    Attributes
    ----------
    name
        Name of the table.
    first
        Number of the first of these rows in the table, or 0 if the rows of the table have no numbers.
    shape, dtype
        Shape (rows, ...) and type of the rows.
    values
        Returns the rows. Called only when they are written, so that a rank holds one part at a time.
    """

    name: str
    first: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    values: Callable[[], NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def part(name: str, first: int, values: NDArray[Any]) -> Part:
    """Return a part with the rows of an array."""
    return Part(name, first, values.shape, values.dtype, lambda: values)


@dataclass(frozen=True)
class State:
    """This rank's share of what a run must know to go on.

    Attributes
    ----------
    numbers
        Numbers and names that all ranks need. Those of rank 0 are kept.
    parts
        Rows of tables.
    words
        How far the run has come, for messages: "after 12 iterations".
    """

    numbers: Mapping[str, Number]
    parts: Sequence[Part]
    words: str

    @property
    def nbytes(self) -> int:
        """Size of this rank's parts in bytes."""
        return sum(one.nbytes for one in self.parts)
