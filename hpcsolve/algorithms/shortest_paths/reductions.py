"""Reductions of tables of distances, made on the device while searching (cuda_src/paths/summaries.cu).

Of each row of distances a summary is kept. Lines are rows of several sources side by side, as sweeps leave them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Engine, Prepared, Request
from hpcsolve.algorithms.shortest_paths.tables import WORK, RowTable, SearchCheckpoints
from hpcsolve.answers.reductions import PER_SOURCE, Reductions, closeness_of, middle_of, reduction_table
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.errors import InputError, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.access import Steps
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
MOST_BUCKET_BITS = 18
"""Leading bits of a distance by which its step is looked up, at most: 1 MiB of buckets for each decay."""
COUNTERS = 60
"""Bytes on a device for each search, besides its results: seed, table, counters."""
REACHED, SUMS, FARTHEST, WITHIN = 0, 1, 4, 6
"""Where entries of a summary begin: targets reached, three digits of the sum, farthest target, counts by cutoff.

Behind the counts stand two digits of the access by each decay, the keys of the distances of the nearest targets, and
their names, all ones for none."""


def entries_of(reduction: Reduction) -> int:
    """Return the number of entries of a summary."""
    return WITHIN + len(reduction.cutoffs) + 2 * decays_of(reduction) + 2 * reduction.nearest


def decays_of(reduction: Reduction) -> int:
    """Return the number of decays."""
    return 0 if reduction.access is None else len(reduction.access.decays)


def parts_of(columns: int, groups: int, info: DeviceInfo) -> int:
    """Return the number of parts that the targets are split into, each for one warp, or one thread of a CPU."""
    wanted = -(-info.units // groups) if info.kind == "cpu" else -(-columns // TARGETS_A_PART)
    return max(1, min(wanted, columns))


def reducer_shapes(
    columns: int, groups: int, width: int, reduction: Reduction, info: DeviceInfo, keys: Keys, from_rows: bool
) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that a reducer works in."""
    parts = groups + info.units if info.kind == "cpu" else groups * parts_of(columns, groups, info)
    lines = {"lines": ((groups, columns, width), keys.dtype)} if from_rows else {}
    decays = () if reduction.access is None else reduction.access.decays
    steps = max(1, sum(len(decay.limits) for decay in decays))
    buckets = sum((1 << bucket_bits(decay)) + 1 for decay in decays)
    return {
        **lines,
        "vertex": ((columns,), np.dtype(np.uint32)),
        "name": ((columns,), np.dtype(np.uint32)),
        "cutoff": ((max(1, len(reduction.cutoffs)),), keys.dtype),
        "first_step": ((len(decays) + 1,), np.dtype(np.uint32)),
        "step": ((steps,), keys.dtype),
        "share": ((steps,), np.dtype(np.uint32)),
        "first_bucket": ((max(1, len(decays)),), np.dtype(np.uint32)),
        "dropped": ((max(1, len(decays)),), np.dtype(np.uint32)),
        "bucket": ((max(1, buckets),), np.dtype(np.uint32)),
        "opportunities": ((columns if decays else 1,), np.dtype(np.uint64)),
        "summaries": ((parts, entries_of(reduction), width), keys.dtype),
    }


def bucket_bits(decay: Steps) -> int:
    """Return how many leading bits of a distance are the number of its bucket: two to four buckets for each step.

    Of many steps they are `MOST_BUCKET_BITS`, and a bucket has several steps.
    """
    return min(MOST_BUCKET_BITS, len(decay.limits).bit_length() + 1)


def buckets_of(step: NDArray[Any], bits: int) -> tuple[int, NDArray[np.uint32]]:
    """Return how many bits of a key are no part of its bucket, and for each bucket the first step.

    That is the first one that covers the bucket's least key. Buckets behind the last step, and one more, have the last
    step.
    """
    last = int(step[-1])
    dropped = max(0, last.bit_length() - bits)
    least = np.arange((last >> dropped) + 1, dtype=step.dtype) << step.dtype.type(dropped)
    found = np.full((1 << bits) + 1, len(step) - 1, np.uint32)
    found[: len(least)] = np.searchsorted(step, least)
    return dropped, found


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
    from_rows
        Whether distances come in rows, which are made lines first.
    order
        Shape (targets,): the number of each target in the order of the question, None if it is the same.
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
    from_rows: bool = False
    order: NDArray[np.int64] | None = None
    asked: dict[str, Argument] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Make room to work in."""
        columns, reduction, info = len(self.vertex), self.reduction, self.device.info
        within = [min(self.keys.encode_one(cutoff), self.most) for cutoff in reduction.cutoffs]
        shapes = reducer_shapes(columns, self.groups, self.width, reduction, info, self.keys, self.from_rows)
        arrays = {"vertex": self.vertex, "name": self.name, "cutoff": np.array(within or [0], self.keys.dtype),
                  **self._of_access()}
        given = {name: self.device.upload(array) for name, array in arrays.items()}
        self.asked = {"columns": columns, **given, "most": self.most, "cutoffs": len(within),
                      "decays": decays_of(reduction), "nearest": reduction.nearest}
        self.work = given | {name: self.device.empty(*shape) for name, shape in shapes.items() if name not in given}

    def _of_access(self) -> dict[str, NDArray[Any]]:
        """Return steps and buckets of all decays, one after the other, and the opportunities of the columns."""
        asked = self.reduction.access
        if asked is None:
            names = ("first_step", "share", "first_bucket", "dropped", "bucket")
            return {**{name: np.zeros(1, np.uint32) for name in names}, "step": np.zeros(1, self.keys.dtype),
                    "opportunities": np.zeros(1, np.uint64)}
        limits, shares = zip(*asked.decays)
        most, first = self.keys.decode_one(self.most), np.cumsum([0, *map(len, limits)])
        steps = [self.keys.encode(np.minimum(each, each.dtype.type(most))) for each in limits]
        found = [buckets_of(step, bucket_bits(decay)) for step, decay in zip(steps, asked.decays)]
        buckets = [bucket + np.uint32(begin) for begin, (_, bucket) in zip(first, found)]
        return {"first_step": first.astype(np.uint32), "step": np.concatenate(steps), "share": np.concatenate(shares),
                "first_bucket": np.cumsum([0, *map(len, buckets[:-1])]).astype(np.uint32),
                "dropped": np.array([dropped for dropped, _ in found], np.uint32),
                "bucket": np.concatenate(buckets),
                "opportunities": asked.opportunities[slice(None) if self.order is None else self.order]}

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

    def reduce_rows(self, sources: int, rows: Buffer, out: Buffer) -> None:
        """Reduce rows, shape (sources, targets), by way of lines, shape (groups, targets, width)."""
        columns, groups = len(self.vertex), -(-sources // self.width)
        blocks, lines = max(1, -(-self.device.info.units // groups)), self.work["lines"]
        self._kernel("lines")(groups * blocks, self.threads, groups=groups, sources=sources, columns=columns,
                              rows=rows, lines=lines)
        self.reduce(columns, sources, lines, out)

    def _kernel(self, verb: str) -> Any:
        """Return the kernel for unsigned integers as wide as the keys: keys of floats are in the order of these."""
        return self.device.kernel(SUMMARIES_FILE, f"summaries_{verb}_u{self.keys.dtype.itemsize}_{self.width}")


def batch_and_lines(at_once: int, line_shape: tuple[int, int] | None, searches: int) -> tuple[int, tuple[int, int]]:
    """Return the number of searches between two points where a checkpoint may be written, and the shape of their lines.

    Parameters
    ----------
    at_once, line_shape
        As in `Prepared`.
    """
    if line_shape is not None:
        return min(SWEEPS_A_BATCH * at_once, max(1, searches)), line_shape
    batch = min(at_once, max(1, searches))
    return batch, (SEARCHED_WIDTH, -(-batch // SEARCHED_WIDTH))


def solve_summaries(
    prepared: Prepared, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None,
    reduction: Reduction, report: Report, kept: SearchCheckpoints,
) -> RowTable:
    """Search from each source, and return its summary in place of its row. Collective if checkpoints are kept."""
    found = np.empty((len(seeds), entries_of(reduction)), prepared.keys.dtype)
    table, places = RowTable(found, np.empty((len(seeds), 0), np.uint32)), prepared.graph.places()
    step, (width, groups) = batch_and_lines(prepared.at_once, prepared.line_shape, len(seeds))
    name = np.arange(len(places)) if targets is None else targets
    vertex, from_rows, order = np.arange(len(name), dtype=np.uint32), prepared.line_shape is None, None
    if not from_rows:
        order = np.argsort(places[name], kind="stable")  # as the lines lie in memory
        vertex, name = places[name][order], name[order]
    with Reducer(prepared.device, prepared.keys, width, groups, vertex, name.astype(np.uint32), prepared.cutoff,
                 reduction, prepared.threads // 32 * 32, from_rows, order) as reducer:  # whole warps
        table.fill(prepared, seeds, targets, step, report, kept, reducer)
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
    summaries = rows.keys
    own: dict[str, Any] = {"reached": summaries[:, REACHED].astype(np.int64)}
    if wanted.sums:
        own["sum"] = sums_of(summaries, keys)
    if wanted.farthest:
        none = summaries[:, REACHED] == 0
        own["farthest_distance"] = keys.decode(
            np.where(none, keys.no_path, summaries[:, FARTHEST]).astype(keys.dtype))
        own["farthest_target"] = _names(summaries[:, FARTHEST + 1])
    what = 'shortest-paths.reduce: "sum": a sum of distances exceeds 2^64 - 1; divide the weights by a power of ten'
    agree(comm, InputError(what, graph.name) if wanted.sums and own["sum"] is None else None)
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
    widths = len(wanted.cutoffs), 2 * decays_of(wanted), wanted.nearest
    counts, access, nearest, targets = np.split(summaries[:, WITHIN:], np.cumsum(widths), axis=1)
    tables: dict[str, NDArray[Any]] = {"count": counts.astype(np.uint32)} if wanted.cutoffs else {}
    if wanted.access is not None:
        totals = access[:, ::2].astype(np.uint64) + (access[:, 1::2].astype(np.uint64) << np.uint64(32))  # 0 if wide
        own_values = [list(map(wanted.access.in_own_unit, row)) for row in totals.tolist()]
        tables["access"] = np.array(own_values, np.float64).reshape(totals.shape)
        found["decay"] = np.array(wanted.access.names, object)
        found["opportunities"] = None if target is None else wanted.access.opportunities_in_own_unit()
    if wanted.nearest:
        tables |= {"nearest_target": _names(targets), "nearest_distance": keys.decode(np.ascontiguousarray(nearest))}
    for name, values in tables.items():
        found[name] = reduction_table(name, values, share.start, len(asked.sources))
    return Reductions(asked.sources.astype(np.int32), target=target, cutoff=cutoff, **found)


def sums_of(summaries: NDArray[Any], keys: Keys) -> NDArray[np.uint64] | None:
    """Return the sums of distances, shape (sources,), or None if one does not fit 64 bits."""
    half = np.uint64(4 * keys.dtype.itemsize)
    low, middle, high = summaries[:, SUMS : SUMS + 3].T.astype(np.uint64)
    if half == 32 and high.any():
        return None
    found: NDArray[np.uint64] = low + (middle << half) + (high << np.uint64(2 * int(half) % 64))
    return found


def _names(words: NDArray[Any]) -> NDArray[np.int32]:
    """Return positions, -1 where the words are all ones."""
    return words.astype(np.uint32).view(np.int32)


def reduced_bytes(engine: Engine, request: Request, reduction: Reduction, info: DeviceInfo) -> tuple[int, int]:
    """Return the bytes on the device and on the host: reducer, batch of searches, and summaries of all searches."""
    lines, itemsize = engine.line_shape(request, info), request.keys.dtype.itemsize
    batch, (width, groups) = batch_and_lines(engine.batch(request, info), lines, request.searches)
    summary = entries_of(reduction) * itemsize
    shapes = reducer_shapes(request.columns, groups, width, reduction, info, request.keys, lines is None)
    rows = batch * request.columns * itemsize if lines is None else 0
    of_batch = batch * (COUNTERS + (0 if info.kind == "cpu" else batches_at_once(info) * summary))
    answer = 3 * summary + 2 * 8 * len(PER_SOURCE)  # summaries, and the columns of this rank and of all
    host = request.searches * (answer + 8 * WORK + 1) + 12 * request.columns + batch * COUNTERS
    return nbytes_of(shapes.values()) + of_batch + rows, host
