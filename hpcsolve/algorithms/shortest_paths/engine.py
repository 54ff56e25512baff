"""Searches on a device: a graph laid out for the kernels, and batches of sources run through them.

The vertices are laid out along a space-filling curve (or by reverse Cuthill-McKee), so that neighbours share cache
lines; everything that leaves this module is in the graph's own order again. Arcs of a vertex stand in the order of the
other ends' original positions, so that the first that fits a predecessor is the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import LONG, WORD, Keys, first_keys
from hpcsolve.device.base import Buffer, Device, Timer
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_order import reversed_graph, spatial_order

Engine = Literal["near-far", "dijkstra", "bellman-ford-push", "bellman-ford-pull", "k-pull"]
SWEEPS = {"bellman-ford-push": 0, "bellman-ford-pull": 1, "k-pull": 3}
BLOCK_THREADS = 512
BATCH_BYTES = 1 << 30
MOST_BLOCKS = 512
"""Sources at once: four blocks on each of an H200's 132 multiprocessors."""
NOBODY = 2**32 - 1

NEAR_FAR = "u4 u4 u4 u4 {0} {0} u4* u4* u4* u4* {0}* u4* {0}* u4* u8*"
DIJKSTRA = "u4 u4 u4 {0} u4* u4* u4* u4* {0}* u4* {0}* u8*"
BELLMAN_FORD = "u4 u4 u4 {0} u4* u4* u4* {0}* {0}* u8*"
DERIVE = "u4 u4 u4 u4* u4* u4* {0}* {0}* u4* u4* u4*"


@dataclass(frozen=True)
class Layout:
    """A graph as the kernels read it.

    Attributes
    ----------
    order
        Shape (n,): the original position of the vertex that comes k-th; `place` is its inverse.
    offsets, arcs
        uint32 (n + 1,) and keys (2 m,): (head, weight) pairs of the arcs that leave; `in_offsets`, `in_arcs` likewise
        (tail, weight) of those that come in.
    plateaus
        Whether arcs may join vertices at one distance: weights of 0, or floats.
    """

    order: NDArray[np.int64]
    place: NDArray[np.int64]
    offsets: NDArray[np.uint32]
    arcs: NDArray[Any]
    in_offsets: NDArray[np.uint32]
    in_arcs: NDArray[Any]
    plateaus: bool


def lay_out(graph: Graph, keys: Keys) -> Layout:
    """The layout of a graph.

    Raises
    ------
    InputError
        It has 2^32 arcs or more.
    """
    if graph.arcs >= 2**32:
        raise InputError(f"{graph.arcs} arcs; at most {2**32 - 1} can be searched", graph.name)
    order = spatial_order(graph)
    place = np.empty_like(order)
    place[order] = np.arange(graph.n)
    outgoing = _rows(graph, order, place, keys)
    incoming = outgoing if not graph.directed else _rows(reversed_graph(graph), order, place, keys)
    plateaus = graph.weights.dtype.kind == "f" or (graph.arcs > 0 and int(graph.weights.min()) == 0)
    return Layout(order, place, *outgoing, *incoming, plateaus)


def _rows(graph: Graph, order: NDArray[np.int64], place: NDArray[np.int64],
          keys: Keys) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Each vertex' arcs in their original order, the vertices in the new one."""
    degrees = np.diff(graph.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    arc = np.repeat(graph.offsets[:-1][order] - offsets[:-1], degrees) + np.arange(graph.arcs)
    arcs = np.empty((graph.arcs, 2), keys.dtype)
    arcs[:, 0] = place[graph.heads[arc]]
    arcs[:, 1] = keys.encode(graph.weights[arc])
    return offsets.astype(np.uint32), arcs.reshape(-1)


@dataclass(frozen=True)
class Found:
    """Answers of a batch of searches, by row, in the graph's own order.

    Attributes
    ----------
    keys
        Shape (searches, n).
    predecessor
        Shape (searches, n), int32; -1 for sources and what is not reached.
    wrong
        Shape (searches,): what the check on the device found wrong.
    cut
        Shape (searches,): arcs from reached to unreached vertices; more than 0 only if a limit was met.
    relaxed, rounds
        Shape (searches,): arcs followed, dependent steps.
    """

    keys: NDArray[Any]
    predecessor: NDArray[np.int32]
    wrong: NDArray[np.uint32]
    cut: NDArray[np.uint32]
    relaxed: NDArray[np.uint64]
    rounds: NDArray[np.uint64]


@dataclass
class Searcher:
    """A graph on a device, ready to be searched.

    Attributes
    ----------
    delta
        Width of a bucket, as a key.
    limit
        Largest distance to look for, as a key.
    """

    device: Device
    layout: Layout
    keys: Keys
    engine: Engine
    delta: int
    limit: int
    timer: Timer = field(init=False)
    buffers: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Upload the graph."""
        self.timer = self.device.timer()
        tables = {"offsets": self.layout.offsets, "arcs": self.layout.arcs}
        self.buffers = {name: self.device.upload(array) for name, array in tables.items()}
        shared = self.layout.in_arcs is self.layout.arcs
        for name, array in (("in_offsets", self.layout.in_offsets), ("in_arcs", self.layout.in_arcs)):
            self.buffers[name] = self.buffers[name[3:]] if shared else self.device.upload(array)

    def close(self) -> None:
        """Give the device's memory back."""
        for buffer in {id(b): b for b in self.buffers.values()}.values():
            buffer.free()

    def search(self, seeds: Sequence[NDArray[np.int64]]) -> Iterator[Found]:
        """Search from each set of seeds (positions in the graph, each once), a batch at a time, in order."""
        size = batch_size(len(self.layout.order), self.keys)
        for first in range(0, len(seeds), size):
            yield self._batch(seeds[first : first + size])

    def distances(self, seeds: Sequence[NDArray[np.int64]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The search alone, of one batch: keys (searches, n), arcs followed and steps; nothing is checked."""
        with self._memory(seeds) as own:
            self._launch(len(seeds), len(self.layout.order), own)
            keys, work = own["keys"].download()[:, self.layout.place], own["work"].download()
            return keys, work[:, 0], work[:, 1]

    @contextmanager
    def _memory(self, seeds: Sequence[NDArray[np.int64]]) -> Iterator[dict[str, Buffer]]:
        """The buffers of a batch."""
        jobs, n = len(seeds), len(self.layout.order)
        starts = np.concatenate([[0], np.cumsum([len(s) for s in seeds])]).astype(np.uint32)
        places = self.layout.place[np.concatenate(seeds)].astype(np.uint32)
        own = {name: self.device.upload(array) for name, array in (("starts", starts), ("seeds", places))}
        for name, shape, dtype in (("keys", (jobs, n), self.keys.dtype), ("predecessor", (jobs, n), np.uint32),
                                   ("wrong", (jobs, 2), np.uint32), ("work", (jobs, 2), np.uint64),
                                   ("scratch", (jobs, 2 * n), np.uint32), ("overflowed", jobs, np.uint32),
                                   ("targets", 1 + n // 32, np.uint32)):
            own[name] = self.device.empty(shape, dtype)
        yield own
        for buffer in own.values():
            buffer.free()

    def _batch(self, seeds: Sequence[NDArray[np.int64]]) -> Found:
        jobs, n = len(seeds), len(self.layout.order)
        with self._memory(seeds) as own:
            self.timer.start()
            self._launch(jobs, n, own)
            self._derive(jobs, n, own)
            self.timer.stop()
            results = {name: own[name].download() for name in ("keys", "predecessor", "wrong", "work", "overflowed")}
        if self.engine == "near-far" and results["overflowed"].any():
            raise AssertionError("a far pile of two entries a vertex was full")
        mapped = results["predecessor"][:, self.layout.place]
        predecessor = np.full(mapped.shape, -1, np.int32)
        np.copyto(predecessor, self.layout.order[np.where(mapped == NOBODY, 0, mapped)], where=mapped != NOBODY,
                  casting="unsafe")  # fmt: skip
        wrong, work = results["wrong"], results["work"]
        keys = results["keys"][:, self.layout.place]
        return Found(keys, predecessor, wrong[:, 0], wrong[:, 1], work[:, 0], work[:, 1])

    def _launch(self, jobs: int, n: int, own: dict[str, Buffer]) -> None:
        code, graph = self.keys.code, self.buffers
        seeds, arcs = (own["starts"], own["seeds"]), (graph["offsets"], graph["arcs"])
        kind = "u4" if code == "u4" else "u8"
        if self.engine == "near-far":
            kernel = self.device.kernel("near_far", f"near_far_search_{code}", NEAR_FAR.format(kind))
            kernel(jobs, BLOCK_THREADS, jobs, n, 0, 2 * n, self.delta, self.limit, *seeds, own["targets"], *arcs,
                   own["scratch"], own["keys"], own["overflowed"], own["work"])
        elif self.engine == "dijkstra":
            own["targets"].fill(0)
            kernel = self.device.kernel("dijkstra", f"dijkstra_search_{code}", DIJKSTRA.format(kind))
            kernel(jobs, BLOCK_THREADS, jobs, n, 0, self.limit, *seeds, own["targets"], *arcs, own["scratch"],
                   own["keys"], own["work"])  # fmt: skip
        else:
            sweeps = SWEEPS[self.engine]
            kernel = self.device.kernel("bellman_ford", f"bellman_ford_search_{code}", BELLMAN_FORD.format(kind))
            arcs = arcs if sweeps == 0 else (graph["in_offsets"], graph["in_arcs"])
            kernel(jobs, BLOCK_THREADS, jobs, n, sweeps, self.limit, *seeds, *arcs, own["keys"], own["work"])

    def _derive(self, jobs: int, n: int, own: dict[str, Buffer]) -> None:
        code, graph = self.keys.code, self.buffers
        kernel = self.device.kernel("paths", f"paths_derive_{code}", DERIVE.format("u4" if code == "u4" else "u8"))
        kernel(jobs, BLOCK_THREADS, jobs, n, int(self.layout.plateaus), own["starts"], own["seeds"],
               graph["in_offsets"], graph["in_arcs"], own["keys"], own["scratch"], own["predecessor"], own["wrong"])


def batch_size(n: int, keys: Keys) -> int:
    """Searches at once: what fits in `BATCH_BYTES`, at most `MOST_BLOCKS`."""
    return max(1, min(MOST_BLOCKS, BATCH_BYTES // max(1, n * (keys.dtype.itemsize + 12))))


def default_delta(graph: Graph) -> float:
    """A bucket's width that keeps extra work small: the mean weight, times 35 over the square of the mean degree.

    Roads (degree 2.5 to 3) get some 5 mean weights, grids 2, power-law graphs a tenth and less: what
    jobs/benchmarks/shortest_paths.py found best.
    """
    degree = max(graph.arcs / max(graph.n, 1), 1.5)
    return float(graph.weights.mean()) * min(35 / degree**2, 16) if graph.arcs else 1.0


def searcher(graph: Graph, device: Device, keys: Keys | None = None, engine: Engine = "near-far",
             delta: float | None = None, cutoff: float | None = None) -> Searcher:
    """A graph on a device.

    Parameters
    ----------
    keys
        By default the narrowest that hold the weights.
    delta, cutoff
        In the unit of `graph.weights`; by default `default_delta`, and no limit.
    """
    kind = keys or first_keys(graph)
    whole = engine.startswith(("bellman", "k-"))
    limit = kind.whole_limit if whole else kind.limit
    width = max(1, kind.encode_one(default_delta(graph) if delta is None else delta))
    reach = limit if cutoff is None else min(limit, kind.encode_one(cutoff))
    return Searcher(device, lay_out(graph, kind), kind, engine, min(width, limit), reach)


def wider(keys: Keys) -> Keys | None:
    """The next kind of keys if distances were cut off, None if there is none."""
    return LONG if keys is WORD else None
