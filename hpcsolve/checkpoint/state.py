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
        Of the table.
    first
        Number of the first of these rows. Rows that have no numbers count from 0 on every rank.
    shape, dtype
        Of these rows together.
    values
        Returns the rows. It is called when they are written, so that a rank holds one part at a time.
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
    """Return a part whose values are there already."""
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
        How far the run is, for messages: "after 12 iterations".
    """

    numbers: Mapping[str, Number]
    parts: Sequence[Part]
    words: str

    @property
    def nbytes(self) -> int:
        """Size of this rank's parts in bytes."""
        return sum(one.nbytes for one in self.parts)
