"""The record of an engine that makes rows of distances from many sources at once, and what it is asked."""

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
    """Searches that fill rows of keys. They are fastest if sources near each other stand together."""

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""

    def fill(self, sources: NDArray[Any], rows: NDArray[Any]) -> int:
        """Fill rows, shape (sources, columns), with the keys of distances, and return the number of arcs relaxed."""


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
        Prepares the engine on a graph. Takes the positions of the vertices that a row has, and a typical weight.
    batch
        Number of sources that make a good batch.
    shapes
        Shapes and types of the arrays that the engine works in.
    """

    start: Callable[[Searcher, RowRequest, NDArray[np.int64], float], AbstractContextManager[RowSearch]]
    batch: Callable[[RowRequest, DeviceInfo, Keys], int]
    shapes: Callable[[RowRequest, DeviceInfo, Keys], Mapping[str, tuple[Any, Any]]]
