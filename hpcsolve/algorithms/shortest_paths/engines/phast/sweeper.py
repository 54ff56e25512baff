"""A hierarchy on a device, ready to search from groups of sources (cuda_src/paths/phast.cu)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Rows, Solved
from hpcsolve.algorithms.shortest_paths.engines.phast import plateaus
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.plateaus import Plateaus, plateaus_of
from hpcsolve.algorithms.shortest_paths.engines.phast.restriction import Restriction
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.reduce.reducer import Reducer
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph
from hpcsolve.algorithms.shortest_paths.searches import (
    UNCHECKED,
    WANTS_PREDECESSORS,
    WANTS_TARGETS,
    Searches,
)
from hpcsolve.device.base import Buffer, Device, DeviceInfo, Timer

FILE = "paths/phast"
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


def workspace(n: int, shape: Shape, members: int, trees: bool, keys: Keys) -> dict[str, tuple[Any, Any]]:
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
        shapes = workspace(graph.n, self.shape, len(self.plateaus.vertex), self.trees, self.keys)
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
        kernel = self.device.kernel(plateaus.FILE, f"plateaus_cross_{self.keys.code}_{self.shape.width}")
        kernel(groups, self.threads, net=self.net, all=self.crossings, lines=lines["lines"], source=member,
               hops=self.work["hops"], **rest)
        member.free()

    def _kernel(self, verb: str) -> Any:
        return self.device.kernel(FILE, f"phast_{verb}_{self.keys.code}_{self.shape.width}")

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
