"""Tables of distances by a contraction hierarchy and a sweep for many sources at a time (PHAST).

Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-accelerated shortest path trees, Journal of Parallel and
Distributed Computing, 2013. Their hierarchy is made with witness searches. This one is contracted without them, by
degree and depth, and gets its weights afterwards (Dibbelt, Strasser, Wagner: Customizable Contraction Hierarchies,
2014). On road networks that takes less time than 40 searches of Near-Far. The hierarchy is pruned to the least set of
arcs that its order allows (hierarchy.py). Here it is brought to a device, to search from groups of sources
(cuda_src/paths/phast.cu).

New York (264,346 vertices, 730,100 arcs): contraction 0.3 s of one core, weights and numbering 0.25 s, 265 levels,
3.57 arcs a vertex. Of these levels 127 have 256 vertices or more, and a launch for each of them would cost more than
the sweep. So on a GPU vertices are numbered by parts, subtrees of the elimination tree, which blocks sweep without
waiting for each other (hierarchy.cpp): 4 launches of 1, 17, 101 and 696 parts for each group, with 170, 68, 53 and 43
levels. 98 % of the vertices are in the last one. A climb from a source visits its ancestors in this tree, on average
327, at most 430, with 6,200 arcs. So a batch takes 8 launches: mark, climb, 4 of the sweep, check, rows.

A group of 32 sources has a line of 128 bytes a vertex. Lines that it reads and writes, per vertex: sweep 4.57, check
3.76, rows 2, together 350 MB, or 10.9 MB a tree. Four of them, one written by the sweep, one read by the check, two
of the rows, must pass the memory: 4.2 MB a tree, a microsecond at 4.3 TB/s. The others are near each other, in the
second-level cache: 2.0 microseconds at 5.5 TB/s (computed, not measured). The copy of its row to the host takes 21
microseconds at 50 GB/s beside that: a table that leaves the GPU is bound by the copy, whatever fills it.

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

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import hierarchy as hierarchies
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, Plateaus, Refusal, Restriction
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Asked, Engine, Prepared, Request, Solved, Want
from hpcsolve.device.base import Buffer, Device, DeviceInfo, batches_at_once, nbytes_of
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.reductions import Reducer

PHAST_FILE = "paths/phast"
WIDTHS = {"u4": (16, 32, 64), "u8": (16, 32)}
"""Code of the keys -> the numbers of sources of a group for which there are kernels."""
THREADS = 256
LINES_BYTES = 1 << 28
"""The most bytes of the lines of a group on a CPU, where a group gets fewer sources if they would not fit."""
SPACE_BYTES = 1 << 32
"""The most bytes of the lines of all groups that are searched from at the same time, but for `GROUPS` groups."""
GROUPS = 16
"""On a GPU, the number of groups at a time that may take more than `SPACE_BYTES`. More would not make a sweep faster,
and the rows of a batch are copied to the host while the next batch is swept."""
PART_OF_MEMORY = 0.75
"""Lines and rows take at most this part of a GPU's memory. The graph and its hierarchy take the rest."""
COLUMNS_A_BLOCK = 512
"""On a GPU, number of vertices that a block checks, or columns that it writes."""


class Shape(NamedTuple):
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
    line = n * keys.dtype.itemsize * (2 if trees else 1)  # of one source
    if info.kind == "cuda":
        width, row = 32, n * (keys.dtype.itemsize + 4 * trees)
        most = max(GROUPS, SPACE_BYTES // (width * line))
        if info.memory:
            most = min(most, int(PART_OF_MEMORY * info.memory) // (width * (line + batches_at_once(info) * row)))
    else:
        each = -(-searches // info.units)
        widths = [width for width in WIDTHS[keys.code] if width <= max(16, 4 * each // 3)]
        width = max((width for width in widths if width * line <= LINES_BYTES), default=16)
        most = min(info.units, SPACE_BYTES // (width * line))
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


class Sweeper(Prepared):
    """A hierarchy on a device, ready to be swept over.

    Attributes
    ----------
    shape
        Sources of a group, and groups at a time.
    """

    def __init__(
        self, device: Device, hierarchy: Hierarchy, keys: Keys, cutoff: int, shape: Shape, trees: bool = False,
        threads: int = THREADS, restriction: Restriction | None = None, beside: Prepared | None = None,
    ) -> None:
        """Bring the hierarchy to the device, and make room to work in.

        Parameters
        ----------
        trees
            Whether predecessors will be wanted.
        restriction
            The part of the hierarchy that is swept, if only its targets are wanted. Then nothing is checked.
        """
        graph = hierarchy.graph
        super().__init__(device, graph, keys, cutoff, shape.width * shape.groups, beside)
        self.hierarchy, self.shape, self.threads = hierarchy, shape, threads
        self.restricted, self.line_shape, self.part = restriction is not None, shape, restriction or hierarchy
        names = ("part", "level", "parent", "up_offsets", "up_arcs", "down_offsets", "down_arcs")
        self.whole = {"n": graph.n, "chosen": None, **self.constants(hierarchy, *names)}
        self.swept = self.whole
        if restriction is not None:
            part = self.constants(restriction, "vertex", "part", "level", "down_offsets", "down_arcs")
            self.swept = {**self.whole, "chosen": part.pop("vertex"), **part}
        self.plateaus = Plateaus.of(graph)
        members = len(self.plateaus.vertex)
        self.crossings = {"count": members, **self.constants(self.plateaus, "vertex", "offsets", "tail")}
        self.work = self.allocated(sweep_workspace(graph.n, shape, members, trees, keys))

    @cached_property
    def everyone(self) -> Buffer:
        """The vertex at each position of the input, brought to the device once for all batches."""
        self.held.append({"vertex": self.device.constant(self.graph.places())})
        return self.held[-1]["vertex"]

    def search(self, asked: Asked) -> Solved:
        """Run a batch of searches, one source each. Targets must be the same for all. See `Prepared.start`."""
        searches, wanted, predecessor, count = asked.searches, asked.wanted, asked.predecessor, len(asked.searches)
        wanted |= Want.UNCHECKED if self.restricted else 0
        arrays = {"distance": asked.distance.reshape(count, -1), "predecessor": predecessor}
        out = {name: (self.device.output(array), array) for name, array in arrays.items() if array is not None}
        some_columns = bool(wanted & Want.TARGETS)
        vertex = self.device.upload(searches.targets) if some_columns else self.everyone
        counts = self.device.zeros((count, 3), np.uint32)
        for begin in range(0, count, self.at_once):
            part = slice(begin, min(begin + self.at_once, count))
            rows = {name: buffer.view(begin * buffer.shape[1], (part.stop - begin, buffer.shape[1]))
                    for name, (buffer, _) in out.items()}
            some = counts.view(3 * begin, (part.stop - begin, 3))
            self._solve(searches.seeds[part], bool(wanted & Want.UNCHECKED), some, rows, vertex, asked.reducer)
        arriving = [(buffer, buffer.start_download(array)) for buffer, array in out.values()]
        found = counts.download()
        counts.free()
        if some_columns:
            vertex.free()
        wrong = found[:, 0].astype(np.int64)
        if not wanted & Want.UNCHECKED or predecessor is not None:
            wrong += np.abs(found[:, 2].astype(np.int64) - 1)  # a root each
        arcs, levels = int(self.part.down_offsets[-1]), self.hierarchy.levels
        relaxed, rounds = (np.full(count, number, np.uint64) for number in (arcs, levels))
        return Solved(self, arriving, wrong, found[:, 1], relaxed, rounds)

    def _solve(self, sources: NDArray[np.uint32], unchecked: bool, counts: Buffer, out: Mapping[str, Buffer],
               vertex: Buffer, reducer: Reducer | None) -> None:
        """Search from at most `at_once` sources, and write their rows or summaries."""
        width, count = self.shape.width, len(sources)
        groups = -(-count // width)
        padded = np.full(groups * width, sources[-1], np.uint32)
        padded[:count] = sources
        source = self.device.upload(padded)
        lines = {"groups": groups, "source": source, "marks": self.work["marks"], "lines": self.work["lines"]}
        climbing = 1 if self.device.info.kind == "cpu" else -(-width // (self.threads // 32))  # a warp for each source
        self._kernel("mark")(groups, self.threads, h=self.whole, all=lines)
        self._kernel("climb")(groups * climbing, self.threads, h=self.whole, all=lines)
        for first, end in itertools.pairwise(self.part.launch.tolist()):
            self._kernel("sweep")(groups * (end - first), self.threads, h=self.swept, all=lines, first=first)
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
        kernel = self.device.kernel(hierarchies.PLATEAUS_FILE, f"plateaus_cross_{self.keys.code}_{self.shape.width}")
        kernel(groups, self.threads, net=self.net, all=self.crossings, lines=lines["lines"], source=member,
               hops=self.work["hops"], **rest)
        member.free()

    def _kernel(self, verb: str) -> Any:
        return self.device.kernel(PHAST_FILE, f"phast_{verb}_{self.keys.code}_{self.shape.width}")

    def _blocks(self, groups: int, items: int) -> int:
        """Return the number of blocks for each group, in a launch whose blocks need not wait for each other."""
        info = self.device.info
        return -(-info.units // groups) if info.kind == "cpu" else -(-items // COLUMNS_A_BLOCK)


@dataclass(frozen=True)
class PhastEngine(Engine):
    """Sweeps over a hierarchy, which are made first unless the request has it.

    For Steiner trees sweeps are not restricted (`Request.restrict`): terminals stand everywhere in a reduced graph, so
    that of five published instances one alone gains (G103, 0.42 instead of 0.48 s), and in the others more than half of
    the arcs would stay or a distance might not fit the keys.
    """

    def prepare(self, graph: Graph, device: Device, request: Request, beside: Prepared | None = None) -> Sweeper:
        """Return the hierarchy on the device. Raises `InputError` if the graph has no small separators."""
        keys, info, targets = request.keys, device.info, request.targets
        found: Hierarchy | Refusal | None = request.hierarchy
        if found is None:
            laid_out = beside.graph if beside else request.laid_out or lay_out(graph, keys)
            found = hierarchies.build_hierarchy(laid_out, keys, info.kind == "cuda", info.threads)
        if isinstance(found, Refusal):
            raise InputError(f'engine "phast": {found.reason}; choose another one', graph.name)
        part = None
        if request.restrict and targets is not None:
            part = found.above(found.graph.places()[targets], keys)
        if part is not None:
            visited = f"{len(part.vertex)} of {graph.n} vertices, those that can lead to a target"
            device.notes.append(f"targets: each sweep visits only {visited}")
        return Sweeper(device, found, keys, self.farthest(request), self.line_shape(request, info),
                       request.trees, restriction=part, beside=beside)

    def line_shape(self, request: Request, info: DeviceInfo) -> Shape:
        """Return the number of sources of a group, and of groups."""
        return shape_for(request.n, request.searches, info, request.keys, request.trees)

    def together(self, request: Request, info: DeviceInfo) -> int:
        """Return the number of sources of all groups."""
        width, groups = self.line_shape(request, info)
        return width * groups

    def nbytes(self, request: Request, info: DeviceInfo) -> int:
        """Return the bytes of the groups' arrays and of the part above targets. The hierarchy is shared by a host."""
        shape, n, above = self.line_shape(request, info), request.n, 0
        shapes = sweep_workspace(n, shape, request.members, request.trees, request.keys)
        if request.restrict and request.targets is not None:
            above = hierarchies.restriction_bytes(n, hierarchies.most_arcs(n, request.arcs), request.keys)
        return nbytes_of(shapes.values()) + 4 * request.columns + above


PHAST = PhastEngine("phast", "up to 64 searches at once over a contraction hierarchy, which is made first; for road "
                    "networks", (PHAST_FILE, hierarchies.CONTRACTION_FILE, hierarchies.HIERARCHY_FILE),
                    Want.ROWS | Want.PREDECESSORS | Want.CHECKED, floats=False)
