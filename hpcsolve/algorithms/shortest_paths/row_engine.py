"""What an engine that makes rows of distances from many sources at once tells of itself, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.device.base import DeviceInfo

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


class RowSearch(Protocol):
    """Searches that fill rows of keys, one for each source; cheapest where sources near each other stand together."""

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""

    def fill(self, sources: NDArray[Any], rows: NDArray[Any]) -> int:
        """Fill rows, shape (sources, columns), with the keys of distances, and return the number of arcs relaxed."""


@dataclass(frozen=True)
class RowTask:
    """What rows are asked of an engine.

    Attributes
    ----------
    n, columns
        Number of vertices, and of those that a row has.
    searches
        How many there will be; fewer than the device could work on at a time need less memory.
    p
        Sources at once, for engines that leave it to the user.
    """

    n: int
    columns: int
    searches: int
    p: int


@dataclass(frozen=True)
class RowEngine:
    """How an engine makes rows.

    Attributes
    ----------
    start
        Prepares it on a graph; the columns are positions of vertices, the number is a typical weight.
    batch
        Number of sources that make a good batch.
    shapes
        Shapes and types of what it works in.
    """

    start: Callable[[Searcher, RowTask, NDArray[np.int64], float], AbstractContextManager[RowSearch]]
    batch: Callable[[RowTask, DeviceInfo, Keys], int]
    shapes: Callable[[RowTask, DeviceInfo, Keys], Mapping[str, tuple[Any, Any]]]
