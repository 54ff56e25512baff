"""A graph on a device, ready for batches of searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Batch, Rows, Solved, batch_on
from hpcsolve.algorithms.shortest_paths.engines.known import NEAR_FAR, Engine, EngineName, chosen_engine
from hpcsolve.algorithms.shortest_paths.engines.tuning import BLOCK_THREADS, Tuning, TuningInput
from hpcsolve.algorithms.shortest_paths.keys import Keys, first_keys
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Searches
from hpcsolve.device.base import Argument, Buffer, Device, Timer
from hpcsolve.problems.graph import Graph


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
            Bits of `searches.py`: what is wanted.
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


def searcher(
    graph: Graph, device: Device, keys: Keys | None = None, engine: EngineName = NEAR_FAR, delta: float | None = None,
    cutoff: float | None = None, *, search_graph: SearchGraph | None = None, searches: int = 1,
    batch: int | None = None,
) -> Searcher:
    """Return a graph on a device, ready to be searched.

    Parameters
    ----------
    keys, search_graph
        By default the narrowest keys that hold the weights, and the graph laid out with them.
    delta, cutoff
        In the unit of `graph.weights`; by default adapted to the graph, and no cutoff.
    searches
        Number of searches in all. If the device could work on more at a time, less memory is taken.
    batch
        As in `Searcher`.
    """
    kind = keys or first_keys(graph)
    actual = chosen_engine(engine, graph, searches, device.info)
    limit = kind.whole_limit if actual.whole_keys else kind.limit
    farthest = limit if cutoff is None else min(limit, kind.encode_one(cutoff))
    tuning = actual.tune(TuningInput(graph, kind, delta, device.info, limit))
    resident = device.resident_blocks(actual.file, f"{Path(actual.file).name}_solve_{kind.code}", BLOCK_THREADS)
    blocks, room = min(resident, actual.at_once(searches, device.info)), actual.room(graph.n)
    laid_out = search_graph or lay_out(graph, kind)
    return Searcher(device, laid_out, kind, actual, tuning, farthest, blocks, room, batch)


def workspace(n: int, blocks: int, room: int, plateaus: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the blocks work in."""
    shapes = {
        "keys": ((blocks, n), keys.dtype),
        "scratch": ((blocks, room), np.dtype(np.uint32)),
        "touched": ((blocks, n), np.dtype(np.uint32)),
        "hops": ((blocks, n), np.dtype(np.uint32)),
    }
    return {name: shape for name, shape in shapes.items() if plateaus or name != "hops"}
