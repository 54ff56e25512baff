"""A result as a Python object: arrays for numpy and scipy, tables that pandas takes as they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import require_whole
from hpcsolve.problems.verify.paths import unreached_of


@dataclass(frozen=True)
class Result:
    """What `hpcsolve.solve` returns and `hpcsolve.load` reads.

    Attributes
    ----------
    contents
        Everything, as in the file.
    """

    contents: Contents

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return str(self.contents.attributes["algorithm"])

    @property
    def cost(self) -> float:
        """Cost of the answer in the instance's own unit, an int if its costs are; NaN if there is no answer."""
        cost: float = self.contents.attributes["cost"]
        return cost

    @property
    def tour(self) -> NDArray[np.int32]:
        """Shape (n,): positions of the cities from 0, in order; empty if there is no tour."""
        return np.asarray(self.contents.value("solution", "tour", []), dtype=np.int32)

    @property
    def tour_labels(self) -> list[Any]:
        """The cities in order, by name, or by their numbers in the instance's file."""
        labels = self.contents.value("instance", "city_name", self.contents.value("instance", "label"))
        in_order: list[Any] = np.asarray(labels)[self.tour].tolist()
        return in_order

    @property
    def sources(self) -> list[Any]:
        """The sources of shortest paths, by name, or by their numbers in the instance's file; of queries one each."""
        return self._vertices("source")

    @property
    def targets(self) -> list[Any]:
        """The targets likewise; empty if there are distances to all vertices."""
        return self._vertices("target")

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distances in the instance's own unit, `inf` where no path leads, as scipy has them.

        Shape (searches, vertices), (searches, targets) or (queries,); empty if the result has no distances. The exact
        integers are `contents.value("solution", "distance")`.
        """
        values = np.asarray(self.contents.value("solution", "distance", np.empty((0, 0))))
        scale = int(self.contents.value("instance", "scale"))
        return np.where(values == unreached_of(values.dtype), np.inf, values / scale)

    @property
    def predecessor(self) -> NDArray[np.int32]:
        """Shape (searches, vertices): positions of the vertices before, -1: none; empty if they were not asked for."""
        return np.asarray(self.contents.value("solution", "predecessor", np.empty((0, 0))), dtype=np.int32)

    def path(self, *ends: Any) -> list[Any]:
        """The vertices of a shortest path, by name or number, both ends included; empty where no path leads.

        `path(i)` is that of the i-th query, from 0. `path(source, target)`, by name or number, needs a table of
        predecessors.

        Raises
        ------
        InputError
            No such query or vertex, or the result has no paths.
        """
        if len(ends) == 1 and self.contents.value("solution", "path") is not None:
            return self._named(self._path_of_query(ends[0]))
        if len(ends) == 2 and len(self.predecessor):
            return self._named(self._path_between(*ends))
        raise InputError("path(i) needs a result of queries, path(source, target) one with predecessors = true")

    @property
    def tree(self) -> list[tuple[Any, Any]]:
        """The edges of a Steiner tree: both ends by name, or by their numbers in the instance's file; else empty."""
        return list(zip(self._vertices("u"), self._vertices("v")))

    @property
    def terminals(self) -> list[Any]:
        """What a Steiner tree joins, by name, or by their numbers in the instance's file; else empty."""
        return self._named(np.asarray(self.contents.value("instance", "terminal", []), int))

    @property
    def lower_bound(self) -> float:
        """What no answer costs less than, in the instance's own unit; NaN if the result does not say."""
        bound = self.contents.value("solution", "lower_bound")
        scale = int(self.contents.value("instance", "scale"))
        return float("nan") if bound is None else int(bound) if scale == 1 else int(bound) / scale

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven to be the best."""
        return bool(self.contents.value("solution", "optimal", False)) or self.cost == self.lower_bound

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no answer."""
        return bool(self.contents.value("solution", "infeasible", False))

    @property
    def verified(self) -> bool:
        """Whether the answer passed the independent check."""
        return bool(self.contents.attributes["verified"])

    @property
    def job(self) -> str:
        """The effective job, as TOML."""
        return str(self.contents.value("job", "toml"))

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """Shape (n, 2 or 3): where the cities are, None if the instance does not say."""
        axes = [self.contents.value("instance", axis) for axis in "xyz"]
        known = [values for values in axes if values is not None]
        return np.stack(known, axis=1) if known else None

    def table(self, name: str) -> dict[str, NDArray[Any]]:
        """The columns of a group: `layers`, `ranks`, ...; `pandas.DataFrame(result.table("layers"))` takes them.

        Raises
        ------
        InputError
            The result has no table of that name.
        """
        columns = self.contents.groups.get(name, {})
        rows = {key: np.asarray(column.values) for key, column in columns.items() if column.dimension}
        if not rows:
            groups = self.contents.groups.items()
            known = ", ".join(group for group, members in groups if any(c.dimension for c in members.values()))
            raise InputError(f"the result has no table {name!r}; it has {known}")
        return rows

    def __repr__(self) -> str:
        """One line."""
        what = "infeasible" if self.infeasible else f"cost {self.cost}{', optimal' if self.optimal else ''}"
        vertices = self.contents.value("instance", "vertices")
        if vertices is None:
            return f"<{self.algorithm}: {what}, {self.contents.value('instance', 'n')} cities>"
        if self.contents.value("solution", "u") is not None:
            return f"<{self.algorithm}: {what}; {vertices} vertices>"
        tables = ", ".join(f"{name} {t.shape[0]} x {t.shape[1]}" for name, t in self.contents.tables.items())
        if not tables:
            tables = f"{self.distance.size} queries, {int(np.isfinite(self.distance).sum())} reached"
        return f"<{self.algorithm}: {tables}; {vertices} vertices>"

    def _vertices(self, column: str) -> list[Any]:
        return self._named(np.asarray(self.contents.value("solution", column, []), int))

    def _labels(self) -> NDArray[Any]:
        return np.asarray(self.contents.value("instance", "vertex_name", self.contents.value("instance", "label")))

    def _named(self, positions: NDArray[Any]) -> list[Any]:
        found: list[Any] = self._labels()[positions].tolist()
        return found

    def _position(self, vertex: Any) -> int:
        found = np.flatnonzero(self._labels() == vertex)
        if not len(found):
            raise InputError(f"the result has no vertex {vertex!r}")
        return int(found[0])

    def _path_of_query(self, query: int) -> NDArray[Any]:
        offset = self.contents.value("solution", "offset")
        if not 0 <= query < len(offset) - 1:
            raise InputError(f"there is no query {query}; they are numbered 0 to {len(offset) - 2}")
        path: NDArray[Any] = self.contents.value("solution", "path")[offset[query] : offset[query + 1]]
        return path

    def _path_between(self, source: Any, target: Any) -> NDArray[Any]:
        start, path = self._position(source), [self._position(target)]
        rows = np.flatnonzero(np.asarray(self.contents.value("solution", "source")) == start)
        if not len(rows):
            raise InputError(f"vertex {source!r} is no source of the result")
        row = int(rows[0]) if len(self.predecessor) > 1 else 0  # all sources together (voronoi): one row
        distance = self.contents.value("solution", "distance")
        if distance[row, path[0]] == unreached_of(distance.dtype):
            return np.empty(0, int)
        while (before := int(self.predecessor[row, path[-1]])) >= 0:
            path.append(before)
        if path[-1] != start:
            raise InputError(f"vertex {target!r} is nearer to another source, {self._named(np.array(path))[-1]!r}")
        return np.array(path[::-1])


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file.

    Raises
    ------
    InputError
        It is no result file of hpcsolve.
    DamagedFileError
        It is damaged.
    """
    contents = read_result(path)
    require_whole(contents, os.fspath(path))
    return Result(contents)
