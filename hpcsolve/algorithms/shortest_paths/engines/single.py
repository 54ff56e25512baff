"""Searches one by one: Near-Far, Dijkstra and Bellman-Ford, tuned for a graph and a device, by a block or a whole grid.

A search is a kernel's way to find distances; from these follow predecessors, paths and the check, the same for all of
these engines (cuda_src/paths/solve.cuh). A batch of searches by a block each is one launch, in which each block takes
one search after the other. Searches by the whole grid, one after the other, take many launches, and the host reads the
state after some of them (cuda_src/paths/near_far_grid.cu).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph
from hpcsolve.algorithms.shortest_paths.searches import (
    BLOCK_THREADS,
    WANTS_DISTANCES,
    WANTS_PATHS,
    WANTS_PREDECESSORS,
    WANTS_TARGETS,
    Asked,
    Engine,
    Prepared,
    Request,
    Searches,
    Solved,
)
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, Download, batches_at_once, nbytes_of
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    pass

BLOCKS_A_MULTIPROCESSOR = 5
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows. The driver may allow fewer."""
OUTPUT_BYTES = 1 << 32
"""The most bytes of rows on a GPU, including rows that are being copied to the host."""
PATIENT = 2**32 - 1
"""More arcs than a round ever relaxes. With this setting buckets always widen, up to the widest."""
GRID_FILE = "paths/near_far_grid"
STATE = 39
"""Number of 64-bit words of the kernels' struct `progress`. DONE, RELAXED, ROUNDS and CUTOFF are indices into it."""
DONE, RELAXED, ROUNDS, CUTOFF = 15, 36, 37, 38
FIRST_BATCH, LAST_BATCH = 16, 1024
"""Launches between two reads of the state, at first and at most."""
GRID_BYTES_A_VERTEX = 28
"""Bytes per vertex of the queues, those of hubs included."""
WANTS_ROWS = WANTS_DISTANCES | WANTS_PREDECESSORS
_ROWS = ("distance", "predecessor")
_ENTRIES = {"counts": 3, "overflowed": 1, "work": 2}
"""Entries for each search."""


@dataclass(frozen=True)
class Tuning:
    """How an engine works. The answer does not depend on it.

    Attributes
    ----------
    delta, most
        The widths of Near-Far's first bucket and of its widest, as keys.
    setting
        Near-Far: a bucket widens while a round relaxes fewer arcs than this. Bellman-Ford: sweeps between two checks
        for changes, 0 for push.
    shared
        Near-Far by a block: on a GPU 2^shared threads share the arcs of a vertex. At most 5.
    """

    delta: int = 1
    most: int = 1
    setting: int = 0
    shared: int = 0


@dataclass(frozen=True)
class TuningInput:
    """What an engine's tuning follows from.

    Attributes
    ----------
    delta
        A bucket's width, in the unit of `graph.weights`, or None for a width that is adapted to the graph.
    limit
        The largest key.
    """

    graph: Graph
    keys: Keys
    delta: float | None
    info: DeviceInfo
    limit: int

    def key(self, width: float) -> int:
        """Return a bucket's width as a key, at least 1."""
        return min(max(1, self.keys.encode_one(width)), self.limit)


def typical_weight(graph: Graph) -> float:
    """Return the mean weight, or twice the median if that is less, so that a few heavy arcs do not count."""
    if not graph.arcs:
        return 1.0
    some = graph.weights[:: -(-graph.arcs // 100_000)]
    return min(float(graph.weights.mean()), 2 * float(np.median(some)) or np.inf)


def default_delta(graph: Graph) -> float:
    """Return a bucket's width that keeps extra work small: a typical weight times 35 / (mean degree)^2.

    Roads (degree 2.5 to 3) get some 5 such weights, grids 2, power-law graphs a tenth and less, which the benchmark of
    widths found best.
    """
    degree = max(graph.arcs / max(graph.n, 1), 1.5)
    return typical_weight(graph) * min(35 / degree**2, 16)


def arc_sharing(graph: Graph) -> int:
    """Return the binary logarithm of the number of threads that share a vertex's arcs, so that each has some four."""
    return max(0, min((graph.arcs // (4 * max(graph.n, 1))).bit_length() - 1, 5))


def tuned_block(given: TuningInput) -> Tuning:
    """Return the tuning of Near-Far where a block searches alone.

    A GPU needs many arcs a round to be busy, and accepts more work for it; a CPU wants the least work.
    """
    if given.info.kind == "cpu" or given.delta is not None:
        return replace(_narrow(given), shared=arc_sharing(given.graph))
    first, best = _widths(given)
    return Tuning(given.key(first), given.key(2 * best), 4 * BLOCK_THREADS, arc_sharing(given.graph))


def tuned_grid(given: TuningInput) -> Tuning:
    """Return the tuning of Near-Far where all blocks share a search."""
    if given.info.kind == "cpu" or given.delta is not None:
        return _narrow(given)
    first, best = _widths(given)
    widest = 64 * typical_weight(given.graph) * given.graph.n / max(given.graph.arcs, 1)
    return Tuning(given.key(first), given.key(max(widest, best)), 2048 * given.info.units)


def _narrow(given: TuningInput) -> Tuning:
    """Return the tuning with the width that was asked for, or else the one with the least work."""
    if given.delta is not None:
        return Tuning(given.key(given.delta), given.key(given.delta), 0)
    first, best = _widths(given)
    return Tuning(given.key(first), given.key(best), PATIENT)


def _widths(given: TuningInput) -> tuple[float, float]:
    """Return the widths of the first bucket and of the one that keeps extra work small."""
    best = default_delta(given.graph)
    return min(typical_weight(given.graph), best), best


def concurrent_blocks(info: DeviceInfo) -> int:
    """Return the number of blocks that a device works on at the same time."""
    return info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units


def rows_at_once(n: int, keys: Keys, info: DeviceInfo) -> int:
    """Return the number of searches of a batch: several for each thread of a CPU, one for each block of a GPU."""
    if info.kind == "cpu":
        return 8 * concurrent_blocks(info)
    most = OUTPUT_BYTES // (batches_at_once(info) * n * (keys.dtype.itemsize + 4))
    return max(1, min(concurrent_blocks(info), most))


def workspace(n: int, blocks: int, room: int, plateaus: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    shapes = {
        "keys": ((blocks, n), keys.dtype),
        "scratch": ((blocks, room), np.dtype(np.uint32)),
        "touched": ((blocks, n), np.dtype(np.uint32)),
        "hops": ((blocks, n), np.dtype(np.uint32)),
    }
    return {name: shape for name, shape in shapes.items() if plateaus or name != "hops"}


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
        own: dict[str, Buffer | None] = {}
        for name, buffer in self.out.items():
            entries = n if name in _ROWS else _ENTRIES.get(name)  # None: all searches share it
            own[name] = buffer if buffer is None or entries is None else buffer.view(entries * number, entries)
        table = self.asked["searches"].view(5 * number, 5)
        return replace(self, searches=self.searches.only(number), asked={**self.asked, "searches": table}, out=own)

    def solved(self, prepared: Prepared, arriving: list[tuple[Buffer, Download]]) -> Solved:
        """Return all results, of which keys and predecessors are arriving, and free the other buffers of the batch."""
        others = {name: buffer for name, buffer in self.out.items() if name not in (*_ROWS, "target_distance")}
        found: dict[str, NDArray[Any]] = {
            name: buffer.download() if buffer else np.empty(0, np.uint64) for name, buffer in others.items()
        }
        for buffer in (*others.values(), *self.asked.values()):
            if buffer:
                buffer.free()
        counts, work = found["counts"].astype(np.int64), found["work"]
        begin, end = self.searches.table[:, :2].astype(np.int64).T
        wrong = counts[:, 0] + np.abs(counts[:, 2] - (end - begin))  # every root is a seed
        return Solved(prepared, arriving, wrong, counts[:, 1].astype(np.uint32), work[:, 0], work[:, 1],
                      path_begin=found["path_begin"], path_length=found["path_length"], path=found["path"])


def batch_on(
    device: Device, searches: Searches, wanted: int, keys: Buffer, predecessor: Buffer | None = None,
    path_room: int = 0,
) -> Batch:
    """Bring searches to a device, and make room for their answers.

    Parameters
    ----------
    keys, predecessor
        Where rows are written, shape (searches, n). With `WANTS_TARGETS` `keys` has an entry for each query.
    """
    assert bool(wanted & WANTS_DISTANCES) != bool(wanted & WANTS_TARGETS)
    assert bool(wanted & WANTS_PREDECESSORS) == (predecessor is not None)
    given = {"searches": searches.table.reshape(-1), "seed": searches.seeds, "target": searches.targets}
    asked = {name: device.upload(array) for name, array in given.items()} | {"next": device.zeros(1, np.uint32)}
    paths = wanted & WANTS_PATHS
    out = {
        "distance": keys if wanted & WANTS_DISTANCES else None,
        "predecessor": predecessor,
        "target_distance": keys if wanted & WANTS_TARGETS else None,
        "path_begin": device.zeros(searches.queries, np.uint64) if paths else None,
        "path_length": device.zeros(searches.queries, np.uint32) if paths else None,
        "path": device.empty(path_room, np.uint32) if paths else None,
        "path_used": device.zeros(1, np.uint64) if paths else None,
        "counts": device.zeros((len(searches), 3), np.uint32),
        "overflowed": device.zeros(len(searches), np.uint32),
        "work": device.zeros((len(searches), 2), np.uint64),
    }
    return Batch(searches, wanted, asked, out, path_room)


class Searcher(Prepared):
    """A graph on a device, ready to be searched by a `SingleEngine`.

    Attributes
    ----------
    blocks
        Number of blocks, each of which works on one search at a time.
    room
        Entries of a block's scratch. With fewer than `SingleEngine.room` returns, a search may overflow.
    batch
        As in `Request`.
    hub
        The grid engine shares vertices with more arcs than this among all blocks.
    work
        The arrays that the blocks work in, by the names of the kernels' fields.
    """

    hub = 4096

    def __init__(
        self, device: Device, graph: SearchGraph, engine: SingleEngine, tuning: Tuning, request: Request, blocks: int
    ) -> None:
        """Bring the graph to the device, and make room to work in."""
        n, keys = graph.n, request.keys
        super().__init__(device, graph, keys, engine.farthest(request), rows_at_once(n, keys, device.info))
        self.engine, self.tuning, self.blocks, self.batch = engine, tuning, blocks, request.batch
        self.room = engine.room(n)
        self.work = self.allocated(workspace(n, blocks, self.room, graph.plateaus, keys))
        self.work["keys"].fill(255)

    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches. See `Prepared.start`."""
        device, searches, reducer, before = self.device, asked.searches, asked.reducer, asked.predecessor
        arriving = [(device.output(array), array) for array in (asked.distance, before) if array is not None]
        keys = result = arriving[0][0]
        if reducer is not None:
            shape = searches.queries if asked.wanted & WANTS_TARGETS else (len(searches), self.graph.n)
            keys = device.empty(shape, self.keys.dtype)
        batch = batch_on(device, searches, asked.wanted, keys, arriving[1][0] if before is not None else None,
                         asked.path_room)
        self.timer.start()
        self.engine.launch(self, batch)
        if reducer is not None:
            reducer.reduce_rows(len(searches), keys, result)
        self.timer.stop()
        downloads = [(buffer, buffer.start_download(array)) for buffer, array in arriving]
        solved = batch.solved(self, downloads)
        if reducer is not None:
            keys.free()
        return solved

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
        return {**vars(self.tuning), "room": self.room, "scratch": self.work["scratch"]}


def launch_by_blocks(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch. A search that overflows its block's scratch is made again by the whole grid."""
    searcher.launch(searcher.engine.files[0], min(searcher.blocks, len(batch.searches)), batch)
    overflowed = batch.out["overflowed"]
    assert overflowed is not None
    for number in np.flatnonzero(overflowed.download()).tolist():
        solve_by_grid(searcher, batch, number)


def launch_by_grid(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch."""
    for number in range(len(batch.searches)):
        solve_by_grid(searcher, batch, number)


def solve_by_grid(searcher: Searcher, batch: Batch, number: int) -> None:
    """Solve one search of a batch."""
    own = batch.only(number, searcher.graph.n)
    state = search_by_grid(searcher, own)
    cutoff, wanted = int(state[CUTOFF]), batch.wanted
    if wanted & WANTS_ROWS and not wanted & WANTS_TARGETS and not searcher.graph.plateaus:
        keys, out = searcher.work["keys"], own.groups()["out"]
        name = f"near_far_grid_row_{searcher.keys.code}"
        blocks = searcher.device.resident_blocks(GRID_FILE, name, searcher.threads)
        row = searcher.device.kernel(GRID_FILE, name)
        row(blocks, searcher.threads, wanted=wanted, cutoff=cutoff, keys=keys, net=searcher.net, out=out)
        keys.fill(255)
    else:
        searcher.launch(GRID_FILE, 1, own, cutoff)
    counts, work = own.out["counts"], own.out["work"]
    assert counts is not None and work is not None
    if cutoff < searcher.cutoff:  # an early end, since all targets were settled: arcs beyond the cutoff are no fault
        counts.view(1, 1).fill(0)
    work.upload(state[[RELAXED, ROUNDS]])


def search_by_grid(searcher: Searcher, own: Batch) -> NDArray[np.uint64]:
    """Make one search, whose keys go to the first row, and return the state at its end."""
    device, n, code = searcher.device, searcher.graph.n, searcher.keys.code
    first_seed, end_seed, first_target, end_target, _ = own.searches.table[0].tolist()
    seeds, targets = end_seed - first_seed, 0 if own.wanted & WANTS_ROWS else end_target - first_target
    queues = _queues(searcher)
    state, keys = device.empty(STATE, np.uint64), searcher.work["keys"].view(0, n)
    threads = searcher.threads
    grid = device.resident_blocks(GRID_FILE, f"near_far_grid_step_{code}", threads)
    begin = device.kernel(GRID_FILE, f"near_far_grid_begin_{code}")
    begin(grid, threads, seeds=seeds, delta=searcher.tuning.delta, seed=own.asked["seed"].view(first_seed, seeds),
          far=queues["far"], words=keys, state=state)
    step = device.kernel(GRID_FILE, f"near_far_grid_step_{code}")
    hub = {"hub_room": queues["hub"].shape[1], "hub_degree": searcher.hub}
    arguments: dict[str, Argument] = {
        "targets": targets, "cutoff": searcher.cutoff, "target": own.asked["target"].view(first_target, targets),
        "net": searcher.net, "how": searcher.how(), "waiting": {**queues, **hub}, "words": keys, "state": state,
    }
    taken, seen = 0, state.download()
    while not seen[DONE + taken % 3]:
        steps = range(taken, taken + (searcher.batch or min(max(FIRST_BATCH, taken // 4), LAST_BATCH)))
        step.each("step", steps, grid, threads, **arguments)
        taken, seen = steps.stop, state.download()
    finish = device.kernel(GRID_FILE, f"near_far_grid_finish_{code}")
    finish(grid, threads, n=n, words=keys, state=state)
    for buffer in (*queues.values(), state):
        buffer.free()
    return seen


def _queues(searcher: Searcher) -> dict[str, Buffer]:
    """Return empty queues, two of each kind. A hub has more than `searcher.hub` arcs, which limits their number."""
    device, n, arcs = searcher.device, searcher.graph.n, int(searcher.graph.offsets[-1])
    room = 1 + arcs // max(1, searcher.hub)
    return {
        "near": device.empty((2, n), np.uint32),
        "far": device.empty((2, n), np.uint32),
        "hub": device.empty((2, room), np.uint32),
        "hub_word": device.empty((2, room), searcher.keys.dtype),
    }


@dataclass(frozen=True)
class SingleEngine(Engine):
    """A way to make one search: a kernel file that ends in SOLVE_KERNELS, the first one of `files`.

    Attributes
    ----------
    launch
        Launches the kernels that solve a batch, by default with a block for each search.
    tune
        Returns its tuning for a graph and a device.
    scratch
        Entries of a block's scratch, per vertex.
    one_at_a_time
        Whether the whole device works on one search after the other.
    bytes_a_vertex
        Bytes per vertex that a search needs besides its row and its scratch.
    whole_keys
        Whether it uses all bits of a key for the distance. Near-Far reserves one bit, which halves the range.
    """

    launch: Callable[[Searcher, Batch], None] = launch_by_blocks
    tune: Callable[[TuningInput], Tuning] = lambda given: Tuning()
    scratch: int = 0
    one_at_a_time: bool = False
    bytes_a_vertex: int = 0
    whole_keys: bool = False

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> Searcher:
        """Return the graph on the device, with room to work in for as many searches as its driver allows at a time."""
        keys = request.keys
        tuning = self.tune(TuningInput(graph, keys, request.delta, device.info, self.limit(keys)))
        kernel = f"{Path(self.files[0]).name}_solve_{keys.code}"
        blocks = min(device.resident_blocks(self.files[0], kernel, BLOCK_THREADS),
                     self.together(request, device.info))
        return Searcher(device, self.laid_out(graph, request, beside), self, tuning, request, blocks)

    def room(self, n: int) -> int:
        """Return the entries of a block's scratch."""
        return max(1, self.scratch * n)

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of blocks that search, or 1."""
        return 1 if self.one_at_a_time else max(1, min(request.searches, concurrent_blocks(info)))

    def batch(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of searches of a batch."""
        return rows_at_once(request.n, request.keys, info)

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the blocks' arrays and of queues."""
        shapes = workspace(request.n, self.together(request, info), self.room(request.n), request.members > 0,
                           request.keys)
        return nbytes_of(shapes.values()) + self.bytes_a_vertex * request.n

    def limit(self, keys: Keys) -> int:
        """Return the largest key of a distance."""
        return keys.whole_limit if self.whole_keys else keys.limit
