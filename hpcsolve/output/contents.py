"""What a result file holds, as Python has it: root attributes, and groups of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcsolve.algorithms.base import Column

FORMAT = "hpcsolve"
FORMAT_VERSION = 1
GROUPS = {
    "job": "What was asked",
    "instance": "The problem that was solved",
    "solution": "The answer; depends on the job alone",
    "history": "The best answer over time",
    "layers": "Layers of the dynamic program",
    "colonies": "One row a colony",
    "terminals": "One row a terminal",
    "searches": "One row a search",
    "prices": "What proves the lower bound: one row a price",
    "reductions": "What was taken out of the instance before",
    "ranks": "One row an MPI rank",
    "provenance": "What produced this file",
}
"""The groups that a file may have, with their meaning."""


@dataclass(frozen=True)
class TableShape:
    """A table of `/solution` without its values.

    Attributes
    ----------
    shape, dtype
        Rows and columns; numpy's name of the type.
    none
        What stands for "none" (unreached, nobody), or None.
    """

    shape: tuple[int, int]
    dtype: str
    none: int | float | None


@dataclass(frozen=True)
class Contents:
    """A result.

    Attributes
    ----------
    attributes
        Of the root: `format`, `format_version`, `created`, `complete`, `algorithm`, `cost`, `verified`.
    groups
        Group name -> dataset name -> column.
    tables
        The two-dimensional tables of `/solution`, by dataset name, whose values are not among the columns.
    """

    attributes: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Column]]
    tables: Mapping[str, TableShape] = field(default_factory=dict)

    def value(self, group: str, name: str, default: Any = None) -> Any:
        """The values of one dataset, or the default."""
        column = self.groups.get(group, {}).get(name)
        return default if column is None else column.values
