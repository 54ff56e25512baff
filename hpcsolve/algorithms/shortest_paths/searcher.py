"""A graph on a device, and batches of searches through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths import grid
from hpcsolve.algorithms.shortest_paths.engines import (
    BLOCK_THREADS,
    Engine,
    Tuning,
    chosen_engine,
    concurrent_blocks,
    file_of,
    is_whole,
    scratch_room,
    tuning_of,
)
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_DISTANCES, WANTS_PATHS, WANTS_PREDECESSORS, Jobs
from hpcsolve.algorithms.shortest_paths.keys import Keys, first_keys
from hpcsolve.algorithms.shortest_paths.layout import Layout, lay_out
from hpcsolve.device.base import Buffer, Device, Timer
from hpcsolve.problems.graph import Graph


@dataclass(frozen=True)
class Solved:
    """What a batch of searches gave beside its rows.

    Attributes
    ----------
    wrong, cut
        Shape (jobs,): what the check on the device found wrong; arcs from reached to unreached vertices where the limit
        was met.
    relaxed, rounds
        Shape (jobs,): arcs followed, dependent steps.
    target_keys
        Shape (queries,): keys at the targets.
    path_begin, path_length, path
        Of each query its path's place in `path`, original positions; `open_query` where there was no room.
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
        """Shape (queries,): whether its path found no room."""
        found: NDArray[np.bool_] = self.path_begin == np.uint64(2**64 - 1)
        return found


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
        Entries of a block's scratch; fewer than `scratch_room` says make the block engine overflow.
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
    tables: dict[str, Buffer] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Bring the graph to the device, and make room to work in."""
        self.timer = self.device.timer()
        self.tables = {"order": self.device.constant(self.layout.order)}
        for name in ("offsets", "arcs", "in_offsets", "in_arcs"):
            array, leaving = getattr(self.layout, name), getattr(self.layout, name.removeprefix("in_"))
            same = name.startswith("in_") and array is leaving
            self.tables[name] = self.tables[name[3:]] if same else self.device.constant(array)
        shapes = workspace(self.layout.n, self.blocks, self.room, self.layout.plateaus, self.keys)
        self.work = {name: self.device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        self.work["keys"].fill(255)

    def __enter__(self) -> Searcher:
        """The searcher."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give everything back."""
        for buffer in {id(b): b for b in (*self.tables.values(), *self.work.values())}.values():
            buffer.free()

    def solve(
        self, jobs: Jobs, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
    ) -> Solved:  # fmt: skip
        """Run searches, one after the other on each block.

        Parameters
        ----------
        wanted
            Bits of `jobs`.
        distance, predecessor
            Shape (jobs, n), contiguous: filled with keys and with positions in the graph's own order (2^32 - 1: none).
        path_room
            Entries for all paths together.
        """
        out = self.outbox(jobs, wanted, distance, predecessor, path_room)
        given = {"jobs": jobs.table.reshape(-1), "seeds": jobs.seeds, "targets": jobs.targets}
        own = {name: self.device.upload(_not_empty(array)) for name, array in given.items()}
        self.timer.start()
        if self.engine == "near-far-grid":
            late = list(range(len(jobs)))
        else:
            self.launch(file_of(self.engine), min(self.blocks, len(jobs)), len(jobs), wanted, own, out, path_room)
            late = np.flatnonzero(out["overflowed"].download()).tolist()
        for number in late:
            grid.solve(self, jobs, number, wanted, own, out, path_room)
        self.timer.stop()
        for array, name in ((distance, "distance"), (predecessor, "predecessor")):
            if array is not None:
                out[name].download(array)
        solved = _solved(jobs, {name: out[name].download() for name in _RETURNED})
        for buffer in (*out.values(), *own.values()):
            buffer.free()
        return solved

    def launch(
        self, file: str, blocks: int, jobs: int, wanted: int, own: dict[str, Buffer], out: dict[str, Buffer],
        path_room: int, limit: int | None = None,
    ) -> None:  # fmt: skip
        """Launch an engine's `solve` kernel."""
        out["next"].fill(0)
        graph, work, tuning = self.tables, self.work, self.tuning
        kernel = self.device.kernel(file, f"{Path(file).name}_solve_{self.keys.code}")
        kernel(
            blocks, self.threads, jobs, self.layout.n, wanted, int(self.layout.plateaus), tuning.setting, self.room,
            path_room, tuning.delta, tuning.most, self.limit if limit is None else limit, own["jobs"], own["seeds"],
            own["targets"], graph["offsets"], graph["arcs"], graph["in_offsets"], graph["in_arcs"], graph["order"],
            out["next"], work["scratch"], work["keys"], work["touched"], work["hops"], out["distance"],
            out["predecessor"], out["target_keys"], out["path_begin"], out["path_length"], out["path"], out["used"],
            out["counts"], out["overflowed"], out["work"],
        )  # fmt: skip

    def outbox(
        self, jobs: Jobs, wanted: int, distance: NDArray[Any] | None, predecessor: NDArray[np.uint32] | None,
        path_room: int,
    ) -> dict[str, Buffer]:  # fmt: skip
        """Where a batch's answers go."""
        assert bool(wanted & WANTS_DISTANCES) == (distance is not None)
        assert bool(wanted & WANTS_PREDECESSORS) == (predecessor is not None)
        queries, paths = max(1, jobs.queries), max(1, jobs.queries if wanted & WANTS_PATHS else 0)
        rows = {"distance": (distance, self.keys.dtype), "predecessor": (predecessor, np.dtype(np.uint32))}
        out: dict[str, Buffer] = {
            name: self.device.output(array) if array is not None else self.device.empty(1, dtype)
            for name, (array, dtype) in rows.items()
        }
        out |= {
            "target_keys": self.device.empty(queries, self.keys.dtype),
            "path_begin": self.device.zeros(paths, np.uint64),
            "path_length": self.device.zeros(paths, np.uint32),
            "path": self.device.empty(max(1, path_room), np.uint32),
            "used": self.device.zeros(1, np.uint64),
            "next": self.device.zeros(1, np.uint32),
            "counts": self.device.zeros((len(jobs), 3), np.uint32),
            "overflowed": self.device.zeros(len(jobs), np.uint32),
            "work": self.device.zeros((len(jobs), 2), np.uint64),
        }
        return out


_RETURNED = ("counts", "work", "target_keys", "path_begin", "path_length", "path")


def searcher(
    graph: Graph, device: Device, keys: Keys | None = None, engine: Engine = "near-far", delta: float | None = None,
    cutoff: float | None = None, *, layout: Layout | None = None, searches: int = 1, batch: int | None = None,
) -> Searcher:  # fmt: skip
    """A graph on a device.

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
    limit = kind.whole_limit if is_whole(actual) else kind.limit
    reach = limit if cutoff is None else min(limit, kind.encode_one(cutoff))
    tuning = tuning_of(actual, graph, kind, delta, device.info, limit)
    blocks = 1 if actual == "near-far-grid" else max(1, min(searches, concurrent_blocks(device.info)))
    room = scratch_room(actual, graph.n)
    return Searcher(device, layout or lay_out(graph, kind), kind, actual, tuning, reach, blocks, room, batch)


def workspace(n: int, blocks: int, room: int, plateaus: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Shapes and types of what the blocks work in."""
    return {
        "keys": ((blocks, n), keys.dtype),
        "scratch": ((blocks, room), np.uint32),
        "touched": ((blocks, n), np.uint32),
        "hops": ((blocks, n) if plateaus else 1, np.uint32),
    }


def _not_empty(array: NDArray[Any]) -> NDArray[Any]:
    return array if len(array) else np.zeros(1, array.dtype)


def _solved(jobs: Jobs, results: dict[str, NDArray[Any]]) -> Solved:
    counts, work = results["counts"].astype(np.int64), results["work"]
    seeds = (jobs.table[:, 1] - jobs.table[:, 0]).astype(np.int64)
    wrong = counts[:, 0] + np.abs(counts[:, 2] - seeds)  # every root is a seed
    return Solved(
        wrong, counts[:, 1].astype(np.uint32), work[:, 0], work[:, 1], results["target_keys"][: jobs.queries],
        results["path_begin"], results["path_length"], results["path"],
    )  # fmt: skip

