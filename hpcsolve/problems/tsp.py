"""Travelling salesman problems: a cost matrix in exact integers, and the check of a tour.

Decimals are kept exactly: `cost` holds integers, and a cost in the instance's own unit is `cost / scale`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FORBIDDEN = np.iinfo(np.int64).max
"""The cost of an arc that does not exist; the diagonal holds it too."""


@dataclass(frozen=True, eq=False)
class Tsp:
    """An instance of the (asymmetric) travelling salesman problem.

    Attributes
    ----------
    cost
        Shape (n, n), int64: from row to column; `FORBIDDEN` where there is no arc, and on the diagonal.
    labels
        Shape (n,), int64: the cities' ids in the input (TSPLIB: 1..n; matrices: 0..n-1).
    scale
        A cost in the instance's own unit is `cost / scale`; a power of ten.
    coordinates
        Shape (n, 2 or 3), float64, as in the input; None for a plain matrix.
    city_names
        One name a city, or empty.
    """

    name: str
    cost: NDArray[np.int64]
    labels: NDArray[np.int64]
    scale: int = 1
    coordinates: NDArray[np.float64] | None = None
    comment: str = ""
    city_names: tuple[str, ...] = field(default=())

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.cost)

    @property
    def symmetric(self) -> bool:
        """Whether every arc costs the same in both directions."""
        return bool(np.array_equal(self.cost, self.cost.T))
