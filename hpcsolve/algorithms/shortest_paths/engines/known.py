"""The search engines, one record each: names in job files, kernel files and documentation follow from the records.

A new engine is a kernel file that ends in SOLVE_KERNELS (cuda_src/paths/solve.cuh) and a record in `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from hpcsolve.algorithms.shortest_paths.batch import Batch
from hpcsolve.algorithms.shortest_paths.engines import block, grid, p_pull, tile
from hpcsolve.algorithms.shortest_paths.engines.phast import rows as phast
from hpcsolve.algorithms.shortest_paths.engines.phast import sweeper
from hpcsolve.algorithms.shortest_paths.engines.row_engine import RowEngine
from hpcsolve.algorithms.shortest_paths.engines.tuning import (
    Tuning,
    TuningInput,
    concurrent_blocks,
    tuned_block,
    tuned_grid,
    untuned,
)
from hpcsolve.device.base import DeviceInfo
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher


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
    launch: Callable[[Searcher, Batch], None] = block.launch
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
"""The name in job files of the engine that searches from 32 sources at once (tile.py)."""
PHAST = "phast"
"""The name in job files of the engine that makes tables by a hierarchy (phast/)."""
BLOCK = Engine("near-far-block", "a block of threads searches alone", "paths/near_far", tune=tuned_block, scratch=1)
GRID = Engine("near-far-grid", "all of a GPU shares one search after the other", "paths/near_far_grid", grid.launch,
              tuned_grid, one_at_a_time=True, bytes_a_vertex=grid.BYTES_A_VERTEX)
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
    Engine(TILE, "32 searches at once from sources that are near each other", tile.FILE, rows=tile.ROWS),
    Engine(PHAST, "up to 64 searches at once over a contraction hierarchy, which is made first; for road networks",
           sweeper.FILE, rows=phast.ROWS),
    Engine("p-pull", "Bellman-Ford from several sources at once", "paths/p_pull", rows=p_pull.ROWS),
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
