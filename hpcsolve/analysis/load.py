"""`hpcsolve.load` and `hpcsolve.Result`: a result as a Python object, with arrays for numpy and tables for pandas.

The properties that depend on the kind of answer are in `hpcsolve.answers`, in classes that `Result` inherits from.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import paths, tour, tree
from hpcsolve.errors import InputError
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import answer_in, require_whole


@dataclass(frozen=True)
class Result(tour.TourMixin, paths.PathsMixin, tree.TreeMixin):
    """A result, as `hpcsolve.solve` returns it and `hpcsolve.load` reads it.

    Attributes
    ----------
    contents
        The whole content of the result file.
    """

    contents: Contents

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return str(self.contents.attributes["algorithm"])

    @property
    def cost(self) -> float:
        """Cost of the answer in the instance's own unit, an int if all costs are. NaN if the answer has no cost."""
        cost: float = self.contents.attributes["cost"]
        return cost

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven to be optimal."""
        return bool(self.contents.value("solution", "optimal", False)) or self.cost == self.lower_bound

    @property
    def verified(self) -> bool:
        """Whether the answer passed the independent check."""
        return bool(self.contents.attributes["verified"])

    @property
    def complete(self) -> bool:
        """Whether the run came to its end, by itself or by a stop criterion, and was not interrupted."""
        return bool(self.contents.attributes["complete"])

    @property
    def job(self) -> str:
        """The effective job, as TOML."""
        return str(self.contents.value("job", "toml"))

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """Coordinates of the cities or vertices, shape (n, 2 or 3), or None if the instance has none."""
        axes = [self.contents.value("instance", axis) for axis in "xyz"]
        known = [values for values in axes if values is not None]
        return np.stack(known, axis=1) if known else None

    def table(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a group such as `layers` or `ranks`, ready for `pandas.DataFrame`.

        Raises
        ------
        InputError
            The result has no group of that name, or the group has no columns.
        """
        columns = self.contents.groups.get(name, {})
        rows = {key: np.asarray(column.values) for key, column in columns.items() if column.dimension}
        if not rows:
            groups = self.contents.groups.items()
            known = ", ".join(group for group, members in groups if any(c.dimension for c in members.values()))
            raise InputError(f"the result has no table {name!r}; it has {known}")
        return rows

    def __repr__(self) -> str:
        """Return one line with algorithm and answer."""
        answer = answer_in(self.contents)
        return f"<{self.algorithm}: {answer.summary(self.contents) if answer else 'no answer'}>"


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file.

    Raises
    ------
    InputError
        The file is not a result of hpcsolve.
    DamagedFileError
        The file is damaged.
    """
    contents = read_result(path)
    require_whole(contents, os.fspath(path))
    return Result(contents)
