"""The generators of each kind of problem, by their names in job files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hpcsolve.problems import generate
from hpcsolve.problems.generate_graph import graph_kinds
from hpcsolve.problems.generate_steiner import steiner_kinds

Makers = Mapping[str, Callable[..., Any]]


def makers(kind: str) -> Makers:
    """The generators of a kind: name -> function of the table's other keys."""
    if kind in ("graph", "steiner"):
        return graph_kinds() if kind == "graph" else steiner_kinds()
    functions = (generate.uniform_tsp, generate.clustered_tsp, generate.random_matrix)
    return {function.__name__.replace("_", "-"): function for function in functions}
