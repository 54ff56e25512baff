"""Rows of distances from many sources, by whichever engine was asked for."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import Engine, concurrent_blocks, typical_weight
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_DISTANCES, WANTS_TARGETS, row_jobs
from hpcsolve.algorithms.shortest_paths.keys import LONG, WORD
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters, RowEngine
from hpcsolve.algorithms.steiner_kmb.pull import Pulls
from hpcsolve.algorithms.steiner_kmb.tile import Tiles, batch_for, blocks_for, workspace
from hpcsolve.device.base import DeviceInfo
from hpcsolve.problems.graph import Graph

BATCH = 16
"""Searches a block and batch."""


class RowSearch(Protocol):
    """Searches that fill rows of keys, a source each. They cost least where sources near each other stand together."""

    @property
    def at_once(self) -> int:
        """Sources that make a good batch."""

    def fill(self, sources: NDArray[Any], rows: NDArray[Any]) -> int:
        """Fill rows, shape (sources, columns), with the keys of distances; the arcs that were followed."""


@dataclass(frozen=True)
class Rows:
    """Rows by an engine of shortest-paths, to these vertices (positions), or to all."""

    prepared: Searcher
    targets: NDArray[np.int64] | None

    @property
    def at_once(self) -> int:
        """Sources that make a good batch."""
        return BATCH * self.prepared.blocks

    def fill(self, sources: NDArray[Any], rows: NDArray[Any]) -> int:
        """Fill rows, shape (sources, columns), with the keys of distances; the arcs that were followed."""
        if not len(sources):
            return 0
        jobs = row_jobs(list(sources[:, None].astype(np.int64)), self.targets, self.prepared.layout.places())
        if self.targets is None:
            return int(self.prepared.solve(jobs, WANTS_DISTANCES, rows).relaxed.sum())
        found = self.prepared.solve(jobs, WANTS_TARGETS)
        rows[:] = found.target_keys.reshape(rows.shape)
        return int(found.relaxed.sum())


def row_search(
    prepared: Searcher, graph: Graph, parameters: Parameters, targets: NDArray[np.int64] | None, searches: int
) -> AbstractContextManager[RowSearch]:
    """Searches through a graph on a device.

    Parameters
    ----------
    targets
        Positions of the vertices that a row is wanted of; None: all.
    searches
        How many there will be.
    """
    columns = np.arange(graph.n) if targets is None else targets
    if parameters.engine == "tile":
        return Tiles(prepared, columns, typical_weight(graph), searches)
    if parameters.engine == "p-pull":
        return nullcontext(Pulls(prepared, columns, parameters.at_once))
    return nullcontext(Rows(prepared, targets))


def row_bytes(n: int, columns: int, parameters: Parameters, searches: int, info: DeviceInfo) -> int:
    """What a batch of rows takes, and what an engine that makes nothing else works in; as wide as keys may become."""
    shapes: list[Any] = [((batch_rows(n, columns, parameters, searches, info), columns), LONG.dtype)]
    if parameters.engine == "tile":
        shapes += workspace(n, blocks_for(n, searches, info, LONG), LONG).values()
    if parameters.engine == "p-pull":
        shapes += 3 * [((n, parameters.at_once), LONG.dtype)]
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes)


def batch_rows(n: int, columns: int, parameters: Parameters, searches: int, info: DeviceInfo) -> int:
    """Rows of a batch: `RowSearch.at_once`, or all of fewer searches."""
    batch = BATCH * concurrent_blocks(info)
    if parameters.engine == "tile":
        batch = batch_for(columns, blocks_for(n, searches, info, WORD), WORD)
    if parameters.engine == "p-pull":
        batch = parameters.at_once
    return min(batch, searches)


def path_engine(engine: RowEngine) -> Engine:
    """What searches for paths, where an engine makes rows only."""
    return "near-far" if engine == "tile" or engine == "p-pull" else engine
