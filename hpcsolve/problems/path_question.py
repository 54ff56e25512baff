"""Questions of shortest paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.verify.reductions import Reduction


@dataclass(frozen=True)
class PathQuestion:
    """What a job asks of a graph: distances from sources, or the paths of queries.

    Attributes
    ----------
    sources
        Shape (sources,), int64: positions of the sources in the order of the job, for queries one per query.
    seeds
        The sources where each search begins: one array per search, of one source or of all; empty if there are queries.
    targets
        Shape (targets,), int64: positions of the targets, or None for all vertices.
    pairs
        Shape (queries, 2), int64: positions of source and target of each query in the order of the job, or None.
    pairs_sha256
        SHA-256 of the labels in `pairs`, where `pairs` itself was not read from its file.
    cutoff
        Distance, times the scale, beyond which a vertex counts as unreached, or None.
    reduction
        What is kept of the row of each source, or None for the whole row.
    """

    sources: NDArray[np.int64]
    seeds: tuple[NDArray[np.int64], ...]
    targets: NDArray[np.int64] | None
    pairs: NDArray[np.int64] | None = None
    pairs_sha256: str | None = None
    cutoff: float | None = None
    reduction: Reduction | None = None
