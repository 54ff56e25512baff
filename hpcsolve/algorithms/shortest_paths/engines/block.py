"""Searches by one block each: a batch is one launch, in which each block takes one search after the other.

See cuda_src/paths/solve.cuh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.algorithms.shortest_paths.batch import Batch
from hpcsolve.algorithms.shortest_paths.engines import grid

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


def launch(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch. A search that overflows its block's scratch is made again by the whole grid."""
    searcher.launch(searcher.engine.file, min(searcher.blocks, len(batch.searches)), batch)
    overflowed = batch.out["overflowed"]
    assert overflowed is not None
    for number in np.flatnonzero(overflowed.download()).tolist():
        grid.solve(searcher, batch, number)
