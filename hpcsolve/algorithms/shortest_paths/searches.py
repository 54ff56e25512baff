"""What a search is, what an engine is, and what its searches find: the one protocol that callers know.

An engine prepares a graph on a device, and then solves batches of searches. A search has seeds, where it begins, and
targets that it looks for. Callers ask an engine what it delivers, and never which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, lay_out
from hpcsolve.device.base import Buffer, Device, DeviceInfo, Download, batches_at_once
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy
    from hpcsolve.algorithms.shortest_paths.reductions import Reducer

Own = TypeVar("Own", bound="Prepared")
BLOCK_THREADS = 256
"""Threads of a block. In a road network the near queue has some 130 vertices at a time."""
NO_ROOM = np.uint64(2**64 - 1)
"""The `path_begin` of a query whose path did not fit in `path`."""
NOTHING = np.empty(0, np.uint64)


class Want(IntFlag):
    """What is wanted of searches, as bits, and what an engine delivers.

    With `UNCHECKED` the check may be left out, where nobody reads it. `SEVERAL_SEEDS` (searches from several seeds
    together) and `CHECKED` (the counters `wrong` and `cut`) say only what an engine can do.
    """

    DISTANCES = 1
    PREDECESSORS = 2
    TARGETS = 4
    PATHS = 8
    UNCHECKED = 16
    SEVERAL_SEEDS = 32
    CHECKED = 64
    ROWS = DISTANCES | TARGETS
    EVERYTHING = ROWS | PREDECESSORS | PATHS | SEVERAL_SEEDS | CHECKED


@dataclass(frozen=True)
class Searches:
    """Searches for a batch, whose vertices have the numbers of the `SearchGraph`.

    Attributes
    ----------
    table
        Shape (searches, 5), uint32: begin and end of the search's seeds, begin and end of its targets, and the number
        of the first target's query.
    seeds, targets
        The seeds and the targets of all searches, uint32.
    queries
        Number of queries: pairs of a search and a target.
    """

    table: NDArray[np.uint32]
    seeds: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    queries: int

    def __len__(self) -> int:
        """Number of searches."""
        return len(self.table)

    def only(self, number: int) -> Searches:
        """Return one search, with the seeds, targets and queries of all."""
        return replace(self, table=self.table[number : number + 1])


def row_searches(
    seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None, places: NDArray[np.uint32]
) -> Searches:
    """Return one search for each set of seeds (positions), all with the same targets if there are any.

    Parameters
    ----------
    places
        The number of each position in the `SearchGraph`.
    """
    ends = np.cumsum([0, *(len(own) for own in seeds)])
    count = 0 if targets is None else len(targets)
    first_query = count * np.arange(len(seeds))
    table = np.stack([ends[:-1], ends[1:], 0 * first_query, 0 * first_query + count, first_query], axis=1)
    there = places[targets] if targets is not None else np.zeros(0, np.uint32)
    return Searches(table.astype(np.uint32), places[np.concatenate(seeds)], there, count * len(seeds))


def query_searches(pairs: NDArray[np.int64], places: NDArray[np.uint32]) -> Searches:
    """Return one search for each source of `pairs`, shape (queries, 2): source and target, sorted by source."""
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    ends = np.append(starts[1:], len(pairs))
    source = np.arange(len(starts))
    table = np.stack([source, source + 1, starts, ends, starts], axis=1)
    return Searches(table.astype(np.uint32), places[pairs[starts, 0]], places[pairs[:, 1]], len(pairs))


@dataclass(eq=False)
class Solved:
    """What a batch of searches found. Rows and distances at targets may still be arriving from the device.

    Attributes
    ----------
    prepared, arriving
        The engine that searched; the buffers of what is arriving, with their downloads.
    wrong, cut
        Shape (searches,): the number of entries that the check found wrong; the number of arcs that lead from a reached
        to an unreached vertex, none if the search ended early because all its targets were settled.
    relaxed, rounds
        Shape (searches,): the number of arcs relaxed; the number of rounds, which must follow each other.
    target_keys
        Shape (queries,): keys at the targets.
    path_begin, path_length, path
        Where each query's path begins in `path`, and how many vertices it has; `path` has positions in the graph.
    """

    prepared: Prepared
    arriving: list[tuple[Buffer, Download]]
    wrong: NDArray[Any]
    cut: NDArray[Any]
    relaxed: NDArray[Any]
    rounds: NDArray[Any]
    target_keys: NDArray[Any] = field(default_factory=NOTHING.copy)
    path_begin: NDArray[np.uint64] = field(default_factory=NOTHING.copy)
    path_length: NDArray[Any] = field(default_factory=NOTHING.copy)
    path: NDArray[Any] = field(default_factory=NOTHING.copy)

    @property
    def work(self) -> NDArray[np.uint64]:
        """The counters that are kept of each search, shape (searches, 4): wrong, cut, relaxed, rounds."""
        counters = self.wrong, self.cut, self.relaxed, self.rounds
        return np.stack([counter.astype(np.uint64) for counter in counters], axis=1)

    @property
    def open_query(self) -> NDArray[np.bool_]:
        """Whether the path of each query did not fit in `path`, shape (queries,)."""
        found: NDArray[np.bool_] = self.path_begin == NO_ROOM
        return found

    def wait(self) -> Solved:
        """Return itself when all of it is on the host, and free the buffers."""
        for buffer, download in self.arriving:
            download.wait()
            buffer.free()
        self.arriving = []
        return self


@dataclass(frozen=True, eq=False)
class Asked:
    """What a batch of searches shall deliver, and where to. Attributes as the parameters of `Prepared.start`."""

    searches: Searches
    wanted: int
    distance: NDArray[Any]
    predecessor: NDArray[np.uint32] | None = None
    path_room: int = 0
    reducer: Reducer | None = None

    def columns(self, graph: SearchGraph) -> NDArray[np.uint32]:
        """Return the vertices that a row has: the targets, or all in the order of the input."""
        return self.searches.targets if self.wanted & Want.TARGETS else graph.places()


class Prepared(ABC):
    """A graph that an engine has made ready to be searched. A context manager: leaving it gives the memory back.

    Attributes
    ----------
    graph
        The graph as the kernels read it, whose numbers the vertices of `Searches` have.
    cutoff
        Distances beyond this key are not searched for.
    at_once, blocks
        Number of searches that make a good batch; of searches one by one, number of blocks at the same time.
    threads
        Threads of a block, whole warps; a CPU has one.
    beside
        Other searches, whose buffers of the graph are used if it is the same.
    net
        The graph's buffers, by the names of the kernels' fields.
    held
        Groups of arguments whose buffers are freed at the end.
    restricted
        Whether so few vertices are seen that nothing can be checked on the device.
    line_shape
        Sources of a line of distances, and lines, if searches leave lines on the device (reductions.py), else None.
    """

    net: Mapping[str, int | Buffer]
    threads = BLOCK_THREADS
    blocks = 1
    restricted = False
    line_shape: tuple[int, int] | None = None

    def __init__(
        self, device: Device, graph: SearchGraph, keys: Keys, cutoff: int, at_once: int, beside: Prepared | None = None
    ) -> None:
        """Bring the graph to the device unless it is there."""
        self.device, self.graph, self.keys, self.cutoff, self.at_once = device, graph, keys, cutoff, at_once
        self.beside = beside
        self.held: list[Mapping[str, Buffer]] = []
        if beside is not None and beside.graph is graph:
            self.net = beside.net
        else:
            self.net = {"n": graph.n, **self.constants(graph, "offsets", "arcs", "in_offsets", "in_arcs", "order")}

    def constants(self, owner: object, *names: str) -> dict[str, Any]:
        """Return arrays of an object as constants of the device. Arrays that are the same have the same buffer."""
        arrays = {name: vars(owner)[name] for name in names}
        buffers = {id(array): self.device.constant(array) for array in arrays.values()}
        self.held.append({name: buffers[id(array)] for name, array in arrays.items()})
        return {**self.held[-1]}

    def allocated(self, shapes: Mapping[str, tuple[Any, Any]]) -> dict[str, Buffer]:
        """Return memory to work in, of these shapes and types."""
        self.held.append({name: self.device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()})
        return {**self.held[-1]}

    @abstractmethod
    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches. What they found may still be arriving when this returns."""

    def start(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0, reducer: Reducer | None = None,
    ) -> Solved:
        """Run a batch of searches. What they found may still be arriving when this returns.

        Parameters
        ----------
        wanted
            What is wanted, as bits of `Want`, which the engine delivers.
        distance, predecessor
            Shape (searches, n), contiguous: filled with keys and with positions in the graph (2^32 - 1: none). With
            `Want.TARGETS` the keys are those at the targets, shape (searches, targets) or (queries,), by default in an
            array of `Solved`.
        path_room
            Entries for all paths together.
        reducer
            Reduces each row to a summary. Then `distance`, shape (searches, entries), is filled with the summaries.
        """
        if distance is None:
            assert wanted & Want.TARGETS
            distance = np.empty(searches.queries, self.keys.dtype)
        found = self.search(Asked(searches, wanted, distance, predecessor, path_room, reducer))
        if wanted & Want.TARGETS:
            found.target_keys = distance.reshape(-1)
        return found

    def solve(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, path_room: int = 0,
    ) -> Solved:
        """Run a batch of searches, and return when all results are there. See `start`."""
        return self.start(searches, wanted, distance, predecessor, path_room).wait()

    def __enter__(self: Own) -> Own:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        for buffer in {id(each): each for group in self.held for each in group.values()}.values():
            buffer.free()


@dataclass(frozen=True)
class Request:
    """What is known of searches before they begin. What an engine prepares, and what that takes, follows from it.

    Attributes
    ----------
    n, arcs
        Number of vertices and arcs of the graph.
    searches
        Number of searches of this rank. If the device could work on more at a time, less memory is taken.
    targets
        Positions of the vertices that rows have, or None for all.
    trees
        Whether predecessors will be wanted.
    members
        Number of vertices at the ends of arcs that may join two vertices at the same distance.
    p
        Number of sources at once, for engines that leave it to the user.
    cutoff, delta
        The largest distance that counts and the width of Near-Far's buckets, in the unit of `Graph.weights`, or None.
    batch
        Launches of the grid engine between two checks whether the search has ended. None lets their number grow.
    restrict
        Whether vertices may be left out that lead to no target.
    laid_out, hierarchy
        The graph as the kernels read it, and its hierarchy, where they are there already.
    """

    n: int
    arcs: int
    keys: Keys
    searches: int = 1
    targets: NDArray[np.int64] | None = None
    trees: bool = False
    members: int = 0
    p: int = 8
    cutoff: float | None = None
    delta: float | None = None
    batch: int | None = None
    restrict: bool = False
    laid_out: SearchGraph | None = None
    hierarchy: Hierarchy | None = None

    @property
    def columns(self) -> int:
        """Number of entries of a row."""
        return self.n if self.targets is None else len(self.targets)


@dataclass(frozen=True)
class Engine(ABC):
    """A way to search.

    Attributes
    ----------
    name
        Name in job files.
    meaning
        What it does, in a few words, for the documentation of the key `engine`.
    files
        Files of cuda_src that it launches or calls; none for an engine in Python.
    delivers
        What its searches can deliver, as bits of `Want`. Without `CHECKED` it only makes rows of distances that are
        known to fit the keys, for Steiner trees.
    floats
        Whether it searches graphs whose weights are floats.
    study
        Whether it is there for study or as an oracle, so that hpcsolve never chooses it by itself.
    """

    name: str
    meaning: str
    files: tuple[str, ...] = ()
    delivers: int = Want.EVERYTHING
    floats: bool = True
    study: bool = False

    @abstractmethod
    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> Prepared:
        """Return a graph on a device, ready to be searched.

        Parameters
        ----------
        beside
            Searches one by one on the same graph, whose memory for the graph may be used.
        """

    @abstractmethod
    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return how many of the searches a device works on at the same time."""

    def batch(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of searches of a batch, as `Prepared.at_once`."""
        return self.together(request, info)

    @abstractmethod
    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the arrays that searches work in, beside the graph and the answers."""

    def laid_out(self, graph: Graph, request: Request, beside: Prepared | None) -> SearchGraph:
        """Return the graph as the kernels read it."""
        return beside.graph if beside else request.laid_out or lay_out(graph, request.keys)

    def line_shape(self, request: Request, info: DeviceInfo) -> tuple[int, int] | None:
        """Return the shape of lines that searches leave on the device, as `Prepared.line_shape`."""
        return None

    def limit(self, keys: Keys) -> int:
        """Return the largest key of a distance that it finds. What is farther away is cut off, and counted."""
        return keys.limit

    def farthest(self, request: Request) -> int:
        """Return the key beyond which searches do not go."""
        limit = self.limit(request.keys)
        return limit if request.cutoff is None else min(limit, request.keys.encode_one(request.cutoff))


def filled_rows(
    prepared: Prepared, batches: Iterable[NDArray[Any]], targets: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield for each batch of sources its rows and the number of arcs relaxed. A GPU is a batch ahead of the caller.

    Parameters
    ----------
    batches
        Positions. Searches are fastest if sources near each other stand together.
    targets
        Positions of the vertices that a row has, or None for all.
    """
    ahead, places = batches_at_once(prepared.device.info) - 1, prepared.graph.places()
    columns = prepared.graph.n if targets is None else len(targets)
    wanted = Want.UNCHECKED | (Want.DISTANCES if targets is None else Want.TARGETS)
    under_way: deque[tuple[NDArray[Any], Solved | None]] = deque()

    def finished() -> tuple[NDArray[Any], int]:
        rows, solved = under_way.popleft()
        return rows, 0 if solved is None else int(solved.wait().relaxed.sum())

    try:
        for sources in batches:
            rows = np.empty((len(sources), columns), prepared.keys.dtype)
            seeds = list(sources[:, None].astype(np.int64))
            solved = prepared.start(row_searches(seeds, targets, places), wanted, rows) if len(sources) else None
            under_way.append((rows, solved))
            del rows  # so that the caller can free them before the next ones are made
            if len(under_way) > ahead:
                yield finished()
        while under_way:
            yield finished()
    finally:  # also if the caller stops early
        while under_way:
            finished()
