"""What is kept of each row of distances, and where it stands in a summary (cuda_src/paths/summaries.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.problems.questions import Reduction

REACHED, SUMS, FARTHEST, WITHIN = 0, 1, 4, 6
"""Where entries of a summary begin: targets reached, three digits of the sum, farthest target, counts by cutoff."""


@dataclass(frozen=True)
class Layout:
    """The entries of a summary.

    Attributes
    ----------
    cutoffs, nearest
        Number of cutoffs, and number of nearest targets.
    """

    cutoffs: int
    nearest: int

    @property
    def entries(self) -> int:
        """Number of entries."""
        return WITHIN + self.cutoffs + 2 * self.nearest

    def counts(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the number of targets within each cutoff, shape (sources, cutoffs)."""
        return summaries[:, WITHIN : WITHIN + self.cutoffs]

    def nearest_keys(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the keys of the distances of the nearest targets, shape (sources, nearest)."""
        return summaries[:, WITHIN + self.cutoffs : WITHIN + self.cutoffs + self.nearest]

    def nearest_names(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the names of the nearest targets, all ones for none, shape (sources, nearest)."""
        return summaries[:, WITHIN + self.cutoffs + self.nearest :]


def layout_of(reduction: Reduction) -> Layout:
    """Return the layout of the summaries that a reduction makes."""
    return Layout(len(reduction.cutoffs), reduction.nearest)


def sums_of(summaries: NDArray[Any], keys: Keys) -> NDArray[np.uint64] | None:
    """Return the sums of distances, shape (sources,), or None if one does not fit 64 bits."""
    half = np.uint64(4 * keys.dtype.itemsize)
    low, middle, high = summaries[:, SUMS : SUMS + 3].T.astype(np.uint64)
    if half == 32 and high.any():
        return None
    found: NDArray[np.uint64] = low + (middle << half) + (high << np.uint64(2 * int(half) % 64))
    return found
