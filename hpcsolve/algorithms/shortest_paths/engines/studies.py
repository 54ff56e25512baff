"""Engines that are there for study: two ways of Bellman-Ford that a paper compares, and scipy's Dijkstra as an oracle.

"k-pull" and "p-pull" are those of Muniasamy, Nasre, Narayanaswamy: Accelerating Computation of Steiner Trees on GPUs,
International Journal of Parallel Programming 50, 2022. hpcsolve never chooses an engine of this module by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.single import SingleEngine
from hpcsolve.algorithms.shortest_paths.search_graph import REAL, Keys
from hpcsolve.algorithms.shortest_paths.searches import Asked, Engine, Prepared, Request, Solved, Want
from hpcsolve.device.base import Buffer, Device, DeviceInfo
from hpcsolve.problems.check_distances import check_distances
from hpcsolve.problems.graph import Graph

SWEEPS = 3
"""Sweeps per launch (k in the paper)."""
STRETCH = 256
"""Vertices that a block works on at a time (`stretch` in p_pull.cu), and threads of a block."""
P_PULL_FILE = "paths/p_pull"
SCIPY_BYTES = 1 << 27
"""Bytes of the distances that scipy computes at a time, at least those of one row."""
LAST_EXACT = 2**53 - 1
"""The largest distance that scipy finds: floats hold all integers up to here, and no sum of them looks smaller."""

K_PULL = SingleEngine("k-pull", "as bellman-ford-pull, but with 3 sweeps between two checks for changes",
                      ("paths/bellman_ford",), study=True, sweeps=SWEEPS, whole_keys=True)


@dataclass(frozen=True)
class PPullEngine(Engine):
    """Bellman-Ford from p sources at once (cuda_src/paths/p_pull.cu)."""

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> PPullSearcher:
        """Return the graph on the device."""
        laid_out = self.laid_out(graph, request, beside)
        return PPullSearcher(device, laid_out, request.keys, self.farthest(request), request.p, beside)

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return p."""
        return request.p

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the keys on the device, of their copy on the host, and of the rows cut from it."""
        return 3 * request.n * request.p * request.keys.dtype.itemsize


class PPullSearcher(Prepared):
    """A graph on a device, ready to be searched from `at_once` sources together."""

    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches, one source each, for rows of distances. See `Prepared.start`."""
        searches, distance = asked.searches, asked.distance
        columns, infinite = asked.columns(self.graph), self.keys.no_path >> 1
        relaxed = np.zeros(len(searches), np.uint64)
        for begin in range(0, len(searches), self.at_once):
            part = slice(begin, begin + self.at_once)
            sources = searches.seeds[part]
            first = np.full((self.graph.n, len(sources)), infinite, self.keys.dtype)
            first[sources, np.arange(len(sources))] = 0
            keys = self.device.upload(first)
            relaxed[part] = self._settle(keys)
            found = keys.download()[columns].T
            distance[part] = np.where(found == infinite, self.keys.no_path, found)
            keys.free()
        return Solved(self, [], 0 * relaxed, 0 * relaxed, relaxed, 0 * relaxed)

    def _settle(self, keys: Buffer) -> int:
        """Sweep until nothing changes, and return the number of arcs relaxed for each source."""
        n, p = keys.shape
        kernel = self.device.kernel(P_PULL_FILE, f"p_pull_sweep_{self.keys.code}")
        changed, launches = self.device.empty(1, np.uint32), 0
        again = True
        while again:
            changed.fill(0)
            kernel(-(-n // STRETCH), STRETCH, net=self.net, p=p, sweeps=SWEEPS, cutoff=self.cutoff, keys=keys,
                   changed=changed)
            launches += 1
            again = bool(changed.download()[0])
        changed.free()
        return launches * SWEEPS * int(self.graph.offsets[-1])


P_PULL = PPullEngine("p-pull", "Bellman-Ford from several sources at once", (P_PULL_FILE,), Want.ROWS, floats=False,
                     study=True)


@dataclass(frozen=True)
class ScipyEngine(Engine):
    """scipy's Dijkstra on one core of the host, whatever the device. Of whole rows, numpy checks every one.

    The check (problems/check_distances.py) does not search. The function by which `hpcsolve verify` searches again
    (problems/search_again.py) is not used, so that it and the engine are two programs around scipy's one search.
    """

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> ScipySearcher:
        """Return the graph on the host."""
        found = ScipySearcher(device, self.laid_out(graph, request, beside), request.keys, self.farthest(request),
                              self.batch(request, device.info), beside)
        found.origin, found.matrix = graph, graph.sparse_matrix(graph.weights.astype(np.float64))
        return found

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return 1."""
        return 1

    def batch(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of rows that fit `SCIPY_BYTES`."""
        return max(1, min(request.searches, SCIPY_BYTES // (8 * max(request.n, 1))))

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the matrix, of a batch's distances as floats and keys, and of the check of a row."""
        return 64 * request.arcs + (32 + 24 * self.batch(request, info)) * request.n

    def limit(self, keys: Keys) -> int:
        """Return the largest key up to which floats are exact."""
        return keys.whole_limit if keys is REAL else min(keys.whole_limit, LAST_EXACT)


class ScipySearcher(Prepared):
    """A graph on the host: `origin`, and the matrix that scipy reads."""

    origin: Graph
    matrix: Any

    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches, one source each, for rows of distances. See `Prepared.start`."""
        from scipy.sparse.csgraph import dijkstra

        searches, distance, reducer = asked.searches, asked.distance, asked.reducer
        graph, sources = self.origin, self.graph.order[searches.seeds].astype(np.int64)
        most = self.keys.decode_one(self.cutoff)
        rows = dijkstra(self.matrix, indices=sources, limit=most)
        reached, tails = np.isfinite(rows), graph.tails()
        keys = self.keys.encode(np.where(reached, rows, 0))
        keys[~reached] = self.keys.no_path
        wrong = [_is_wrong(graph, source, self.keys.decode(row), most) for source, row in zip(sources, keys)]
        cut = [np.count_nonzero(row[tails] & ~row[graph.heads]) for row in reached]
        relaxed = [int(np.diff(graph.offsets)[row].sum()) for row in reached]
        found = keys[:, self.graph.order[asked.columns(self.graph)]]
        solved = Solved(self, [], *(np.array(counter, np.uint64) for counter in (wrong, cut, relaxed, reached.sum(1))))
        if reducer is None:
            distance[:] = found
            return solved
        buffer, result = self.device.upload(np.ascontiguousarray(found)), self.device.output(distance)
        reducer.reduce_rows(len(searches), buffer, result)
        solved.arriving = [(result, result.start_download(distance))]
        buffer.free()
        return solved


def _is_wrong(graph: Graph, source: np.int64, row: NDArray[Any], cutoff: float) -> bool:
    """Return whether a row of distances contradicts the arcs."""
    try:
        check_distances(graph, [source], row[None], cutoff=cutoff)
    except ValueError:
        return True
    return False


SCIPY = ScipyEngine("scipy", "scipy's Dijkstra on one core of each rank, without a kernel, as an oracle; for distances "
                    "alone", (), Want.ROWS | Want.CHECKED, study=True)
