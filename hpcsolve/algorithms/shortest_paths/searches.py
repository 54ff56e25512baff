"""Searches as the kernels read them: the seeds where each begins, and the targets that it looks for.

See cuda_src/paths/solve.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

WANTS_DISTANCES, WANTS_PREDECESSORS, WANTS_TARGETS, WANTS_PATHS, UNCHECKED = 1, 2, 4, 8, 16
"""Bits of `wanted`: what a search delivers. `UNCHECKED`, for benchmarks, leaves the check out."""
WANTS_ROWS = WANTS_DISTANCES | WANTS_PREDECESSORS


@dataclass(frozen=True)
class Searches:
    """Searches for a batch, whose vertices have the numbers of the `SearchGraph`.

    Attributes
    ----------
    table
        Shape (searches, 5), uint32: begin and end of the search's seeds, begin and end of its targets, and the number
        of the first target's query.
    seeds, targets
        The seeds and the targets of all searches, uint32.
    queries
        Number of queries: pairs of a search and a target.
    """

    table: NDArray[np.uint32]
    seeds: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    queries: int

    def __len__(self) -> int:
        """Number of searches."""
        return len(self.table)

    def only(self, number: int) -> Searches:
        """Return one search, with the seeds, targets and queries of all."""
        return replace(self, table=self.table[number : number + 1])

    def seed_counts(self) -> NDArray[np.int64]:
        """Return the number of seeds of each search."""
        return (self.table[:, 1] - self.table[:, 0]).astype(np.int64)


def row_searches(
    seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, places: NDArray[np.uint32]
) -> Searches:
    """Return one search for each set of seeds (positions), all with the same targets if there are any.

    Parameters
    ----------
    places
        The number of each position in the `SearchGraph`.
    """
    ends = np.cumsum([0, *(len(own) for own in seeds)])
    count = 0 if targets is None else len(targets)
    first_query = count * np.arange(len(seeds))
    table = np.stack([ends[:-1], ends[1:], 0 * first_query, 0 * first_query + count, first_query], axis=1)
    there = places[targets] if targets is not None else np.zeros(0, np.uint32)
    return Searches(table.astype(np.uint32), places[np.concatenate(seeds)], there, count * len(seeds))


def query_searches(pairs: NDArray[np.int64], places: NDArray[np.uint32]) -> Searches:
    """Return one search for each source of `pairs`, shape (queries, 2): source and target, sorted by source."""
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    ends = np.append(starts[1:], len(pairs))
    source = np.arange(len(starts))
    table = np.stack([source, source + 1, starts, ends, starts], axis=1)
    return Searches(table.astype(np.uint32), places[pairs[starts, 0]], places[pairs[:, 1]], len(pairs))
