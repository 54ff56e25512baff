"""Reductions of tables of distances, made on the device while searching (cuda_src/paths/summaries.cu).

Of each row of distances a summary is kept. Lines are rows of several sources side by side, as sweeps leave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines.phast import Shape, Sweeper
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import (
    WANTS_DISTANCES,
    WANTS_TARGETS,
    Rows,
    Searcher,
    Searches,
    Solved,
    batch_on,
    row_searches,
)
from hpcsolve.algorithms.shortest_paths.tables import WORK, RowTable, SearchCheckpoints, rows_at_once
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.answers.reductions import PER_SOURCE, Reductions, closeness_of, middle_of, reduction_table
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.errors import InputError, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion, Reduction

SUMMARIES_FILE = "paths/summaries"
THREADS = 256
TARGETS_A_PART = 2048
"""On a GPU, the number of targets of a part, which a warp goes through."""
SEARCHED_WIDTH = 16
"""Number of sources of a group, where rows come from searches one by one."""
SWEEPS_A_BATCH = 4
"""Number of sweeps of all groups between two points where a checkpoint may be written."""
COUNTERS = 60
"""Bytes on a device for each search, besides its results: seed, table, counters."""
REACHED, SUMS, FARTHEST, WITHIN = 0, 1, 4, 6
"""Where entries of a summary begin: targets reached, three digits of the sum, farthest target, counts by cutoff.

Behind the counts stand the keys of the distances of the nearest targets, and their names, all ones for none."""


def entries_of(reduction: Reduction) -> int:
    """Return the number of entries of a summary."""
    return WITHIN + len(reduction.cutoffs) + 2 * reduction.nearest




def parts_of(columns: int, groups: int, info: DeviceInfo) -> int:
    """Return the number of parts that the targets are split into, each for one warp, or one thread of a CPU."""
    wanted = -(-info.units // groups) if info.kind == "cpu" else -(-columns // TARGETS_A_PART)
    return max(1, min(wanted, columns))


def reducer_shapes(columns: int, groups: int, width: int, reduction: Reduction, info: DeviceInfo, keys: Keys
                   ) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that a reducer works in."""
    parts = groups + info.units if info.kind == "cpu" else groups * parts_of(columns, groups, info)
    return {
        "vertex": ((columns,), np.dtype(np.uint32)),
        "name": ((columns,), np.dtype(np.uint32)),
        "cutoff": ((max(1, len(reduction.cutoffs)),), keys.dtype),
        "summaries": ((parts, entries_of(reduction), width), keys.dtype),
    }


@dataclass(eq=False)
class Reducer:
    """Reduces lines of distances to summaries. A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    width, groups
        Number of sources of a group, and the most groups at a time.
    vertex, name
        Shape (targets,), uint32: the line of each target, and its position in the input.
    most
        Larger keys count as unreached.
    threads
        Threads of a block, whole warps; a CPU has one.
    """

    device: Device
    keys: Keys
    width: int
    groups: int
    vertex: NDArray[np.uint32]
    name: NDArray[np.uint32]
    most: int
    reduction: Reduction
    threads: int = THREADS
    asked: dict[str, Argument] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Make room to work in."""
        columns, reduction, info = len(self.vertex), self.reduction, self.device.info
        within = [min(self.keys.encode_one(cutoff), self.most) for cutoff in reduction.cutoffs]
        shapes = reducer_shapes(columns, self.groups, self.width, reduction, info, self.keys)
        arrays = {"vertex": self.vertex, "name": self.name, "cutoff": np.array(within or [0], self.keys.dtype)}
        self.work = {name: self.device.upload(array) for name, array in arrays.items()}
        self.asked = {"columns": columns, **self.work, "most": self.most, "cutoffs": len(within),
                      "nearest": reduction.nearest}
        self.work["summaries"] = self.device.empty(*shapes["summaries"])

    def __enter__(self) -> Reducer:
        """Return the reducer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        for buffer in self.work.values():
            buffer.free()

    def reduce(self, n: int, sources: int, lines: Buffer, out: Buffer) -> None:
        """Reduce the lines of groups, shape (groups, n, width), to the summaries of their sources."""
        groups = -(-sources // self.width)
        parts = parts_of(len(self.vertex), groups, self.device.info)
        warps = 1 if self.device.info.kind == "cpu" else self.threads // 32
        summaries = self.work["summaries"]
        self._kernel("fold")(groups * -(-parts // warps), self.threads, n=n, groups=groups, parts=parts,
                             asked=self.asked, lines=lines, summaries=summaries)
        self._kernel("join")(-(-sources // self.threads), self.threads, parts=parts, sources=sources,
                             asked=self.asked, summaries=summaries, out=out)

    def reduce_rows(self, sources: int, rows: Buffer, lines: Buffer, out: Buffer) -> None:
        """Reduce rows, shape (sources, targets), by way of lines, shape (groups, targets, width)."""
        columns, groups = len(self.vertex), -(-sources // self.width)
        blocks = max(1, -(-self.device.info.units // groups))
        self._kernel("lines")(groups * blocks, self.threads, groups=groups, sources=sources, columns=columns,
                              rows=rows, lines=lines)
        self.reduce(columns, sources, lines, out)

    def _kernel(self, verb: str) -> Any:
        """Return the kernel for unsigned integers as wide as the keys: keys of floats are in the order of these."""
        return self.device.kernel(SUMMARIES_FILE, f"summaries_{verb}_u{self.keys.dtype.itemsize}_{self.width}")


Summarise: TypeAlias = Callable[[Searches, NDArray[Any]], tuple[Solved, Rows]]
"""Runs searches, one source each. The summaries, shape (searches, entries), may still be filled after it returns."""


@contextmanager
def summaries_of(
    prepared: Searcher | Sweeper, targets: NDArray[np.int64] | None, reduction: Reduction, batch: int
) -> Iterator[Summarise]:
    """Yield the function that makes summaries on a prepared graph, by sweeps or by searches one by one.

    Parameters
    ----------
    targets
        Positions, or None for all vertices.
    batch
        The most searches at a time.
    """
    device, keys, graph = prepared.device, prepared.keys, prepared.graph
    name = np.arange(graph.n) if targets is None else targets
    if isinstance(prepared, Sweeper):
        vertex = graph.places()[name]
        order = np.argsort(vertex, kind="stable")  # as the lines lie in memory
        with Reducer(device, keys, prepared.shape.width, prepared.shape.groups, vertex[order],
                     name[order].astype(np.uint32), prepared.cutoff, reduction, prepared.threads) as reducer:
            sweeper = prepared
            yield lambda searches, out: sweeper.start(searches, WANTS_DISTANCES, out, reducer=reducer)
        return
    groups, columns = -(-batch // SEARCHED_WIDTH), len(name)
    lines = device.empty((groups, columns, SEARCHED_WIDTH), keys.dtype)
    rows = np.empty((batch, columns), keys.dtype) if targets is None else None
    whole_warps = prepared.threads // 32 * 32
    with Reducer(device, keys, SEARCHED_WIDTH, groups, np.arange(columns, dtype=np.uint32), name.astype(np.uint32),
                 prepared.cutoff, reduction, whole_warps) as reducer:
        yield partial(_searched, prepared, reducer, rows, lines)
    lines.free()


def _searched(prepared: Searcher, reducer: Reducer, rows: NDArray[Any] | None, lines: Buffer, searches: Searches,
              out: NDArray[Any]) -> tuple[Solved, Rows]:
    """Make summaries of rows that are searched one by one (`Summarise`).

    Parameters
    ----------
    rows
        Room for the rows of a batch, shape (searches, n), or None if not all vertices are targets.
    lines
        Room for the same rows in groups of sources.
    """
    wanted, name = (WANTS_TARGETS, "target_distance") if rows is None else (WANTS_DISTANCES, "distance")
    batch = batch_on(prepared.device, searches, wanted, prepared.keys.dtype,
                     None if rows is None else rows[: len(searches)])
    found, summaries = batch.out[name], prepared.device.output(out)
    assert found is not None
    prepared.timer.start()
    prepared.engine.launch(prepared, batch)
    reducer.reduce_rows(len(searches), found, lines, summaries)
    prepared.timer.stop()
    solved = batch.solved()
    if rows is not None:
        found.free()
    return solved, Rows(prepared, [(summaries, summaries.start_download(out))])


def solve_summaries(
    prepared: Searcher | Sweeper, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None,
    reduction: Reduction, report: Report, kept: SearchCheckpoints,
) -> RowTable:
    """Search from each source, and return its summary in place of its row. Collective if checkpoints are kept."""
    found = np.empty((len(seeds), entries_of(reduction)), prepared.keys.dtype)
    table, places = RowTable(found, np.empty((len(seeds), 0), np.uint32)), prepared.graph.places()
    table.load(kept)
    if isinstance(prepared, Sweeper):
        step = SWEEPS_A_BATCH * prepared.batch
    else:
        step = rows_at_once(prepared.graph.n, prepared.keys, prepared.device.info)
    with summaries_of(prepared, targets, reduction, min(step, max(1, len(seeds)))) as summarise:
        for part in kept.while_any(table.unfinished(step)[::-1], table):
            table.begin(part, *summarise(row_searches(seeds[part], targets, places), found[part]))
            report(float(table.finished.mean()))
        table.arrive()
    return table


def reductions_of(rows: RowTable, keys: Keys, share: range, asked: PathQuestion, graph: Graph, comm: Comm
                  ) -> Reductions:
    """Return the answer, with this rank's rows of the tables. Collective.

    Raises
    ------
    InputError
        A sum of distances does not fit 64 bits.
    """
    wanted = asked.reduction
    assert wanted is not None
    own = _columns(rows.keys, keys, wanted)
    what = 'shortest-paths.reduce: "sum": a sum of distances exceeds 2^64 - 1; divide the weights by a power of ten'
    wrong = InputError(what, graph.name)
    agree(comm, wrong if wanted.sums and own["sum"] is None else None)
    parts = comm.allgather(own)
    found: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in own}
    if wanted.sums:
        found["closeness"] = closeness_of(graph, asked.sources, asked.targets, found["reached"], found["sum"])
    if wanted.whole and wanted.farthest:
        found |= middle_of(found["farthest_distance"], found["reached"])
    cutoff = None
    if wanted.cutoffs:
        cutoff = np.array(wanted.cutoffs, np.float64 if graph.weights.dtype.kind == "f" else np.uint64)
    target = None if asked.targets is None else asked.targets.astype(np.int32)
    found |= _tables(rows.keys, keys, wanted, share.start, len(asked.sources))
    return Reductions(asked.sources.astype(np.int32), target=target, cutoff=cutoff, **found)


def sums_of(summaries: NDArray[Any], keys: Keys) -> NDArray[np.uint64] | None:
    """Return the sums of distances, shape (sources,), or None if one does not fit 64 bits."""
    half = np.uint64(4 * keys.dtype.itemsize)
    low, middle, high = summaries[:, SUMS : SUMS + 3].T.astype(np.uint64)
    if half == 32 and high.any():
        return None
    found: NDArray[np.uint64] = low + (middle << half) + (high << np.uint64(2 * int(half) % 64))
    return found


def _columns(summaries: NDArray[Any], keys: Keys, wanted: Reduction) -> dict[str, Any]:
    """Return this rank's part of the columns that have a value for each source."""
    found: dict[str, Any] = {"reached": summaries[:, REACHED].astype(np.int64)}
    if wanted.sums:
        found["sum"] = sums_of(summaries, keys)
    if wanted.farthest:
        none = summaries[:, REACHED] == 0
        farthest = np.where(none, keys.no_path, summaries[:, FARTHEST]).astype(keys.dtype)
        found["farthest_distance"] = keys.decode(farthest)
        found["farthest_target"] = _names(summaries[:, FARTHEST + 1])
    return found


def _tables(summaries: NDArray[Any], keys: Keys, wanted: Reduction, first: int, total: int
            ) -> dict[str, DistanceTable]:
    """Return this rank's rows of the tables."""
    counts, nearest, targets = np.split(summaries[:, WITHIN:], np.cumsum([len(wanted.cutoffs), wanted.nearest]), axis=1)
    found: dict[str, NDArray[Any]] = {}
    if wanted.cutoffs:
        found["count"] = counts.astype(np.uint32)
    if wanted.nearest:
        found["nearest_target"] = _names(targets)
        found["nearest_distance"] = keys.decode(np.ascontiguousarray(nearest))
    return {name: reduction_table(name, values, first, total) for name, values in found.items()}


def _names(words: NDArray[Any]) -> NDArray[np.int32]:
    """Return positions, -1 where the words are all ones."""
    return words.astype(np.uint32).view(np.int32)




def swept_bytes(n: int, asked: PathQuestion, size: int, shape: Shape, info: DeviceInfo, keys: Keys) -> tuple[int, int]:
    """Return the bytes on the device and on the host of the reductions of `size` sweeps."""
    batch = min(size, SWEEPS_A_BATCH * shape.width * shape.groups)
    return _bytes(n, asked, size, batch, shape, info, keys)


def searched_bytes(n: int, asked: PathQuestion, size: int, batch: int, info: DeviceInfo, keys: Keys
                   ) -> tuple[int, int]:
    """Return the bytes on the device and on the host of the reductions of `size` searches, `batch` at a time."""
    batch = min(size, batch)
    columns = n if asked.targets is None else len(asked.targets)
    shape = Shape(SEARCHED_WIDTH, -(-batch // SEARCHED_WIDTH))
    device, host = _bytes(n, asked, size, batch, shape, info, keys)
    rows, lines = (count * columns * keys.dtype.itemsize for count in (batch, shape.groups * shape.width))
    return device + rows + lines, host + (0 if info.kind == "cpu" else rows)


def _bytes(n: int, asked: PathQuestion, size: int, batch: int, shape: Shape, info: DeviceInfo, keys: Keys
           ) -> tuple[int, int]:
    """Return the bytes on the device and on the host: reducer, batch of searches, and summaries of all searches."""
    assert asked.reduction is not None
    columns = n if asked.targets is None else len(asked.targets)
    summary = entries_of(asked.reduction) * keys.dtype.itemsize
    shapes = reducer_shapes(columns, shape.groups, shape.width, asked.reduction, info, keys)
    of_batch = batch * (COUNTERS + (0 if info.kind == "cpu" else batches_at_once(info) * summary))
    answer = 3 * summary + 2 * 8 * len(PER_SOURCE)  # summaries, and the columns of this rank and of all
    return nbytes_of(shapes.values()) + of_batch, size * (answer + 8 * WORK + 1) + 12 * columns + batch * COUNTERS
