"""Rows by the engine "p-pull": Bellman-Ford from p sources at once (cuda_src/paths/p_pull.cu)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.rows import Finish, RowEngine
from hpcsolve.algorithms.shortest_paths.searches import Searcher
from hpcsolve.device.base import Buffer

SWEEPS = 3
"""Sweeps per launch (k in the paper)."""
STRETCH = 256
"""Vertices that a block works on at a time (`stretch` in p_pull.cu), and threads of a block."""


@dataclass(frozen=True)
class PPullRows:
    """Rows by the engine "p-pull": sweeps over the whole graph.

    Attributes
    ----------
    prepared
        The graph on the device.
    columns
        Positions of the vertices that a row has.
    p
        Number of sources that are searched from at once.
    """

    prepared: Searcher
    columns: NDArray[np.int64]
    p: int

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""
        return self.p

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Fill rows, shape (sources, columns), with the keys of distances. `Finish` need not wait."""
        searcher, places = self.prepared, self.prepared.graph.places()
        infinite, relaxed = searcher.keys.no_path >> 1, 0
        for begin in range(0, len(sources), self.p):
            batch = places[sources[begin : begin + self.p]]
            start = np.full((searcher.graph.n, len(batch)), infinite, searcher.keys.dtype)
            start[batch, np.arange(len(batch))] = 0
            keys = searcher.device.upload(start)
            relaxed += self._settle(keys)
            found = keys.download()[places[self.columns]].T
            rows[begin : begin + self.p] = np.where(found == infinite, searcher.keys.no_path, found)
            keys.free()
        return lambda: relaxed

    def _settle(self, keys: Buffer) -> int:
        """Sweep until nothing changes, and return the number of arcs relaxed."""
        searcher, (n, p) = self.prepared, keys.shape
        kernel = searcher.device.kernel("paths/p_pull", f"p_pull_sweep_{searcher.keys.code}")
        changed, launches = searcher.device.empty(1, np.uint32), 0
        searcher.timer.start()
        again = True
        while again:
            changed.fill(0)
            kernel(-(-n // STRETCH), STRETCH, net=searcher.net, p=p, sweeps=SWEEPS, cutoff=searcher.cutoff, keys=keys,
                   changed=changed)
            launches += 1
            again = bool(changed.download()[0])
        searcher.timer.stop()
        changed.free()
        return launches * SWEEPS * p * int(searcher.graph.offsets[-1])


P_PULL_ROWS = RowEngine(
    lambda prepared, request, columns, weight: nullcontext(PPullRows(prepared, columns, request.p)),
    lambda request, info, keys: request.p,
    # The keys on the device, their copy on the host, and the rows cut from it.
    lambda request, info, keys: dict.fromkeys(("device", "host", "rows"), ((request.n, request.p), keys.dtype)),
)
