"""Rows of distances from many sources, by whichever engine was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Rows, Solved
from hpcsolve.algorithms.shortest_paths.engines.known import RowEngineName, row_engine
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.row_engine import Finish, RowEngine, RowRequest, RowSearch
from hpcsolve.algorithms.shortest_paths.engines.tuning import concurrent_blocks, typical_weight
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.searches import WANTS_DISTANCES, WANTS_TARGETS, row_searches
from hpcsolve.device.base import DeviceInfo, nbytes_of
from hpcsolve.problems.graph import Graph

BATCH = 16
"""Searches of one batch, per block."""


@dataclass(frozen=True)
class SingleRows:
    """Rows by one search per row.

    Attributes
    ----------
    columns
        Positions of the vertices that a row has.
    """

    prepared: Searcher
    columns: NDArray[np.int64]

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""
        return BATCH * self.prepared.blocks

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with the keys of distances."""
        if not len(sources):
            return lambda: 0
        places, seeds = self.prepared.graph.places(), list(sources[:, None].astype(np.int64))
        if np.array_equal(self.columns, np.arange(self.prepared.graph.n)):
            return _finish(*self.prepared.start(row_searches(seeds, None, places), WANTS_DISTANCES, rows))
        found = self.prepared.solve(row_searches(seeds, self.columns, places), WANTS_TARGETS)
        rows[:] = found.target_keys.reshape(rows.shape)
        return lambda: int(found.relaxed.sum())


def _finish(found: Solved, rows: Rows) -> Finish:
    def finish() -> int:
        rows.wait()
        return int(found.relaxed.sum())

    return finish


def _start(prepared: Searcher, _: RowRequest, columns: NDArray[np.int64], __: float
           ) -> AbstractContextManager[RowSearch]:
    return nullcontext(SingleRows(prepared, columns))


def _batch(_: RowRequest, info: DeviceInfo, __: Keys) -> int:
    return BATCH * concurrent_blocks(info)


def _shapes(*_: object) -> Mapping[str, tuple[Any, Any]]:
    return {}


SINGLE = RowEngine(_start, _batch, _shapes)
"""The row engine that stands in for engines without one of their own: one search per row."""


def row_search(
    prepared: Searcher, graph: Graph, engine: RowEngineName, p: int, targets: NDArray[np.int64] | None, searches: int,
    hierarchy: Hierarchy | None = None,
) -> AbstractContextManager[RowSearch]:
    """Return the search that fills rows, on a prepared graph.

    Parameters
    ----------
    p, searches, hierarchy
        As in `RowRequest`.
    targets
        Positions of the vertices that a row has; None stands for all.
    """
    columns = np.arange(graph.n) if targets is None else targets
    request = RowRequest(graph.n, len(columns), searches, p, hierarchy)
    return (row_engine(engine) or SINGLE).start(prepared, request, columns, typical_weight(graph))


def row_bytes(engine: RowEngineName, request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    """Return the bytes of the arrays that the engine works in."""
    return nbytes_of((row_engine(engine) or SINGLE).shapes(request, info, keys).values())


def batch_rows(engine: RowEngineName, request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    """Return the number of rows of a batch: that of `RowSearch.at_once`, or of all searches if there are fewer."""
    return min((row_engine(engine) or SINGLE).batch(request, info, keys), request.searches)
