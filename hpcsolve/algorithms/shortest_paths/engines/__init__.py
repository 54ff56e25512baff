"""The search engines, which find distances and paths in a graph: one record each, in one list.

Names in job files, kernel files and documentation follow from the records. The kernels of the engine NAME are in
cuda_src/paths/NAME.cu. A new way to make one search is a kernel file that ends in SOLVE_KERNELS
(cuda_src/paths/solve.cuh) and a `SingleEngine` in `ENGINES`. Any other engine is a module here with its `Engine`.

single.py     searches one by one: how they are tuned and launched, and their results
tile.py       rows of distances from 32 sources at once
phast.py      sweeps over a contraction hierarchy, for rows and for tables of distances
hierarchy.py  hierarchies
kept.py       hierarchies that are kept in the user's cache folder between runs
studies.py    engines for study: k-pull, p-pull, and scipy's Dijkstra
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast import PHAST as PHAST
from hpcsolve.algorithms.shortest_paths.engines.single import GRID_FILE, Searcher, SingleEngine
from hpcsolve.algorithms.shortest_paths.engines.studies import K_PULL, P_PULL, SCIPY
from hpcsolve.algorithms.shortest_paths.engines.tile import TILE as TILE
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, first_keys
from hpcsolve.algorithms.shortest_paths.searches import Engine, Prepared, Request, Want
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph

BLOCK = SingleEngine("near-far-block", "a block of threads searches alone", ("paths/near_far", GRID_FILE),
                     buckets=True, scratch=1)
GRID = SingleEngine("near-far-grid", "all of a GPU shares one search after the other", (GRID_FILE,), buckets=True,
                    one_at_a_time=True)
PUSH = SingleEngine("bellman-ford-push", "sweeps over all arcs, from their tails", ("paths/bellman_ford",),
                    whole_keys=True)
ENGINES: tuple[Engine, ...] = (
    TILE,
    PHAST,
    BLOCK,
    GRID,
    SingleEngine("dijkstra", "a heap", ("paths/dijkstra",), study=True, scratch=2),
    PUSH,
    SingleEngine("bellman-ford-pull", "sweeps over all arcs, from their heads", ("paths/bellman_ford",),
                 study=True, sweeps=1, whole_keys=True),
    K_PULL,
    P_PULL,
    SCIPY,
)
NEAR_FAR = "near-far"
"""The name in job files by which hpcsolve chooses between `BLOCK` and `GRID`."""
AUTO = "auto"
"""The name in job files by which hpcsolve chooses between `PHAST` and `NEAR_FAR`, or `TILE` for Steiner trees."""

if TYPE_CHECKING:
    TableEngineName: TypeAlias = str
    TerminalEngineName: TypeAlias = str
else:  # what job files may say, for their reader and their reference
    TableEngineName = Literal[(AUTO, NEAR_FAR, *(each.name for each in ENGINES if each.delivers & Want.CHECKED))]
    TerminalEngineName = Literal[(AUTO, NEAR_FAR, *(each.name for each in ENGINES))]


def described(docstring: str | None, checked: int = 0) -> str:
    """Return a docstring in which names and meanings of engines replace `(ENGINES)` and `(STUDIES)`.

    Parameters
    ----------
    checked
        `Want.CHECKED` for those that make tables, 0 for all.
    """
    text = docstring or ""
    for mark, study in (("(ENGINES)", False), ("(STUDIES)", True)):
        words = "; ".join(f'"{each.name}": {each.meaning}' for each in ENGINES
                          if each.delivers & checked == checked and each.study == study)
        text = text.replace(mark, words)
    return text


def kernel_files(engines: tuple[Engine, ...] = ENGINES) -> tuple[str, ...]:
    """Return the files of cuda_src that engines launch or call, without repetition."""
    return tuple(dict.fromkeys(file for engine in engines for file in engine.files))


def engine_named(name: str) -> Engine | None:
    """Return the engine of this name, or None if hpcsolve chooses among several by it."""
    return next((engine for engine in ENGINES if engine.name == name), None)


def chosen_engine(name: str, request: Request, info: DeviceInfo, delivers: int = 0) -> Engine:
    """Return the engine of this name if it delivers what is asked for, else the better one of `BLOCK` and `GRID`.

    A grid pays on a GPU where frontiers are large (many arcs a vertex, so few steps) and searches too few to fill the
    GPU with a block each.
    """
    named = engine_named(name)
    if named is not None and named.delivers & delivers == delivers:
        return named
    wide = request.arcs > 8 * request.n and request.arcs > 1 << 20
    return GRID if info.kind == "cuda" and wide and request.searches < info.units // 2 else BLOCK


def searcher(
    graph: Graph, device: Device, keys: Keys | None = None, engine: str = NEAR_FAR, delta: float | None = None,
    cutoff: float | None = None, *, search_graph: SearchGraph | None = None, searches: int = 1,
    batch: int | None = None,
) -> Searcher:
    """Return a graph on a device, ready for searches one by one, paths among them.

    Parameters
    ----------
    keys, search_graph
        By default the narrowest keys that hold the weights, and the graph laid out with them.
    engine
        An engine that finds no paths is replaced by near-far.
    delta, cutoff, searches, batch
        As in `Request`.
    """
    request = Request(graph.n, graph.arcs, keys or first_keys(graph), searches, cutoff=cutoff, delta=delta, batch=batch,
                      laid_out=search_graph)
    found = chosen_engine(engine, request, device.info, Want.PATHS).prepare(graph, device, request)
    assert isinstance(found, Searcher)
    return found


def row_search(
    beside: Searcher, graph: Graph, engine: str, p: int, targets: NDArray[np.int64] | None, searches: int,
    hierarchy: Hierarchy | None = None,
) -> AbstractContextManager[Prepared]:
    """Return a graph on a device, ready for rows by an engine, which is the searches `beside` if that makes them.

    Parameters
    ----------
    beside
        Searches one by one on the same graph, for paths.
    p, targets, searches, hierarchy
        As in `Request`.

    Raises
    ------
    InputError
        The engine does not find distances as long as the cutoff of `beside`, or the graph has no hierarchy.
    """
    keys = beside.keys
    request = Request(graph.n, graph.arcs, keys, searches, targets, p=p, cutoff=keys.decode_one(beside.cutoff),
                      hierarchy=hierarchy)
    chosen = chosen_engine(engine, request, beside.device.info)
    if chosen.delivers & Want.PATHS:
        return nullcontext(beside)
    if beside.cutoff > chosen.limit(keys):
        most = f"distances may exceed {chosen.limit(keys)}, the largest one that it finds"
        raise InputError(f'engine "{engine}": {most}; choose another one', graph.name)
    return chosen.prepare(graph, beside.device, request, beside)
