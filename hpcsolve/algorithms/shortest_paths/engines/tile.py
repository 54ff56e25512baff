"""Rows by the engine "tile": each block searches from 32 sources, at best near each other (cuda_src/paths/tile.cu)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Rows
from hpcsolve.algorithms.shortest_paths.engines.row_engine import Finish, RowEngine, RowRequest
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.device.base import Argument, Buffer, DeviceInfo

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher

FILE = "paths/tile"
GROUP = 32
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


@dataclass(eq=False)
class TileRows:
    """Rows by the engine "tile". A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    prepared
        The graph on the device.
    columns
        Positions of the vertices that a row has.
    weight
        A typical weight.
    searches
        Number of rows in all. If the device could work on more at a time, less memory is taken.
    threads
        Threads of a block, whole warps; a CPU has one.
    """

    prepared: Searcher
    columns: NDArray[np.int64]
    weight: float
    searches: int
    threads: int = THREADS
    blocks: int = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Make room to work in."""
        device, graph = self.prepared.device, self.prepared.graph
        keys = self.prepared.keys
        resident = device.resident_blocks(FILE, f"tile_search_{keys.code}", self.threads)
        self.blocks = min(resident, blocks_for(graph.n, self.searches, device.info, keys))
        shapes = workspace(graph.n, self.blocks, keys)
        self.work = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        self.work["columns"] = device.upload(graph.places()[self.columns])

    def __enter__(self) -> TileRows:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        for buffer in self.work.values():
            buffer.free()

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""
        return batch_for(len(self.columns), self.blocks, self.prepared.keys)

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with the keys of distances."""
        device, searcher, groups = self.prepared.device, self.prepared, -(-len(sources) // GROUP)
        if not groups:
            return lambda: 0
        places, work = device.upload(searcher.graph.places()[sources]), device.zeros((groups, 2), np.uint64)
        taken, out = device.zeros(1, np.uint32), device.output(rows)
        kernel = device.kernel(FILE, f"tile_search_{searcher.keys.code}")
        width = self.weight * (1 if device.info.kind == "cpu" else WIDER)
        found: Argument = {"columns": len(self.columns), "vertex": self.work["columns"], "rows": out, "work": work}
        searcher.timer.start()
        kernel(min(groups, self.blocks), self.threads, net=searcher.net, sources=len(sources), source=places,
               delta=max(1, searcher.keys.encode_one(width)), cutoff=searcher.cutoff, next=taken,
               words=self.work["words"], queues=self.work["queues"], out=found)
        searcher.timer.stop()
        arriving = Rows(searcher, [(out, out.start_download(rows))])

        def finish() -> int:
            relaxed = int(work.download()[:, 0].sum())
            arriving.wait()
            for buffer in (places, taken, work):
                buffer.free()
            return relaxed

        return finish


def blocks_for(n: int, searches: int, info: DeviceInfo, keys: Keys) -> int:
    """Return the number of blocks that work at the same time."""
    units = info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units
    room = SPACE_BYTES // (GROUP * n * keys.dtype.itemsize)
    return max(1, min(-(-searches // GROUP), units, room))


def batch_for(columns: int, blocks: int, keys: Keys) -> int:
    """Return the number of sources of a batch, a multiple of `GROUP`."""
    most = BATCH_BYTES // (GROUP * columns * keys.dtype.itemsize)
    return GROUP * max(1, min(GROUPS_A_BLOCK * blocks, most))


def workspace(n: int, blocks: int, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    return {"words": ((blocks, GROUP + 1, n), keys.dtype), "queues": ((blocks, 4, n), np.uint32)}


def _start(prepared: Searcher, request: RowRequest, columns: NDArray[np.int64], weight: float) -> TileRows:
    return TileRows(prepared, columns, weight, request.searches)


def _batch(request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    return batch_for(request.columns, blocks_for(request.n, request.searches, info, keys), keys)


def _shapes(request: RowRequest, info: DeviceInfo, keys: Keys) -> dict[str, tuple[Any, Any]]:
    return workspace(request.n, blocks_for(request.n, request.searches, info, keys), keys)


ROWS = RowEngine(_start, _batch, _shapes)
