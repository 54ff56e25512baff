"""Estimates the memory that reductions take beside searches or sweeps."""

from __future__ import annotations

from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Shape
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.reduce.answer import SWEEPS_A_BATCH
from hpcsolve.algorithms.shortest_paths.reduce.reducer import SEARCHED_WIDTH, reducer_shapes
from hpcsolve.algorithms.shortest_paths.reduce.summary import layout_of
from hpcsolve.algorithms.shortest_paths.resume import WORK
from hpcsolve.answers.reductions import PER_SOURCE
from hpcsolve.device.base import DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.problems.questions import PathQuestion

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
