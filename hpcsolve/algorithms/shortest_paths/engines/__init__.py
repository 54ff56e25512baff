"""The search engines, which find distances and paths in a graph: one record each.

Names in job files, kernel files and documentation follow from the records. The kernels of the engine NAME are in
cuda_src/paths/NAME.cu. A new engine is a kernel file that ends in SOLVE_KERNELS (cuda_src/paths/solve.cuh) and a record
in `ENGINES`.

launches.py   bucket widths and the number of searches at a time, and launches by a block each or by the whole grid
rows.py       rows of distances from many sources: by single searches, or by the engine "tile"
p_pull.py     the same by the engine "p-pull", which is for study
phast.py      sweeps over a contraction hierarchy, for rows and for tables of distances
hierarchy.py  hierarchies
kept.py       hierarchies that are kept in the user's cache folder between runs
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.launches import (
    GRID_BYTES_A_VERTEX,
    Tuning,
    TuningInput,
    concurrent_blocks,
    launch_by_blocks,
    launch_by_grid,
    tuned_block,
    tuned_grid,
    typical_weight,
    untuned,
)
from hpcsolve.algorithms.shortest_paths.engines.p_pull import P_PULL_ROWS
from hpcsolve.algorithms.shortest_paths.engines.phast import PHAST_FILE, PHAST_ROWS
from hpcsolve.algorithms.shortest_paths.engines.rows import (
    SINGLE,
    TILE_FILE,
    TILE_ROWS,
    RowEngine,
    RowRequest,
    RowSearch,
)
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, first_keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import BLOCK_THREADS, Batch, Searcher
from hpcsolve.device.base import Device, DeviceInfo, nbytes_of
from hpcsolve.problems.graph import Graph


@dataclass(frozen=True)
class Engine:
    """A way to search.

    Attributes
    ----------
    name
        Name in job files.
    meaning
        What it does, in a few words, for the documentation of the key `engine`.
    file
        File of cuda_src with its kernels.
    launch
        Launches the kernels that solve a batch.
    tune
        Returns its tuning for a graph and a device.
    scratch
        Entries of a block's scratch, per vertex.
    one_at_a_time
        Whether the whole device works on one search after the other.
    bytes_a_vertex
        Bytes per vertex that a search needs besides its row and its scratch.
    whole_keys
        Whether it uses all bits of a key for the distance. Near-Far reserves one bit, which halves the range.
    rows
        How the engine makes rows of distances from many sources at once, if it can. It then makes nothing else, and
        paths are found by near-far.
    """

    name: str
    meaning: str
    file: str
    launch: Callable[[Searcher, Batch], None] = launch_by_blocks
    tune: Callable[[TuningInput], Tuning] = untuned
    scratch: int = 0
    one_at_a_time: bool = False
    bytes_a_vertex: int = 0
    whole_keys: bool = False
    rows: RowEngine | None = None

    def room(self, n: int) -> int:
        """Return the entries of a block's scratch."""
        return max(1, self.scratch * n)

    def at_once(self, searches: int, info: DeviceInfo) -> int:
        """Return how many of `searches` searches a device works on at the same time."""
        return 1 if self.one_at_a_time else max(1, min(searches, concurrent_blocks(info)))


def _sweeps(count: int) -> Callable[[TuningInput], Tuning]:
    return lambda _: Tuning(setting=count)


TILE = "tile"
"""The name in job files of the engine that searches from 32 sources at once."""
PHAST = "phast"
"""The name in job files of the engine that makes tables by a hierarchy."""
BLOCK = Engine("near-far-block", "a block of threads searches alone", "paths/near_far", tune=tuned_block, scratch=1)
GRID = Engine("near-far-grid", "all of a GPU shares one search after the other", "paths/near_far_grid", launch_by_grid,
              tuned_grid, one_at_a_time=True, bytes_a_vertex=GRID_BYTES_A_VERTEX)
PUSH = Engine("bellman-ford-push", "sweeps over all arcs, from their tails", "paths/bellman_ford", whole_keys=True)
ENGINES = (
    BLOCK,
    GRID,
    Engine("dijkstra", "a heap", "paths/dijkstra", scratch=2),
    PUSH,
    Engine("bellman-ford-pull", "sweeps over all arcs, from their heads", "paths/bellman_ford", tune=_sweeps(1),
           whole_keys=True),
    Engine("k-pull", "as bellman-ford-pull, but with 3 sweeps between two checks for changes", "paths/bellman_ford",
           tune=_sweeps(3), whole_keys=True),
)
ROW_ENGINES = (
    Engine(TILE, "32 searches at once from sources that are near each other", TILE_FILE, rows=TILE_ROWS),
    Engine(PHAST, "up to 64 searches at once over a contraction hierarchy, which is made first; for road networks",
           PHAST_FILE, rows=PHAST_ROWS),
    Engine("p-pull", "Bellman-Ford from several sources at once", "paths/p_pull", rows=P_PULL_ROWS),
)
NEAR_FAR = "near-far"
"""The name in job files by which hpcsolve chooses between `BLOCK` and `GRID`."""
AUTO = "auto"
"""The name in job files by which hpcsolve chooses between `PHAST` and `NEAR_FAR`, or `TILE` for Steiner trees."""
_BY_NAME: Mapping[str, Engine] = {engine.name: engine for engine in (*ENGINES, *ROW_ENGINES)}

if TYPE_CHECKING:
    EngineName: TypeAlias = str
    TableEngineName: TypeAlias = str
    RowEngineName: TypeAlias = str
    TerminalEngineName: TypeAlias = str
else:  # what job files may say, for their reader and their reference
    EngineName = Literal[(NEAR_FAR, *(engine.name for engine in ENGINES))]
    TableEngineName = Literal[(AUTO, PHAST, EngineName)]
    RowEngineName = Literal[(*(engine.name for engine in ROW_ENGINES), EngineName)]
    TerminalEngineName = Literal[(AUTO, RowEngineName)]


def described(docstring: str | None, engines: tuple[Engine, ...]) -> str:
    """Return a docstring in which names and meanings of engines replace `(ENGINES)`."""
    words = "; ".join(f'"{engine.name}": {engine.meaning}' for engine in engines)
    return (docstring or "").replace("(ENGINES)", words)


def kernel_files(engines: tuple[Engine, ...]) -> tuple[str, ...]:
    """Return the kernel files of engines, without repetition."""
    return tuple(dict.fromkeys(engine.file for engine in engines))


def chosen_engine(name: EngineName, graph: Graph, searches: int, info: DeviceInfo) -> Engine:
    """Return the engine of this name, or the better one of `BLOCK` and `GRID` for all other names and for row engines.

    A grid pays on a GPU where frontiers are large (many arcs a vertex, so few steps) and searches too few to fill the
    GPU with a block each.
    """
    if name in _BY_NAME and not _BY_NAME[name].rows:
        return _BY_NAME[name]
    wide = graph.arcs > 8 * graph.n and graph.arcs > 1 << 20
    return GRID if info.kind == "cuda" and wide and searches < info.units // 2 else BLOCK


def row_engine(name: RowEngineName) -> RowEngine | None:
    """Return the row engine of this name, or None if the engine makes one row at a time."""
    return _BY_NAME[name].rows if name in _BY_NAME else None


def searcher(
    graph: Graph, device: Device, keys: Keys | None = None, engine: EngineName = NEAR_FAR, delta: float | None = None,
    cutoff: float | None = None, *, search_graph: SearchGraph | None = None, searches: int = 1,
    batch: int | None = None,
) -> Searcher:
    """Return a graph on a device, ready to be searched.

    Parameters
    ----------
    keys, search_graph
        By default the narrowest keys that hold the weights, and the graph laid out with them.
    delta, cutoff
        In the unit of `graph.weights`; by default adapted to the graph, and no cutoff.
    searches
        Number of searches in all. If the device could work on more at a time, less memory is taken.
    batch
        As in `Searcher`.
    """
    kind = keys or first_keys(graph)
    actual = chosen_engine(engine, graph, searches, device.info)
    limit = kind.whole_limit if actual.whole_keys else kind.limit
    farthest = limit if cutoff is None else min(limit, kind.encode_one(cutoff))
    tuning = actual.tune(TuningInput(graph, kind, delta, device.info, limit))
    resident = device.resident_blocks(actual.file, f"{Path(actual.file).name}_solve_{kind.code}", BLOCK_THREADS)
    blocks, room = min(resident, actual.at_once(searches, device.info)), actual.room(graph.n)
    laid_out = search_graph or lay_out(graph, kind)
    return Searcher(device, laid_out, kind, actual, tuning, farthest, blocks, room, batch)


def row_search(
    prepared: Searcher, graph: Graph, engine: RowEngineName, p: int, targets: NDArray[np.int64] | None, searches: int,
    hierarchy: Hierarchy | None = None,
) -> AbstractContextManager[RowSearch]:
    """Return the search that fills rows, on a prepared graph.

    Parameters
    ----------
    p, searches, hierarchy
        As in `RowRequest`.
    targets
        Positions of the vertices that a row has; None stands for all.
    """
    columns = np.arange(graph.n) if targets is None else targets
    request = RowRequest(graph.n, len(columns), searches, p, hierarchy)
    return (row_engine(engine) or SINGLE).start(prepared, request, columns, typical_weight(graph))


def row_bytes(engine: RowEngineName, request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    """Return the bytes of the arrays that the engine works in."""
    return nbytes_of((row_engine(engine) or SINGLE).shapes(request, info, keys).values())


def batch_rows(engine: RowEngineName, request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    """Return the number of rows of a batch: that of `RowSearch.at_once`, or of all searches if there are fewer."""
    return min((row_engine(engine) or SINGLE).batch(request, info, keys), request.searches)
