"""Reductions of tables of distances, made on the device while searching (cuda_src/paths/summaries.cu).

Of each row of distances a summary is kept. Lines are rows of several sources side by side, as sweeps leave them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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
from hpcsolve.algorithms.shortest_paths.tables import (
    WORK,
    RowTable,
    SearchCheckpoints,
    SearchRows,
    rows_at_once,
    solved_of,
    work_of,
)
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.answers.reductions import PER_SOURCE, Reductions, closeness_of, middle_of, reduction_table
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.errors import InputError, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion, Reduction

REACHED, SUMS, FARTHEST, WITHIN = 0, 1, 4, 6
"""Where entries of a summary begin: targets reached, three digits of the sum, farthest target, counts by cutoff."""


@dataclass(frozen=True)
class Layout:
    """The entries of a summary.

    Attributes
    ----------
    cutoffs, nearest
        Number of cutoffs, and number of nearest targets.
    """

    cutoffs: int
    nearest: int

    @property
    def entries(self) -> int:
        """Number of entries."""
        return WITHIN + self.cutoffs + 2 * self.nearest

    def counts(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the number of targets within each cutoff, shape (sources, cutoffs)."""
        return summaries[:, WITHIN : WITHIN + self.cutoffs]

    def nearest_keys(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the keys of the distances of the nearest targets, shape (sources, nearest)."""
        return summaries[:, WITHIN + self.cutoffs : WITHIN + self.cutoffs + self.nearest]

    def nearest_names(self, summaries: NDArray[Any]) -> NDArray[Any]:
        """Return the names of the nearest targets, all ones for none, shape (sources, nearest)."""
        return summaries[:, WITHIN + self.cutoffs + self.nearest :]


def layout_of(reduction: Reduction) -> Layout:
    """Return the layout of the summaries that a reduction makes."""
    return Layout(len(reduction.cutoffs), reduction.nearest)


def sums_of(summaries: NDArray[Any], keys: Keys) -> NDArray[np.uint64] | None:
    """Return the sums of distances, shape (sources,), or None if one does not fit 64 bits."""
    half = np.uint64(4 * keys.dtype.itemsize)
    low, middle, high = summaries[:, SUMS : SUMS + 3].T.astype(np.uint64)
    if half == 32 and high.any():
        return None
    found: NDArray[np.uint64] = low + (middle << half) + (high << np.uint64(2 * int(half) % 64))
    return found


SUMMARIES_FILE = "paths/summaries"
THREADS = 256
TARGETS_A_PART = 2048
"""On a GPU, the number of targets of a part, which a warp goes through."""
SEARCHED_WIDTH = 16
"""Number of sources of a group, where rows come from searches one by one."""


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
        "summaries": ((parts, layout_of(reduction).entries, width), keys.dtype),
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

    @property
    def entries(self) -> int:
        """Number of entries of a summary."""
        return layout_of(self.reduction).entries

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
        return self.device.kernel(SUMMARIES_FILE, f"summaries_{verb}_{_code(self.keys)}_{self.width}")


def _code(keys: Keys) -> str:
    """Return the code of unsigned integers as wide as the keys, since keys of floats are in the order of these."""
    return f"u{keys.dtype.itemsize}"


@dataclass(frozen=True)
class SweptSummaries:
    """Summaries by sweeps over a hierarchy."""

    prepared: Sweeper
    reducer: Reducer

    def start(self, searches: Searches, out: NDArray[Any]) -> tuple[Solved, Rows]:
        """Run searches, one source each. `out`, shape (searches, entries), may still be filled after this returns."""
        return self.prepared.start(searches, WANTS_DISTANCES, out, reducer=self.reducer)


@dataclass(frozen=True)
class SearchedSummaries:
    """Summaries of rows that are searched one by one.

    Attributes
    ----------
    rows, lines
        Room for the rows of a batch, shape (searches, targets), and for the same in groups of sources.
    whole
        Whether all vertices are targets.
    """

    prepared: Searcher
    reducer: Reducer
    rows: NDArray[Any]
    lines: Buffer
    whole: bool

    def start(self, searches: Searches, out: NDArray[Any]) -> tuple[Solved, Rows]:
        """Run searches, one source each. `out`, shape (searches, entries), may still be filled after this returns."""
        prepared, count = self.prepared, len(searches)
        rows = self.rows[:count] if self.whole else None
        batch = batch_on(prepared.device, searches, WANTS_DISTANCES if self.whole else WANTS_TARGETS,
                         prepared.keys.dtype, rows)
        found = batch.out["distance" if self.whole else "target_distance"]
        summaries = prepared.device.output(out)
        assert found is not None
        prepared.timer.start()
        prepared.engine.launch(prepared, batch)
        self.reducer.reduce_rows(count, found, self.lines, summaries)
        prepared.timer.stop()
        solved = batch.solved()
        if self.whole:
            found.free()
        return solved, Rows(prepared, [(summaries, summaries.start_download(out))])


@contextmanager
def summaries_of(
    prepared: Searcher | Sweeper, targets: NDArray[np.int64] | None, reduction: Reduction, batch: int
) -> Iterator[SweptSummaries | SearchedSummaries]:
    """Yield the searches that make summaries on a prepared graph.

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
            yield SweptSummaries(prepared, reducer)
        return
    groups, columns = -(-batch // SEARCHED_WIDTH), len(name)
    lines = device.empty((groups, columns, SEARCHED_WIDTH), keys.dtype)
    rows = np.empty((batch if targets is None else 0, columns), keys.dtype)
    whole_warps = prepared.threads // 32 * 32
    with Reducer(device, keys, SEARCHED_WIDTH, groups, np.arange(columns, dtype=np.uint32), name.astype(np.uint32),
                 prepared.cutoff, reduction, whole_warps) as reducer:
        yield SearchedSummaries(prepared, reducer, rows, lines, targets is None)
    lines.free()


SWEEPS_A_BATCH = 4
"""Number of sweeps of all groups between two points where a checkpoint may be written."""


def solve_summaries(
    prepared: Searcher | Sweeper, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None,
    reduction: Reduction, report: Report, kept: SearchCheckpoints,
) -> SearchRows:
    """Search from each source, and return its summary in place of its row. Collective if checkpoints are kept."""
    found = np.empty((len(seeds), layout_of(reduction).entries), prepared.keys.dtype)
    work, finished = np.zeros((len(seeds), WORK), np.uint64), np.zeros(len(seeds), bool)
    table = RowTable(found, np.empty((len(seeds), 0), np.uint32), work, finished)
    table.load(kept)
    step, places = batch_of(prepared), prepared.graph.places()
    waiting = table.unfinished(step)
    with summaries_of(prepared, targets, reduction, min(step, max(1, len(seeds)))) as summaries:
        for part in kept.while_any(waiting[::-1], table):
            solved, rows = summaries.start(row_searches(seeds[part], targets, places), found[part])
            table.begin(part, rows)  # they are copied during the next searches
            table.work[part] = work_of(solved)
            report(float(table.finished.mean()))
        table.arrive()
    return SearchRows(found, table.before.view(np.int32), [solved_of(table.work)])


def batch_of(prepared: Searcher | Sweeper) -> int:
    """Return the number of searches of a batch."""
    if isinstance(prepared, Sweeper):
        return SWEEPS_A_BATCH * prepared.batch
    return rows_at_once(prepared.graph.n, prepared.keys, prepared.device.info)


def reductions_of(rows: SearchRows, keys: Keys, share: range, asked: PathQuestion, graph: Graph, comm: Comm
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


def _columns(summaries: NDArray[Any], keys: Keys, wanted: Reduction) -> dict[str, Any]:
    """Return this rank's part of the columns that have a value for each source."""
    found: dict[str, Any] = {"reached": summaries[:, REACHED].astype(np.int64)}
    if wanted.sums:
        found["sum"] = sums_of(summaries, keys)
    if wanted.farthest:
        none = summaries[:, REACHED] == 0
        farthest = np.where(none, keys.unreached, summaries[:, FARTHEST]).astype(keys.dtype)
        found["farthest_distance"] = keys.decode(farthest)
        found["farthest_target"] = _names(summaries[:, FARTHEST + 1])
    return found


def _tables(summaries: NDArray[Any], keys: Keys, wanted: Reduction, first: int, total: int
            ) -> dict[str, DistanceTable]:
    """Return this rank's rows of the tables."""
    layout = layout_of(wanted)
    found: dict[str, NDArray[Any]] = {}
    if wanted.cutoffs:
        found["count"] = layout.counts(summaries).astype(np.uint32)
    if wanted.nearest:
        found["nearest_target"] = _names(layout.nearest_names(summaries))
        found["nearest_distance"] = keys.decode(np.ascontiguousarray(layout.nearest_keys(summaries)))
    return {name: reduction_table(name, values, first, total) for name, values in found.items()}


def _names(words: NDArray[Any]) -> NDArray[np.int32]:
    """Return positions, -1 where the words are all ones."""
    return words.astype(np.uint32).view(np.int32)


COUNTERS = 60
"""Bytes on a device for each search, besides its results: seed, table, counters."""


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
    summary = layout_of(asked.reduction).entries * keys.dtype.itemsize
    shapes = reducer_shapes(columns, shape.groups, shape.width, asked.reduction, info, keys)
    of_batch = batch * (COUNTERS + (0 if info.kind == "cpu" else batches_at_once(info) * summary))
    answer = 3 * summary + 2 * 8 * len(PER_SOURCE)  # summaries, and the columns of this rank and of all
    return nbytes_of(shapes.values()) + of_batch, size * (answer + 8 * WORK + 1) + 12 * columns + batch * COUNTERS
