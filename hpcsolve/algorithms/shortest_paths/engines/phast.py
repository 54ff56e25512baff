"""Tables of distances by a contraction hierarchy and a sweep for many sources at a time (PHAST).

Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-accelerated shortest path trees, Journal of Parallel and
Distributed Computing, 2013. Their hierarchy is made with witness searches. This one is contracted without them, by
degree and depth, and gets its weights afterwards (Dibbelt, Strasser, Wagner: Customizable Contraction Hierarchies,
2014). On road networks that takes less time than 40 searches of Near-Far. The hierarchy is pruned to the least set of
arcs that its order allows (hierarchy.py). Here it is brought to a device, to search from groups of sources
(cuda_src/paths/phast.cu).

New York (264,346 vertices, 730,100 arcs): contraction 0.3 s of one core, weights and numbering 0.25 s, 265 levels,
3.57 arcs a vertex. Of these levels 127 have 256 vertices or more. On a GPU a sweep is a launch for each of them, and
one for each of the 3 runs of narrow levels between, which have 3,082 vertices in all: 130 launches, whatever the number
of groups. A group of 32 sources has a line of 128 bytes a vertex. Lines that it reads and writes, per vertex: sweep
4.57, check 3.76, rows 2, together 350 MB, or 10.9 MB a tree. At 4.3 TB/s these take 2.5 microseconds. For 1000 sources,
which fill an H200, launches take some 0.4 ms and the climb 0.2 ms, or 0.6 microseconds a tree. So a tree with its
check should take 3.1 microseconds (computed, not measured). The copy of its row to the host takes 21 microseconds at 50
GB/s beside that: a table that leaves the GPU is bound by the copy, whatever fills it.

The order follows from degree and depth alone. Nested dissection was tried and left out, since it makes everything worse
on roads: a graph was cut in two again and again. Of 40 straight cuts the one with the smallest separator was taken
(four directions in the coordinates, or in the numbers of arcs from three far vertices; five positions; the vertices on
either side of the cut). Each separator was contracted after its two sides, and the rest by degree and depth as here.
The three numbers are the steps of contraction per vertex and arc, the entries of the lists of neighbours per vertex,
and the milliseconds per source of a sweep from 64 sources, on one core:

    graph                     no cut               few cuts                      20 cuts
    New York                  57, 4.7, 0.115       2 cuts: 117, 5.2, 0.116       603, 10.0, 0.173
    NE                        48, 3.6, 0.558       1 cut: 54, 3.7, 0.566         not measured
    road-network, 1,000,000   26, 3.0, 0.343       1 cut: 37, 3.1, 0.398         343, 6.0, 0.691
    road-graph, 100,000       221, 6.9, 0.060      2 cuts: 249, 7.1, 0.064       332, 8.9, 0.086
    grid, 256 x 256           3108, 32.8, 0.079    1 cut: 1830, 27.0, 0.085      1062, 22.1, 0.091

Separators that follow bridges and rivers (flows, as in FlowCutter) are smaller, but finding them takes many times as
long as the whole preparation. On grids the cuts leave a third of the steps, so that a hierarchy pays, but only from
4,000 searches on, and no sweep gets faster. So graphs whose lists of neighbours grow, such as grids, are left to
Near-Far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    PLATEAUS_FILE,
    Hierarchy,
    Plateaus,
    Refusal,
    Restriction,
    build_hierarchy,
    plateaus_of,
)
from hpcsolve.algorithms.shortest_paths.engines.rows import Finish, RowEngine, RowRequest
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph
from hpcsolve.algorithms.shortest_paths.searches import (
    UNCHECKED,
    WANTS_PREDECESSORS,
    WANTS_TARGETS,
    Rows,
    Searcher,
    Searches,
    Solved,
    row_searches,
)
from hpcsolve.device.base import Buffer, Device, DeviceInfo, Timer
from hpcsolve.errors import InputError

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.reductions import Reducer

PHAST_FILE = "paths/phast"
WIDTHS = {"u4": (16, 32, 64), "u8": (16, 32)}
"""Code of the keys -> the numbers of sources of a group for which there are kernels."""
THREADS = 256
LINES_BYTES = 1 << 28
"""The most bytes of the lines of a group on a CPU, where a group gets fewer sources if they would not fit."""
SPACE_BYTES = 1 << 32
"""The most bytes of the lines of all groups that are searched from at the same time."""
WIDE = 256
"""On a GPU, several blocks for each group sweep a level with at least so many vertices."""
VERTICES_A_BLOCK = 64
"""On a GPU, number of vertices of a wide level for each block."""


@dataclass(frozen=True)
class Shape:
    """Number of sources of a group, and number of groups that are searched from at the same time."""

    width: int
    groups: int


def shape_for(n: int, searches: int, info: DeviceInfo, keys: Keys, trees: bool) -> Shape:
    """Return how many sources a device best searches from at the same time. The distances do not depend on it.

    Parameters
    ----------
    searches
        Number of searches of this rank.
    trees
        Whether predecessors are wanted, which take as much memory as the distances.
    """
    line = n * keys.dtype.itemsize * (2 if trees else 1)
    each = -(-searches // info.units) if info.kind == "cpu" else 32
    fitting = [width for width in WIDTHS[keys.code] if width <= max(16, 4 * each // 3) and width * line <= LINES_BYTES]
    width = 32 if info.kind == "cuda" else max(fitting, default=16)
    fitting_groups = SPACE_BYTES // (width * line)
    most = min(info.units, fitting_groups) if info.kind == "cpu" else fitting_groups
    return Shape(width, max(1, min(-(-searches // width), most)))


def sweep_workspace(n: int, shape: Shape, members: int, trees: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that the groups work in.

    Parameters
    ----------
    members
        Number of vertices at the ends of arcs of weight 0.
    """
    lines = (shape.groups, n, shape.width)
    shapes = {
        "marks": ((shape.groups, -(-n // 32)), np.dtype(np.uint32)),
        "lines": (lines, keys.dtype),
        "before": (lines, keys.dtype),
        "hops": ((shape.groups, members, shape.width), keys.dtype),
    }
    return {name: found for name, found in shapes.items() if trees or name != "before"}


@dataclass(eq=False)
class Sweeper:
    """A hierarchy on a device. A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    cutoff
        Distances beyond this key count as unreached.
    shape
        Sources of a group, and groups at a time.
    trees
        Whether predecessors will be wanted.
    restriction
        The part of the hierarchy that is swept, if only its targets are wanted. Then nothing is checked on the device.
    threads
        Threads of a block, whole warps; a CPU has one.
    seconds_copy
        Seconds that the host waited for rows after their searches had ended.
    """

    device: Device
    hierarchy: Hierarchy
    keys: Keys
    cutoff: int
    shape: Shape
    trees: bool = False
    threads: int = THREADS
    restriction: Restriction | None = None
    timer: Timer = field(init=False)
    seconds_copy: float = 0.0
    net: dict[str, Any] = field(init=False)
    levels: dict[str, Any] = field(init=False)
    swept: dict[str, Any] = field(init=False)
    work: dict[str, Buffer] = field(init=False)
    crossings: dict[str, Any] = field(init=False)
    plateaus: Plateaus = field(init=False)

    def __post_init__(self) -> None:
        """Bring the hierarchy to the device, and make room to work in."""
        device, given, graph = self.device, self.hierarchy, self.hierarchy.graph
        self.timer = device.timer()
        self.net = {"n": graph.n, **_constants(device, graph, ("offsets", "arcs", "in_offsets", "in_arcs", "order"))}
        names = ("level", "up_offsets", "up_arcs", "down_offsets", "down_arcs")
        self.levels = {"n": graph.n, "levels": len(given.level) - 1, "chosen": None, **_constants(device, given, names)}
        self.swept = self.levels
        if self.restriction is not None:
            part = _constants(device, self.restriction, ("vertex", "level", "down_offsets", "down_arcs"))
            self.swept = {**self.levels, "chosen": part.pop("vertex"), **part}
        self.plateaus = plateaus_of(graph)
        own = _constants(device, self.plateaus, ("vertex", "offsets", "tail"))
        self.crossings = {"count": len(self.plateaus.vertex), **own}
        shapes = sweep_workspace(graph.n, self.shape, len(self.plateaus.vertex), self.trees, self.keys)
        self.work = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}

    def __enter__(self) -> Sweeper:
        """Return the sweeper itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        held = (self.net, self.levels, self.swept, self.crossings, self.work)
        for buffer in {id(each): each for group in held for each in group.values()}.values():
            if buffer is not None and not isinstance(buffer, int):
                buffer.free()

    @property
    def graph(self) -> SearchGraph:
        """The graph, with the vertices of the hierarchy."""
        return self.hierarchy.graph

    @property
    def batch(self) -> int:
        """Number of sources that are searched from at the same time."""
        return self.shape.width * self.shape.groups

    def start(
        self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
        predecessor: NDArray[np.uint32] | None = None, reducer: Reducer | None = None,
    ) -> tuple[Solved, Rows]:
        """Run a batch of searches, one source each. Their rows may still be arriving when this returns.

        Parameters
        ----------
        wanted
            What is wanted, as bits of `searches.py`. Targets must be the same for all searches.
        distance, predecessor
            Shape (searches, n), contiguous: filled with keys and with positions in the graph (2^32 - 1: none).
        reducer
            Reduces each row to a summary. Then `distance`, shape (searches, entries), is filled with the summaries.
        """
        count, targets = len(searches), searches.targets if wanted & WANTS_TARGETS else None
        wanted |= UNCHECKED if self.restriction is not None else 0
        found = np.empty((count, len(targets)), self.keys.dtype) if targets is not None else distance
        arrays = {"distance": found, "predecessor": predecessor if wanted & WANTS_PREDECESSORS else None}
        out = {name: (self.device.output(array), array) for name, array in arrays.items() if array is not None}
        vertex = self.device.upload(self.graph.places() if targets is None else targets)
        counts = self.device.zeros((count, 3), np.uint32)
        self.timer.start()
        for begin in range(0, count, self.batch):
            part = slice(begin, min(begin + self.batch, count))
            self._solve(searches.seeds[part], bool(wanted & UNCHECKED), counts.view(3 * begin, (part.stop - begin, 3)),
                        {name: _rows_of(buffer, part) for name, (buffer, _) in out.items()}, vertex, reducer)
        self.timer.stop()
        arriving = Rows(self, [(buffer, buffer.start_download(array)) for buffer, array in out.values()])
        if targets is not None:
            arriving.wait()
        checked = not wanted & UNCHECKED or predecessor is not None
        solved = self._solved(counts.download(), checked, found if targets is not None else None)
        for buffer in (vertex, counts):
            buffer.free()
        return solved, arriving

    def solve(self, searches: Searches, wanted: int, distance: NDArray[Any] | None = None,
              predecessor: NDArray[np.uint32] | None = None) -> Solved:
        """Run a batch of searches. See `start`."""
        solved, rows = self.start(searches, wanted, distance, predecessor)
        rows.wait()
        return solved

    def _solve(self, sources: NDArray[np.uint32], unchecked: bool, counts: Buffer, out: Mapping[str, Buffer],
               vertex: Buffer, reducer: Reducer | None) -> None:
        """Search from at most `batch` sources, and write their rows or summaries."""
        width, count = self.shape.width, len(sources)
        groups = -(-count // width)
        padded = np.full(groups * width, sources[-1], np.uint32)
        padded[:count] = sources
        source = self.device.upload(padded)
        lines = {"groups": groups, "source": source, "marks": self.work["marks"], "lines": self.work["lines"]}
        self._kernel("climb")(groups, self.threads, h=self.levels, all=lines)
        for top, end, blocks in self._launches():
            self._kernel("sweep")(groups * blocks, self.threads, h=self.swept, all=lines, top=top, end=end)
        before = self.work["before"] if "predecessor" in out else None
        if not unchecked or before is not None:
            self._check(lines, padded, count, counts, before)
        sizes = {"n": self.graph.n, "groups": groups, "sources": count, "columns": vertex.shape[0], "vertex": vertex}
        grid = groups * self._blocks(groups, vertex.shape[0])
        if reducer is not None:
            reducer.reduce(self.graph.n, count, self.work["lines"], out["distance"])
        elif "distance" in out:
            self._kernel("rows")(grid, self.threads, **sizes, most=self.cutoff, lines=self.work["lines"],
                                 rows=out["distance"])
        if "predecessor" in out:
            self._kernel("trees")(grid, self.threads, **sizes, before=before, rows=out["predecessor"])
        source.free()

    def _check(self, lines: Mapping[str, Any], padded: NDArray[np.uint32], count: int, counts: Buffer,
               before: Buffer | None) -> None:
        """Check the lines, and fill in the predecessors if they are wanted."""
        groups = int(lines["groups"])
        rest = {"sources": count, "cutoff": self.cutoff, "before": before, "counts": counts}
        grid = groups * self._blocks(groups, self.graph.n)
        self._kernel("check")(grid, self.threads, net=self.net, all=lines, **rest)
        if not self.crossings["count"]:
            return
        member = self.device.upload(self.plateaus.members(padded))
        kernel = self.device.kernel(PLATEAUS_FILE, f"plateaus_cross_{self.keys.code}_{self.shape.width}")
        kernel(groups, self.threads, net=self.net, all=self.crossings, lines=lines["lines"], source=member,
               hops=self.work["hops"], **rest)
        member.free()

    def _kernel(self, verb: str) -> Any:
        return self.device.kernel(PHAST_FILE, f"phast_{verb}_{self.keys.code}_{self.shape.width}")

    def _blocks(self, groups: int, items: int) -> int:
        """Return the number of blocks for each group, in a launch whose blocks need not wait for each other."""
        info = self.device.info
        return -(-info.units // groups) if info.kind == "cpu" else -(-items // (8 * VERTICES_A_BLOCK))

    def _launches(self) -> list[tuple[int, int, int]]:
        """Return (first level, last level + 1, blocks a group) of the launches of a sweep."""
        widths = np.diff((self.restriction or self.hierarchy).level.astype(np.int64))
        if self.device.info.kind == "cpu":
            return [(0, len(widths), 1)]
        found: list[tuple[int, int, int]] = []
        for level, width in enumerate(widths.tolist()):
            if width >= WIDE:
                found.append((level, level + 1, -(-width // VERTICES_A_BLOCK)))
            elif found and found[-1][2] == 1:
                found[-1] = (found[-1][0], level + 1, 1)
            else:
                found.append((level, level + 1, 1))
        return found

    def _solved(self, counts: NDArray[np.uint32], checked: bool, found: NDArray[Any] | None) -> Solved:
        """Return what the check of searches found, with the keys at the targets if there are any."""
        count, nothing = len(counts), np.empty(0, np.uint64)
        wrong = counts[:, 0].astype(np.int64) + np.abs(counts[:, 2].astype(np.int64) - 1) * checked  # a root each
        arcs, levels = int((self.restriction or self.hierarchy).down_offsets[-1]), self.hierarchy.levels
        relaxed, rounds = (np.full(count, number, np.uint64) for number in (arcs, levels))
        keys, path = np.empty(0, self.keys.dtype) if found is None else found.reshape(-1), nothing.astype(np.uint32)
        return Solved(wrong, counts[:, 1], relaxed, rounds, keys, nothing, path, path)


def _constants(device: Device, owner: object, names: tuple[str, ...]) -> dict[str, Buffer]:
    """Return arrays of an object as constants of the device. Arrays that are the same have the same buffer."""
    arrays = {name: vars(owner)[name] for name in names}
    buffers = {id(array): device.constant(array) for array in arrays.values()}
    return {name: buffers[id(array)] for name, array in arrays.items()}


def _rows_of(buffer: Buffer, part: slice) -> Buffer:
    columns = buffer.shape[1]
    return buffer.view(part.start * columns, (part.stop - part.start, columns))


@dataclass(frozen=True)
class SweptRows:
    """Rows by the engine "phast".

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


@contextmanager
def _swept_rows(prepared: Searcher, request: RowRequest, columns: NDArray[np.int64], _: float) -> Iterator[SweptRows]:
    """Make the hierarchy unless it is given. Raises `InputError` if the graph has no small separators."""
    device, keys, info = prepared.device, prepared.keys, prepared.device.info
    found = request.hierarchy or build_hierarchy(prepared.graph, keys, info.kind == "cuda", info.threads)
    if isinstance(found, Refusal):
        raise InputError(f'steiner-kmb.engine: phast: {found.reason}; choose "tile"')
    with Sweeper(device, found, keys, min(prepared.cutoff, keys.limit), _shape(request, info, keys)) as sweeper:
        sweeper.timer = prepared.timer
        yield SweptRows(prepared, sweeper, columns)


def _shape(request: RowRequest, info: DeviceInfo, keys: Keys) -> Shape:
    return shape_for(request.n, request.searches, info, keys, trees=False)


def _batch(request: RowRequest, info: DeviceInfo, keys: Keys) -> int:
    shape = _shape(request, info, keys)
    return shape.width * shape.groups


def _shapes(request: RowRequest, info: DeviceInfo, keys: Keys) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of what groups work in. The hierarchy is made before, and shared by a host's ranks."""
    asked = {"vertex": ((request.columns,), np.uint32), "sources": ((_batch(request, info, keys), 6), np.uint32)}
    return {**sweep_workspace(request.n, _shape(request, info, keys), 0, False, keys), **asked}


PHAST_ROWS = RowEngine(_swept_rows, _batch, _shapes)
"""Rows of distances for Steiner trees, by a sweeper.

Mode kmb wants distances between terminals only, but its sweeps are not restricted (`Restriction`): terminals stand
everywhere in a reduced graph, so that of five published instances one alone gains (G103, 0.42 instead of 0.48 s), and
in the others more than half of the arcs would stay or a distance might not fit the keys.
"""
