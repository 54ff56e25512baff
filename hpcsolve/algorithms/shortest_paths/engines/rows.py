"""Rows of distances from many sources at once: what an engine is asked for, and how it fills them.

Engines without a way of their own make one search per row. With the engine "tile" each block searches from 32 sources,
at best near each other (cuda_src/paths/tile.cu).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.launches import concurrent_blocks
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import (
    WANTS_DISTANCES,
    WANTS_TARGETS,
    Rows,
    Searcher,
    row_searches,
)
from hpcsolve.device.base import Argument, Buffer, DeviceInfo, batches_at_once

SEARCHES_A_BLOCK = 16
"""Searches of one batch, per block."""
TILE_FILE = "paths/tile"
TILE_SOURCES = 32
"""Number of sources that a block searches from at once: a group."""
TILE_THREADS = 512
TILE_BLOCKS_A_MULTIPROCESSOR = 2
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows with keys of 64 bits, or fewer."""
SPACE_BYTES = 1 << 32
"""The most bytes that all blocks work in. Fewer blocks work at a time if the memory of all would not fit."""
GROUPS_A_BLOCK = 4
BATCH_BYTES = 1 << 30
"""The most groups per block, and the most bytes, of a batch of rows."""
WIDER = 4
"""Width of a GPU's buckets, in typical weights: a GPU needs many vertices per round. On a CPU the width is 1."""
Finish: TypeAlias = Callable[[], int]
"""A function that waits until rows are filled, and returns the number of arcs relaxed."""


class RowSearch(Protocol):
    """Searches that fill rows of keys. They are fastest if sources near each other stand together."""

    @property
    def prepared(self) -> Searcher:
        """The graph on the device."""

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with keys of distances. They are filled after `Finish`."""


@dataclass(frozen=True)
class RowRequest:
    """The rows that an engine is asked for.

    Attributes
    ----------
    n, columns
        Number of vertices, and of those that a row has.
    searches
        Number of rows in all. If the device could work on more at a time, less memory is taken.
    p
        Number of sources at once, for engines that leave it to the user.
    hierarchy
        The graph's hierarchy, for the engine "phast", which makes one if this is None.
    """

    n: int
    columns: int
    searches: int
    p: int
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class RowEngine:
    """How an engine makes rows.

    Attributes
    ----------
    start
        Prepares the engine on a graph. Takes the positions of the vertices that a row has, and a typical weight.
    batch
        Number of sources that make a good batch.
    shapes
        Shapes and types of the arrays that the engine works in.
    """

    start: Callable[[Searcher, RowRequest, NDArray[np.int64], float], AbstractContextManager[RowSearch]]
    batch: Callable[[RowRequest, DeviceInfo, Keys], int]
    shapes: Callable[[RowRequest, DeviceInfo, Keys], Mapping[str, tuple[Any, Any]]]


def filled_rows(search: RowSearch, batches: Iterable[NDArray[Any]], columns: int) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield for each batch of sources its rows and the number of arcs relaxed. A GPU is a batch ahead of the caller."""
    ahead = batches_at_once(search.prepared.device.info) - 1
    under_way: deque[tuple[NDArray[Any], Finish]] = deque()

    def finished() -> tuple[NDArray[Any], int]:
        rows, finish = under_way.popleft()
        relaxed = finish()
        return rows, relaxed

    try:
        for sources in batches:
            rows = np.empty((len(sources), columns), search.prepared.keys.dtype)
            under_way.append((rows, search.start(sources, rows)))
            del rows  # so that the caller can free them before the next ones are made
            if len(under_way) > ahead:
                yield finished()
        while under_way:
            yield finished()
    finally:  # also if the caller stops early
        for _, finish in under_way:
            finish()


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
        return SEARCHES_A_BLOCK * self.prepared.blocks

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with the keys of distances."""
        if not len(sources):
            return lambda: 0
        places, seeds = self.prepared.graph.places(), list(sources[:, None].astype(np.int64))
        if np.array_equal(self.columns, np.arange(self.prepared.graph.n)):
            found, arriving = self.prepared.start(row_searches(seeds, None, places), WANTS_DISTANCES, rows)

            def finish() -> int:
                arriving.wait()
                return int(found.relaxed.sum())

            return finish
        found = self.prepared.solve(row_searches(seeds, self.columns, places), WANTS_TARGETS)
        rows[:] = found.target_keys.reshape(rows.shape)
        return lambda: int(found.relaxed.sum())


SINGLE = RowEngine(
    lambda prepared, request, columns, weight: nullcontext(SingleRows(prepared, columns)),
    lambda request, info, keys: SEARCHES_A_BLOCK * concurrent_blocks(info),
    lambda request, info, keys: {},
)
"""The row engine that stands in for engines without one of their own: one search per row."""


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
    threads: int = TILE_THREADS
    blocks: int = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Make room to work in."""
        device, graph = self.prepared.device, self.prepared.graph
        keys = self.prepared.keys
        resident = device.resident_blocks(TILE_FILE, f"tile_search_{keys.code}", self.threads)
        self.blocks = min(resident, tile_blocks(graph.n, self.searches, device.info, keys))
        shapes = tile_workspace(graph.n, self.blocks, keys)
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
        return tile_batch(len(self.columns), self.blocks, self.prepared.keys)

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with the keys of distances."""
        device, searcher, groups = self.prepared.device, self.prepared, -(-len(sources) // TILE_SOURCES)
        if not groups:
            return lambda: 0
        places, work = device.upload(searcher.graph.places()[sources]), device.zeros((groups, 2), np.uint64)
        taken, out = device.zeros(1, np.uint32), device.output(rows)
        kernel = device.kernel(TILE_FILE, f"tile_search_{searcher.keys.code}")
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


def tile_blocks(n: int, searches: int, info: DeviceInfo, keys: Keys) -> int:
    """Return the number of blocks that work at the same time."""
    units = info.units * TILE_BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units
    room = SPACE_BYTES // (TILE_SOURCES * n * keys.dtype.itemsize)
    return max(1, min(-(-searches // TILE_SOURCES), units, room))


def tile_batch(columns: int, blocks: int, keys: Keys) -> int:
    """Return the number of sources of a batch, a multiple of `TILE_SOURCES`."""
    most = BATCH_BYTES // (TILE_SOURCES * columns * keys.dtype.itemsize)
    return TILE_SOURCES * max(1, min(GROUPS_A_BLOCK * blocks, most))


def tile_workspace(n: int, blocks: int, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    return {"words": ((blocks, TILE_SOURCES + 1, n), keys.dtype), "queues": ((blocks, 4, n), np.uint32)}


TILE_ROWS = RowEngine(
    lambda prepared, request, columns, weight: TileRows(prepared, columns, weight, request.searches),
    lambda request, info, keys: tile_batch(request.columns, tile_blocks(request.n, request.searches, info, keys), keys),
    lambda request, info, keys: tile_workspace(request.n, tile_blocks(request.n, request.searches, info, keys), keys),
)
"""The row engine "tile"."""
