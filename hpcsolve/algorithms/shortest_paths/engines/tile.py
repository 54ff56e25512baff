"""The engine "tile": rows from many sources, 32 searches by each block at once (cuda_src/paths/tile.cu)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.single import typical_weight
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, lay_out
from hpcsolve.algorithms.shortest_paths.searches import (
    ROWS,
    WANTS_TARGETS,
    Engine,
    Prepared,
    Request,
    Searches,
    Solved,
    graph_on,
)
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, Timer, nbytes_of
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.reductions import Reducer

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
        laid_out = beside.graph if beside else request.laid_out or lay_out(graph, keys)
        width = typical_weight(graph) * (1 if device.info.kind == "cpu" else WIDER)
        return TileSearcher(device, laid_out, keys, self.farthest(request), max(1, keys.encode_one(width)),
                            blocks, batch_of(request.columns, blocks, keys), beside)

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


@dataclass(eq=False)
class TileSearcher(Prepared):
    """A graph on a device, ready to be searched from groups of sources.

    Attributes
    ----------
    delta
        Width of buckets, as a key.
    blocks
        Number of blocks, each of which works on one group at a time.
    at_once
        As in `Prepared`.
    beside
        As in `Engine.prepare`.
    """

    device: Device
    graph: SearchGraph
    keys: Keys
    cutoff: int
    delta: int
    blocks: int
    at_once: int
    beside: Prepared | None = None
    threads: int = THREADS
    timer: Timer = field(init=False)
    net: Mapping[str, int | Buffer] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Bring the graph to the device unless it is there, and make room to work in."""
        device = self.device
        self.timer = self.beside.timer if self.beside else device.timer()
        self.net = self.beside.net if self.beside else graph_on(device, self.graph)
        shapes = workspace(self.graph.n, self.blocks, self.keys)
        self.work = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}

    def held(self) -> Iterable[Mapping[str, Any]]:
        """Return the arrays that the blocks work in, and the graph unless it is another's."""
        return (self.work,) if self.beside else (self.work, self.net)

    def start(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0, reducer: Reducer | None = None,
    ) -> Solved:
        """Run a batch of searches, one source each, for rows of distances. See `Prepared.start`."""
        assert distance is not None
        device, count = self.device, len(searches)
        groups, columns = -(-count // SOURCES), searches.targets if wanted & WANTS_TARGETS else self.graph.places()
        source, vertex = device.upload(searches.seeds), device.upload(columns)
        work, taken, rows = device.zeros((groups, 2), np.uint64), device.zeros(1, np.uint32), device.output(distance)
        out: Argument = {"columns": len(columns), "vertex": vertex, "rows": rows, "work": work}
        self.timer.start()
        device.kernel(FILE, f"tile_search_{self.keys.code}")(
            min(groups, self.blocks), self.threads, net=self.net, sources=count, source=source, delta=self.delta,
            cutoff=self.cutoff, next=taken, words=self.work["words"], queues=self.work["queues"], out=out)
        self.timer.stop()
        arriving = [(rows, rows.start_download(distance))]
        relaxed, rounds = work.download().T
        for buffer in (source, vertex, work, taken):
            buffer.free()
        return Solved(self.beside or self, arriving, 0 * relaxed, 0 * relaxed, relaxed, rounds)


TILE = TileEngine("tile", "32 searches at once from sources that are near each other", (FILE,), ROWS, floats=False)
