"""Searches as the kernels read them: the seeds that each begins with, and the targets that it looks for.

See cuda_src/paths/solve.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

WANTS_DISTANCES, WANTS_PREDECESSORS, WANTS_TARGETS, WANTS_PATHS, UNCHECKED = 1, 2, 4, 8, 16
"""Bits of what is wanted of a search; `UNCHECKED`, for benchmarks, is the search alone."""
WANTS_ROWS = WANTS_DISTANCES | WANTS_PREDECESSORS


@dataclass(frozen=True)
class Jobs:
    """Searches; vertices have the numbers of the `SearchGraph`.

    Attributes
    ----------
    table
        Shape (jobs, 5), uint32: begin and end of the job's seeds, begin and end of its targets, and the number of the
        first target's query.
    seeds, targets
        The seeds and the targets of all jobs, uint32.
    queries
        Number of answers at targets.
    """

    table: NDArray[np.uint32]
    seeds: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    queries: int

    def __len__(self) -> int:
        """Number of jobs."""
        return len(self.table)

    def only(self, number: int) -> Jobs:
        """Return one job, with the seeds, targets and queries of all."""
        return replace(self, table=self.table[number : number + 1])

    def seed_counts(self) -> NDArray[np.int64]:
        """Return the number of seeds of each job."""
        return (self.table[:, 1] - self.table[:, 0]).astype(np.int64)


def row_jobs(seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, places: NDArray[np.uint32]) -> Jobs:
    """Return one search for each set of seeds (positions), with answers at the same targets if there are any.

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
    return Jobs(table.astype(np.uint32), places[np.concatenate(seeds)], there, count * len(seeds))


def query_jobs(pairs: NDArray[np.int64], places: NDArray[np.uint32]) -> Jobs:
    """Return one search for each source of queries, shape (queries, 2), which are sorted by source."""
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    ends = np.append(starts[1:], len(pairs))
    source = np.arange(len(starts))
    table = np.stack([source, source + 1, starts, ends, starts], axis=1)
    return Jobs(table.astype(np.uint32), places[pairs[starts, 0]], places[pairs[:, 1]], len(pairs))
