"""Searches as the kernels read them, a batch of them on a device, and the graph on the device that they search.

A search has seeds, where it begins, and targets that it looks for. See cuda_src/paths/solve.cuh.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph
from hpcsolve.device.base import Argument, Buffer, Device, Download, Timer

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.engines import Engine
    from hpcsolve.algorithms.shortest_paths.engines.launches import Tuning
    from hpcsolve.algorithms.shortest_paths.engines.phast import Sweeper

BLOCK_THREADS = 256
"""Threads of a block. In a road network the near queue has some 130 vertices at a time."""
WANTS_DISTANCES, WANTS_PREDECESSORS, WANTS_TARGETS, WANTS_PATHS, UNCHECKED = 1, 2, 4, 8, 16
"""Bits of `wanted`: what a search delivers. `UNCHECKED`, for benchmarks, leaves the check out."""
WANTS_ROWS = WANTS_DISTANCES | WANTS_PREDECESSORS
NO_ROOM = np.uint64(2**64 - 1)
"""The `path_begin` of a query whose path did not fit in `path`."""
_ROWS = ("distance", "predecessor")
_ENTRIES = {"counts": 3, "overflowed": 1, "work": 2}
"""Entries for each search."""


@dataclass(frozen=True)
class Searches:
    """Searches for a batch, whose vertices have the numbers of the `SearchGraph`.

    Attributes
    ----------
    table
        Shape (searches, 5), uint32: begin and end of the search's seeds, begin and end of its targets, and the number
        of the first target's query.
    seeds, targets
        The seeds and the targets of all searches, uint32.
    queries
        Number of queries: pairs of a search and a target.
    """

    table: NDArray[np.uint32]
    seeds: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    queries: int

    def __len__(self) -> int:
        """Number of searches."""
        return len(self.table)

    def only(self, number: int) -> Searches:
        """Return one search, with the seeds, targets and queries of all."""
        return replace(self, table=self.table[number : number + 1])


def row_searches(
    seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, places: NDArray[np.uint32]
) -> Searches:
    """Return one search for each set of seeds (positions), all with the same targets if there are any.

    Parameters
    ----------
    places
        The number of each position in the `SearchGraph`.
    """
    ends = np.cumsum([0, *(len(own) for own in seeds)])
    count = 0 if targets is None else len(targets)
    first_query = count * np.arange(len(seeds))
    table = np.stack([ends[:-1], ends[1:], 0 * first_query, 0 * first_query + count, first_query], axis=1)
    there = places[targets] if targets is not None else np.zeros(0, np.uint32)
    return Searches(table.astype(np.uint32), places[np.concatenate(seeds)], there, count * len(seeds))


def query_searches(pairs: NDArray[np.int64], places: NDArray[np.uint32]) -> Searches:
    """Return one search for each source of `pairs`, shape (queries, 2): source and target, sorted by source."""
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    ends = np.append(starts[1:], len(pairs))
    source = np.arange(len(starts))
    table = np.stack([source, source + 1, starts, ends, starts], axis=1)
    return Searches(table.astype(np.uint32), places[pairs[starts, 0]], places[pairs[:, 1]], len(pairs))


@dataclass(frozen=True)
class Solved:
    """What a batch of searches found, except its rows.

    Attributes
    ----------
    wrong, cut
        Shape (searches,): the number of entries that the check on the device found wrong; the number of arcs that lead
        from a reached to an unreached vertex, none if the search ended early because all its targets were settled.
    relaxed, rounds
        Shape (searches,): the number of arcs relaxed; the number of rounds, which must follow each other.
    target_keys
        Shape (queries,): keys at the targets.
    path_begin, path_length, path
        Where each query's path begins in `path`, and how many vertices it has; `path` has positions in the graph.
    """

    wrong: NDArray[np.int64]
    cut: NDArray[np.uint32]
    relaxed: NDArray[np.uint64]
    rounds: NDArray[np.uint64]
    target_keys: NDArray[Any]
    path_begin: NDArray[np.uint64]
    path_length: NDArray[np.uint32]
    path: NDArray[np.uint32]

    @property
    def open_query(self) -> NDArray[np.bool_]:
        """Whether the path of each query did not fit in `path`, shape (queries,)."""
        found: NDArray[np.bool_] = self.path_begin == NO_ROOM
        return found


@dataclass(frozen=True)
class Batch:
    """Searches on a device, and room for their answers. The buffers have the names of the kernels' fields.

    Attributes
    ----------
    wanted
        What is wanted, as bits (`WANTS_DISTANCES`, ...).
    asked
        The table of searches, seeds and targets, and the number of searches that blocks have taken so far.
    out
        Answers; None for what is not wanted.
    path_room
        Entries for all paths together.
    """

    searches: Searches
    wanted: int
    asked: dict[str, Buffer]
    out: dict[str, Buffer | None]
    path_room: int

    def groups(self) -> dict[str, dict[str, Argument]]:
        """Return the kernels' groups `asked` and `out`."""
        return {"asked": {"count": len(self.searches), **self.asked}, "out": {**self.out, "path_room": self.path_room}}

    def only(self, number: int, n: int) -> Batch:
        """Return the part of this batch for one search, in the same memory. `n` is the length of a row."""
        own = {name: _part(buffer, number, n if name in _ROWS else _ENTRIES.get(name))
               for name, buffer in self.out.items()}
        table = self.asked["searches"].view(5 * number, 5)
        return replace(self, searches=self.searches.only(number), asked={**self.asked, "searches": table}, out=own)

    def solved(self) -> Solved:
        """Return all results except the rows, and free the batch's buffers except those of the rows."""
        found: dict[str, NDArray[Any]] = {
            name: buffer.download() if buffer else np.empty(0, np.uint64)
            for name, buffer in self.out.items() if name not in _ROWS
        }
        others = (buffer for name, buffer in self.out.items() if name not in _ROWS)
        for buffer in (*others, *self.asked.values()):
            if buffer:
                buffer.free()
        counts, work = found["counts"].astype(np.int64), found["work"]
        begin, end = self.searches.table[:, :2].astype(np.int64).T
        wrong = counts[:, 0] + np.abs(counts[:, 2] - (end - begin))  # every root is a seed
        return Solved(wrong, counts[:, 1].astype(np.uint32), work[:, 0], work[:, 1], found["target_distance"],
                      found["path_begin"], found["path_length"], found["path"])


def _part(buffer: Buffer | None, number: int, entries: int | None) -> Buffer | None:
    """Return the entries of one search, or the whole buffer if all searches share it."""
    return buffer if buffer is None or entries is None else buffer.view(entries * number, entries)


@dataclass(eq=False)
class Rows:
    """Rows of a batch on their way to the host.

    Attributes
    ----------
    arriving
        The buffers of the rows and their downloads.
    """

    searcher: Searcher | Sweeper
    arriving: list[tuple[Buffer, Download]]

    def wait(self) -> None:
        """Return when all rows are on the host, and free their buffers."""
        started = time.perf_counter()
        for buffer, download in self.arriving:
            download.wait()
            buffer.free()
        self.searcher.seconds_copy += time.perf_counter() - started


def batch_on(
    device: Device, searches: Searches, wanted: int, dtype: DTypeLike, distance: NDArray[Any] | None = None,
    predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
) -> Batch:
    """Bring searches to a device, and make room for their answers.

    Parameters
    ----------
    dtype
        Of the keys.
    distance, predecessor
        Where rows will be downloaded to, shape (searches, n), contiguous.
    """
    assert bool(wanted & WANTS_DISTANCES) == (distance is not None)
    assert bool(wanted & WANTS_PREDECESSORS) == (predecessor is not None)
    given = {"searches": searches.table.reshape(-1), "seed": searches.seeds, "target": searches.targets}
    asked = {name: device.upload(array) for name, array in given.items()} | {"next": device.zeros(1, np.uint32)}
    targets, paths = wanted & WANTS_TARGETS, wanted & WANTS_PATHS
    out = {
        "distance": None if distance is None else device.output(distance),
        "predecessor": None if predecessor is None else device.output(predecessor),
        "target_distance": device.empty(searches.queries, dtype) if targets else None,
        "path_begin": device.zeros(searches.queries, np.uint64) if paths else None,
        "path_length": device.zeros(searches.queries, np.uint32) if paths else None,
        "path": device.empty(path_room, np.uint32) if paths else None,
        "path_used": device.zeros(1, np.uint64) if paths else None,
        "counts": device.zeros((len(searches), 3), np.uint32),
        "overflowed": device.zeros(len(searches), np.uint32),
        "work": device.zeros((len(searches), 2), np.uint64),
    }
    return Batch(searches, wanted, asked, out, path_room)


@dataclass(eq=False)
class Searcher:
    """A graph on a device, ready to be searched. A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    cutoff
        Distances beyond this key are not searched for.
    blocks
        Number of blocks, each of which works on one search at a time.
    room
        Entries of a block's scratch. With fewer than `Engine.room` returns, a search may overflow.
    batch
        Launches of the grid engine between two checks whether the search has ended. None lets their number grow.
    hub
        The grid engine shares vertices with more arcs than this among all blocks.
    threads
        Threads of a block; a CPU has one.
    seconds_copy
        Seconds that the host waited for rows after their searches had ended.
    net, work
        Buffers by the names of the kernels' fields: the graph; the arrays that the blocks work in.
    """

    device: Device
    graph: SearchGraph
    keys: Keys
    engine: Engine
    tuning: Tuning
    cutoff: int
    blocks: int
    room: int
    batch: int | None = None
    hub: int = 4096
    threads: int = BLOCK_THREADS
    timer: Timer = field(init=False)
    seconds_copy: float = 0.0
    net: dict[str, int | Buffer] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Bring the graph to the device, and make room to work in."""
        device, graph = self.device, self.graph
        self.timer = device.timer()
        outgoing = {"offsets": device.constant(graph.offsets), "arcs": device.constant(graph.arcs)}
        incoming = {f"in_{name}": buffer for name, buffer in outgoing.items()}
        if graph.in_arcs is not graph.arcs:
            incoming = {"in_offsets": device.constant(graph.in_offsets), "in_arcs": device.constant(graph.in_arcs)}
        self.net = {"n": graph.n, **outgoing, **incoming, "order": device.constant(graph.order)}
        shapes = workspace(graph.n, self.blocks, self.room, graph.plateaus, self.keys)
        self.work = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        self.work["keys"].fill(255)

    def __enter__(self) -> Searcher:
        """Return the searcher itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        for buffer in {id(each): each for each in (*self.net.values(), *self.work.values())}.values():
            if not isinstance(buffer, int):
                buffer.free()

    def solve(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
    ) -> Solved:
        """Run a batch of searches. See `start`."""
        solved, rows = self.start(searches, wanted, distance, predecessor, path_room)
        rows.wait()
        return solved

    def start(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
    ) -> tuple[Solved, Rows]:
        """Run a batch of searches. Their rows may still be arriving when this returns.

        Parameters
        ----------
        wanted
            What is wanted, as bits (`WANTS_DISTANCES`, ...).
        distance, predecessor
            Shape (searches, n), contiguous: filled with keys and with positions in the graph (2^32 - 1: none).
        path_room
            Entries for all paths together.
        """
        batch = batch_on(self.device, searches, wanted, self.keys.dtype, distance, predecessor, path_room)
        self.timer.start()
        self.engine.launch(self, batch)
        self.timer.stop()
        arriving = []
        for array, name in ((distance, "distance"), (predecessor, "predecessor")):
            rows = batch.out[name]
            if rows is not None and array is not None:
                arriving.append((rows, rows.start_download(array)))
        return batch.solved(), Rows(self, arriving)

    def launch(self, file: str, blocks: int, batch: Batch, cutoff: int | None = None) -> None:
        """Launch the `solve` kernel of a file on a batch. The cutoff is the searcher's unless another one is given."""
        batch.asked["next"].fill(0)
        kernel = self.device.kernel(file, f"{Path(file).name}_solve_{self.keys.code}")
        own = {"keys": self.work["keys"], "touched": self.work["touched"], "hops": self.work.get("hops")}
        farthest = self.cutoff if cutoff is None else cutoff
        kernel(blocks, self.threads, wanted=batch.wanted, cutoff=farthest, net=self.net, how=self.how(), own=own,
               **batch.groups())

    def how(self) -> dict[str, Argument]:
        """Return the kernels' group `how`: the tuning, and the blocks' scratch."""
        own = {"setting": self.tuning.setting, "shared": self.tuning.shared, "delta": self.tuning.delta,
               "most": self.tuning.most}
        return {**own, "room": self.room, "scratch": self.work["scratch"]}


def workspace(n: int, blocks: int, room: int, plateaus: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    shapes = {
        "keys": ((blocks, n), keys.dtype),
        "scratch": ((blocks, room), np.dtype(np.uint32)),
        "touched": ((blocks, n), np.dtype(np.uint32)),
        "hops": ((blocks, n), np.dtype(np.uint32)),
    }
    return {name: shape for name, shape in shapes.items() if plateaus or name != "hops"}
