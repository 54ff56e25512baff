"""The search engines: one record each. Allowed names, kernel files and the documentation of the key come from them.

A new engine is a kernel file that ends in SOLVE_KERNELS (cuda_src/paths/solve.cuh) and a record in `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from hpcsolve.algorithms.shortest_paths import block, grid, p_pull, tile
from hpcsolve.algorithms.shortest_paths.batch import Batch
from hpcsolve.algorithms.shortest_paths.row_engine import RowEngine
from hpcsolve.algorithms.shortest_paths.tuning import (
    Task,
    Tuning,
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
        In job files.
    meaning
        What it is, for the documentation of the job's key.
    file
        Of cuda_src with its kernels.
    launch
        Solves a batch on the device.
    tune
        How it works on a graph.
    scratch
        Entries of a block's scratch for each vertex.
    one_at_a_time
        Whether the whole device works on one search after the other.
    bytes_a_vertex
        Memory of a search beside its row and its scratch.
    whole_keys
        Whether its keys need no bit of their own, so that they hold distances twice as long.
    rows
        Makes rows of distances in a way of its own, and nothing else: paths are then left to near-far.
    """

    name: str
    meaning: str
    file: str
    launch: Callable[[Searcher, Batch], None] = block.launch
    tune: Callable[[Task], Tuning] = untuned
    scratch: int = 0
    one_at_a_time: bool = False
    bytes_a_vertex: int = 0
    whole_keys: bool = False
    rows: RowEngine | None = None

    def room(self, n: int) -> int:
        """Return the entries of a block's scratch."""
        return max(1, self.scratch * n)

    def at_once(self, searches: int, info: DeviceInfo) -> int:
        """Return the number of searches that a device works on at the same time, out of so many."""
        return 1 if self.one_at_a_time else max(1, min(searches, concurrent_blocks(info)))


def _sweeps(count: int) -> Callable[[Task], Tuning]:
    return lambda _: Tuning(setting=count)


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
    Engine("k-pull", "3 such sweeps between two looks whether anything has changed", "paths/bellman_ford",
           tune=_sweeps(3), whole_keys=True),
)
ROW_ENGINES = (
    Engine("tile", "32 searches at once from sources that are near each other", "paths/tile", rows=tile.ROWS),
    Engine("p-pull", "Bellman-Ford from several sources at once", "paths/p_pull", rows=p_pull.ROWS),
)
NEAR_FAR = "near-far"
"""The name that stands for the better one of `BLOCK` and `GRID`."""
_BY_NAME: Mapping[str, Engine] = {engine.name: engine for engine in (*ENGINES, *ROW_ENGINES)}

if TYPE_CHECKING:
    EngineName: TypeAlias = str
    RowEngineName: TypeAlias = str
else:  # what job files may say, for their reader and their reference
    EngineName = Literal[(NEAR_FAR, *(engine.name for engine in ENGINES))]
    RowEngineName = Literal[(*(engine.name for engine in ROW_ENGINES), EngineName)]


def described(docstring: str | None, engines: tuple[Engine, ...]) -> str:
    """Return a docstring with engines in words in the place of `(ENGINES)`."""
    words = "; ".join(f'"{engine.name}": {engine.meaning}' for engine in engines)
    return (docstring or "").replace("(ENGINES)", words)


def kernel_files(engines: tuple[Engine, ...]) -> tuple[str, ...]:
    """Return the files with the kernels of engines, each once."""
    return tuple(dict.fromkeys(engine.file for engine in engines))


def chosen_engine(name: EngineName, graph: Graph, searches: int, info: DeviceInfo) -> Engine:
    """Return the engine of a name; "near-far" is a block a search, or the whole grid for one search after the other.

    A grid pays on a GPU where frontiers are large (many arcs a vertex, so few steps) and searches too few to fill the
    GPU with a block each.
    """
    if name in _BY_NAME and not _BY_NAME[name].rows:
        return _BY_NAME[name]
    wide = graph.arcs > 8 * graph.n and graph.arcs > 1 << 20
    return GRID if info.kind == "cuda" and wide and searches < info.units // 2 else BLOCK


def row_engine(name: RowEngineName) -> RowEngine | None:
    """Return how an engine makes rows, if it does so in a way of its own."""
    return _BY_NAME[name].rows if name in _BY_NAME else None
