"""Searches one by one: Near-Far, Dijkstra and Bellman-Ford, tuned for a graph and a device, by a block or a whole grid.

A search is a kernel's way to find distances; from these follow predecessors, paths and the check, the same for all of
these engines (cuda_src/paths/solve.cuh). A batch of searches by a block each is one launch, in which each block takes
one search after the other. Searches by the whole grid, one after the other, take many launches, and the host reads the
state after some of them (cuda_src/paths/near_far_grid.cu).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph
from hpcsolve.algorithms.shortest_paths.searches import Asked, Engine, Prepared, Request, Searches, Solved, Want
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, Download, batches_at_once, nbytes_of
from hpcsolve.problems.graph import Graph

BLOCKS_A_MULTIPROCESSOR = 5
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows. The driver may allow fewer."""
OUTPUT_BYTES = 1 << 32
"""The most bytes of rows on a GPU, including rows that are being copied to the host."""
BLOCKS_PART, ROWS_PART = 0.5, 0.25
"""The blocks' arrays, and the rows, take at most these parts of a GPU's memory. The graph has the rest."""
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
WANTS_ROWS = Want.DISTANCES | Want.PREDECESSORS
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


def concurrent_blocks(info: DeviceInfo) -> int:
    """Return the number of blocks that a device works on at the same time."""
    return info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units


def rows_at_once(n: int, keys: Keys, info: DeviceInfo) -> int:
    """Return the number of searches of a batch: several for each thread of a CPU, one for each block of a GPU."""
    if info.kind == "cpu":
        return 8 * concurrent_blocks(info)
    most = min(OUTPUT_BYTES, int(ROWS_PART * info.memory)) if info.memory else OUTPUT_BYTES
    return max(1, min(concurrent_blocks(info), most // (batches_at_once(info) * n * (keys.dtype.itemsize + 4))))


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
        What is wanted, as bits (`Want.DISTANCES`, ...).
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

    @classmethod
    def on(
        cls, device: Device, searches: Searches, wanted: int, keys: Buffer, predecessor: Buffer | None = None,
        path_room: int = 0,
    ) -> Batch:
        """Return a batch of searches on a device, with room for their answers.

        Parameters
        ----------
        keys, predecessor
            Where rows are written, shape (searches, n). With `Want.TARGETS` `keys` has an entry for each query.
        """
        assert bool(wanted & Want.DISTANCES) != bool(wanted & Want.TARGETS)
        assert bool(wanted & Want.PREDECESSORS) == (predecessor is not None)
        given = {"searches": searches.table.reshape(-1), "seed": searches.seeds, "target": searches.targets}
        asked = {name: device.upload(array) for name, array in given.items()} | {"next": device.zeros(1, np.uint32)}
        paths = wanted & Want.PATHS
        out = {
            "distance": keys if wanted & Want.DISTANCES else None,
            "predecessor": predecessor,
            "target_distance": keys if wanted & Want.TARGETS else None,
            "path_begin": device.zeros(searches.queries, np.uint64) if paths else None,
            "path_length": device.zeros(searches.queries, np.uint32) if paths else None,
            "path": device.empty(path_room, np.uint32) if paths else None,
            "path_used": device.zeros(1, np.uint64) if paths else None,
            "counts": device.zeros((len(searches), 3), np.uint32),
            "overflowed": device.zeros(len(searches), np.uint32),
            "work": device.zeros((len(searches), 2), np.uint64),
        }
        return cls(searches, wanted, asked, out, path_room)

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
            shape = searches.queries if asked.wanted & Want.TARGETS else (len(searches), self.graph.n)
            keys = device.empty(shape, self.keys.dtype)
        batch = Batch.on(device, searches, asked.wanted, keys, arriving[1][0] if before is not None else None,
                         asked.path_room)
        numbers: Sequence[int] = range(len(searches))
        if not self.engine.one_at_a_time:
            self.launch(self.engine.files[0], min(self.blocks, len(searches)), batch)
            overflowed = batch.out["overflowed"]
            assert overflowed is not None
            numbers = np.flatnonzero(overflowed.download()).tolist()  # for which the scratch of a block was too small
        for number in numbers:
            self.solve_by_grid(batch, number)
        if reducer is not None:
            reducer.reduce_rows(len(searches), keys, result)
        downloads = [(buffer, buffer.start_download(array)) for buffer, array in arriving]
        solved = batch.solved(self, downloads)
        if reducer is not None:
            keys.free()
        return solved

    def solve_by_grid(self, batch: Batch, number: int) -> None:
        """Solve one search of a batch by the whole grid."""
        own = batch.only(number, self.graph.n)
        state = self.search_by_grid(own)
        cutoff, wanted = int(state[CUTOFF]), batch.wanted
        if wanted & WANTS_ROWS and not wanted & Want.TARGETS and not self.graph.plateaus:
            keys, name = self.work["keys"], f"near_far_grid_row_{self.keys.code}"
            blocks = self.device.resident_blocks(GRID_FILE, name, self.threads)
            self.device.kernel(GRID_FILE, name)(
                blocks, self.threads, wanted=wanted, cutoff=cutoff, keys=keys, net=self.net, out=own.groups()["out"])
            keys.fill(255)
        else:
            self.launch(GRID_FILE, 1, own, cutoff)
        counts, work = own.out["counts"], own.out["work"]
        assert counts is not None and work is not None
        if cutoff < self.cutoff:  # an early end, since all targets were settled: arcs beyond the cutoff are no fault
            counts.view(1, 1).fill(0)
        work.upload(state[[RELAXED, ROUNDS]])

    def search_by_grid(self, own: Batch) -> NDArray[np.uint64]:
        """Make one search, whose keys go to the first row, and return the state at its end."""
        device, n, threads = self.device, self.graph.n, self.threads
        first_seed, end_seed, first_target, end_target, _ = own.searches.table[0].tolist()
        seeds, targets = end_seed - first_seed, 0 if own.wanted & WANTS_ROWS else end_target - first_target
        hubs = 1 + int(self.graph.offsets[-1]) // max(1, self.hub)  # a hub has more than `self.hub` arcs
        queues: dict[str, Buffer] = {name: device.empty((2, n), np.uint32) for name in ("near", "far")}
        queues |= {"hub": device.empty((2, hubs), np.uint32), "hub_word": device.empty((2, hubs), self.keys.dtype)}
        state, keys = device.empty(STATE, np.uint64), self.work["keys"].view(0, n)
        begin, step, finish = (device.kernel(GRID_FILE, f"near_far_grid_{verb}_{self.keys.code}")
                               for verb in ("begin", "step", "finish"))
        grid = device.resident_blocks(GRID_FILE, f"near_far_grid_step_{self.keys.code}", threads)
        begin(grid, threads, seeds=seeds, delta=self.tuning.delta, seed=own.asked["seed"].view(first_seed, seeds),
              far=queues["far"], words=keys, state=state)
        arguments: dict[str, Argument] = {
            "targets": targets, "cutoff": self.cutoff, "target": own.asked["target"].view(first_target, targets),
            "net": self.net, "how": self.how(), "words": keys, "state": state,
            "waiting": {**queues, "hub_room": hubs, "hub_degree": self.hub},
        }
        taken, seen = 0, state.download()
        while not seen[DONE + taken % 3]:
            steps = range(taken, taken + (self.batch or min(max(FIRST_BATCH, taken // 4), LAST_BATCH)))
            step.each("step", steps, grid, threads, **arguments)
            taken, seen = steps.stop, state.download()
        finish(grid, threads, n=n, words=keys, state=state)
        for buffer in (*queues.values(), state):
            buffer.free()
        return seen

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


@dataclass(frozen=True)
class SingleEngine(Engine):
    """A way to make one search: a kernel file that ends in SOLVE_KERNELS, the first one of `files`.

    Attributes
    ----------
    buckets
        Whether it has Near-Far's buckets, whose widths suit graph and device.
    sweeps
        Of Bellman-Ford: sweeps between two checks for changes, 0 for push.
    scratch
        Entries of a block's scratch, per vertex.
    one_at_a_time
        Whether the whole device works on one search after the other, which takes `GRID_BYTES_A_VERTEX`.
    whole_keys
        Whether it uses all bits of a key for the distance. Near-Far reserves one bit, which halves the range.
    """

    buckets: bool = False
    sweeps: int = 0
    scratch: int = 0
    one_at_a_time: bool = False
    whole_keys: bool = False

    def tuning(self, graph: Graph, request: Request, info: DeviceInfo) -> Tuning:
        """Return how it searches a graph. A GPU needs many arcs a round, for which it accepts more work than a CPU."""
        if not self.buckets:
            return Tuning(setting=self.sweeps)
        best = default_delta(graph)
        first, setting = min(typical_weight(graph), best), PATIENT
        if request.delta is not None:
            first, best, setting = request.delta, request.delta, 0
        elif info.kind == "cuda" and self.one_at_a_time:
            best, setting = max(64 * typical_weight(graph) * graph.n / max(graph.arcs, 1), best), 2048 * info.units
        elif info.kind == "cuda":
            best, setting = 2 * best, 4 * Searcher.threads
        delta, most = (min(max(1, request.keys.encode_one(width)), self.limit(request.keys)) for width in (first, best))
        sharing = (graph.arcs // (4 * max(graph.n, 1))).bit_length() - 1  # so that each thread has some four arcs
        return Tuning(delta, most, setting, 0 if self.one_at_a_time else max(0, min(sharing, 5)))

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> Searcher:
        """Return the graph on the device, with room to work in for as many searches as its driver allows at a time."""
        keys = request.keys
        kernel = f"{Path(self.files[0]).name}_solve_{keys.code}"
        blocks = min(device.resident_blocks(self.files[0], kernel, Searcher.threads),
                     self.together(request, device.info))
        tuning = self.tuning(graph, request, device.info)
        return Searcher(device, self.laid_out(graph, request, beside), self, tuning, request, blocks)

    def room(self, n: int) -> int:
        """Return the entries of a block's scratch."""
        return max(1, self.scratch * n)

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of blocks that search, or 1. On a GPU their arrays take at most half of its memory."""
        if self.one_at_a_time:
            return 1
        most = concurrent_blocks(info)
        if info.memory:
            block = workspace(request.n, 1, self.room(request.n), True, request.keys)
            most = min(most, int(BLOCKS_PART * info.memory) // nbytes_of(block.values()))
        return max(1, min(request.searches, most))

    def batch(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of searches of a batch."""
        return rows_at_once(request.n, request.keys, info)

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the blocks' arrays and of queues."""
        shapes = workspace(request.n, self.together(request, info), self.room(request.n), request.members > 0,
                           request.keys)
        return nbytes_of(shapes.values()) + GRID_BYTES_A_VERTEX * self.one_at_a_time * request.n

    def limit(self, keys: Keys) -> int:
        """Return the largest key of a distance."""
        return keys.whole_limit if self.whole_keys else keys.limit
