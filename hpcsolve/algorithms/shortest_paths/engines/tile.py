"""The engine "tile": rows from many sources, 32 searches by each block at once (cuda_src/paths/tile.cu)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcsolve.algorithms.shortest_paths.engines.single import typical_weight
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Asked, Engine, Prepared, Request, Solved, Want
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, nbytes_of
from hpcsolve.problems.graph import Graph

FILE = "paths/tile"
SOURCES = 32
"""Number of sources that a block searches from at once: a group."""
THREADS = 512
BLOCKS_A_MULTIPROCESSOR = 2
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows with keys of 64 bits, or fewer."""
SPACE_BYTES = 1 << 32
"""The most bytes that all blocks work in. Fewer blocks work at a time if the memory of all would not fit."""
GROUPS_A_BLOCK = 4
BATCH_BYTES = 1 << 30
"""The most groups per block, and the most bytes, of a batch of rows."""
WIDER = 4
"""Width of a GPU's buckets, in typical weights: a GPU needs many vertices per round. On a CPU the width is 1."""


@dataclass(frozen=True)
class TileEngine(Engine):
    """Groups of 32 sources, at best near each other, by a block each."""

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> TileSearcher:
        """Return the graph on the device, with room to work in for as many groups as its driver allows at a time."""
        keys = request.keys
        resident = device.resident_blocks(FILE, f"tile_search_{keys.code}", THREADS)
        blocks = min(resident, self.together(request, device.info) // SOURCES)
        found = TileSearcher(device, self.laid_out(graph, request, beside), keys, self.farthest(request),
                             batch_of(request.columns, blocks, keys), beside)
        width = typical_weight(graph) * (1 if device.info.kind == "cpu" else WIDER)
        found.delta, found.blocks = max(1, keys.encode_one(width)), blocks
        found.work = found.allocated(workspace(graph.n, blocks, keys))
        return found

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return the sources of the blocks that work at the same time."""
        units = info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units
        room = SPACE_BYTES // (SOURCES * request.n * request.keys.dtype.itemsize)
        return SOURCES * max(1, min(-(-request.searches // SOURCES), units, room))

    def batch(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of sources of a batch."""
        return batch_of(request.columns, self.together(request, info) // SOURCES, request.keys)

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the blocks' arrays, and of the vertices that rows have."""
        shapes = workspace(request.n, self.together(request, info) // SOURCES, request.keys)
        return nbytes_of(shapes.values()) + 4 * request.columns


def batch_of(columns: int, blocks: int, keys: Keys) -> int:
    """Return the number of sources of a batch, a multiple of `SOURCES`."""
    most = BATCH_BYTES // (SOURCES * columns * keys.dtype.itemsize)
    return SOURCES * max(1, min(GROUPS_A_BLOCK * blocks, most))


def workspace(n: int, blocks: int, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    return {"words": ((blocks, SOURCES + 1, n), keys.dtype), "queues": ((blocks, 4, n), np.uint32)}


class TileSearcher(Prepared):
    """A graph on a device, ready to be searched from groups of sources.

    Attributes
    ----------
    delta
        Width of buckets, as a key.
    blocks
        Number of blocks, each of which works on one group at a time.
    work
        The arrays that the blocks work in, by the names of the kernel's arguments.
    """

    delta: int
    work: Mapping[str, Buffer]
    threads = THREADS

    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches, one source each, for rows of distances. See `Prepared.start`."""
        device, searches, count = self.device, asked.searches, len(asked.searches)
        groups, columns, rows = -(-count // SOURCES), asked.columns(self.graph), device.output(asked.distance)
        source, vertex = device.upload(searches.seeds), device.upload(columns)
        work, taken = device.zeros((groups, 2), np.uint64), device.zeros(1, np.uint32)
        out: Argument = {"columns": len(columns), "vertex": vertex, "rows": rows, "work": work}
        device.kernel(FILE, f"tile_search_{self.keys.code}")(
            min(groups, self.blocks), self.threads, net=self.net, sources=count, source=source, delta=self.delta,
            cutoff=self.cutoff, next=taken, words=self.work["words"], queues=self.work["queues"], out=out)
        arriving = [(rows, rows.start_download(asked.distance))]
        relaxed, rounds = work.download().T
        for buffer in (source, vertex, work, taken):
            buffer.free()
        return Solved(self, arriving, 0 * relaxed, 0 * relaxed, relaxed, rounds)


TILE = TileEngine("tile", "32 searches at once from sources that are near each other", (FILE,), Want.ROWS, floats=False)
