"""The parts of `hpcsolve.Result` about vertices and distances."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerMixin, only_of
from hpcsolve.answers.distances import own_distances
from hpcsolve.answers.edges import shown_names
from hpcsolve.errors import InputError
from hpcsolve.problems.labels import positions_of
from hpcsolve.problems.verify.distances import unreached_of


class VertexMixin(AnswerMixin):
    """The part of `hpcsolve.Result` about vertices, for distances, paths and trees."""

    def named(self, positions: Any) -> list[Any]:
        """Return the names of the vertices at these positions, or their numbers in the instance's file.

        Raises
        ------
        InputError
            A position is not a whole number from 0, or no city or vertex has it.
        """
        names = shown_names(self.contents)
        with suppress(TypeError, ValueError, OverflowError):
            wanted = np.asarray(positions)
            if not wanted.size or (wanted.dtype.kind in "iu" and 0 <= wanted.min() <= wanted.max() < len(names)):
                found: list[Any] = names[wanted.astype(np.int64)].tolist()
                return found
        what = "is not a position or a list of positions"
        raise InputError(f"{positions!r} {what}; positions are whole numbers from 0 to {len(names) - 1}")

    def _position(self, vertex: Any) -> int:
        labels, names = (self.contents.value("instance", name, ()) for name in ("label", "vertex_name"))
        found = positions_of(np.asarray(labels), [vertex], "the result", "vertex", "vertices", list(map(str, names)))
        return int(found[0])


class DistancesMixin(VertexMixin):
    """The part of `hpcsolve.Result` about distances."""

    @property
    @only_of("distances", "paths", "reductions")
    def sources(self) -> list[Any]:
        """The sources of shortest paths, by name or by number in the instance's file, one for each search or query."""
        return self.named(self.contents.value("solution", "source", []))

    @property
    @only_of("distances", "paths", "reductions")
    def targets(self) -> list[Any]:
        """The targets by name or number, empty if there are distances to all vertices."""
        return self.named(self.contents.value("solution", "target", []))

    @property
    @only_of("distances", "paths")
    def distance(self) -> NDArray[np.float64]:
        """Distances in the instance's own unit, `inf` where no path leads, as scipy has them.

        Shape (searches, vertices), (searches, targets) or (queries,). The exact integers are
        `contents.value("solution", "distance")`.
        """
        return own_distances(self.contents, np.asarray(self.contents.value("solution", "distance", np.empty((0, 0)))))

    @property
    @only_of("distances")
    def predecessor(self) -> NDArray[np.int32]:
        """The predecessors, shape (searches, vertices): positions, -1 for none, or empty if they were not asked for."""
        return np.asarray(self.contents.value("solution", "predecessor", np.empty((0, 0))), dtype=np.int32)

    def _path_between(self, source: Any, target: Any) -> list[Any]:
        """Return the vertices of a shortest path, from a table of predecessors."""
        start, path = self._position(source), [self._position(target)]
        rows = np.flatnonzero(np.asarray(self.contents.value("solution", "source")) == start)
        if not len(rows):
            raise InputError(f"vertex {source!r} is not a source of the result")
        before = self.predecessor
        row = int(rows[0]) if len(before) > 1 else 0  # a single row serves all sources (voronoi)
        distance = self.contents.value("solution", "distance")
        if distance[row, path[0]] == unreached_of(distance.dtype):
            return []
        while (last := int(before[row, path[-1]])) >= 0:
            path.append(last)
        if path[-1] != start:
            raise InputError(f"vertex {target!r} is nearer to another source, {self.named(path)[-1]!r}")
        return self.named(path[::-1])
