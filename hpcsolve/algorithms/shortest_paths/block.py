"""Searches by a block each: one launch for a batch, of which each block takes one job after the other.

See cuda_src/paths/solve.cuh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.algorithms.shortest_paths import grid
from hpcsolve.algorithms.shortest_paths.batch import Batch

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


def launch(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch; a job whose search overflows its block's scratch is solved by the whole grid."""
    searcher.launch(searcher.engine.file, min(searcher.blocks, len(batch.jobs)), batch)
    overflowed = batch.out["overflowed"]
    assert overflowed is not None
    for number in np.flatnonzero(overflowed.download()).tolist():
        grid.solve(searcher, batch, number)
