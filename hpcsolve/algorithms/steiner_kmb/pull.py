"""The host's side of Bellman-Ford for p sources at once (cuda_src/p_sssp.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.device.base import Buffer

SWEEPS = 3
"""A launch, as published."""
STRETCH = 256
"""Vertices that a block has at a time, and its threads."""


@dataclass(frozen=True)
class Pulls:
    """Rows by sweeps over the whole graph.

    Attributes
    ----------
    prepared
        The graph on the device.
    columns
        Positions of the vertices that a row is wanted of.
    p
        Searches at once.
    """

    prepared: Searcher
    columns: NDArray[np.int64]
    p: int

    @property
    def at_once(self) -> int:
        """Sources that make a good batch."""
        return self.p

    def fill(self, sources: NDArray[Any], rows: NDArray[Any]) -> int:
        """Fill rows, shape (sources, columns), with the keys of distances; the arcs that were followed."""
        searcher, places = self.prepared, self.prepared.layout.places()
        infinite, relaxed = searcher.keys.unreached >> 1, 0
        for begin in range(0, len(sources), self.p):
            batch = places[sources[begin : begin + self.p]]
            start = np.full((searcher.layout.n, len(batch)), infinite, searcher.keys.dtype)
            start[batch, np.arange(len(batch))] = 0
            keys = searcher.device.upload(start)
            relaxed += self._settle(keys)
            found = keys.download()[places[self.columns]].T
            rows[begin : begin + self.p] = np.where(found == infinite, searcher.keys.unreached, found)
            keys.free()
        return relaxed

    def _settle(self, keys: Buffer) -> int:
        """Sweep until nothing changes; the arcs that were followed."""
        searcher, (n, p) = self.prepared, keys.shape
        kernel = searcher.device.kernel("paths/p_sssp", f"p_sssp_pull_{searcher.keys.code}")
        changed, launches = searcher.device.empty(1, np.uint32), 0
        searcher.timer.start()
        again = True
        while again:
            changed.fill(0)
            kernel(
                -(-n // STRETCH), STRETCH, n, p, SWEEPS, searcher.limit, searcher.tables["in_offsets"],
                searcher.tables["in_arcs"], keys, changed,
            )  # fmt: skip
            launches += 1
            again = bool(changed.download()[0])
        searcher.timer.stop()
        changed.free()
        return launches * SWEEPS * p * int(searcher.layout.offsets[-1])
