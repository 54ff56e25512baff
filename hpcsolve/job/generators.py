"""The generators of each kind of problem, by their names in job files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hpcsolve.problems.generate.graph import graph_kinds
from hpcsolve.problems.generate.steiner import steiner_kinds
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp

Makers = Mapping[str, Callable[..., Any]]


def makers(kind: str) -> Makers:
    """The generators of a kind: name -> function of the table's other keys."""
    if kind in ("graph", "steiner"):
        return graph_kinds() if kind == "graph" else steiner_kinds()
    functions = (uniform_tsp, clustered_tsp, random_matrix)
    return {function.__name__.replace("_", "-"): function for function in functions}
