"""Hierarchies that are kept between runs, in the user's cache folder (device/array_cache.py).

There are two files for each graph: its contraction, which follows from its topology, and its hierarchy, which follows
from the weights too. So a second run on the same graph begins at once, and new weights on the same topology pay for
customisation alone. If the contraction of a graph was given up, a third file says how much it would have been worth,
so that a second run does not try again for less. The names of all files begin with the numbers of vertices and arcs, so
that a look for what is kept of a graph (`look_up`) reads the graph only if there may be anything.

Caches of several hosts may differ. What is made of a graph does not depend on the cache, and whether it is made follows
from what all hosts have (choice.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths import search_graph
from hpcsolve.algorithms.shortest_paths.engines import hierarchy as hierarchy_module
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    AHEAD,
    CONTRACTION_FILE,
    HIERARCHY_FILE,
    UNLIMITED,
    Contraction,
    Hierarchy,
    Refusal,
    contracted,
    hierarchy,
    too_much_work,
)
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, lay_out
from hpcsolve.device import array_cache
from hpcsolve.device.build import source_hash
from hpcsolve.device.host import HostDevice
from hpcsolve.problems import graph as graph_order
from hpcsolve.problems.graph import Graph

KEPT_FROM = 1 << 16
"""Hierarchies of graphs with fewer vertices and arcs are not kept: they are made in some hundredths of a second."""
_SAME = {"in_offsets": "offsets", "in_arcs": "arcs", "down_offsets": "up_offsets", "down_arcs": "up_arcs"}
"""Arrays of an undirected graph that are the same as others, and so are not saved."""
_GRAPH = ("order", "offsets", "arcs", "in_offsets", "in_arcs")
_LEVELS = ("level", "up_offsets", "up_arcs", "down_offsets", "down_arcs")


@dataclass(frozen=True)
class Kept:
    """What the cache has of a graph.

    Attributes
    ----------
    arcs
        Number of arcs of its hierarchy, or of its contraction if that has no weights yet.
    weighed
        Whether the hierarchy has the graph's own weights, so that it can be used as it is.
    name
        The hierarchy's name in the cache, which takes a hash of the graph.
    """

    arcs: int
    weighed: bool
    name: str = field(default="", compare=False)


def look_up(graph: Graph, keys: Keys, in_levels: bool) -> Kept | None:
    """Return what the cache of this host has of a graph, or None if it has no contraction of it."""
    if not array_cache.has_any(_beginning(graph)):
        return None
    topology = _topology(graph)
    key = _hierarchy_key(graph, topology, keys, in_levels)
    found = array_cache.shapes(key)
    if found is not None:
        arcs = found["up_arcs"][0] // 2 - AHEAD  # two numbers for each arc, and AHEAD arcs as padding
        return Kept(arcs, True, key)
    found = array_cache.shapes(topology)
    return None if found is None else Kept(found["head"][0], weighed=False)


def kept_hierarchy(graph: Graph, found: Kept) -> Hierarchy | None:
    """Return the hierarchy that `look_up` has found, or None if it is damaged or gone."""
    kept = _load(graph, found.name) if found.weighed else None
    return None if kept is None else _hierarchy(kept)


def cached_hierarchy(graph: Graph, keys: Keys, worth: int, in_levels: bool, threads: int) -> Hierarchy | Refusal:
    """Return the hierarchy of a graph from the cache, else a new one, or a refusal as `choice.build_hierarchy`.

    A new hierarchy is kept in the cache.

    Parameters
    ----------
    worth
        As in `contracted`. What is in the cache is taken whatever it has taken.
    in_levels
        As in `hierarchy`.
    threads
        Number of threads of the CPU.
    """
    topology = _topology(graph)
    key = _hierarchy_key(graph, topology, keys, in_levels)
    kept = _load(graph, key)
    if kept is not None:
        return _hierarchy(kept)
    with HostDevice(threads) as host:
        contraction = _contraction(graph, topology, keys, worth, host)
        if isinstance(contraction, Refusal):
            return contraction
        laid_out, found = contraction
        made = hierarchy(laid_out, found, keys, host, in_levels)
    _save(graph, key, _arrays(made))
    return made


def cached_contraction(graph: Graph, keys: Keys, worth: int) -> Contraction | Refusal:
    """Return the contraction of a graph from the cache, else a new one, which is kept, or a refusal."""
    with HostDevice(1) as host:
        found = _contraction(graph, _topology(graph), keys, worth, host)
        return found if isinstance(found, Refusal) else found[1]


def _laid_out(graph: Graph, keys: Keys) -> SearchGraph:
    """Return the graph with its vertices along a curve through their coordinates, or in the order of the file.

    The sweep numbers the vertices anew, so the order only decides how often contraction misses the caches. Road
    networks without coordinates keep the order of their file, which is as good as reverse Cuthill-McKee. That takes a
    third of the time of the whole preparation, with the import of scipy.
    """
    order = np.arange(graph.n) if graph.coordinates is None else graph.spatial_order()
    return lay_out(graph, keys, order)


def _contraction(graph: Graph, topology: str, keys: Keys, worth: int, host: HostDevice
                 ) -> tuple[SearchGraph, Contraction] | Refusal:
    """Return the graph as it is laid out, and its contraction, or a refusal in place of both."""
    kept = _load(graph, topology)
    if kept is not None:
        return _laid_out(graph, keys), Contraction(kept["order"], kept["first"], kept["head"], int(kept["work"][0]))
    given_up = f"{topology}-given-up"
    earlier = _load(graph, given_up)
    if earlier is not None and int(earlier["worth"][0]) >= worth:
        reason = earlier["reason"].tobytes().decode()
        return Refusal(reason, True) if reason else too_much_work(worth, graph.n, graph.arcs)
    laid_out = _laid_out(graph, keys)
    made = contracted(laid_out, worth, host)
    if isinstance(made, Refusal):
        reason = made.reason if made.forever else ""
        _save(graph, given_up, {"worth": np.array([UNLIMITED if made.forever else worth], np.uint64),
                                "reason": np.frombuffer(reason.encode(), np.uint8)})
        return made
    work = np.array([made.work], np.uint64)
    _save(graph, topology, {"order": made.order, "first": made.first, "head": made.head, "work": work})
    return laid_out, made


def _load(graph: Graph, key: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays that are kept under a key, or None if there are none or the graph is small."""
    return array_cache.load(key) if graph.n + graph.arcs >= KEPT_FROM else None


def _save(graph: Graph, key: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Keep arrays under a key, unless the graph is small."""
    if graph.n + graph.arcs >= KEPT_FROM:
        array_cache.save(key, arrays)


def _beginning(graph: Graph) -> str:
    """Return how the names of all files of a graph begin."""
    return f"{graph.n}-{graph.arcs}-"


def _topology(graph: Graph) -> str:
    """Return a name that has a hash of all that the contraction of a graph follows from.

    That is its arcs, its layout, and our own code.
    """
    arrays: list[NDArray[Any]] = [graph.offsets, graph.heads]
    if graph.coordinates is not None:
        arrays.append(graph.coordinates)
    return _beginning(graph) + array_cache.key_of([*_code(), f"directed: {graph.directed}"], arrays)


def _hierarchy_key(graph: Graph, topology: str, keys: Keys, in_levels: bool) -> str:
    """Return a name that has a hash of all that the hierarchy of a graph follows from."""
    return _beginning(graph) + array_cache.key_of([topology, keys.code, f"in levels: {in_levels}"], [graph.weights])


def _code() -> Iterator[str]:
    """Yield the code that makes hierarchies and keeps them: the hashes of kernels, and the texts of modules."""
    yield from (source_hash(file) for file in (CONTRACTION_FILE, HIERARCHY_FILE))
    for module in (hierarchy_module, search_graph, graph_order):
        yield Path(str(module.__file__)).read_text(encoding="utf-8")
    yield Path(__file__).read_text(encoding="utf-8")


def _arrays(made: Hierarchy) -> dict[str, NDArray[Any]]:
    """Return the arrays of a hierarchy, each once."""
    own = {name: vars(made.graph)[name] for name in _GRAPH} | {name: vars(made)[name] for name in _LEVELS}
    numbers = np.array([made.levels, made.graph.plateaus], np.uint64)
    kept = {name: array for name, array in own.items() if array is not own.get(_SAME.get(name, ""))}
    return {**kept, "numbers": numbers}


def _hierarchy(kept: dict[str, NDArray[Any]]) -> Hierarchy:
    """Return the hierarchy with these arrays."""
    arrays: dict[str, Any] = {name: kept[name if name in kept else _SAME[name]] for name in (*_GRAPH, *_LEVELS)}
    levels, plateaus = map(int, kept["numbers"])
    graph = SearchGraph(**{name: arrays[name] for name in _GRAPH}, plateaus=bool(plateaus))
    return Hierarchy(graph, **{name: arrays[name] for name in _LEVELS}, levels=levels)
