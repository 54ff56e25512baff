"""The record of an engine that makes rows of distances from many sources at once, and what it is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.device.base import DeviceInfo, batches_at_once

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


Finish: TypeAlias = Callable[[], int]
"""A function that waits until rows are filled, and returns the number of arcs relaxed."""


class RowSearch(Protocol):
    """Searches that fill rows of keys. They are fastest if sources near each other stand together."""

    @property
    def prepared(self) -> Searcher:
        """The graph on the device."""

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Begin to fill rows, shape (sources, columns), with keys of distances. They are filled after `Finish`."""


@dataclass(frozen=True)
class RowRequest:
    """The rows that an engine is asked for.

    Attributes
    ----------
    n, columns
        Number of vertices, and of those that a row has.
    searches
        Number of rows in all. If the device could work on more at a time, less memory is taken.
    p
        Number of sources at once, for engines that leave it to the user.
    hierarchy
        The graph's hierarchy, for the engine "phast", which makes one if this is None.
    """

    n: int
    columns: int
    searches: int
    p: int
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class RowEngine:
    """How an engine makes rows.

    Attributes
    ----------
    start
        Prepares the engine on a graph. Takes the positions of the vertices that a row has, and a typical weight.
    batch
        Number of sources that make a good batch.
    shapes
        Shapes and types of the arrays that the engine works in.
    """

    start: Callable[[Searcher, RowRequest, NDArray[np.int64], float], AbstractContextManager[RowSearch]]
    batch: Callable[[RowRequest, DeviceInfo, Keys], int]
    shapes: Callable[[RowRequest, DeviceInfo, Keys], Mapping[str, tuple[Any, Any]]]


def filled_rows(search: RowSearch, batches: Iterable[NDArray[Any]], columns: int) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield for each batch of sources its rows and the number of arcs relaxed. A GPU is a batch ahead of the caller."""
    ahead = batches_at_once(search.prepared.device.info) - 1
    under_way: deque[tuple[NDArray[Any], Finish]] = deque()
    try:
        for sources in batches:
            rows = np.empty((len(sources), columns), search.prepared.keys.dtype)
            under_way.append((rows, search.start(sources, rows)))
            del rows  # so that the caller can free them before the next ones are made
            if len(under_way) > ahead:
                yield _finished(*under_way.popleft())
        while under_way:
            yield _finished(*under_way.popleft())
    finally:  # also if the caller stops early
        for _, finish in under_way:
            finish()


def _finished(rows: NDArray[Any], finish: Finish) -> tuple[NDArray[Any], int]:
    relaxed = finish()
    return rows, relaxed
