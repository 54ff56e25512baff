"""Searches whose rows are reduced on the device: by sweeps over a hierarchy, or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Rows, Solved, batch_on
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper
from hpcsolve.algorithms.shortest_paths.reduce.reducer import SEARCHED_WIDTH, Reducer
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.searches import WANTS_DISTANCES, WANTS_TARGETS, Searches
from hpcsolve.device.base import Buffer
from hpcsolve.problems.questions import Reduction


@dataclass(frozen=True)
class SweptSummaries:
    """Summaries by sweeps over a hierarchy."""

    prepared: Sweeper
    reducer: Reducer

    def start(self, searches: Searches, out: NDArray[Any]) -> tuple[Solved, Rows]:
        """Run searches, one source each. `out`, shape (searches, entries), may still be filled after this returns."""
        return self.prepared.start(searches, WANTS_DISTANCES, out, reducer=self.reducer)


@dataclass(frozen=True)
class SearchedSummaries:
    """Summaries of rows that are searched one by one.

    Attributes
    ----------
    rows, lines
        Room for the rows of a batch, shape (searches, targets), and for the same in groups of sources.
    whole
        Whether all vertices are targets.
    """

    prepared: Searcher
    reducer: Reducer
    rows: NDArray[Any]
    lines: Buffer
    whole: bool

    def start(self, searches: Searches, out: NDArray[Any]) -> tuple[Solved, Rows]:
        """Run searches, one source each. `out`, shape (searches, entries), may still be filled after this returns."""
        prepared, count = self.prepared, len(searches)
        rows = self.rows[:count] if self.whole else None
        batch = batch_on(prepared.device, searches, WANTS_DISTANCES if self.whole else WANTS_TARGETS,
                         prepared.keys.dtype, rows)
        found = batch.out["distance" if self.whole else "target_distance"]
        summaries = prepared.device.output(out)
        assert found is not None
        prepared.timer.start()
        prepared.engine.launch(prepared, batch)
        self.reducer.reduce_rows(count, found, self.lines, summaries)
        prepared.timer.stop()
        solved = batch.solved()
        if self.whole:
            found.free()
        return solved, Rows(prepared, [(summaries, summaries.start_download(out))])


@contextmanager
def summaries_of(
    prepared: Searcher | Sweeper, targets: NDArray[np.int64] | None, reduction: Reduction, batch: int
) -> Iterator[SweptSummaries | SearchedSummaries]:
    """Yield the searches that make summaries on a prepared graph.

    Parameters
    ----------
    targets
        Positions, or None for all vertices.
    batch
        The most searches at a time.
    """
    device, keys, graph = prepared.device, prepared.keys, prepared.graph
    name = np.arange(graph.n) if targets is None else targets
    if isinstance(prepared, Sweeper):
        vertex = graph.places()[name]
        order = np.argsort(vertex, kind="stable")  # as the lines lie in memory
        with Reducer(device, keys, prepared.shape.width, prepared.shape.groups, vertex[order],
                     name[order].astype(np.uint32), prepared.cutoff, reduction, prepared.threads) as reducer:
            yield SweptSummaries(prepared, reducer)
        return
    groups, columns = -(-batch // SEARCHED_WIDTH), len(name)
    lines = device.empty((groups, columns, SEARCHED_WIDTH), keys.dtype)
    rows = np.empty((batch if targets is None else 0, columns), keys.dtype)
    whole_warps = prepared.threads // 32 * 32
    with Reducer(device, keys, SEARCHED_WIDTH, groups, np.arange(columns, dtype=np.uint32), name.astype(np.uint32),
                 prepared.cutoff, reduction, whole_warps) as reducer:
        yield SearchedSummaries(prepared, reducer, rows, lines, targets is None)
    lines.free()
