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

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths import search_graph
from hpcsolve.algorithms.shortest_paths.engines import hierarchy as hierarchies
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Contraction, Hierarchy, Refusal
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph
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
_LEVELS = ("launch", "part", "level", "parent", "up_offsets", "up_arcs", "down_offsets", "down_arcs")


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


@dataclass(frozen=True, eq=False)
class Cache:
    """What the cache of this host has of a graph.

    Attributes
    ----------
    in_parts
        As in `Hierarchy.of`.
    """

    graph: Graph
    keys: Keys
    in_parts: bool = False

    @property
    def beginning(self) -> str:
        """How the names of all files of the graph begin."""
        return f"{self.graph.n}-{self.graph.arcs}-"

    @cached_property
    def topology(self) -> str:
        """A name that has a hash of all that the contraction follows from: arcs, layout, kernels and our own code."""
        modules = (hierarchies, search_graph, graph_order)
        texts = [source_hash(file) for file in (hierarchies.CONTRACTION_FILE, hierarchies.HIERARCHY_FILE)]
        texts += [Path(str(file)).read_text(encoding="utf-8") for file in (*(m.__file__ for m in modules), __file__)]
        arrays: list[NDArray[Any]] = [self.graph.offsets, self.graph.heads]
        if self.graph.coordinates is not None:
            arrays.append(self.graph.coordinates)
        return self.beginning + array_cache.key_of([*texts, f"directed: {self.graph.directed}"], arrays)

    @cached_property
    def name(self) -> str:
        """A name that has a hash of all that the hierarchy follows from."""
        texts = [self.topology, self.keys.code, f"in parts: {self.in_parts}"]
        return self.beginning + array_cache.key_of(texts, [self.graph.weights])

    def look_up(self) -> Kept | None:
        """Return what there is of the graph, or None if there is no contraction of it."""
        if not array_cache.has_any(self.beginning):
            return None
        found = array_cache.shapes(self.name)
        if found is not None:
            # two numbers for each arc, and AHEAD arcs as padding
            return Kept(found["up_arcs"][0] // 2 - hierarchies.AHEAD, True, self.name)
        found = array_cache.shapes(self.topology)
        return None if found is None else Kept(found["head"][0], weighed=False)

    def hierarchy(self, worth: int, threads: int, kept: Kept | None = None) -> Hierarchy | Refusal:
        """Return the hierarchy that is kept, else a new one, which is kept then, or a refusal as `contracted`.

        Parameters
        ----------
        worth
            As in `contracted`. A hierarchy in the cache is used whatever work it was.
        threads
            Number of threads of the CPU.
        kept
            What `look_up` has found. It may be damaged or gone by now.
        """
        found = self._load(kept.name) if kept and kept.weighed else None
        found = found or self._load(self.name)
        if found is not None:
            arrays: dict[str, Any] = {name: found[name if name in found else _SAME[name]] for name in _GRAPH + _LEVELS}
            levels, plateaus = map(int, found["numbers"])
            graph = SearchGraph(**{name: arrays[name] for name in _GRAPH}, plateaus=bool(plateaus))
            return Hierarchy(graph, **{name: arrays[name] for name in _LEVELS}, levels=levels)
        with HostDevice(threads) as host:
            contraction = self._contraction(worth, host)
            if isinstance(contraction, Refusal):
                return contraction
            made = Hierarchy.of(*contraction, self.keys, host, self.in_parts)
        arrays = {name: vars(made.graph)[name] for name in _GRAPH} | {name: vars(made)[name] for name in _LEVELS}
        once = {name: array for name, array in arrays.items() if array is not arrays.get(_SAME.get(name, ""))}
        self._save(self.name, {**once, "numbers": np.array([made.levels, made.graph.plateaus], np.uint64)})
        return made

    def contraction(self, worth: int) -> Contraction | Refusal:
        """Return the contraction that is kept, else a new one, which is kept then, or a refusal."""
        with HostDevice(1) as host:
            found = self._contraction(worth, host)
            return found if isinstance(found, Refusal) else found[1]

    def _contraction(self, worth: int, host: HostDevice) -> tuple[SearchGraph, Contraction] | Refusal:
        """Return the graph as it is laid out, and its contraction, or a refusal in place of both."""
        kept, given_up = self._load(self.topology), f"{self.topology}-given-up"
        if kept is not None:
            found = Contraction(kept["order"], kept["first"], kept["head"], int(kept["work"][0]))
            return self._laid_out(), found
        earlier = self._load(given_up)
        if earlier is not None and int(earlier["worth"][0]) >= worth:
            reason = earlier["reason"].tobytes().decode()
            size = self.graph.n + self.graph.arcs
            return Refusal(reason, True) if reason else hierarchies.too_much(f"{worth / size:.3g} steps")
        laid_out = self._laid_out()
        made = hierarchies.contracted(laid_out, worth, host)
        if isinstance(made, Refusal):
            reason = made.reason if made.forever else ""
            self._save(given_up, {"worth": np.array([hierarchies.UNLIMITED if made.forever else worth], np.uint64),
                                  "reason": np.frombuffer(reason.encode(), np.uint8)})
            return made
        work = np.array([made.work], np.uint64)
        self._save(self.topology, {"order": made.order, "first": made.first, "head": made.head, "work": work})
        return laid_out, made

    def _laid_out(self) -> SearchGraph:
        """Return the graph with its vertices along a curve through their coordinates, or in the order of the file.

        The sweep numbers the vertices anew, so the order only decides how often contraction misses the caches. Road
        networks without coordinates keep the order of their file, which is as good as reverse Cuthill-McKee. That takes
        a third of the time of the whole preparation, with the import of scipy.
        """
        order = np.arange(self.graph.n) if self.graph.coordinates is None else self.graph.spatial_order()
        return search_graph.lay_out(self.graph, self.keys, order)

    def _load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays that are kept under a name, or None if there are none or the graph is small."""
        return array_cache.load(name) if self.graph.n + self.graph.arcs >= KEPT_FROM else None

    def _save(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep arrays under a name, unless the graph is small."""
        if self.graph.n + self.graph.arcs >= KEPT_FROM:
            array_cache.save(name, arrays)
