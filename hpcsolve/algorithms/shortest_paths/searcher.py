"""A graph on a device, and batches of searches through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Batch, Solved, batch_on
from hpcsolve.algorithms.shortest_paths.engines import NEAR_FAR, Engine, EngineName, chosen_engine
from hpcsolve.algorithms.shortest_paths.jobs import Jobs
from hpcsolve.algorithms.shortest_paths.keys import Keys, first_keys
from hpcsolve.algorithms.shortest_paths.layout import Layout, lay_out
from hpcsolve.algorithms.shortest_paths.tuning import BLOCK_THREADS, Task, Tuning
from hpcsolve.device.base import Argument, Buffer, Device, Timer
from hpcsolve.problems.graph import Graph


@dataclass(eq=False)
class Searcher:
    """A graph on a device, ready to be searched. A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    limit
        Largest distance to look for, as a key.
    blocks
        Searches at a time.
    room
        Entries of a block's scratch; fewer than `Engine.room` says make the block engine overflow.
    batch
        Launches of the grid engine between two looks; None: more and more.
    hub
        Arcs from which the grid engine shares a vertex among all blocks.
    threads
        Of a block; a CPU has one.
    """

    device: Device
    layout: Layout
    keys: Keys
    engine: Engine
    tuning: Tuning
    limit: int
    blocks: int
    room: int
    batch: int | None = None
    hub: int = 4096
    threads: int = BLOCK_THREADS
    timer: Timer = field(init=False)
    net: dict[str, int | Buffer] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Bring the graph to the device, and make room to work in."""
        device, layout = self.device, self.layout
        self.timer = device.timer()
        outgoing = {"offsets": device.constant(layout.offsets), "arcs": device.constant(layout.arcs)}
        incoming = {f"in_{name}": buffer for name, buffer in outgoing.items()}
        if layout.in_arcs is not layout.arcs:
            incoming = {"in_offsets": device.constant(layout.in_offsets), "in_arcs": device.constant(layout.in_arcs)}
        self.net = {"n": layout.n, **outgoing, **incoming, "order": device.constant(layout.order)}
        shapes = workspace(layout.n, self.blocks, self.room, layout.plateaus, self.keys)
        self.work = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        self.work["keys"].fill(255)

    def __enter__(self) -> Searcher:
        """The searcher."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give everything back."""
        for buffer in {id(each): each for each in (*self.net.values(), *self.work.values())}.values():
            if not isinstance(buffer, int):
                buffer.free()

    def solve(
        self, jobs: Jobs, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
    ) -> Solved:
        """Run a batch of searches.

        Parameters
        ----------
        wanted
            Bits of `jobs`.
        distance, predecessor
            Shape (jobs, n), contiguous: filled with keys and with positions in the graph (2^32 - 1: none).
        path_room
            Entries for all paths together.
        """
        batch = batch_on(self.device, jobs, wanted, self.keys.dtype, distance, predecessor, path_room)
        self.timer.start()
        self.engine.launch(self, batch)
        self.timer.stop()
        for array, name in ((distance, "distance"), (predecessor, "predecessor")):
            rows = batch.out[name]
            if rows is not None:
                rows.download(array)
        return batch.solved()

    def launch(self, file: str, blocks: int, batch: Batch, limit: int | None = None) -> None:
        """Launch the `solve` kernel of a file."""
        batch.asked["next"].fill(0)
        kernel = self.device.kernel(file, f"{Path(file).name}_solve_{self.keys.code}")
        own = {"keys": self.work["keys"], "touched": self.work["touched"], "hops": self.work.get("hops")}
        kernel(blocks, self.threads, wanted=batch.wanted, limit=self.limit if limit is None else limit, net=self.net,
               how=self.how(), own=own, **batch.groups())

    def how(self) -> dict[str, Argument]:
        """Return the kernels' group `how`: the tuning, and the blocks' scratch."""
        own = {"setting": self.tuning.setting, "delta": self.tuning.delta, "most": self.tuning.most}
        return {**own, "room": self.room, "scratch": self.work["scratch"]}


def searcher(
    graph: Graph, device: Device, keys: Keys | None = None, engine: EngineName = NEAR_FAR, delta: float | None = None,
    cutoff: float | None = None, *, layout: Layout | None = None, searches: int = 1, batch: int | None = None,
) -> Searcher:
    """Return a graph on a device, ready to be searched.

    Parameters
    ----------
    keys, layout
        By default the narrowest that hold the weights, and the layout that goes with them.
    delta, cutoff
        In the unit of `graph.weights`; by default adapted to the graph, and no limit.
    searches
        How many there will be; fewer than the device could work on at a time need less memory.
    """
    kind = keys or first_keys(graph)
    actual = chosen_engine(engine, graph, searches, device.info)
    limit = kind.whole_limit if actual.whole_keys else kind.limit
    reach = limit if cutoff is None else min(limit, kind.encode_one(cutoff))
    tuning = actual.tune(Task(graph, kind, delta, device.info, limit))
    blocks, room = actual.at_once(searches, device.info), actual.room(graph.n)
    return Searcher(device, layout or lay_out(graph, kind), kind, actual, tuning, reach, blocks, room, batch)


def workspace(n: int, blocks: int, room: int, plateaus: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of what the blocks work in."""
    shapes = {
        "keys": ((blocks, n), keys.dtype),
        "scratch": ((blocks, room), np.dtype(np.uint32)),
        "touched": ((blocks, n), np.dtype(np.uint32)),
        "hops": ((blocks, n), np.dtype(np.uint32)),
    }
    return {name: shape for name, shape in shapes.items() if plateaus or name != "hops"}
