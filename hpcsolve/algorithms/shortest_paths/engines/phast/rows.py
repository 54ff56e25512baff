"""Rows of distances by the engine "phast": makes a hierarchy of the graph, and sweeps over it for groups of sources.

Mode kmb wants distances between terminals only, but its sweeps are not restricted (restriction.py): terminals stand
everywhere in a reduced graph, so that of five published instances one alone gains (G103, 0.42 instead of 0.48 s), and
in the others more than half of the arcs would stay or a distance might not fit the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.phast.choice import UNLIMITED, Attempt, build_hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Shape, Sweeper, shape_for, workspace
from hpcsolve.algorithms.shortest_paths.engines.row_engine import Finish, RowEngine, RowRequest
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.searches import UNCHECKED, WANTS_TARGETS, row_searches
from hpcsolve.device.base import DeviceInfo
from hpcsolve.errors import InputError

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


@dataclass(eq=False)
class SweptRows:
    """Rows by the engine "phast". A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    prepared
        The graph on the device, whose timer notes the time of the sweeps too.
    sweeper
        Its hierarchy on the device.
    columns
        Positions of the vertices that a row has.
    """

    prepared: Searcher
    sweeper: Sweeper
    columns: NDArray[np.int64]

    def __enter__(self) -> SweptRows:
        """Return the rows themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        self.sweeper.__exit__()

    @property
    def at_once(self) -> int:
        """Number of sources that make a good batch."""
        return self.sweeper.batch

    def start(self, sources: NDArray[Any], rows: NDArray[Any]) -> Finish:
        """Fill rows, shape (sources, columns), with the keys of distances. `Finish` need not wait."""
        if not len(sources):
            return lambda: 0
        seeds = list(sources[:, None].astype(np.int64))
        searches = row_searches(seeds, self.columns, self.sweeper.graph.places())
        found = self.sweeper.solve(searches, WANTS_TARGETS | UNCHECKED)
        rows[:] = found.target_keys.reshape(rows.shape)
        return lambda: int(found.relaxed.sum())


def _start(prepared: Searcher, request: RowRequest, columns: NDArray[np.int64], _: float) -> SweptRows:
    """Make the hierarchy unless it is given. Raises `InputError` if the graph has no small separators."""
    device, keys, info = prepared.device, prepared.keys, prepared.device.info
    found = request.hierarchy or build_hierarchy(prepared.graph, keys, Attempt(UNLIMITED), info.kind == "cuda",
                                                 info.threads)
    if isinstance(found, Refusal):
        raise InputError(f'steiner-kmb.engine: phast: {found.reason}; choose "tile"')
    sweeper = Sweeper(device, found, keys, min(prepared.cutoff, keys.limit), _shape(request, info, keys))
    sweeper.timer = prepared.timer
    return SweptRows(prepared, sweeper, columns)


def _shape(request: RowRequest, info: DeviceInfo, keys: Keys) -> Shape:
    return shape_for(request.n, request.searches, info, keys, trees=False)


def _batch(request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    shape = _shape(request, info, keys)
    return shape.width * shape.groups


def _shapes(request: RowRequest, info: DeviceInfo, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of what groups work in. The hierarchy is made before, and shared by a host's ranks."""
    asked = {"vertex": ((request.columns,), np.uint32), "sources": ((_batch(request, info, keys), 6), np.uint32)}
    return {**workspace(request.n, _shape(request, info, keys), 0, False, keys), **asked}


ROWS = RowEngine(_start, _batch, _shapes)
