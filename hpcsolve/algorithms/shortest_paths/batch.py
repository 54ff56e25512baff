"""A batch of searches on a device: what is asked, and room for the answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.shortest_paths.searches import (
    WANTS_DISTANCES,
    WANTS_PATHS,
    WANTS_PREDECESSORS,
    WANTS_TARGETS,
    Searches,
)
from hpcsolve.device.base import Argument, Buffer, Device, Download

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher

NO_ROOM = np.uint64(2**64 - 1)
"""The `path_begin` of a query whose path did not fit in `path`."""


@dataclass(frozen=True)
class Solved:
    """What a batch of searches found, except its rows.

    Attributes
    ----------
    wrong, cut
        Shape (searches,): the number of entries that the check on the device found wrong; the number of arcs that lead
        from a reached to an unreached vertex, none if the search ended early because all its targets were settled.
    relaxed, rounds
        Shape (searches,): the number of arcs relaxed; the number of rounds, which must follow each other.
    target_keys
        Shape (queries,): keys at the targets.
    path_begin, path_length, path
        Where each query's path begins in `path`, and how many vertices it has; `path` has positions in the graph.
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
        """Whether the path of each query did not fit in `path`, shape (queries,)."""
        found: NDArray[np.bool_] = self.path_begin == NO_ROOM
        return found


@dataclass(frozen=True)
class Batch:
    """Searches on a device, and room for their answers. The buffers have the names of the kernels' fields.

    Attributes
    ----------
    wanted
        Bits of `searches.py`: what is wanted.
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
        own = {name: _part(buffer, number, n if name in _ROWS else _ENTRIES.get(name))
               for name, buffer in self.out.items()}
        table = self.asked["searches"].view(5 * number, 5)
        return replace(self, searches=self.searches.only(number), asked={**self.asked, "searches": table}, out=own)

    def solved(self) -> Solved:
        """Return all results except the rows, and free the batch's buffers except those of the rows."""
        found: dict[str, NDArray[Any]] = {
            name: buffer.download() if buffer else np.empty(0, np.uint64)
            for name, buffer in self.out.items() if name not in _ROWS
        }
        others = (buffer for name, buffer in self.out.items() if name not in _ROWS)
        for buffer in (*others, *self.asked.values()):
            if buffer:
                buffer.free()
        counts, work = found["counts"].astype(np.int64), found["work"]
        wrong = counts[:, 0] + np.abs(counts[:, 2] - self.searches.seed_counts())  # every root is a seed
        return Solved(wrong, counts[:, 1].astype(np.uint32), work[:, 0], work[:, 1], found["target_distance"],
                      found["path_begin"], found["path_length"], found["path"])


@dataclass(eq=False)
class Rows:
    """Rows of a batch on their way to the host.

    Attributes
    ----------
    arriving
        The buffers of the rows and their downloads.
    """

    searcher: Searcher | Sweeper
    arriving: list[tuple[Buffer, Download]]

    def wait(self) -> None:
        """Return when all rows are on the host, and free their buffers."""
        started = time.perf_counter()
        for buffer, download in self.arriving:
            download.wait()
            buffer.free()
        self.searcher.seconds_copy += time.perf_counter() - started


_ROWS = ("distance", "predecessor")
_ENTRIES = {"counts": 3, "overflowed": 1, "work": 2}
"""Entries for each search."""


def batch_on(
    device: Device, searches: Searches, wanted: int, dtype: DTypeLike, distance: NDArray[Any] | None = None,
    predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
) -> Batch:
    """Bring searches to a device, and make room for their answers.

    Parameters
    ----------
    dtype
        Of the keys.
    distance, predecessor
        Where rows will be downloaded to, shape (searches, n), contiguous.
    """
    assert bool(wanted & WANTS_DISTANCES) == (distance is not None)
    assert bool(wanted & WANTS_PREDECESSORS) == (predecessor is not None)
    given = {"searches": searches.table.reshape(-1), "seed": searches.seeds, "target": searches.targets}
    asked = {name: device.upload(array) for name, array in given.items()} | {"next": device.zeros(1, np.uint32)}
    targets, paths = wanted & WANTS_TARGETS, wanted & WANTS_PATHS
    out = {
        "distance": None if distance is None else device.output(distance),
        "predecessor": None if predecessor is None else device.output(predecessor),
        "target_distance": device.empty(searches.queries, dtype) if targets else None,
        "path_begin": device.zeros(searches.queries, np.uint64) if paths else None,
        "path_length": device.zeros(searches.queries, np.uint32) if paths else None,
        "path": device.empty(path_room, np.uint32) if paths else None,
        "path_used": device.zeros(1, np.uint64) if paths else None,
        "counts": device.zeros((len(searches), 3), np.uint32),
        "overflowed": device.zeros(len(searches), np.uint32),
        "work": device.zeros((len(searches), 2), np.uint64),
    }
    return Batch(searches, wanted, asked, out, path_room)


def _part(buffer: Buffer | None, number: int, entries: int | None) -> Buffer | None:
    """Return the entries of one search, or the whole buffer if all searches share it."""
    return buffer if buffer is None or entries is None else buffer.view(entries * number, entries)
