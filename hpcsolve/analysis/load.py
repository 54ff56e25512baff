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
        """The sources of shortest paths, by name, or by their numbers in the instance's file; else empty."""
        labels = self.contents.value("instance", "vertex_name", self.contents.value("instance", "label"))
        found: list[Any] = np.asarray(labels)[np.asarray(self.contents.value("solution", "source", []), int)].tolist()
        return found

    @property
    def distance(self) -> NDArray[np.float64]:
        """Shape (searches, vertices or targets): distances in the instance's own unit, `inf` where no path leads.

        The exact integers are `contents.value("solution", "distance")`; empty if the result has no distances.
        """
        values = np.asarray(self.contents.value("solution", "distance", np.empty((0, 0))))
        scale = int(self.contents.value("instance", "scale"))
        none = np.iinfo(values.dtype).max if values.dtype.kind in "iu" else np.inf
        return np.where(values == none, np.inf, values / scale)

    @property
    def predecessor(self) -> NDArray[np.int32]:
        """Shape (searches, vertices): positions of the vertices before, -1: none; empty if they were not asked for."""
        return np.asarray(self.contents.value("solution", "predecessor", np.empty((0, 0))), dtype=np.int32)

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven to be the best."""
        return bool(self.contents.value("solution", "optimal", False))

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
        tables = ", ".join(f"{name} {t.shape[0]} x {t.shape[1]}" for name, t in self.contents.tables.items())
        return f"<{self.algorithm}: {tables}; {vertices} vertices>"


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
